"""Measure words per second of mechanisms, beside a bare FAISS search of the same shape.

    python docs/studies/speed.py -m optimal-response -m laplace
    python docs/studies/speed.py -m laplace --synthetic 20000,100 --words 400000 -j 2

Each mechanism has a process of its own.  There, runs from a text file to an output file, as `dpsan
rewrite` does them, alternate with a bare ``faiss.IndexFlatL2`` search for the nearest of the same
vectors of as many random points: the ratio of both speeds hardly depends on the machine.  Every run
has a new sampler and a warm cache on disk.  A start is a whole `dpsan rewrite` in a new process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import faiss
import numpy as np

from dpsan import __version__
from dpsan.cli.options import parameters
from dpsan.embeddings.store import Store
from dpsan.embeddings.words import word_frequencies
from dpsan.errors import DpsanError, UsageError, check_name
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Status
from dpsan.run.audit.writer import AuditWriter
from dpsan.run.plan import Plan
from dpsan.run.run import Run
from dpsan.run.workers import Pool
from dpsan.sanitize.result import Texts
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings
from dpsan.space.cached_index import open_space
from dpsan.space.exact_search import FlatIndex

SECONDS, FEWEST, STARTS = 3.0, 2000, 5
KEY = randomness.seeded_key("dpsan bench")


def normal(name, rows, d):
    """Standard normal numbers under a public key, shape (rows, d)."""
    key, out = randomness.seeded_key(name), np.empty((rows, d), dtype=np.float32)
    for at in range(0, rows, 1 << 14):
        part = range(at, min(at + (1 << 14), rows))
        streams = randomness.streams_for(key, part, [1] * len(part))
        out[at : at + len(part)] = streams.normal("vectors", d)
    return out


def synthetic_file(folder, shape):
    """Write an embedding file of random vectors."""
    n, _, d = shape.partition(",")
    if not (n.isdecimal() and d.isdecimal() and int(n) > 1 and int(d) > 0):
        raise UsageError(f"--synthetic must be N,D (got {shape})", "such as --synthetic 20000,100")
    path, words = folder / "synthetic.npz", np.array([f"w{row}" for row in range(int(n))])
    np.savez(path, vectors=normal("dpsan bench vectors", int(n), int(d)), words=words)
    return path


def zipf_text(path, words, count):
    """Write lines of 20 words whose frequencies follow Zipf's law by row number."""
    weights, key = np.cumsum(word_frequencies(len(words), None)), "dpsan bench text"
    with path.open("w", encoding="utf-8") as out:
        for at in range(0, count, 1 << 18):
            size = min(1 << 18, count - at)
            streams = randomness.streams_for(randomness.seeded_key(key), [at], [size])
            rows = np.searchsorted(weights, streams.uniform("words")[:, 0] * weights[-1])
            drawn = [words[row] for row in np.minimum(rows, len(words) - 1).tolist()]
            for line in range(0, size, 20):
                out.write(" ".join(drawn[line : line + 10]) + ", ")
                out.write(" ".join(drawn[line + 10 : line + 20]) + ".\n")


def measure(spec, cache, asked):
    """Return all figures of one mechanism; the process measures nothing else."""
    embeddings, space = open_space(spec.embeddings, spec.vocab_size, Store(cache))
    names, vectors = embeddings.index_to_key, space.vectors
    draft = Draft(spec.kind(), spec.parameters)
    try:
        draft.at(spec.epsilon).guarantee(space)
    except UsageError:  # measured where it is defined
        spec = replace(spec, epsilon=draft.anywhere(space)[0].epsilon)
    FlatIndex.integers = not asked.float32
    speeds, several = [], []
    with tempfile.TemporaryDirectory(prefix="dpsan-speed-") as folder:
        text = Path(folder) / "text"
        words = asked.words or words_in_time(spec, cache, text, names)
        zipf_text(text, names, words)
        for _ in range(asked.runs):
            each = run(spec, cache, text), run(spec, cache, text, audit=True)
            speeds.append((*each, bare_search(vectors, words)))
            if asked.jobs > 1:
                several.append(run(spec, cache, text, jobs=asked.jobs))
    plain, audited, bare = np.array(speeds).T
    figures = {
        "words/s": plain,
        "ratio": plain / bare,
        "with audit": audited,
        "audit ratio": audited / bare,
        "bare faiss": bare,
        **({"jobs": several, "jobs ratio": several / bare} if several else {}),
        **starts(spec, cache, names[0]),
    }
    return {
        "mechanism": spec.mechanism,
        "epsilon": spec.epsilon,
        "n": len(vectors),
        "d": vectors.shape[1],
        "words": words,
        "search": "int8" if FlatIndex.by_integers else "float32",
        **{name: float(np.median(values)) for name, values in figures.items()},
    }


def words_in_time(spec, cache, text, names):
    """Return how many words take about three seconds, by short runs."""
    words, speed = 500, 1e9
    while words < speed * SECONDS / 4 and words < 1 << 22:
        words *= 4
        zipf_text(text, names, words)
        speed = run(spec, cache, text)
    return int(speed * SECONDS)


def run(spec, cache, text, *, audit=False, jobs=1):
    """Return words per second from file to file; the sampler and the workers are ready."""
    sanitizer = Sanitizer.from_spec(spec, Store(cache))
    sanitizer.warm_up()
    log, out = text.with_name("audit"), text.with_name("out")
    log.unlink(missing_ok=True)
    with ExitStack() as stack:
        workers = None
        if jobs > 1:
            workers = stack.enter_context(Pool(spec, cache, jobs, sanitizer.embeddings.digest))
            for each in [workers.submit(Texts([""], KEY, [0])) for _ in range(jobs)]:
                each.result()
        started = time.perf_counter()
        with AuditWriter(log, sanitizer) if audit else nullcontext() as writer:
            more = {"workers": workers, "audit": writer, "inputs": [text], "output": out}
            result = Run(sanitizer, Plan(format="text", force=True), KEY, **more).execute()
        seconds = time.perf_counter() - started
    if result.failed:
        raise DpsanError(result.failed[0])
    return result.totals.words / seconds


def bare_search(vectors, count):
    """Return points per second of a FAISS Flat index as FAISS makes it, in one batch."""
    d = vectors.shape[1]
    index = faiss.IndexFlatL2(d)
    index.add(vectors)
    faiss.cvar.distance_compute_blas_threshold = 20  # FAISS's own; a run may have changed it
    length = np.sqrt(np.mean(np.square(vectors[: 1 << 14], dtype=np.float64)))

    def speed(size):
        points = normal("dpsan bench points", size, d) * np.float32(length)
        started = time.perf_counter()
        index.search(points, 1)
        return size / (time.perf_counter() - started)

    affordable = min(count, (64 << 20) // (4 * d), int(speed(FEWEST) * SECONDS))
    return speed(max(1, affordable))


def starts(spec, cache, word):
    """Return seconds of `dpsan rewrite` without input, to its first line, and of imports alone."""
    command = [sys.executable, "-m", "dpsan", "rewrite", "-q", "-m", spec.mechanism]
    command += ["-e", repr(spec.epsilon), "--allow-unproved"]
    for name, value in spec.parameters.items():
        command += ["-p", f"{name}={value}"]
    hashing = "[hashlib.sha256(open(path, 'rb').read()) for path in sys.argv[1:]]"
    least = [sys.executable, "-c", f"import faiss, hashlib, sys; {hashing}"]
    if spec.vocab_size:
        command += ["--vocab-size", str(spec.vocab_size)]
    if spec.embeddings:
        command += ["-E", str(spec.embeddings)]
        least += [str(spec.embeddings)]

    def seconds(command, line):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        environment, started = {**os.environ, "DPSAN_CACHE_DIR": str(cache)}, time.perf_counter()
        with subprocess.Popen(command, **pipes, env=environment) as process:
            if line:
                process.stdin.write(line)
                process.stdin.flush()
                process.stdout.readline()
            else:
                process.communicate()
            return time.perf_counter() - started

    runs = (command, b""), (command, f"{word}\n".encode()), (least, b"")
    rounds = [[seconds(*each) for each in runs] for _ in range(STARTS)]
    return dict(zip(("start s", "first line s", "least start s"), zip(*rounds)))


def main(given=None):
    """Measure what the command line asks for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("-m", "--mechanism", action="append", help="repeatable; default: every proved one")
    add("-e", "--epsilon", type=float, default=8.0, help="default 8; else where it is defined")
    add("-p", "--param", action="append", metavar="NAME=VALUE")
    add("-E", "--embeddings", type=Path, help="default: the bundled vocabulary")
    add("--vocab-size", type=int, help="only the first so many words")
    add("--synthetic", metavar="N,D", help="random vectors: N words in D dimensions")
    add("--words", type=int, help="of one run; default: as many as take three seconds")
    add("--runs", type=int, default=3, help="of which the median is shown; default 3")
    add("-j", "--jobs", type=int, default=1, help="measure so many processes, too")
    add("--float32", action="store_true", help="search without dpsan[fast]")
    add("--json", action="store_true", help="print JSON")
    asked, rows = parser.parse_args(given), []
    proved = (kind.name for kind in MECHANISMS.values() if kind.status is Status.PROVED)
    with tempfile.TemporaryDirectory(prefix="dpsan-speed-") as folder:
        source, cache = asked.embeddings, Store().root
        if asked.synthetic:
            source, cache = synthetic_file(Path(folder), asked.synthetic), Path(folder) / "cache"
        common = {"embeddings": source, "vocab_size": asked.vocab_size, "allow_unproved": True}
        for name in asked.mechanism or proved:
            check_name("mechanism", name, MECHANISMS)
            about = MECHANISMS[name].parameters()
            values = {key: each.example for key, each in about.items() if each.required}
            values |= parameters(asked.param)
            spec = Settings(asked.epsilon, mechanism=name, parameters=values, **common)
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                rows.append(pool.submit(measure, spec, cache, asked).result())
    versions = {"dpsan": __version__, "faiss": faiss.__version__, "numpy": np.__version__}
    if asked.json:
        print(json.dumps({"versions": versions, "mechanisms": rows}, indent=2))
    for line in () if asked.json else (rows[0], *map(dict.values, rows)):
        print(*(f"{each:.4g}" if isinstance(each, float) else each for each in line), sep="\t")


if __name__ == "__main__":
    try:
        main()
    except DpsanError as error:
        sys.exit(f"speed.py: {error.on_command_line()}")
