"""Texts whose words are drawn, and not yet written.

Knows pieces of text and row numbers.  Must not know mechanisms, letter case or files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DrawnTexts:
    """Texts whose words are drawn, and not yet written into their places."""

    split: list[list[str]]
    """The pieces of each text, with the gaps that will be written."""
    gaps: list[str]
    """The gaps of each text as one string."""
    sizes: Ids
    words: list[str]
    codes: Ids
    rows: Ids
    """The row number of each output, negative where nothing was drawn."""
    outputs: list[str]
    drawn: list[int]
    invisible: int
    gap_lengths: list[int]
    """For an audit, of each gap that will be written."""
    read: dict[int, list[str]] | None
    """For an audit the gaps of the input, by the number of the text, where they are not those of
    the output."""
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
