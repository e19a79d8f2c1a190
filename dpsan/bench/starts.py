"""How long ``dpsan rewrite`` takes to start, beside the least that a start could take.

Knows processes and clocks.  Must not know mechanisms.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dpsan.runspec import RunSpec

__all__ = ["bare_start", "starts"]

_STARTS: Final = 3
"""Runs of which the median is told."""
_BARE: Final = """
import hashlib, sys
import faiss, numpy
digest = hashlib.sha256()
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
"""


def bare_start(embeddings: Path | None) -> float:
    """Seconds in which Python imports numpy and faiss, and reads and hashes a file; median.

    Args:
        embeddings: the file; None: there is none to be read.
    """
    files = [] if embeddings is None else [str(embeddings)]
    return _median(lambda: _until_the_end([sys.executable, "-c", _BARE, *files], dict(os.environ)))


def starts(spec: RunSpec, cache: Path, word: str) -> tuple[float, float]:
    """Seconds of ``dpsan rewrite`` with a warm cache, medians.

    Args:
        spec: what is run.
        cache: the cache directory.
        word: a line of input.

    Returns:
        The whole process where the input is empty; from its start to the first line of output
        where a line is waiting.
    """
    command = [sys.executable, "-m", "dpsan", "rewrite", "-q", "-m", spec.mechanism]
    command += ["-e", repr(spec.epsilon), "--allow-unproved", "--unknown", str(spec.unknown)]
    for name, value in spec.parameters.items():
        command += ["-p", f"{name}={value}"]
    if spec.embeddings is not None:
        command += ["-E", str(spec.embeddings)]
    if spec.vocab_size is not None:
        command += ["--vocab-size", str(spec.vocab_size)]
    environment = {**os.environ, "DPSAN_CACHE_DIR": str(cache)}
    line = f"{word}\n".encode()
    return (
        _median(lambda: _until_the_end(command, environment)),
        _median(lambda: _until_a_line(command, environment, line)),
    )


def _median(measured: Callable[[], float]) -> float:
    return sorted(measured() for _ in range(_STARTS))[_STARTS // 2]


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
        assert process.stdin is not None  # noqa: S101 - told to the type checker
        assert process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError):  # it ended early
            process.stdin.write(line)
            process.stdin.flush()
        process.stdout.readline()
        return time.perf_counter() - started
