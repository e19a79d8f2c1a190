"""The view of a block of texts: all that rules may read of each token.

It holds no text.  Of a word that a rule could draw it has the label, the pattern of capitals, the
possessive, the gap before it and which tokens are equal; identity (``trigger``) only of closed
words that no rule draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ids = NDArray[np.int64]
Indices = NDArray[np.intp]
Ints = NDArray[np.int32]
Points = NDArray[np.uint32]
"""Code points."""
Shorts = NDArray[np.int16]
Whole = NDArray[np.integer]
Codes = NDArray[np.uint8]
Labels = NDArray[np.uint16]
"""Codes of labels: there are more than 256 with those of strings and of lists of one's own."""
Flags = NDArray[np.bool_]
Cut = tuple[str | int, ...]
"""A piece of an address as marks and words of the unit (`equal`)."""

LOWER, TITLE, UPPER, ONE, MIXED, NONE = range(6)
"""Patterns of capitals: maria, Maria, MARIA, M, McMaria, no word."""
COLUMN: Final = np.array((0, 1, 2, 1, 1, 0), np.uint8)
"""Column of a word's labels for each pattern: in small letters, with a capital, in capitals."""
GAPS: Final = (
    *("none", "space", "hyphen", "dot", "stop", "comma", "colon", "line", "slash", "amp"),
    *("dash", "at", "open", "other", "call", "under", "backslash", "bar"),
)
"""Classes of what stands between two tokens."""
NATIONS: Final = ("nat", "natlang", "natpl")
"""Labels, and groups, of words for nations and their people."""
GAP: Final = {name: code for code, name in enumerate(GAPS)}
EDGE: Final = "edge"
"""Label of the tokens around each text, and of those that a request keeps."""
KEPT: Final = "kept"
CODES: Final = 4096
"""More than there are kinds, groups or trigger words."""


def among(codes: Whole, wanted: Sequence[int]) -> Flags:
    """Return which codes are among some, as ``numpy.isin`` does in several times the time."""
    flags: Flags = _table(tuple(wanted)).take(codes)
    return flags


@lru_cache(1 << 10)
def _table(wanted: tuple[int, ...]) -> Flags:
    table = np.zeros(CODES, np.bool_)
    table[[*wanted]] = True
    return table


def ranks(groups: Whole, values: Whole) -> Ints:
    """Return of each value how many different ones of its group are smaller."""
    order = np.lexsort((values, groups))
    group, value = groups[order], values[order]
    other = changes(group)
    steps = np.cumsum(~other & changes(value))
    result = np.zeros(len(order), np.int32)
    result[order] = steps - np.maximum.accumulate(np.where(other, steps, 0))
    return result


def changes(values: Array) -> Flags:
    """Return which values are others than the one before, as the first one is."""
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def distinct(values: Array) -> tuple[Indices, Indices]:
    """Return where each distinct value stands first, by value, and of each value its index there.

    As ``numpy.unique`` does in twice the time.
    """
    order = values.argsort()
    ordered = values[order]
    new = changes(ordered)
    first = np.minimum.reduceat(order, new.nonzero()[0]) if len(order) else order
    inverse = np.empty_like(order)
    inverse[order] = new.cumsum() - 1
    return first, inverse


class Sum(NamedTuple):
    """A number that follows from others, by their tokens or rows; see :mod:`dpsan.only.sums`."""

    kind: int
    whole: int
    parts: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class View:
    """Arrays over n tokens; each text begins with an edge, and the block ends with one."""

    label: Labels
    """Code of the label: of a word, of a string, of an edge."""
    caps: Codes
    possessive: Flags
    gap: Codes
    """Class of the gap before the token."""
    form: Ints
    """Form of a string, -1 of words."""
    trigger: Shorts
    """Identity of a closed word, 0 of all others."""
    equal: Ints
    """First token of the unit with the same folded word."""
    stem: Ints
    """The same without a plural s."""
    unit: Ints
    """Index of the unit in the block."""
    text: Ints
    """Index of the text in the block."""
    order: Ints
    """Of dates and times how many of their sort in the text are earlier, 0 of other tokens."""
    code: Mapping[str, int]
    """Code of each label, ascending."""
    forms: tuple[str, ...]
    pieces: dict[int, tuple[tuple[Cut, ...], ...]]
    """By the token of an e-mail address how each piece of its local part may be read."""
    far_words: dict[int, int]
    """By an article the token it stands before, where that is not the next one."""
    near: dict[int, str]
    """By a number that may be a measured value its form with all but the last digits."""
    sums: tuple[Sum, ...]
    """Numbers that follow from others of their text, by their tokens."""
    counts: dict[int, int]
    """Value of each number below ten of a sum; it is read where it passes."""

    @cached_property
    def edge(self) -> Flags:
        """True for edges."""
        return self.labelled(EDGE)

    def labelled(self, *names: str) -> Flags:
        """Return which tokens have one of some labels."""
        codes = [self.code[name] for name in names]
        return among(self.label, codes) if codes[1:] else np.asarray(self.label == codes[0])
