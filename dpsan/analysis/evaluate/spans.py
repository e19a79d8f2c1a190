"""Spans of personal data: how much of each can be read back."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.formats.span_file import SpanFile
from dpsan.outcomes.intervals import Share
from dpsan.space.arrays import Ids

Recovery = dict[str, Share]
"""Shares of spans that one way of reading read back ``fully``, ``partly``, and not (``none``)."""


@dataclass
class SpanTable:
    """The words of each span that could be judged."""

    kinds: list[str]
    """Type of each span; empty for a span without a type."""
    first: Ids = field(repr=False)
    """First word of each span."""
    after: Ids = field(repr=False)
    """The word after its last one."""
    left_out: int
    """Spans in lines that could not be aligned, and spans without words."""


def locate(path: Path, pairs: Pairs, *, whole: bool = True) -> SpanTable:
    """Find the words that each span of a file covers: those that overlap it.

    Args:
        path: see :mod:`dpsan.formats.span_file`.
        pairs: the records.
        whole: whether they are all records of the input, so that the file has no spans of others.

    Raises:
        InputError: it cannot be read, or its spans are not those of these records.
    """
    bounds = np.searchsorted(pairs.text, np.arange(len(pairs.original) + 1))
    kinds: list[str] = []
    first, after = [], []
    left_out = 0
    with closing(SpanFile(path)) as file:
        for number, (line, text) in enumerate(zip(pairs.lines, pairs.original, strict=True)):
            a, b = int(bounds[number]), int(bounds[number + 1])
            starts, ends = pairs.spans[a:b, 0], pairs.spans[a:b, 1]
            for span in file.of(line, text):
                low = int(np.searchsorted(ends, span.start, side="right"))
                high = int(np.searchsorted(starts, span.end, side="left"))
                left_out += low >= high
                if low < high:
                    kinds.append(span.kind)
                    first.append(a + low)
                    after.append(a + high)
        if whole:
            file.end()
    return SpanTable(kinds, np.array(first, np.int64), np.array(after, np.int64), left_out)


def recovered(table: SpanTable, right: NDArray[np.bool_]) -> dict[str, Recovery]:
    """Spans read back fully (every word right), partly or not, by type; ``all`` comes first.

    Args:
        right: whether each word was read right, (m,).
    """
    sums = np.concatenate([[0], np.cumsum(right)])
    hits = sums[table.after] - sums[table.first]
    full = hits == table.after - table.first
    some = (hits > 0) & ~full
    kinds = np.array(table.kinds, dtype=object)
    out = {"all": _recovery(full, some)}
    for kind in sorted(set(table.kinds) - {""}):
        of = kinds == kind
        out[kind] = _recovery(full[of], some[of])
    return out


def _recovery(full: NDArray[np.bool_], some: NDArray[np.bool_]) -> Recovery:
    hits = {"fully": full, "partly": some, "none": ~(full | some)}
    return {part: Share(int(each.sum()), len(full)) for part, each in hits.items()}
