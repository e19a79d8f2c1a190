"""Which words make a vocabulary: those of wide use.

Knows counts and how words are written.  Must not know vectors, nor any test set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import regex

from dpsan.embeddings.training.compounds import in_pieces
from dpsan.text.tokens import subwords

_WORD: Final = regex.compile(r"\p{L}[\p{L}\p{M}]{0,29}(?:['·-][\p{L}\p{M}]{1,20}){0,3}")
_NUMBER: Final = regex.compile(r"\d{1,4}|\d{1,2}[.,]\d|\d{1,3}[.,]000")


def admissible(word: str) -> bool:
    """Whether a token of any language can be a word: no address, no long number, no possessive."""
    if _NUMBER.fullmatch(word):
        return True
    pieces = subwords(word) if _WORD.fullmatch(word) else []
    # A possessive ending is grammar: the tool looks up the noun.
    return pieces is None or (len(pieces) > 0 and not pieces[-1])


def handicap(word: str) -> float:
    """By how much a word must be more used than a plain word to be preferred to it.

    A compound that is left out is still read by its parts; 317 says little that 300 does not.
    """
    if word.isdigit():
        plain = len(word) < 3 or word.endswith("00") or 1700 <= int(word) <= 2030
        return 1.0 if plain else 2.0
    return 2.0 if "-" in word else 1.0


def most_used(
    width: dict[str, float],
    total: Counter[str],
    size: int,
    least: int,
    *,
    rules: tuple[Callable[[str], bool], Callable[[str], float]] = (admissible, handicap),
    wanted: Iterable[str] = (),
    least_wanted: int = 1,
) -> frozenset[str]:
    """The ``size`` most widely used admissible words with ``least`` occurrences.

    Whether a compound is a word of its own, and how often its parts occur, depend on each other;
    one round settles it: a compound counts whole if it is used more than the last simple word,
    otherwise its pieces get its usage (documents that have both are then counted twice, which
    only favours the pieces).

    Args:
        width: how widely each token is used; what its compounds add to a word is added.
        least: occurrences of a word.
        rules: which tokens can be words, and by how much one must be more used than another.
        wanted: words that belong in whatever their use,
        least_wanted: if they occur so often.
    """
    fits, weighs = rules
    frequent = {w: u / weighs(w) for w, u in width.items() if total[w] >= least and fits(w)}
    if not frequent:
        return frozenset()
    bar = sorted(frequent.values(), reverse=True)[: size + 1][-1]
    whole = frozenset(w for w, u in frequent.items() if u >= bar)
    for token, used in list(width.items()):
        words = in_pieces(token, whole)
        if words != [token]:
            for word in words:
                width[word] = width.get(word, 0.0) + used
                total[word] += total[token]
    must = {w for w in wanted if total[w] >= least_wanted}
    ranked = sorted(
        (w for w in width if total[w] >= least and w not in must and fits(w)),
        key=lambda w: (-width[w] / weighs(w), w),
    )
    return frozenset(must.union(ranked[: size - len(must)]))
