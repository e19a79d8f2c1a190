"""The scoreboard of reliability: ``python tests/reliability.py [--quick] [--json] [ROW ...]``.

Every row is a count of attempts and the bad outcomes among them; the targets are those of the full
run, and what was done is printed beside them.  Exit status 1 if anything bad happened.
"""

# ruff: noqa: BLE001, B023, E501

from __future__ import annotations

import argparse
import datetime
import errno
import hashlib
import json
import os
import platform
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "formats"), str(ROOT / "tests" / "embeddings"), str(ROOT)]

DPSAN = [sys.executable, "-m", "dpsan"]
TWO = "here 0 9\nthere 9 0\n"


@dataclass
class Row:
    """One figure: how often something was tried, and what went wrong."""

    figure: str
    target: str
    tried: float = 0
    bad: dict[str, float] = field(default_factory=dict)
    note: str = ""
    seconds: float = 0.0

    def count(self, kind: str, wrong: bool) -> None:
        """Count a bad outcome."""
        self.bad[kind] = self.bad.get(kind, 0) + bool(wrong)

    @property
    def failed(self) -> bool:
        """Whether anything bad happened."""
        return any(value > 0 for kind, value in self.bad.items() if not kind.startswith("%"))


def environment(folder: Path) -> dict[str, str]:
    """The caller's, without its dpsan settings; everything written goes below the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
    for name in ("cache", "tmp", "home"):
        (folder / name).mkdir(exist_ok=True)
    return {
        **kept,
        "DPSAN_CACHE_DIR": str(folder / "cache"),
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }


def leftovers(folder: Path) -> list[Path]:
    """Temporary files."""
    return [path for path in folder.rglob("*") if path.name.endswith(".tmp")]


# -- faults of the operating system --------------------------------------------------------------


def _inputs(folder: Path, kind: str) -> list[str]:
    body = {
        "text": b"here there\nhere\n\n" * 20,
        "jsonl": b'{"t":"here there","n":1.10}\n' * 20,
        "csv": b't,n\n"here\nthere",1\n' + b"here,2\n" * 20,
    }[kind]
    name = {"text": "txt"}.get(kind, kind)
    (folder / f"a.{name}").write_bytes(body)
    import gzip

    (folder / f"b.{name}.gz").write_bytes(gzip.compress(body, mtime=0))
    return [f"a.{name}", f"b.{name}.gz"]


class _Faults:
    """Makes the n-th call of one function of :mod:`os` fail."""

    def __init__(self, name: str, number: int, code: int) -> None:
        self.name, self.left, self.code, self.hit = name, number, code, False
        self.real = getattr(os, name)

    def __enter__(self) -> _Faults:
        setattr(os, self.name, self)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(os, self.name, self.real)

    def __call__(self, *arguments: object, **more: object) -> object:
        self.left -= 1
        if self.left == 0:
            self.hit = True
            raise OSError(self.code, os.strerror(self.code))
        return self.real(*arguments, **more)


def faults(quick: bool, folder: Path) -> Row:
    """The n-th write, read, sync, rename ... fails, for every n."""
    from identity import identity

    from dpsan.audit import AuditWriter
    from dpsan.batch import Inplace, Plan
    from dpsan.errors import DpsanError
    from dpsan.files import discard_unfinished
    from dpsan.formats.base import ReadOptions
    from dpsan.run import Run

    row = Row(
        "n-th-call faults injected (write, read, open, fsync, fchmod, rename, link, alloc)",
        "≥ 2,000",
    )
    sanitizer = identity()
    real_sanitize = sanitizer.sanitize
    codes = (
        [errno.ENOSPC, errno.EIO]
        if quick
        else [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EMFILE, errno.EACCES]
    )
    kinds = ["text", "jsonl", "csv"]
    here = os.getcwd()
    calls = ["write", "read", "open", "fsync", "fchmod", "rename", "link", "alloc"]
    for kind, mode, code, call in (
        (k, m, c, f) for k in kinds for m in ("O", "o", "i") for c in codes for f in calls
    ):
        number = 0
        while True:
            number += 1
            work = folder / f"f{row.tried}"
            work.mkdir()
            os.chdir(work)
            names = _inputs(work, kind)
            if mode == "o":
                names = names[:1]
            originals = {name: Path(name).read_bytes() for name in names}

            def run(*, resume: bool, force: bool = False) -> Run:
                output = {"O": Path("out"), "o": Path("one.gz"), "i": Inplace(".orig")}[mode]
                plan = Plan(
                    "auto",
                    ReadOptions(fields=() if kind == "text" else ("t",)),
                    force=force,
                    batch=7,
                )
                inputs = [Path(name) for name in names]
                return Run(sanitizer, plan, b"k" * 32, inputs, output, mode == "O", resume)

            fault = _Faults("getpid" if call == "alloc" else call, number, code)
            left = number
            if call == "alloc":

                def hungry(*arguments: object, **more: object) -> object:
                    nonlocal left
                    left -= 1
                    if left == 0:
                        fault.hit = True
                        raise MemoryError
                    return real_sanitize(*arguments, **more)

                sanitizer.sanitize = hungry  # type: ignore[method-assign]
            lines: list[str] = []
            traced = False
            failed = False
            try:
                with fault:
                    attempt = run(resume=False)
                    with AuditWriter(Path("audit"), sanitizer) as attempt.audit:
                        result = attempt.execute()
                    lines, failed = result.failed, bool(result.failed)
            except (DpsanError, MemoryError, BrokenPipeError) as error:
                lines, failed = [str(error)], True
            except BaseException:
                traced = True
            finally:
                sanitizer.sanitize = real_sanitize  # type: ignore[method-assign]
            discard_unfinished()  # what the guard does last
            if not fault.hit:
                os.chdir(here)
                shutil.rmtree(work)
                break
            row.tried += 1
            row.count("unclear message", any("\n" in line for line in lines) or traced)
            row.count("temporary left", bool(leftovers(work)))
            partial = False
            for name in names:
                if mode == "O" and (work / "out" / name).exists():
                    partial |= _content(work / "out" / name) != _content_of(originals[name], name)
                if mode == "i":
                    partial |= _content(work / name) != _content_of(originals[name], name)
            if mode == "o" and (work / "one.gz").exists():
                partial |= _content(work / "one.gz") != originals[names[0]]
            row.count("partial output", partial)
            try:
                again = run(resume=mode == "O", force=mode != "O")
                with AuditWriter(Path("audit"), sanitizer, force=True) as again.audit:
                    row.count("next run failed", bool(again.execute().failed))
            except BaseException:
                row.count("next run failed", True)
            row.count(
                "silent",
                not failed
                and not traced
                and call not in ("read", "open", "link", "rename", "fchmod", "fsync"),
            )
            os.chdir(here)
            shutil.rmtree(work)
    return row


def _content(path: Path) -> bytes:
    return _content_of(path.read_bytes(), path.name)


def _content_of(data: bytes, name: str) -> bytes:
    import gzip

    return gzip.decompress(data) if name.endswith(".gz") else data


# -- the cache -----------------------------------------------------------------------------------


def _embedding_file(path: Path, words: int = 20_000, dimensions: int = 20) -> Path:
    generator = np.random.default_rng(1)
    with path.open("w") as out:
        for number in range(words):
            values = " ".join(f"{each:.4f}" for each in generator.normal(size=dimensions))
            out.write(f"w{number} {values}\n")
    return path


def killed_index(quick: bool, folder: Path) -> Row:
    """``kill -9`` while the cache is written; then every entry must verify and be right."""
    from dpsan.cache import Store
    from dpsan.embeddings import load

    row = Row("kill -9 at random moments of index", "≥ 500")
    source = _embedding_file(folder / "e.txt", 4000)
    truth = load(source).vectors
    started = time.perf_counter()
    subprocess.run(
        [*DPSAN, "index", str(source)], env=environment(folder), capture_output=True, check=True
    )
    whole = time.perf_counter() - started
    generator = random.Random(2)

    def one(number: int) -> tuple[bool, bool]:
        own = folder / f"k{number}"
        own.mkdir()
        child = subprocess.Popen(
            [*DPSAN, "index", str(source)],
            env=environment(own),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(whole * generator.uniform(0.3, 1.3))
        child.kill()
        child.wait()
        store = Store(own / "cache")
        wrong = False
        for info in store.entries():
            entry = store.load(info.kind, info.key) if info.ok else None
            if entry is not None and "vectors" in entry.arrays:
                wrong |= not np.array_equal(entry.arrays["vectors"], truth)
        done = subprocess.run(
            [*DPSAN, "index", str(source)], env=environment(own), capture_output=True
        )
        shutil.rmtree(own)
        return wrong, done.returncode != 0

    with ThreadPoolExecutor(2) as pool:
        for wrong, stuck in pool.map(one, range(8 if quick else 500)):
            row.tried += 1
            row.count("valid but wrong", wrong)
            row.count("next run failed", stuck)
    return row


def corrupted_cache(quick: bool, folder: Path) -> Row:
    """A file of the cache is changed in some way: the load must say so."""
    from dpsan.cache import Entry, Store

    row = Row(
        "corrupted cache files tried (bit flip, truncation, growth, swap, version, empty, owner)",
        "≥ 5,000",
    )
    generator = random.Random(3)
    numbers = np.random.default_rng(3)
    store = Store(folder / "corrupt")
    entry = Entry(
        arrays={"a": numbers.normal(size=(40, 9)).astype(np.float32), "b": np.arange(50)},
        meta={"digest": "x"},
        strings={"words": [f"w{number}" for number in range(60)]},
    )
    store.save("index", "key", entry)
    home = next(path for path in (folder / "corrupt").rglob("manifest.json")).parent
    files = sorted(home.iterdir())
    good = {path: path.read_bytes() for path in files}
    kinds = ["flip", "flip", "flip", "truncate", "grow", "swap", "version", "empty", "missing"]
    if os.geteuid() == 0:
        kinds.append("owner")
    for _ in range(1500 if quick else 5000):
        kind = generator.choice(kinds)
        path = generator.choice(files)
        data = bytearray(good[path])
        if kind == "flip":
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        elif kind == "truncate":
            del data[generator.randrange(len(data)) :]
        elif kind == "grow":
            data += bytes(generator.randrange(1, 99))
        elif kind == "swap":
            other = generator.choice([each for each in files if good[each] != good[path]])
            data = bytearray(good[other])
        elif kind == "version":
            path = home / "manifest.json"
            data = bytearray(good[path].replace(b'"format":1', b'"format":0'))
            if bytes(data) == good[path]:
                continue
        elif kind == "empty":
            data = bytearray()
        if kind == "missing":
            path.unlink()
        else:
            path.write_bytes(bytes(data))
        if kind == "owner":
            os.chown(path, 12345, 12345)
        row.tried += 1
        found = store.load("index", "key")
        row.count("undetected", found is not None)
        if not home.exists() or kind == "missing" or kind == "owner":
            store.save("index", "key", entry)
            for each in files:
                good[each] = each.read_bytes()
        else:
            path.write_bytes(good[path])
    row.count("good entry refused", store.load("index", "key") is None)
    return row


def hostile_embeddings(quick: bool, folder: Path) -> Row:
    """Files that run code, lie or explode, each read in a child with 2 GiB and 10 s."""
    from hostile_files import CANARY, cases

    row = Row("hostile embedding files", "≥ 300")
    expected = dict(cases(folder))
    names = list(expected)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "embeddings" / "hostile_files.py")],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        cwd=folder,
        env={**environment(folder), "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    told = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    row.tried = len(told)
    row.count("code executed", (folder / CANARY).exists())
    row.bad["process killed or over 2 GiB"] = len(expected) - len(told)
    row.bad["wrong answer"] = sum(
        not (line.get("valid") or line.get("error") in ("EmbeddingError", "ExtraMissingError"))
        for line in told.values()
    )
    return row


# -- records -------------------------------------------------------------------------------------

_ALPHABET = [
    "a", "é", " ", "\t", "\r", "\x85", "\u2028", "\x0b", "\x0c", "\0", '"', "\\", ",", "'", "-", "1",
    ".", "👩‍👩‍👧", "\u0301", "\u202e", "\u1112\u1161", "\ufeff", "\ue000", "/", "{", "}", "[", "]", ":",
]  # fmt: skip


def _bad_text(generator: random.Random) -> str:
    return "".join(generator.choices(_ALPHABET, k=generator.randrange(12)))


def bad_records(quick: bool, folder: Path) -> Row:
    """Random Unicode, bytes, JSON and CSV through an identity: nothing may change."""
    import csv
    import io

    from identity import identity, through

    row = Row("bad input records (Unicode, bytes, lengths, JSON, CSV)", "≥ 1,000,000")
    same = identity()
    generator = random.Random(4)
    goal = 40_000 if quick else 1_000_000
    while row.tried < goal:
        size = generator.choice([1, 7, 4096, 1 << 18]) if generator.random() < 0.1 else 1 << 18
        kind = generator.choice(["bytes", "text", "jsonl", "csv"])
        texts = [_bad_text(generator) for _ in range(500)]
        end = generator.choice(["\n", "\r\n"])
        last = generator.choice(["", end])
        options: dict[str, object] = {}
        if kind == "bytes":
            data = (
                generator.randbytes(generator.randrange(20_000))
                .replace(b"\xff\xfe", b"")
                .replace(b"\xfe\xff", b"")
            )
            expected = data.decode("utf-8", "replace").encode()
        elif kind == "text":
            expected = data = (end.join(texts) + last).encode()
        elif kind == "jsonl":
            ascii_ = generator.random() < 0.5
            rows = [
                json.dumps({"n": index, "text": text, "o": text}, ensure_ascii=ascii_).replace(
                    '"n": ', '"n":123456789012345678901234567890, "e":1E5, "f" : 1.10,"n":'
                )
                for index, text in enumerate(texts)
            ]
            expected = data = (end.join(rows) + last).encode()
            options = {"fields": ("text",)}
        else:
            held = io.StringIO()
            quoting = generator.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
            writer = csv.writer(held, lineterminator=end, quoting=quoting)
            writer.writerow(["id", "text", "o"])
            writer.writerows([index, text, text] for index, text in enumerate(texts))
            expected = data = held.getvalue().encode()
            options = {"fields": ("text",)}
        name = "text" if kind in ("bytes", "text") else kind
        try:
            out, outcome = through(same, data, name, size=size, **options)
        except Exception:
            out, outcome = b"", None
        row.count("lost, added, reordered or changed", out != expected)
        row.tried += outcome.totals.records if outcome else 1
    return row


# -- processes -----------------------------------------------------------------------------------


def signals(quick: bool, folder: Path) -> Row:
    """A signal at a random moment of a batch with two outputs and an audit."""
    row = Row("signals at random moments", "≥ 1,000")
    (folder / "two.txt").write_text(TWO)
    line = b"here there, here\n"
    generator = random.Random(5)
    for number in range(4):
        (folder / f"in{number}.txt").write_bytes(line * 15_000)
    command = [
        *DPSAN, "rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-a", "audit",
        *(f"in{number}.txt" for number in range(4)), "-O", "out",
    ]  # fmt: skip

    def one(number: int) -> tuple[int, int, bool, bool, bool]:
        own = folder / f"s{number}"
        own.mkdir()
        for path in folder.glob("*.txt"):
            os.link(path, own / path.name)
        jobs = ["-j", "2"] if number % 5 == 4 else []
        sent = generator.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        child = subprocess.Popen(
            [*command, *jobs],
            cwd=own,
            env=environment(own),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        time.sleep(generator.uniform(0.2, 7.0 if jobs else 4.0))
        child.send_signal(sent)
        try:
            _, told = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return 0, 1, False, False, False
        outputs = list((own / "out").glob("*.txt")) if (own / "out").exists() else []
        partial = any(path.read_bytes() != line * 15_000 for path in outputs)
        left = bool(leftovers(own))
        traced = b"Traceback" in told or b"internal error" in told
        status = child.returncode not in (-sent, 0)
        # Before the guard is up a signal ends the interpreter its own way.
        early = not (own / "audit").exists()
        orphans = _alive(child.pid)
        shutil.rmtree(own)
        return (
            int(not early),
            int(status and not early),
            partial,
            left,
            (traced and not early) or orphans,
        )

    with ThreadPoolExecutor(2) as pool:
        for counted, status, partial, left, traced in pool.map(one, range(24 if quick else 1200)):
            row.tried += counted
            row.count("wrong wait status", bool(status))
            row.count("partial file under the final name", partial)
            row.count("temporary left", left)
            row.count("traceback or worker left", traced)
    row.note = "signals before the program was up are not counted"
    return row


def _alive(group: int) -> bool:
    for _ in range(50):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


_COUNTING = """
import os, sys, dpsan.library as library
real = library.load
def load(*a, **k):
    with open(os.environ["COUNT"], "a") as out: out.write("x")
    return real(*a, **k)
library.load = load
sys.argv = ["dpsan", *sys.argv[1:]]
from dpsan.cli.guard import main
main()
"""


def first_runs(quick: bool, folder: Path) -> Row:
    """Eight processes start at once with an empty cache: all succeed, one builds."""
    row = Row("rounds of 8 concurrent first runs, empty cache", "≥ 50")
    source = _embedding_file(folder / "e.txt", 3000)
    for number in range(2 if quick else 50):
        own = folder / f"c{number}"
        own.mkdir()
        env = {**environment(own), "COUNT": str(own / "count")}
        children = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    _COUNTING,
                    "rewrite",
                    "-q",
                    "-e",
                    "5",
                    "-m",
                    "laplace",
                    "-E",
                    str(source),
                    "--seed",
                    "x",
                ],
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(8)
        ]
        outs = {child.communicate(b"w1 w2 w3\n" * 9)[0] for child in children}
        row.tried += 1
        row.count("failures", any(child.returncode for child in children))
        row.count("different outputs", len(outs) != 1)
        row.count("rounds with more than one build", (own / "count").read_text() != "x")
    return row


def streamed(quick: bool, folder: Path) -> Row:
    """Generated text through a pipe; the peak of memory after a tenth and at the end."""
    goal = (20 << 20) if quick else (10 << 30)
    row = Row("GB streamed / growth of peak memory", "≥ 10 / < 2 %")
    child = subprocess.Popen(
        [*DPSAN, "rewrite", "-q", "-e", "8"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment(folder),
    )
    assert child.stdin is not None
    generator = random.Random(6)
    words = [
        "the",
        "of",
        "and",
        "to",
        "in",
        "is",
        "that",
        "for",
        "it",
        "was",
        "on",
        "with",
        "as",
        "his",
        "he",
        "at",
        "by",
        "i",
        "you",
        "not",
        "this",
    ]
    words += [f"x{number}" for number in range(300)]
    sent, early = 0, 0
    started = time.perf_counter()
    while sent < goal:
        block = (
            "\n".join(
                " ".join(generator.choices(words, k=generator.randrange(30))) + str(sent + at)
                for at in range(2000)
            ).encode()
            + b"\n"
        )
        child.stdin.write(block)
        sent += len(block)
        if not early and sent > goal * 0.4:
            early = _peak(child.pid)
    late = _peak(child.pid)
    child.stdin.close()
    row.count("failures", child.wait() != 0)
    seconds = time.perf_counter() - started
    row.tried = round(sent / 2**30, 3)
    growth = 100 * (late - early) / early
    row.bad["% growth"] = round(growth, 2)
    row.count("growth over 2 %", growth >= 2)
    row.note = f"peak {late >> 10} MiB, {sent / 2**20 / seconds:.2f} MiB/s"
    return row


def _peak(process: int) -> int:
    """VmHWM in KiB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def configurations(quick: bool, folder: Path) -> Row:
    """One seed, many ways to run: one output per format, one sequence of texts for all."""
    import faiss
    from identity import Collected

    from dpsan.batch import Plan, rewrite_stream
    from dpsan.cache import Store
    from dpsan.formats.base import ReadOptions
    from dpsan.formats.source import FileSource
    from dpsan.run import Run
    from dpsan.runspec import RunSpec
    from dpsan.sanitizer import Sanitizer, run_key
    from dpsan.workers import Pool

    row = Row("configurations with one seed (jobs × batch × threads × format × resume)", "≥ 100")
    source = _embedding_file(folder / "e.txt", 2000)
    spec = RunSpec(epsilon=4.0, embeddings=source)
    store = Store(folder / "cache")
    sanitizer = Sanitizer.from_spec(spec, store)
    generator = random.Random(7)
    texts = [
        " ".join(f"w{generator.randrange(2500)}" for _ in range(generator.randrange(9)))
        for _ in range(400)
    ]
    files = {
        "a.txt": "\n".join(texts) + "\n",
        "a.jsonl": "".join(json.dumps({"t": text}) + "\n" for text in texts),
        "a.csv": "t\n" + "".join(f'"{text}"\n' for text in texts),
    }
    for name, text in files.items():
        (folder / name).write_text(text)
        (folder / f"first-{name}").write_text(text)
    hashes: dict[str, set[str]] = {}
    plain: dict[bool, set[str]] = {False: set(), True: set()}

    def note(name: str, data: bytes, *, second: bool = False) -> None:
        # The second file of a run has a key of its own, so other words than the first.
        hashes.setdefault(f"{name} {second}", set()).add(hashlib.sha256(data).hexdigest())
        got = data.decode().splitlines()
        if name == "a.jsonl":
            got = [json.loads(each)["t"] for each in got]
        elif name == "a.csv":
            got = [each.strip('"') for each in got[1:]]
        plain[second].add("\n".join(got))
        row.tried += 1

    def options(name: str) -> ReadOptions:
        return ReadOptions(fields=() if name == "a.txt" else ("t",))

    jobs = (1, 2) if quick else (1, 2, 4)
    for count in jobs:
        with Pool(spec, store.root, count) if count > 1 else _Nothing() as pool:
            for threads in (1, 2):
                faiss.omp_set_num_threads(threads)
                for batch in (1, 7, 4096):
                    for name in files:
                        sink = Collected()
                        descriptor = os.open(folder / name, os.O_RDONLY)
                        rewrite_stream(
                            FileSource(name, descriptor),
                            sink,
                            sanitizer,
                            Plan(options=options(name), batch=batch),
                            run_key("seed"),
                            workers=pool,
                        )
                        os.close(descriptor)
                        note(name, sink.data)
                        # Resumed: the second output of a finished run is taken away and made again.
                        out = folder / "out"
                        shutil.rmtree(out, ignore_errors=True)
                        for resume in (False, True):
                            result = Run(
                                sanitizer,
                                Plan(options=options(name), batch=batch),
                                run_key("seed"),
                                [folder / f"first-{name}", folder / name],
                                out,
                                True,
                                resume,
                                pool,
                            ).execute()
                            row.count("not resumed", result.skipped != int(resume))
                            note(name, (out / name).read_bytes(), second=True)
                            (out / name).unlink()
    kinds = [*hashes.values(), *plain.values()]
    row.bad["different outputs"] = sum(len(each) - 1 for each in kinds)
    row.note = f"{len(files)} formats, jobs up to {jobs[-1]}"
    return row


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


# -- secrets -------------------------------------------------------------------------------------

_STAGES = {
    "tokenizer": "dpsan.text:_split_unicode",
    "lookup": "dpsan.sanitizer:lookup_keys",
    "subwords": "dpsan.sanitizer:subwords",
    "streams": "dpsan.rng:streams_for",
    "sanitize": "dpsan.sanitizer:Sanitizer.sanitize",
    "decode": "dpsan.formats.text:decode",
    "jsonl": "dpsan.formats.jsonl:_parsed",
    "json render": "dpsan.formats.jsonl:_string",
    "csv": "dpsan.formats.csv:_value",
    "csv render": "dpsan.formats.csv:_Render._cell",
    "batch": "dpsan.batch:_Flow._write",
    "sink": "dpsan.files:Sink.write",
    "audit": "dpsan.audit:AuditWriter.words",
    "totals": "dpsan.accounting:Accountant.add",
}

_FAILING = """
import importlib, os, sys
module, _, path = os.environ["STAGE"].partition(":")
owner = importlib.import_module(module)
*inner, name = path.split(".")
for each in inner: owner = getattr(owner, each)
kind = getattr(__import__("builtins"), os.environ["RAISE"])
def fail(*a, **k):
    if kind is OSError:
        raise OSError(5, os.environ["DPSAN_SECRET_FOR_TEST"])
    raise kind(os.environ["DPSAN_SECRET_FOR_TEST"], a, k)
setattr(owner, name, fail)
if path == "_split_unicode":
    owner.TOKENIZERS["unicode"] = owner.Tokenizer("unicode", fail)
sys.argv = ["dpsan", *sys.argv[1:]]
from dpsan.cli.guard import main
main()
"""


def secrets_(quick: bool, folder: Path) -> Row:
    """Stages fail with the secret in hand and in the message; nobody else may get to see it."""
    row = Row("stages made to fail × channels searched for planted secrets", "≥ 200 × 6")
    (folder / "two.txt").write_text(TWO)
    inputs = {
        "s.txt": "here {0} there\n",
        "s.jsonl": '{{"t":"here {0}"}}\n',
        "s.csv": 't\n"{0} here"\n',
    }
    kinds = (
        ["ValueError"]
        if quick
        else ["ValueError", "OSError", "RecursionError", "MemoryError", "KeyError"]
    )
    plan = [(stage, name, kind) for stage in _STAGES for name in inputs for kind in kinds]

    def one(at: int) -> tuple[int, dict[str, bool]]:
        stage, name, kind = plan[at]
        own = folder / f"p{at}"
        own.mkdir()
        env = environment(own)
        work = own / "work"
        work.mkdir()
        secret = f"CANARY-{uuid.uuid4()}"
        text = inputs[name].format(secret)
        command = [
            sys.executable,
            "-c",
            _FAILING,
            "rewrite",
            "-v",
            "-e",
            "5",
            "-m",
            "laplace",
            "-E",
            str(folder / "two.txt"),
            "-a",
            str(own / "audit"),
            "-O",
            "out",
        ]
        env |= {
            "STAGE": _STAGES[stage],
            "RAISE": kind,
            "DPSAN_SECRET_FOR_TEST": secret,
            "RICH_TRACEBACK": "1",
        }
        (work / name).write_text(text)
        command += [name] + ([] if name == "s.txt" else ["-k", "t"])
        old = os.umask(0) if at == 0 else None
        done = subprocess.run(command, cwd=work, env=env, capture_output=True)
        if old is not None:
            os.umask(old)
        (work / name).unlink()
        found = {
            "standard error": secret.encode() in done.stderr,
            "standard output": secret.encode() in done.stdout,
            "cache": _holds(own / "cache", secret),
            "temporary directory": _holds(own / "tmp", secret),
            "home": _holds(own / "home", secret),
            "working directory, core file": _holds(work, secret),
        }
        if (own / "audit").exists():
            found["audit open to others"] = (own / "audit").stat().st_mode & 0o077 != 0
        found["traceback"] = b"Traceback" in done.stderr
        shutil.rmtree(own)
        return int(done.returncode != 0), found

    with ThreadPoolExecutor(2) as pool:
        for failed, found in pool.map(one, range(len(plan))):
            row.tried += failed
            for channel, there in found.items():
                row.count(channel, there)
    row.note = "counted: runs in which the stage was reached and failed"
    return row


def _holds(folder: Path, secret: str) -> bool:
    return any(
        secret.encode() in path.read_bytes() or secret in path.name
        for path in folder.rglob("*")
        if path.is_file()
    )


# -- the table -----------------------------------------------------------------------------------

ROWS: dict[str, Callable[[bool, Path], Row]] = {
    "faults": faults,
    "kill": killed_index,
    "cache": corrupted_cache,
    "hostile": hostile_embeddings,
    "records": bad_records,
    "signals": signals,
    "first": first_runs,
    "stream": streamed,
    "seed": configurations,
    "secrets": secrets_,
}


def measured(names: list[str], quick: bool) -> Iterator[Row]:
    """The rows, one after the other."""
    for name in names:
        with tempfile.TemporaryDirectory(prefix="dpsan-reliability-") as folder:
            started = time.perf_counter()
            before = source_digest()
            row = ROWS[name](quick, Path(folder))
            # New processes import what is on disk now: such a row says nothing.
            row.count("INVALID: the source changed meanwhile", source_digest() != before)
            row.seconds = round(time.perf_counter() - started, 1)
            yield row


def source_digest() -> str:
    """Of the program that is measured."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "dpsan").rglob("*.py")):
        digest.update(str(path).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def machine() -> dict[str, str]:
    """Where and when."""
    model = "unknown processor"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    changed = subprocess.run(
        ["git", "status", "--porcelain", "dpsan"], cwd=ROOT, capture_output=True, text=True
    )
    return {
        "machine": f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip() + (" with changes" if changed.stdout.strip() else ""),
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--quick", action="store_true", help="smaller counts, for CI")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"unknown rows: {', '.join(sorted(unknown))}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    rows = []
    for row in measured(given.rows or list(ROWS), given.quick):
        rows.append(row)
        print(f"{row.seconds:6.1f} s  {row.figure}", file=sys.stderr, flush=True)
    about = machine() | {"run": "quick" if given.quick else "full"}
    if given.json:
        print(json.dumps({**about, "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        print(
            f"{about['machine']}; {about['date']}; commit {about['commit']}; {about['run']} run\n"
        )
        print("| figure | target of the full run | done | bad outcomes |\n|---|---|---|---|")
        for row in rows:
            bad = ", ".join(f"{kind}: {value:g}" for kind, value in row.bad.items())
            note = f" ({row.note})" if row.note else ""
            print(f"| {row.figure} | {row.target} | {row.tried:,} | {bad}{note} |")
    return int(any(row.failed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
