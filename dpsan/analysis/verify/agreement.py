"""Find the two of many equal lines whose outputs agree most, and bound the probability of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpsan.outcomes.intervals import log_tail_of_share


@dataclass
class Rows:
    """Outputs of equal lines as numbers, and the position of each line."""

    outputs: list[list[int]] = field(default_factory=list)
    positions: list[tuple[int, ...]] = field(default_factory=list)
    """Run (-1 for workers), file, copy and line; or the number of a block."""
    names: tuple[str, ...] = ("runs", "files", "copies of a line", "lines of a file")

    def add(self, outputs: list[int], *position: int) -> None:
        """Add a line and its position."""
        self.outputs.append(outputs)
        self.positions.append(position)


@dataclass(frozen=True)
class Agreement:
    """Agreement of the two rows that agree most."""

    log_tail: float
    """Bound on ln P, over all pairs together."""
    agree: int
    of: int
    pairs: int
    what: str
    q: float
    """Upper bound of the probability that two draws agree by chance."""


def closest(rows: Rows, q: float) -> Agreement:
    """Return the two rows that agree most, with a bound on the probability of so much agreement."""
    outputs = np.array(rows.outputs)
    many, width = outputs.shape
    agree = np.array([(outputs == row).sum(axis=1) for row in outputs])
    agree[np.tril_indices(many)] = -1
    x, y = np.unravel_index(int(np.argmax(agree)), agree.shape)
    most, pairs = int(agree[x, y]), many * (many - 1) // 2
    one = float(log_tail_of_share(np.array([most]), width, np.array([q]))[0])
    log = one + math.log(pairs) if most > q * width else 0.0
    first, second = rows.positions[x], rows.positions[y]
    differ = next(at for at, (a, b) in enumerate(zip(first, second, strict=True)) if a != b)
    workers = differ == 3 and first[0] == -1
    what = "lines of worker processes" if workers else rows.names[differ]
    return Agreement(log, most, width, pairs, what, q)
