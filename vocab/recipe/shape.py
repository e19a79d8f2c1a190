"""Shaping trained vectors so that near words can stand for each other: what is English in it.

Knows which lists of pairs and kinds there are.  Beside the synonyms and antonyms of counter-fitting
(``counter_fitting``) there are kin here: words of one kind (cities, first names, jobs)
that must not be far apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.training import centred as without_mean
from dpsan.embeddings.training import unit
from recipe import counter_fitting
from recipe.counter_fitting import (
    Pairs,
    Vectors,
    constraints_of,
    pair_array,
    read_pairs,
    word_pairs,
)

__all__ = ["Constraints", "Shaping", "centred", "counter_fit", "read_constraints", "shape_vectors"]

# PPDB has france-germany and friday-saturday for antonyms: they exclude each other, but they are
# what should stand for each other.  (Surnames are not here: black and white are also adjectives.)
_PROPER_KINDS: Final = frozenset(["cities", "countries", "months", "weekdays"])


@dataclass(frozen=True, slots=True)
class Constraints(counter_fitting.Constraints):
    """Pairs of words to pull together and to push apart, and rows of words of one kind."""

    kinds: tuple[NDArray[np.int64], ...] = ()


@dataclass(frozen=True, slots=True)
class Shaping(counter_fitting.Shaping):
    """Settings: those of counter-fitting, and these."""

    remove_mean: bool = True
    components: int = 0
    """Leading principal components removed with the mean."""
    kin: int = 6
    """Members of its kind that a word is tied to; 0 leaves kinds out."""
    kin_cosine: float = 0.4
    """Cosine that a word should have at least with those."""
    kin_share: float = 0.2
    """Share of a word's 20 nearest that must be of its kind first: *nice* is hardly a city."""
    polarity: float = 0.8
    """Length along the coordinate of good and bad, to 1 across it; of listed words."""
    seed: int = 20261121


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
    pairs = constraints_of(synonyms, antonyms)
    rows = tuple(np.array(sorted(members), np.int64) for members in lists.values())
    return Constraints(pairs.synonyms, pairs.antonyms, rows)


def centred(vectors: Vectors, components: int = 0) -> Vectors:
    """Rows minus their mean (and leading principal components), at unit length."""
    if not components:
        return without_mean(vectors)
    out = unit(vectors)
    out -= out.mean(axis=0)
    _, axes = np.linalg.eigh(out.T @ out)
    leading = axes[:, -components:]
    return unit(out - (out @ leading) @ leading.T)


def _kin_pairs(vectors: Vectors, constraints: Constraints, shaping: Shaping) -> Pairs:
    """Each word of a kind with random other words of it, if its neighbours are of that kind."""
    rng = np.random.default_rng(shaping.seed)
    pairs: set[tuple[int, int]] = set()
    for rows in constraints.kinds if shaping.kin else ():
        cosines = vectors[rows] @ vectors.T
        cosines[np.arange(len(rows)), rows] = -np.inf
        nearest = np.argpartition(-cosines, 20, axis=1)[:, :20]
        # A kind of seven words cannot fill twenty places.
        enough = shaping.kin_share * min(20, len(rows) - 1)
        kin = rows[np.isin(nearest, rows).sum(axis=1) >= enough]
        others = rng.integers(len(kin), size=(len(kin), shaping.kin)) if len(kin) else kin
        for word, chosen in zip(kin.tolist(), kin[others].tolist(), strict=True):
            pairs.update((min(word, at), max(word, at)) for at in chosen if at != word)
    return pair_array(pairs)


def counter_fit(
    vectors: Vectors,
    constraints: Constraints,
    shaping: Shaping,
    free: NDArray[np.bool_] | None = None,
) -> Vectors:
    """Counter-fitting with kin; only free words (default: all) move."""
    kin = _kin_pairs(vectors, constraints, shaping), shaping.kin_cosine
    return counter_fitting.counter_fit(vectors, constraints, shaping, kin=kin, free=free)


def shape_vectors(vectors: Vectors, constraints: Constraints, shaping: Shaping) -> Vectors:
    """Trained vectors -> unit vectors to ship."""
    out = centred(vectors, shaping.components) if shaping.remove_mean else unit(vectors)
    if shaping.rounds:
        out = counter_fit(out, constraints, shaping)
        if shaping.remove_mean:
            out = centred(out)
    return out
