"""A public language model of words, and what a reader of outputs concludes with it.

A model is a function of public text and a vocabulary.  Nothing here sees an input of a mechanism.

Symbols of a language model: the words of a vocabulary, ⊥ and four kinds of gaps.

A text is ``LINE word [gap] word ... LINE``.  A gap of spaces alone is no symbol.  After LINE and
END a model forgets what was before, so the words between two of them are a *unit*: it is read
without its neighbours.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Ids
from dpsan.text.batch import BoundedCache, Layout


class Gap(IntEnum):
    """Kind of the characters between two words; its symbol is n + kind."""

    SPACE = 0
    """White space within a line: no symbol."""
    LINE = 1
    """A line break, or where a text begins or ends."""
    END = 2
    """With a full stop or another mark that ends a sentence."""
    CLAUSE = 3
    """With a comma, colon or semicolon."""
    OTHER = 4
    """Brackets, quotes, hyphens, a possessive ending, or nothing."""


KINDS: Final = len(Gap)
DECODER: Final = 3
"""Version of these kinds and of the decoder: outputs that a memo holds depend on them."""
_MANY: Final = 50_000
_ENDS: Final = frozenset(".!?…")
_CLAUSES: Final = frozenset(",;:")
_BREAKS: Final = frozenset("\n\v\f\r\x85\u2028\u2029")


def gap_kind(gap: str) -> Gap:
    """Return the kind of the characters between two words."""
    for kind, marks in ((Gap.LINE, _BREAKS), (Gap.END, _ENDS), (Gap.CLAUSE, _CLAUSES)):
        if not marks.isdisjoint(gap):
            return kind
    return Gap.SPACE if gap.isspace() else Gap.OTHER


_kinds = BoundedCache(gap_kind, _MANY)


def gap_kinds(layout: Layout) -> NDArray[np.int64]:
    """Return the kinds of the gaps of some texts, shape (words + 1,); LINE between two texts."""
    out = np.zeros(len(layout.gaps), dtype=np.int64)
    gaps, seam = layout.gaps, layout.seam
    for at in layout.odd.tolist():
        gap = gaps[at]
        out[at] = Gap.LINE if seam in gap else _kinds[gap]
    out[[0, -1]] = Gap.LINE
    return out


def symbols_of(codes: Ids, kinds: NDArray[np.int64], n: int) -> Ids:
    """Return the symbols of texts, shape (s,), from codes (words,) and kinds of gaps (words + 1,).

    Args:
        codes: rows of the vocabulary, n for every other word.
    """
    out = np.full(2 * len(codes) + 1, -1, dtype=np.int64)
    out[1::2] = codes
    out[::2] = np.where(kinds > 0, n + kinds, -1)
    return out[out >= 0]
