"""Shaping trained vectors so that near words can stand for each other: what is English in it.

Knows which lists of pairs and kinds there are.  The shaping itself is dpsan's own
(:mod:`dpsan.embeddings.training.shaping`): ``dpsan train`` does it too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dpsan.embeddings.training.shaping import (
    Constraints,
    Shaping,
    centred,
    constraints_of,
    counter_fit,
    read_pairs,
    shape_vectors,
    word_pairs,
)

__all__ = ["Constraints", "Shaping", "centred", "counter_fit", "read_constraints", "shape_vectors"]

# PPDB has france-germany and friday-saturday for antonyms: they exclude each other, but they are
# what should stand for each other.  (Surnames are not here: black and white are also adjectives.)
_PROPER_KINDS: Final = frozenset(["cities", "countries", "months", "weekdays"])


def read_constraints(folder: Path, words: list[str], kinds: Path | None = None) -> Constraints:
    """The pairs of a folder whose words are known, and the lists of another.

    Pairs come from *antonyms*.txt and *synonyms*.txt, kinds from each *.txt file.
    """
    ids = {word: row for row, word in enumerate(words)}
    synonyms, antonyms = (
        word_pairs(read_pairs(sorted(folder.glob(f"*{kind}*.txt"))), words)
        for kind in ("synonyms", "antonyms")
    )
    lists = {
        path.stem: {ids[word] for word in path.read_text("utf-8").split() if word in ids}
        for path in (sorted(kinds.glob("*.txt")) if kinds else [])
    }
    for name in _PROPER_KINDS & lists.keys():
        members = lists[name]
        antonyms = {pair for pair in antonyms if not members.issuperset(pair)}
    return constraints_of(synonyms, antonyms, lists.values())
