"""What every row of the scoreboard needs."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM_VARIABLE = "RELIABILITY_PROGRAM"
PROGRAM = Path(os.environ.get(PROGRAM_VARIABLE, ROOT))
"""The folder that holds the ``dpsan`` package under test: a copy with a mutant, or our own."""

DPSAN = [sys.executable, "-m", "dpsan"]
TWO = "here 0 9\nthere 9 0\n"

_T = TypeVar("_T")


class Size(Enum):
    """How much a row does: enough to tell each of its mutants, for CI, or for the figures."""

    MUTANT = 0
    QUICK = 1
    FULL = 2

    def of(self, mutant: _T, quick: _T, full: _T) -> _T:
        """The value of this size."""
        return (mutant, quick, full)[self.value]


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
    def red(self) -> list[str]:
        """The kinds of bad outcomes that happened; ``%`` begins a measure that is none."""
        return [kind for kind, value in self.bad.items() if value > 0 and not kind.startswith("%")]


ROWS: dict[str, Callable[[Size, Path], Row]] = {}
_Measure = Callable[[Row, Size, Path], None]


def row(name: str, figure: str, target: str) -> Callable[[_Measure], _Measure]:
    """Enter a function that fills a row into ``ROWS``."""

    def enter(measure: _Measure) -> _Measure:
        def made(size: Size, folder: Path) -> Row:
            found = Row(figure, target)
            measure(found, size, folder)
            return found

        ROWS[name] = made
        return measure

    return enter


def environment(folder: Path) -> dict[str, str]:
    """The caller's, without its dpsan settings; everything written goes below the folder."""
    out = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
    for variable, name in (("DPSAN_CACHE_DIR", "cache"), ("TMPDIR", "tmp"), ("HOME", "home")):
        (folder / name).mkdir(exist_ok=True, parents=True)
        out[variable] = str(folder / name)
    out |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**out, "PYTHONPATH": str(PROGRAM)}


def tree(folder: Path) -> dict[str, bytes]:
    """The content of every regular file below a folder."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def dpsan(command, folder, env=None, **more):
    """What ``subprocess.run`` returns for a command."""
    words = command.split() if isinstance(command, str) else command
    env = env or environment(folder)
    return subprocess.run([*DPSAN, *words], cwd=folder, env=env, capture_output=True, **more)


def start(command: str, folder: Path, env: dict[str, str], **more: Any) -> Any:
    """A command that runs, with pipes."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | more
    return subprocess.Popen([*DPSAN, *command.split()], cwd=folder, env=env, **pipes)


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    with contextlib.suppress(OSError):
        listed = Path(f"/proc/{process}/task/{process}/children").read_text()
        return [int(each) for each in listed.split()]
    return []


def embedding_file(path: Path, words: int = 20_000, dimensions: int = 20) -> Path:
    """Words w0, w1 ... with Gaussian vectors."""
    rows = np.random.default_rng(1).normal(size=(words, dimensions)).round(4).tolist()
    path.write_text("".join(f"w{at} {' '.join(map(str, row))}\n" for at, row in enumerate(rows)))
    return path
