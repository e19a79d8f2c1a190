"""Texts whose words are drawn, and not yet written.

Knows pieces of text and row numbers.  Must not know mechanisms, letter case or files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsan.text.batch import Batch, Ids


@dataclass(frozen=True, slots=True)
class DrawnTexts:
    """Texts whose words are drawn, and not yet written into their places."""

    batch: Batch
    rows: Ids
    """The row number of each output, negative where nothing was drawn."""
    outputs: list[str]
    drawn: list[int]
    first: NDArray[np.bool_] | None
    """Where equal words have the same draw: whether the word is the first of its kind."""
    marks: NDArray[np.uint64] | None
    public: int
    public_marks: NDArray[np.uint64] | None
    """These three: see :class:`dpsan.sanitize.result.Sanitized`."""


def sums_of_runs(values: NDArray[Any], sizes: Ids) -> Ids:
    """Sums of consecutive runs of values, of these sizes."""
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    ends = np.cumsum(sizes)
    return np.asarray(total[ends] - total[ends - sizes], dtype=np.int64)
