"""What a second process gains on a large file, and what many small files cost.

Knows processes, files and clocks.  Must not know mechanisms.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from dpsan.analysis.bench.starts import rewrite_command
from dpsan.errors import DpsanError
from dpsan.sanitize.request import RunSpec

_PART: Final = 8
"""The large text is so many times the small one: their difference has no start in it."""
_FILES: Final = 256
_FILE_BYTES: Final = 1 << 10


@dataclass(frozen=True)
class Scale:
    """Medians of runs that take turns."""

    mechanism: str
    megabytes: float
    """Of the large text, 10^6 bytes."""
    jobs_gain: float
    """How many times as fast as ``-j 1`` ``-j 2`` is, starts apart."""
    files: int
    """Number of small files, of one kilobyte each."""
    seconds_per_file: float
    """Of ``rewrite -O``, starts apart."""
    bare_seconds_per_file: float
    """To write, sync and rename as many bytes, one file after the other."""


def scale(spec: RunSpec, cache: Path, text: Path, size: int, runs: int) -> Scale:
    """Measure whole commands.

    Args:
        spec: what is run.
        cache: the cache directory.
        text: lines, repeated.
        size: bytes of the large text.
        runs: of which the medians are taken.

    Raises:
        DpsanError: a command failed.
    """
    environment = {**os.environ, "DPSAN_CACHE_DIR": str(cache)}
    command = rewrite_command(spec)
    with tempfile.TemporaryDirectory(prefix="dpsan-bench-") as name:
        folder = Path(name)
        large = _repeated(text, folder / "large", size)
        small = _repeated(text, folder / "small", size // _PART)
        files = _small_files(text, folder)

        def took(*more: str) -> float:
            started = time.perf_counter()
            done = subprocess.run(
                [*command, "--force", *more], env=environment, capture_output=True, check=False
            )
            if done.returncode:
                raise DpsanError("a run that was measured failed", "dpsan bench --scale 0")
            return time.perf_counter() - started

        gains, each, bare = [], [], []
        for _ in range(runs):
            seconds = [
                took("-j", jobs, str(large), "-o", str(folder / "out"))
                - took("-j", jobs, str(small), "-o", str(folder / "out"))
                for jobs in ("1", "2")
            ]
            gains.append(max(seconds[0], 1e-9) / max(seconds[1], 1e-9))
            out = ("-O", str(folder / "many"))
            start = took(str(files[0]), *out)
            each.append(max(took(*map(str, files), *out) - start, 1e-9) / (len(files) - 1))
            bare.append(_bare(files, folder / "bare") / len(files))
        megabytes = large.stat().st_size / 1e6
    return Scale(spec.mechanism, megabytes, median(gains), _FILES, median(each), median(bare))


def _repeated(text: Path, path: Path, size: int) -> Path:
    """The text again and again, at least once, until it has so many bytes; cut at a line."""
    data = text.read_bytes()
    with path.open("wb") as out:
        for _ in range(size // len(data)):
            out.write(data)
        out.write(data[: data.find(b"\n", size % len(data)) + 1])
    return path


def _small_files(text: Path, folder: Path) -> Sequence[Path]:
    """Files of whole lines, a kilobyte or a line more."""
    (folder / "files").mkdir()
    data, at = text.read_bytes(), 0
    paths = []
    for number in range(_FILES):
        end = data.find(b"\n", at + _FILE_BYTES) + 1
        paths.append(folder / "files" / f"{number:04}")
        paths[-1].write_bytes(data[at:end] if end else data[-_FILE_BYTES:])
        at = end
    return paths


def _bare(files: Sequence[Path], folder: Path) -> float:
    """Seconds to write, sync and rename copies of files."""
    folder.mkdir(exist_ok=True)
    started = time.perf_counter()
    for path in files:
        temporary = folder / f"{path.name}.new"
        with temporary.open("wb") as out:
            out.write(path.read_bytes())
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(folder / path.name)
    return time.perf_counter() - started
