"""What every row of the scoreboard needs."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent

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


def embedding_file(path: Path, words: int = 20_000, dimensions: int = 20) -> Path:
    generator = np.random.default_rng(1)
    with path.open("w") as out:
        for number in range(words):
            values = " ".join(f"{each:.4f}" for each in generator.normal(size=dimensions))
            out.write(f"w{number} {values}\n")
    return path
