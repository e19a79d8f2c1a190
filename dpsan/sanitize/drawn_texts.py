"""Texts whose words are drawn, between the draw and the writing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsan.sanitize.request import RunSpec
from dpsan.sanitize.result import Forms
from dpsan.text.batch import Batch, Ids, Mask, Words
from dpsan.text.letter_case import ARTICLES, LetterCase, agree_before
from dpsan.text.lookup import ARTICLE, MASKED, OUTSIDE
from dpsan.text.out_of_vocabulary import MASK


@dataclass(frozen=True, slots=True)
class DrawnTexts:
    """Texts whose words are drawn, and not yet written into their positions."""

    batch: Batch
    rows: Ids
    """The row number of each drawn word, negative where nothing was drawn."""
    outputs: list[str]
    """The string that is written for each word."""
    drawn: list[int]
    charged: list[int]
    by_kind: Counter[int]
    forms: Forms
    """``drawn``, ``charged`` and these: see :class:`dpsan.sanitize.result.Sanitized`."""
    first: NDArray[np.bool_] | None
    """True for the first of equal words, where equal words share a draw."""
    marks: NDArray[np.uint64] | None
    public: int
    public_marks: NDArray[np.uint64] | None
    """``marks``, ``public`` and this: see :class:`dpsan.sanitize.result.Sanitized`."""
    decoded: Ids | None = None
    """The row number of each output where the drawn words were decoded, negative as ``rows``."""
    several: Ids | None = None
    """Indices of decoded outputs that are several words."""
    within: Mask | None = None
    """True for words that are written in a string before them, see :class:`Runs`."""


def in_runs(words: Words, codes: Ids, drawn: NDArray[np.object_]) -> tuple[list[str], Mask]:
    """Return the output of each word, passing words in a row as one, and which follow in these.

    Args:
        codes: of the words, (words,).
        drawn: the outputs of those that are drawn.
    """
    masked = codes == MASKED
    runs = words.runs((codes < 0) & ~masked, codes == ARTICLE)
    runs.strings[codes >= 0] = drawn
    runs.strings[masked] = MASK
    return runs.strings.tolist(), runs.within


def articles_pass(spec: RunSpec, *, english: bool) -> bool:
    """Return whether *a* and *an* pass, and are written as a drawn word after them asks for."""
    return (
        english
        and bool(spec.only)
        and spec.case == LetterCase.NATURAL
        and ARTICLES.isdisjoint(map(str.lower, spec.keep))
    )


def agree_across(one: DrawnTexts, other: DrawnTexts) -> None:
    """Let the last word of a segment agree with the first one of the next."""
    if one.outputs and other.outputs:
        both = [one.outputs[-1], other.outputs[0]]
        codes = np.array([one.batch.codes[-1], other.batch.codes[0]])
        agree(both, [one.batch.gaps[-2], other.batch.gaps[0], ""], codes)
        one.outputs[-1] = both[0]


def agree(outputs: list[str], gaps: Sequence[str], codes: Ids) -> None:
    """Let articles that pass agree with the drawn words after them, in place."""
    passing = (codes[:-1] == ARTICLE) | (codes[:-1] == OUTSIDE)
    agree_before(outputs, gaps, np.flatnonzero(passing & (codes[1:] >= 0)).tolist())


def sums_of_runs(values: NDArray[Any], sizes: Ids) -> Ids:
    """Sums of consecutive runs of values, of these sizes."""
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    ends = np.cumsum(sizes)
    return np.asarray(total[ends] - total[ends - sizes], dtype=np.int64)
