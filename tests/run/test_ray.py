"""A cluster run is a single-process run: same words, files and totals."""

import contextlib
import gzip
import importlib.util
import json
import os
import pickle
import re
import signal
from functools import partial
from pathlib import Path

import engine_here
import pytest
from support import ROOT, make_embeddings, write_vectors

from dpsan import __version__
from dpsan.errors import ExtraMissingError
from dpsan.formats.base import ReadOptions
from dpsan.run.cluster import ClusterRun, Job, require_ray, rewrite, start
from dpsan.run.plan import Plan, Task
from dpsan.run.run import Run
from dpsan.sanitize.sanitizer import Sanitizer, run_key

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'dpsan[ray]'"
)


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    return write_vectors(tmp_path_factory.mktemp("vectors") / "vectors.txt", make_embeddings())


@pytest.fixture(scope="module")
def sanitizer(vectors, store):
    return Sanitizer("knn-response", epsilon=2, embeddings=vectors, cache=store)


def execute(sanitizer, plan, inputs, output, start=None, **more):
    """One process without ``start``, else a cluster."""
    cluster = partial(ClusterRun, start=start, cache=sanitizer._store.root)
    kind = cluster if start else partial(Run, tree=True)
    return kind(sanitizer, plan, run_key("s"), inputs, output, **more).execute()


cluster = partial(execute, start=engine_here.start)


def tree(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def same(sanitizer, plan, inputs, folder, start=engine_here.start):
    """Run both ways; outputs, totals and complaints must be the same."""
    one, many = folder / "one", folder / "many"
    told = []
    alone = execute(sanitizer, plan, inputs, one)
    both = execute(sanitizer, plan, inputs, many, start, complain=told.append)
    assert tree(many) == tree(one)
    assert told == both.failed == alone.failed
    assert both.totals == alone.totals
    assert not [p for p in folder.rglob("*") if ".tmp" in p.name]
    return both


def text_file(path, lines=100):
    path.write_text("".join(f"word{n % 60} Unknown{n}, word{n * 7 % 60}!\n" for n in range(lines)))
    return path


@pytest.fixture
def inputs(tmp_path):
    """A file of each format, some compressed; the fields are ``t`` and ``m[].c``."""
    rows = [{"t": f"word{n % 60} caf\u00e9", "m": [{"c": "word1 x"}] * (n % 4)} for n in range(20)]
    texts = {
        "a.txt": "\ufeffword1\n\nword2 \ufffd\nlast",
        "b.jsonl": "".join(json.dumps(row) + "\r\n" for row in rows),
        "c.csv": 'id,t\n1,"word1\nword2"\n2,word3\n',
        "d.html": "<p>word1 word2</p>",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "e.txt.gz").write_bytes(gzip.compress(b"word1 word2\n" * 99, mtime=0))
    return sorted(tmp_path.iterdir())


@pytest.mark.parametrize("copies", [1, 3])
def test_each_format_is_rewritten_as_by_one_process(sanitizer, tmp_path, inputs, copies):
    options = ReadOptions(fields=("t", "m[].c?"), mixed=True, field_owners=True)
    inputs = inputs if copies == 1 else inputs[:3]
    result = same(sanitizer, Plan(options=options, copies=copies), inputs, tmp_path)
    assert result.done == len(inputs) - 1  # the CSV lacks a field
    assert "c.csv" in result.failed[0]


def test_inputs_that_fail_are_reported_as_by_one_process(sanitizer, tmp_path):
    paths = [tmp_path / f"{name}.jsonl" for name in ("bad", "missing", "good")]
    paths[0].write_bytes(b'{"text": "word1"}\n' * 20 + b'{"text": 5}')
    paths[2].write_bytes(b'{"text": "word1"}\n' * 9)
    plan = Plan(options=ReadOptions(fields=("text",)), batch=2)
    result = same(sanitizer, plan, paths, tmp_path)
    assert result.done == 1
    assert "bad.jsonl:21: " in result.failed[0]
    assert "missing.jsonl: no such file" in result.failed[1]


def test_existing_output_and_resume(sanitizer, tmp_path):
    paths = [text_file(tmp_path / "a.txt"), text_file(tmp_path / "b.txt")]
    out = tmp_path / "out"
    assert not cluster(sanitizer, Plan(), paths, out).failed
    before = (out / "b.txt").read_bytes()
    again = cluster(sanitizer, Plan(), paths, out)
    assert all("exists (--force replaces it)" in line for line in again.failed)
    (out / "b.txt").unlink()
    left = out / f".b.txt.{'0' * 16}.tmp"
    left.touch()  # by a killed run
    again = cluster(sanitizer, Plan(), paths, out, resume=True)
    assert (again.skipped, again.done, (out / "b.txt").read_bytes()) == (1, 1, before)
    assert not left.exists()
    assert not cluster(sanitizer, Plan(force=True), paths, out).failed
    assert (out / "b.txt").read_bytes() == before


def test_worker_errors_hold_no_text(sanitizer, tmp_path, monkeypatch):
    def job(digest):
        return Job(sanitizer.spec, sanitizer._store.root, digest, Plan(), b"k" * 32)

    assert "kkk" not in repr(job("other"))
    task = Task(1, text_file(tmp_path / "a.txt"), tmp_path / "out")
    error = rewrite(__version__, pickle.dumps(job("other")), task)
    assert str(error) == "a worker's embedding file is not the driver's"
    error = rewrite("0.0", pickle.dumps(job("other")), task)
    assert str(error) == f"a worker has dpsan {__version__}, the driver 0.0"

    def fail(*_):
        raise ValueError("Maria Gonzalez")

    monkeypatch.setattr("dpsan.run.group.rewrite_stream", fail)
    answer = rewrite(__version__, pickle.dumps(job(sanitizer.embeddings.digest)), task)
    assert answer.error.message.startswith("internal error: ValueError at test_ray.py:")
    assert "Maria" not in str(answer)


@pytest.fixture(scope="module")
def ray_here():
    with contextlib.ExitStack() as stack:
        start(stack, workers=2)
        yield partial(start, workers=2)


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_words_of_one_process(ray_here, sanitizer, inputs, tmp_path):
    plan = Plan(options=ReadOptions(fields=("t",), mixed=True, field_owners=True))
    missing = tmp_path / "missing.txt"
    result = same(sanitizer, plan, [*inputs, missing], tmp_path, ray_here)
    assert len(result.failed) == 1


def ray_workers():
    """Process numbers of the workers below this process that have a task."""
    parents, names = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(stat[1])
            names[int(entry.name)] = (entry / "cmdline").read_bytes().decode()

    def mine(pid):
        while pid > 1:
            pid = parents.get(pid, 0)
            if pid == os.getpid():
                return True
        return False

    return [pid for pid, name in names.items() if "ray::rewrite" in name and mine(pid)]


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_changes_nothing(ray_here, sanitizer, tmp_path):
    paths = [text_file(tmp_path / f"{n}.txt", 60_000) for n in range(6)]
    killed = []

    def kill(_):
        if len(killed) < 2 and (found := [p for p in ray_workers() if p not in killed]):
            os.kill(found[0], signal.SIGKILL)
            killed.append(found[0])

    alone = execute(sanitizer, Plan(), paths, tmp_path / "one")
    both = execute(sanitizer, Plan(), paths, tmp_path / "many", start=ray_here, progress=kill)
    assert killed
    assert not both.failed
    assert tree(tmp_path / "many") == tree(tmp_path / "one")
    assert both.totals == alone.totals


@needs_ray
def test_the_command_starts_and_ends_a_cluster(dpsan, tmp_path):
    """Every word on stderr is dpsan's; nothing is left; logs tell neither text nor key."""
    (tmp_path / "a.txt").write_text("Planted Maria lives in Paris.\n" * 4000)
    common = ["rewrite", "-e", "8", "--seed", "s", "a.txt"]
    alone = dpsan(*common, "-O", "one", cwd=tmp_path)
    done = dpsan(*common, "-O", "many", "--engine", "ray", "-j", "2", cwd=tmp_path, status=0)
    assert (done.stdout, done.stderr) == (b"", alone.stderr)
    assert (tmp_path / "many/a.txt").read_bytes() == (tmp_path / "one/a.txt").read_bytes()
    assert sorted(os.listdir(tmp_path / "many")) == [".dpsan-request", "a.txt"]
    key = run_key("s")
    logs = Path("/tmp/ray/session_latest").resolve()
    for log in logs.rglob("*.*"):
        if log.is_file():
            data = log.read_bytes()
            for secret in (b"Planted", key, key.hex().encode(), repr(key).encode()):
                assert secret not in data, log


def test_what_the_engine_cannot_do_is_told(fork_server, tmp_path):
    (tmp_path / "a.txt").write_text("word\n")
    for arguments, told in (
        (["a.txt"], "--engine ray needs -O DIR"),
        (["-", "-O", "out"], "--engine ray needs files, not standard input"),
        (["a.txt", "-i"], "--engine ray needs -O DIR"),
        (["a.txt", "-O", "out", "--budget", "9"], "--engine ray excludes --audit, --budget"),
        (["a.txt", "-O", "out", "--engine", "spark"], "--engine"),
        (["a.txt", "-O", "out", "--engine", "local", "--address", "x"], "--address needs"),
    ):
        given = ("rewrite", "-e", "8", "--engine", "ray", *arguments)
        done = fork_server.run(given, b"", tmp_path, dict(os.environ))
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert told in line


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda *_: None)
    told = r"^--engine ray needs an extra \(pip install 'dpsan\[ray\]'\)$"
    with pytest.raises(ExtraMissingError, match=told) as caught:
        require_ray()
    assert caught.value.exit_status == 2


def test_the_recipe_for_spark_and_dask(monkeypatch, cache):
    """The part of docs/cluster.md that both call with frames of pandas."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    page = (ROOT / "docs" / "cluster.md").read_text()
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    names = {}
    exec(re.search(r"```python\n(def clean.*?)```", page, re.S)[1], names)  # noqa: S102
    frame = pd.DataFrame({"id": range(40), "text": ["Maria lives in Paris.", None] * 20})
    (rows,) = names["clean"]([frame.copy()])
    assert rows["id"].tolist() == list(range(40))
    texts = rows["text"].tolist()
    assert all(pd.isna(text) for text in texts[1::2])
    assert all(len(text.split()) == 4 and text.endswith(".") for text in texts[::2])
    assert sum("Maria" in text for text in texts[::2]) < 10  # a word stays in 1.5 % of draws
    assert len(set(texts[::2])) > 1
