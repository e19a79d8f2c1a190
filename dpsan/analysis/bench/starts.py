"""How long ``dpsan rewrite`` takes to start, beside the least that a start could take.

Knows processes and clocks.  Must not know mechanisms.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from dpsan.sanitize.request import RunSpec

_STARTS: Final = 5
"""Runs of which the median is taken."""
_BARE: Final = """
import hashlib, sys
import faiss, numpy
digest = hashlib.sha256()
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
"""


@dataclass(frozen=True)
class Starts:
    """Seconds, medians of runs that take turns."""

    bare: float
    """Python imports numpy and faiss, and reads and hashes the embedding file if there is one."""
    empty: float
    """All of ``dpsan rewrite`` without input."""
    line: float
    """From the start of ``dpsan rewrite``, to which a line is waiting, to the line's output."""


def starts(spec: RunSpec, cache: Path, word: str) -> Starts:
    """Start ``dpsan rewrite`` a few times with a warm cache.

    Args:
        spec: what is run.
        cache: the cache directory.
        word: a line of input.
    """
    command = rewrite_command(spec)
    bare = [sys.executable, "-c", _BARE]
    if spec.embeddings is not None:
        bare.append(str(spec.embeddings))
    environment = {**os.environ, "DPSAN_CACHE_DIR": str(cache)}
    line = f"{word}\n".encode()
    rounds = [
        (
            _until_the_end(bare, environment),
            _until_the_end(command, environment),
            _until_a_line(command, environment, line),
        )
        for _ in range(_STARTS)
    ]
    return Starts(*map(median, zip(*rounds, strict=True)))


def rewrite_command(spec: RunSpec) -> list[str]:
    """``dpsan rewrite`` of a request, without inputs and outputs."""
    command = [sys.executable, "-m", "dpsan", "rewrite", "-q", "-m", spec.mechanism]
    command += ["-e", repr(spec.epsilon), "--allow-unproved", "--unknown", str(spec.unknown)]
    for name, value in spec.parameters.items():
        command += ["-p", f"{name}={value}"]
    if spec.vocab_size is not None:
        command += ["--vocab-size", str(spec.vocab_size)]
    if spec.embeddings is not None:
        command += ["-E", str(spec.embeddings)]
    return command


def _until_the_end(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return time.perf_counter() - started


def _until_a_line(command: list[str], environment: dict[str, str], line: bytes) -> float:
    started = time.perf_counter()
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None  # noqa: S101 - for the type checker
        assert process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):  # it ended early
            process.stdin.write(line)
            process.stdin.flush()
        process.stdout.readline()
        return time.perf_counter() - started
