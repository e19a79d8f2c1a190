"""Memory, latency, and one seed in many configurations."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import time
from contextlib import nullcontext
from pathlib import Path

from scoreboard.base import DPSAN, Row, embedding_file, environment


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
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["the", "of", "and", "to", "in", "is", "that", "for", "it", "was", "hospital", "paris"]
    words += ["".join(generator.choices(letters, k=generator.randrange(4, 25))) for _ in range(999)]
    # Drawing every word of ten gigabytes would take the generator longer than the sanitizer.
    lines = [" ".join(generator.choices(words, k=generator.randrange(30))) for _ in range(20_000)]
    sent, early = 0, 0
    started = time.perf_counter()
    while sent < goal:
        block = "".join(
            f"{line} {sent + at}\n" for at, line in enumerate(generator.choices(lines, k=5000))
        ).encode()
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


def latency(quick: bool, folder: Path) -> Row:
    """Single lines, the input staying open: how long until each answer."""
    row = Row("lines answered while the input stays open / later than 0.1 s", "≥ 1,000 / 0")
    child = subprocess.Popen(
        [*DPSAN, "rewrite", "-q", "-e", "8"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(folder),
    )
    assert child.stdin is not None
    assert child.stdout is not None
    times = []
    for number in range(201 if quick else 1001):
        begun = time.perf_counter()
        child.stdin.write(b"a line of text, here and there\n")
        child.stdin.flush()
        child.stdout.readline()
        if number:  # the first waits for the start of the program
            times.append(time.perf_counter() - begun)
        time.sleep(0.001)
    child.stdin.close()
    row.count("failures", child.wait() != 0)
    row.tried = len(times)
    row.bad["late"] = sum(each > 0.1 for each in times)
    row.note = f"median {1e3 * sorted(times)[len(times) // 2]:.1f} ms"
    return row


def configurations(quick: bool, folder: Path) -> Row:
    """One seed, many ways to run: one output per format, one sequence of texts for all."""
    import faiss
    from identity import Collected

    from dpsan.batch import Plan, rewrite_stream
    from dpsan.cache import Store
    from dpsan.embeddings import file_digest
    from dpsan.formats.base import ReadOptions
    from dpsan.formats.source import FileSource
    from dpsan.run import Run
    from dpsan.runspec import RunSpec
    from dpsan.sanitizer import Sanitizer, run_key
    from dpsan.workers import Pool

    row = Row(
        "configurations with one seed (jobs × batch × threads × format × resume × cold cache)",
        "≥ 100",
    )
    source = embedding_file(folder / "e.txt", 2000)
    spec, digest = RunSpec(epsilon=4.0, embeddings=source), file_digest(source)
    files = _one_text(folder)
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

    def run(sanitizer: Sanitizer, pool: Pool | None, batch: int, name: str) -> None:
        sink = Collected()
        descriptor = os.open(folder / name, os.O_RDONLY)
        plan = Plan(options=options(name), batch=batch)
        stream = FileSource(name, descriptor)
        rewrite_stream(stream, sink, sanitizer, plan, run_key("seed"), workers=pool)
        os.close(descriptor)
        note(name, sink.data)
        # Resumed: the second output of a finished run is taken away and made again.
        out = folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        inputs = [folder / f"first-{name}", folder / name]
        for resume in (False, True):
            attempt = Run(sanitizer, plan, run_key("seed"), inputs, out, True, resume, pool)
            row.count("not resumed", attempt.execute().skipped != int(resume))
            note(name, (out / name).read_bytes(), second=True)
            (out / name).unlink()

    jobs = (1, 2, 4)
    for count in jobs:
        root = folder / f"cache-{count}"
        for warm in (False, True):
            # Cold: the workers, or in one process every configuration, begin without a cache.
            several = Pool(spec, root, count, digest) if count > 1 else nullcontext()
            with several as pool:
                for threads in (1, 2):
                    faiss.omp_set_num_threads(threads)
                    for batch in (1, 7, 4096):
                        if not warm and count == 1:
                            shutil.rmtree(root, ignore_errors=True)
                        sanitizer = Sanitizer.from_spec(spec, Store(root))
                        for name in files:
                            run(sanitizer, pool, batch, name)
    kinds = [*hashes.values(), *plain.values()]
    row.bad["different outputs"] = sum(len(each) - 1 for each in kinds)
    row.note = f"{len(files)} formats, jobs up to {jobs[-1]}, threads 1 and 2, cold and warm"
    return row


def _one_text(folder: Path) -> list[str]:
    """The same lines as text, JSONL and CSV, each twice."""
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
    return list(files)
