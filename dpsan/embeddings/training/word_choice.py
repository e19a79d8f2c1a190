"""Which words make a vocabulary: those of wide use.

Knows counts and how words are written.  Must not know vectors, nor any test set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import regex

from dpsan.text.tokens import is_token

_WORD: Final = regex.compile(r"\p{L}[\p{L}\p{M}]{0,29}(?:['·-][\p{L}\p{M}]{1,20}){0,3}")
_NUMBER: Final = regex.compile(r"\d{1,4}|\d{1,2}[.,]\d|\d{1,3}[.,]000")


def admissible(word: str) -> bool:
    """Return whether a string can be a word of any language: no address, no long number."""
    return bool(_NUMBER.fullmatch(word) or _WORD.fullmatch(word)) and is_token(word, "unicode")


def handicap(word: str) -> float:
    """Return by how much a word must be more used than a plain word to be preferred to it.

    317 says little that 300 does not.
    """
    plain = len(word) < 3 or word.endswith("00") or not word.isdigit()
    return 1.0 if plain or 1700 <= int(word) <= 2030 else 2.0


def most_used(
    width: Mapping[str, float],
    total: Counter[str],
    size: int,
    least: int,
    *,
    rules: tuple[Callable[[str], bool], Callable[[str], float]] = (admissible, handicap),
    wanted: Iterable[str] = (),
    least_wanted: int = 1,
) -> frozenset[str]:
    """The ``size`` most widely used admissible words with ``least`` occurrences.

    Args:
        width: how widely each token is used.
        least: occurrences of a word.
        rules: which tokens can be words, and by how much one must be more used than another.
        wanted: words that belong in whatever their use,
        least_wanted: if they occur so often.
    """
    fits, weighs = rules
    must = {w for w in wanted if total[w] >= least_wanted}
    ranked = sorted(
        (w for w in width if total[w] >= least and w not in must and fits(w)),
        key=lambda w: (-width[w] / weighs(w), w),
    )
    return frozenset(must.union(ranked[: size - len(must)]))
