"""Which two of many equal lines agree most in what was drawn for them, and how unlikely that is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpsan.outcomes.intervals import log_tail_of_share


@dataclass
class Rows:
    """Lines of equal input: their outputs as numbers, and where each was written."""

    outputs: list[list[int]] = field(default_factory=list)
    places: list[tuple[int, ...]] = field(default_factory=list)
    """Run, file, copy, line or the number of a block."""
    names: tuple[str, ...] = ("runs", "files", "copies of a line", "lines of a file")

    def add(self, outputs: list[int], *place: int) -> None:
        """Another line, and where it was written."""
        self.outputs.append(outputs)
        self.places.append(place)


@dataclass(frozen=True)
class Found:
    """The two that agree most."""

    log_tail: float
    """Bound on ln P, of all pairs together."""
    agree: int
    of: int
    pairs: int
    what: str
    q: float
    """Probability that two draws agree by chance, at most."""


def closest(rows: Rows, q: float) -> Found:
    """The two rows that agree most, and a bound on the probability that any two agree so much."""
    outputs = np.array(rows.outputs)
    many, width = outputs.shape
    agree = np.array([(outputs == row).sum(axis=1) for row in outputs])
    agree[np.tril_indices(many)] = -1
    x, y = np.unravel_index(int(np.argmax(agree)), agree.shape)
    most, pairs = int(agree[x, y]), many * (many - 1) // 2
    one = float(log_tail_of_share(np.array([most]), width, np.array([q]))[0])
    log = one + math.log(pairs) if most > q * width else 0.0
    first, second = rows.places[x], rows.places[y]
    differ = next(at for at, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
    workers = differ == 3 and first[0] == -1
    what = "lines of worker processes" if workers else rows.names[differ]
    return Found(log, most, width, pairs, what, q)
