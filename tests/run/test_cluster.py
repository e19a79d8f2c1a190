"""A cluster run is a single-process run: same words, files and totals; and what goes wrong."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from support import ROOT, make_embeddings

from dpsan.errors import DpsanError
from dpsan.formats.base import ReadOptions
from dpsan.run.audit import AuditWriter
from dpsan.run.ray import ClusterRun, pieces, work
from dpsan.run.ray.pieces import Piece, cut
from dpsan.run.run import Run
from dpsan.run.stream import Plan
from dpsan.sanitize.sanitizer import Sanitizer, run_key

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'dpsan[ray]'"
)


class Here:
    """An engine without a cluster: pieces one after the other, the last one first."""

    workers = 2

    def count(self, job, todo):
        assert job.key == b""
        for each in reversed(todo):
            yield {"piece": each.number, **work.guarded(partial(work.count, job, each))}

    def rewrite(self, job, todo):
        sanitizer = work.prepared(job)
        for each in reversed(todo):
            again = work.guarded(partial(work.rewrite, job, sanitizer, each))
            done = work.guarded(partial(work.rewrite, job, sanitizer, each))  # as after a death
            assert (again["error"] == "") == (done["error"] == "")
            yield {"piece": each.number, **done}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    made = make_embeddings()
    rows = zip(made.index_to_key, made.vectors.tolist(), strict=True)
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows))
    return path


@pytest.fixture(scope="module")
def sanitizer(vectors, store):
    return Sanitizer("knn-response", epsilon=2, embeddings=vectors, cache=store)


def single(sanitizer, plan, inputs, output, audit=None):
    with contextlib.ExitStack() as stack:
        run = Run(sanitizer, plan, run_key("s"), inputs, output=output, tree=True)
        if audit:
            run.audit = stack.enter_context(
                AuditWriter(audit, sanitizer, seeded=True, copies=plan.copies)
            )
        return run.execute()


def cluster(sanitizer, plan, inputs, output, audit=None, size=64, engine=None, **more):
    with contextlib.ExitStack() as stack:
        writer = audit and stack.enter_context(
            AuditWriter(audit, sanitizer, seeded=True, copies=plan.copies)
        )
        return ClusterRun(
            sanitizer,
            plan,
            run_key("s"),
            inputs,
            output,
            engine=engine or (lambda _: Here()),
            cache=sanitizer._store.root,
            audit=writer,
            audit_path=audit,
            piece_bytes=size,
            **more,
        ).execute()


def same(sanitizer, plan, inputs, folder, size=64, engine=None):
    """Run both ways; outputs, audits, totals and complaints must be the same."""
    one, many = folder / "one", folder / "many"
    alone = single(sanitizer, plan, inputs, one, folder / "one.jsonl")
    told = []
    both = cluster(
        sanitizer,
        plan,
        inputs,
        many,
        folder / "many.jsonl",
        size,
        engine,
        complain=told.append,
    )
    found = {p.relative_to(one): p.read_bytes() for p in one.rglob("*") if p.is_file()}
    assert {p.relative_to(many): p.read_bytes() for p in many.rglob("*") if p.is_file()} == found
    assert told == both.failed == alone.failed
    assert both.totals == alone.totals
    audits = [
        [json.loads(row) for row in (folder / name).read_text().splitlines()]
        for name in ("one.jsonl", "many.jsonl")
    ]
    for rows in audits:
        rows[0].pop("created")
    if not alone.failed and plan.copies == 1:
        assert audits[1] == audits[0]
    assert audits[1][-1] == audits[0][-1]
    assert not [p for p in folder.rglob("*") if ".tmp" in p.name]
    return both


def text_file(path, lines=100, ending="\n"):
    rows = [f"word{n % 60} Unknown{n}, word{n * 7 % 60}!" for n in range(lines)]
    path.write_text("\n".join(rows) + ending)
    return path


def jsonl_file(path, lines=20):
    item = ['{"c": "word1 x"}']
    rows = [
        f'{{"id": 1{n}.10, "m": [{", ".join(item * (n % 4))}], "text": "word{n % 60} caf\\u00e9"}}'
        for n in range(lines)
    ]
    path.write_bytes("\n".join(rows).encode() + b"\r\n\n")
    return path


JSONL = ReadOptions(fields=("text", "m[].c?"))


@pytest.mark.parametrize("size", [13, 64, 10**6])
@pytest.mark.parametrize("ending", ["", "\n", "\n\n"])
def test_text_is_that_of_one_process(sanitizer, tmp_path, size, ending):
    inputs = [text_file(tmp_path / "a.txt", 12, ending), text_file(tmp_path / "b.txt", 2, ending)]
    same(sanitizer, Plan(), inputs, tmp_path, size)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("size", [17, 50, 333])
def test_jsonl_is_that_of_one_process(sanitizer, tmp_path, size, copies):
    plan = Plan(options=JSONL, copies=copies)
    same(sanitizer, plan, [jsonl_file(tmp_path / "a.jsonl")], tmp_path, size)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbfword1\nword2\n",
        b"word1\n\xef\xbb\xbfword2\n\xff\xfeword3",
        b"word1 \xff\xff\nword2 \xff\n" * 9,
    ],
)
def test_odd_bytes_are_those_of_one_process(sanitizer, tmp_path, data):
    (tmp_path / "a.txt").write_bytes(data)
    for size in (1, 4, 100):
        folder = tmp_path / str(size)
        folder.mkdir()
        same(sanitizer, Plan(), [tmp_path / "a.txt"], folder, size)


def test_nul_and_wide_and_compressed_and_csv(sanitizer, tmp_path):
    import gzip

    (tmp_path / "a.txt").write_bytes(b"word1\nx\0word2\0" * 9)
    same(sanitizer, Plan(options=ReadOptions(null_data=True)), [tmp_path / "a.txt"], tmp_path, 8)
    wide, packed = tmp_path / "wide", tmp_path / "packed"
    for folder in (wide, packed):
        folder.mkdir()
    (wide / "a.txt").write_bytes("word1 word2\nword3\n".encode("utf-16"))
    same(sanitizer, Plan(options=ReadOptions(encoding="utf-16")), [wide / "a.txt"], wide, 8)
    (packed / "a.txt.gz").write_bytes(gzip.compress(b"word1 word2\nword3\n" * 99, mtime=0))
    (packed / "a.csv").write_bytes(b'id,body\n1,"word1\nword2"\n2,word3\n')
    same(sanitizer, Plan(), [packed / "a.txt.gz"], packed, 8)
    (packed / "table").mkdir()
    plan = Plan(options=ReadOptions(fields=("body",)))
    same(sanitizer, plan, [packed / "a.csv"], packed / "table", 8)


@pytest.mark.parametrize(
    ("rows", "options", "told"),
    [
        ([b'{"text": "word1"}'] * 20 + [b'{"text": 5}'], ReadOptions(), "a.jsonl:21: "),
        ([b'{"text": "word1"}'] * 20 + [b'{"text": "wo'], ReadOptions(), "a.jsonl:21: "),
        ([b'{"x": "word1"}'] * 20, ReadOptions(), "no record up to line 20 "),
        ([b'{"x": "word1"}'] * 1100, ReadOptions(), "no record up to line 1024 "),
        ([b'{"x": "word1"}'] * 20 + [b'{"text": "word1"}'], ReadOptions(), ""),
        ([b'{"text": "w"}', b'{"text": "wwwwwwww"}'] * 9, ReadOptions(max_record=17), ":2: "),
        ([b'{"text": "w"}', b'{"text": "\xff"}'] * 9, ReadOptions(invalid="error"), ":2: "),
    ],
)
def test_errors_name_the_line_of_the_file(sanitizer, tmp_path, rows, options, told):
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(rows))
    options = ReadOptions(fields=("text",), invalid=options.invalid, max_record=options.max_record)
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "w1"}\n' * 9)
    inputs = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    size = 400 if len(rows) > 1000 else 40
    result = same(sanitizer, Plan(options=options), inputs, tmp_path, size)
    assert len(result.outcomes) == 1 + (not told)
    assert told in "".join(result.failed)


def test_missing_inputs_are_told_and_the_rest_is_done(sanitizer, tmp_path):
    inputs = [tmp_path / "none.txt", text_file(tmp_path / "a.txt")]
    result = same(sanitizer, Plan(), inputs, tmp_path)
    assert len(result.failed) == 1
    assert [name for name, _ in result.each] == [str(path) for path in inputs]


def test_existing_output_and_resume(sanitizer, tmp_path):
    path = text_file(tmp_path / "a.txt")
    out = tmp_path / "out"
    assert not cluster(sanitizer, Plan(), [path], out).failed
    before = (out / "a.txt").read_bytes()
    again = cluster(sanitizer, Plan(), [path], out)
    assert "exists (--force replaces it)" in again.failed[0]
    assert cluster(sanitizer, Plan(), [path], out, resume=True).skipped == 1
    assert not cluster(sanitizer, Plan(force=True), [path], out).failed
    assert (out / "a.txt").read_bytes() == before


def test_a_file_that_changes_is_not_published(sanitizer, tmp_path):
    """More texts than were counted would share random numbers with the next piece."""
    path = text_file(tmp_path / "a.txt")

    class Changing(Here):
        def rewrite(self, job, todo):
            text = path.read_bytes()
            status = path.stat()
            path.write_bytes(text.replace(b" Unknown", b"\nUnknown"))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # as on a coarse clock
            yield from super().rewrite(job, todo)

    result = cluster(sanitizer, Plan(), [path], tmp_path / "out", engine=lambda _: Changing())
    assert result.failed == [f"{path}: changed while it was read"]
    assert [p for p in (tmp_path / "out").rglob("*") if p.is_file()] == []


def test_pieces_are_not_empty_and_cover_the_file(tmp_path):
    path = text_file(tmp_path / "a.txt", 50)
    size = path.stat().st_size
    for step in (1, 9, size - 1, size, size + 1):
        parts = cut(path, 1, 5, "auto", ReadOptions(), step)
        assert [part.number for part in parts] == list(range(5, 5 + len(parts)))
        assert (parts[0].start, parts[-1].end) == (0, size)
        assert all(a.end == b.start for a, b in pairwise(parts))
        assert all(Piece.of(part.row()) == part for part in parts)
        data = b""
        for part in parts:
            with pieces.stretch(part, ReadOptions()) as source:
                while more := source.read():
                    data += more
        assert data == path.read_bytes()


@pytest.fixture
def table(tmp_path):
    pa = pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    n = 500
    made = pa.table(
        {
            "id": pa.array(range(n)),
            "text": pa.array([None if k % 7 == 0 else f"word{k % 60} x{k}" for k in range(n)]),
            "tags": pa.array([[f"word{j}" for j in range(k % 3)] for k in range(n)]),
            "kind": pa.array([f"word{k % 5}" for k in range(n)]).dictionary_encode(),
        },
    ).replace_schema_metadata({"note": "kept"})
    path = tmp_path / "a.parquet"
    pq.write_table(made, path, row_group_size=100, compression="zstd")
    return path


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("size", [1, 4000, 10**9])
def test_parquet_is_that_of_one_process(sanitizer, table, tmp_path, size, copies):
    options = ReadOptions(fields=("text", "tags[]", "kind"))
    same(sanitizer, Plan(options=options, copies=copies), [table], tmp_path, size)


def test_a_piece_that_ends_its_workers_is_given_up(sanitizer, tmp_path):
    path = text_file(tmp_path / "a.txt", 5)
    job = work.Job(
        sanitizer.spec, tmp_path, sanitizer.embeddings.digest, Plan(), b"k" * 32, tmp_path
    )
    (piece,) = cut(path, 1, 0, "auto", ReadOptions(), 1000)
    for attempt in range(work.TRIES):
        (tmp_path / f"00000000-{attempt}.part").touch()
    with pytest.raises(DpsanError, match="ended its worker 10 times"):
        work.rewrite(job, sanitizer, piece)


def test_worker_errors_tell_no_text(sanitizer, tmp_path):
    def fail():
        raise ValueError("Maria Gonzalez")

    told = work.guarded(fail)
    assert told["error"].startswith("internal error: ValueError at test_cluster.py:")
    assert "Maria" not in str(told)
    job = work.Job(sanitizer.spec, tmp_path, "other", Plan(), b"k" * 32, tmp_path)
    assert "kkk" not in repr(job)
    told = work.guarded(lambda: {"x": work.prepared(job)})
    assert told["error"] == "a worker's embedding file is not the driver's"


# -- with Ray --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray_here():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed: pip install 'dpsan[ray]'")
    from dpsan.run.ray.engine import start

    with contextlib.ExitStack() as stack:
        start(stack, actors=2)
        yield partial(start, actors=2)


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_words_of_one_process(ray_here, sanitizer, table, tmp_path):
    """JSON lines and Parquet, with the audit; the next test has text."""
    plan = Plan(options=ReadOptions(fields=("text",)))
    inputs = [jsonl_file(tmp_path / "a.jsonl", 100), jsonl_file(tmp_path / "b.jsonl", 1), table]
    same(sanitizer, plan, inputs, tmp_path, 2000, ray_here)


@needs_ray
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_rows_are_those_of_one_process(ray_here, store, tmp_path):
    """200,000 rows, the bundled vocabulary, two actors."""
    sanitizer = Sanitizer(epsilon=8, cache=store)
    words = [
        "the",
        "patient",
        "was",
        "diagnosed",
        "with",
        "depression",
        "in",
        "march",
        "near",
        "Riverside",
    ]
    with (tmp_path / "a.jsonl").open("w") as file:
        for n in range(200_000):
            text = " ".join(words[(n + k * (n % 7 + 1)) % len(words)] for k in range(12))
            file.write(json.dumps({"id": n, "text": f"{text} {n}."}) + "\n")
    plan = Plan(options=ReadOptions(fields=("text",)))
    alone = single(sanitizer, plan, [tmp_path / "a.jsonl"], tmp_path / "one")
    both = cluster(
        sanitizer, plan, [tmp_path / "a.jsonl"], tmp_path / "many", size=10**6, engine=ray_here
    )
    assert both.totals == alone.totals
    made = (tmp_path / "many" / "a.jsonl").read_bytes()
    assert made.count(b"\n") == 200_000
    assert made == (tmp_path / "one" / "a.jsonl").read_bytes()


def ray_actors():
    """Process numbers of the actors below this process."""
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

    return [pid for pid, name in names.items() if "Actor)" in name and mine(pid)]


@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_changes_nothing(ray_here, sanitizer, tmp_path):
    path = text_file(tmp_path / "a.txt", 60_000)
    killed = []

    def kill(_):
        if len(killed) < 2 and (found := [p for p in ray_actors() if p not in killed]):
            os.kill(found[0], signal.SIGKILL)
            killed.append(found[0])

    alone = single(sanitizer, Plan(), [path], tmp_path / "one")
    both = cluster(
        sanitizer, Plan(), [path], tmp_path / "many", size=100_000, engine=ray_here, progress=kill
    )
    assert killed
    assert not both.failed
    assert (tmp_path / "many" / "a.txt").read_bytes() == (tmp_path / "one" / "a.txt").read_bytes()
    assert both.totals == alone.totals


@needs_ray
def test_the_command_starts_and_ends_a_cluster(dpsan, tmp_path):
    """Every word on stderr is dpsan's; nothing is left; logs tell neither text nor key."""
    (tmp_path / "a.txt").write_text("Planted Maria lives in Paris.\n" * 4000)
    common = ["rewrite", "-e", "8", "--seed", "s", "a.txt"]
    alone = dpsan(*common, "-O", "one", cwd=tmp_path)
    done = dpsan(*common, "-O", "many", "--engine", "ray", "-j", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    assert done.stderr == alone.stderr
    assert (tmp_path / "many/a.txt").read_bytes() == (tmp_path / "one/a.txt").read_bytes()
    assert os.listdir(tmp_path / "many") == ["a.txt"]
    key = run_key("s")
    logs = Path("/tmp/ray/session_latest").resolve()
    for log in logs.rglob("*.*"):
        if log.is_file():
            data = log.read_bytes()
            for secret in (b"Planted", key, key.hex().encode(), repr(key).encode()):
                assert secret not in data, log


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a.txt"], "--engine ray needs -O DIR"),
        (["-", "-O", "out"], "--engine ray needs files, not standard input"),
        (["a.txt", "-i"], "--engine ray needs -O DIR"),
        (["a.txt", "-O", "out", "--budget", "9"], "--budget cannot be kept by --engine ray"),
        (["a.txt", "-O", "out", "--engine", "spark"], "--engine"),
        (["a.txt", "-O", "out", "--engine", "local", "--address", "x"], "--address needs"),
    ],
)
def test_what_the_engine_cannot_do_is_told(dpsan, tmp_path, arguments, told):
    (tmp_path / "a.txt").write_text("word\n")
    given = ["rewrite", "-e", "8", "--engine", "ray", *arguments]
    done = dpsan(*given, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_without_ray_the_extra_is_named(tmp_path):
    code = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'ray' else find(name, *a)\n"
        "sys.argv = 'dpsan rewrite -e 8 --engine ray a.txt -O out'.split()\n"
        "from dpsan.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "dpsan: --engine ray needs an extra (pip install 'dpsan[ray]')\n"


# -- recipes of the man page -----------------------------------------------------------------------


def recipe(word):
    """The man page's example that has a word in it."""
    section = (ROOT / "man" / "dpsan.1").read_text().split(".SH CLUSTER")[1].split(".SH ")[0]
    blocks = [part.split(".EE")[0] for part in section.split(".EX\n")[1:]]
    (found,) = [block for block in blocks if word in block]
    return found.replace("\\-", "-")


@pytest.fixture
def folder(tmp_path, monkeypatch, cache):
    """A folder with the rows that the recipes read."""
    pa = pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
    import pyarrow.parquet as pq

    (tmp_path / "in").mkdir()
    texts = ["Maria lives in Paris.", None] * 20
    pq.write_table(pa.table({"id": range(40), "text": texts}), tmp_path / "in" / "a.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    return tmp_path


def check(written):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = pd.read_parquet(written).sort_values("id")
    assert rows["id"].tolist() == list(range(40))
    texts = rows["text"].tolist()
    assert all(pd.isna(text) for text in texts[1::2])
    assert all(len(text.split()) == 4 and text.endswith(".") for text in texts[::2])
    assert not any("Maria" in text for text in texts[::2])
    assert len(set(texts[::2])) > 1


@pytest.mark.filterwarnings("ignore")
def test_recipe_for_dask(folder):
    pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    exec(recipe("yield") + recipe("dask"), {})  # noqa: S102
    check(folder / "out-dask")


@pytest.mark.filterwarnings("ignore")
def test_recipe_for_spark(folder):
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed")
    if not shutil.which("java"):
        pytest.skip("Spark needs java")
    spark = sql.SparkSession.builder.master("local[2]").getOrCreate()
    try:
        exec(recipe("yield") + recipe("spark"), {"spark": spark})  # noqa: S102
    finally:
        spark.stop()
    check(folder / "out-spark")
