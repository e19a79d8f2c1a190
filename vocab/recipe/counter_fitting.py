"""Counter-fitting: trained vectors are moved so that near words can stand for each other.

Lists of synonyms and antonyms say where to (Mrkšić, Ó Séaghdha, Thomson, Gašić,
Rojas-Barahona, Su, Vandyke, Wen, Young: Counter-fitting Word Vectors to Linguistic Constraints,
NAACL 2016).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import InputError
from dpsan.text.tokens import folded, read_utf8

_CHUNK: Final = 2_000
_LANGUAGE: Final = re.compile(r"^[a-z]{2}_")

Vectors = NDArray[np.float32]
Pairs = NDArray[np.int64]
"""Row numbers of word pairs, shape (pairs, 2), smaller first, no pair twice."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """Pairs of words to pull together and to push apart."""

    synonyms: Pairs
    antonyms: Pairs


@dataclass(frozen=True, slots=True)
class Shaping:
    """Settings; the letters are the paper's."""

    rounds: int = 20
    """Passes of gradient descent; 0 leaves counter-fitting out."""
    rate: float = 0.1
    repel: float = 1.0
    """Weight k1 of antonym repel."""
    attract: float = 1.0
    """Weight k2 of synonym attract."""
    preserve: float = 0.3
    """Weight k3 of vector space preservation."""
    apart: float = 1.0
    """Cosine distance delta that antonyms should have at least."""
    close: float = 0.0
    """Cosine distance gamma that synonyms should have at most."""
    neighbours: int = 10
    """Neighbours of each word whose distance must not grow (the paper takes a radius)."""
    indirect: bool = True
    """Also push a word from the synonyms of its antonyms."""


def read_pairs(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Pairs of words in files, two words a line, as they are looked up.

    A language before a word (``en_good``), which some lists have, is left out.

    Raises:
        InputError: a file cannot be read, is not UTF-8, or has a line of something else; names
            file and line only.
    """
    found: list[tuple[str, str]] = []
    for path in paths:
        for number, line in enumerate(read_utf8(path).splitlines(), 1):
            words = [folded(_LANGUAGE.sub("", word)) for word in line.split()]
            if words and len(words) != 2:
                raise InputError(path, "needs two words", line=number)
            if words:
                found.append((words[0], words[1]))
    return found


def pair_array(pairs: set[tuple[int, int]]) -> Pairs:
    """Return the pairs in order."""
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def word_pairs(pairs: Iterable[tuple[str, str]], words: Sequence[str]) -> set[tuple[int, int]]:
    """Return row numbers of the pairs of two words that are both known, the smaller one first."""
    ids = {word: row for row, word in enumerate(words)}
    known = {(ids[u], ids[v]) for u, v in pairs if u in ids and v in ids}
    return {(min(pair), max(pair)) for pair in known if pair[0] != pair[1]}


def constraints_of(synonyms: set[tuple[int, int]], antonyms: set[tuple[int, int]]) -> Constraints:
    """Return a pair listed as both is taken for antonyms: a wrong repulsion costs a neighbour, a
    wrong attraction turns the meaning round.
    """
    return Constraints(pair_array(synonyms - antonyms), pair_array(antonyms))


def _with_indirect(constraints: Constraints, n: int) -> Pairs:
    """Antonyms, and pairs (synonym of u, v), (u, synonym of v) for antonyms u, v."""
    from scipy.sparse import csr_matrix  # heavy import

    def graph(pairs: Pairs) -> Any:
        ones = np.ones(len(pairs), dtype=np.float32)
        half = csr_matrix((ones, (pairs[:, 0], pairs[:, 1])), shape=(n, n))
        return half + half.T

    synonyms = graph(constraints.synonyms)
    step = synonyms @ graph(constraints.antonyms)
    both = (step + step.T).tocoo()
    near = (synonyms + synonyms @ synonyms).tocsr()  # synonyms of one word are not repelled
    found = {(int(u), int(v)) for u, v in zip(both.row, both.col, strict=True) if u < v}
    rows = {(u, v) for u, v in found if near[u, v] == 0}
    rows.update((int(u), int(v)) for u, v in constraints.antonyms)
    return pair_array(rows)


def _neighbour_pairs(vectors: Vectors, k: int) -> Pairs:
    """Return every word with its k nearest words by cosine."""
    n = len(vectors)
    keys = []
    for start in range(0, n, _CHUNK):
        cosines = vectors[start : start + _CHUNK] @ vectors.T
        rows = np.arange(start, start + len(cosines))
        cosines[rows - start, rows] = -np.inf
        nearest = np.argpartition(-cosines, k, axis=1)[:, :k]
        words = rows[:, None]
        keys.append((np.minimum(words, nearest) * n + np.maximum(words, nearest)).ravel())
    return np.stack(np.divmod(np.unique(np.concatenate(keys)), n), axis=1)


def _cosines(vectors: Vectors, pairs: Pairs) -> NDArray[np.float32]:
    return np.asarray(np.einsum("ij,ij->i", vectors[pairs[:, 0]], vectors[pairs[:, 1]]))


def counter_fit(
    vectors: Vectors,
    constraints: Constraints,
    shaping: Shaping,
    *,
    kin: tuple[Pairs, float] | None = None,
    free: NDArray[np.bool_] | None = None,
) -> Vectors:
    """Unit vectors moved by gradient descent on the paper's three hinge losses.

    With d = 1 - cosine and tau(x) = max(0, x), the loss is the sum of k1·tau(delta - d(u, v)) over
    antonyms, k2·tau(d(u, v) - gamma) over synonyms, and
    k3·tau(d(u, v) - d0(u, v)) over neighbours u, v of the first space, where d0 is the distance
    they had there.  A word's gradient is divided by its number of active pairs, as in the authors'
    code.

    Args:
        vectors: unit, shape (n, d).
        kin: further pairs to pull together, and the cosine that they should have at least.
        free: the words that move, shape (n,); None: all.
    """
    from scipy.sparse import csr_matrix  # heavy import

    n = len(vectors)
    near = _neighbour_pairs(vectors, shaping.neighbours)
    first = _cosines(vectors, near)
    antonyms = _with_indirect(constraints, n) if shaping.indirect else constraints.antonyms
    further, kin_cosine = kin or (pair_array(set()), 0.0)
    groups = [antonyms, constraints.synonyms, further, near]
    pairs = np.concatenate(groups)
    group = np.repeat(np.arange(4), [len(part) for part in groups])
    weights = (-shaping.repel, shaping.attract, shaping.attract, shaping.preserve)
    strength = np.array(weights, np.float32)[group]
    # Cosine at which a pair stops pushing (antonyms) or pulling (all others).
    bounds = (1 - shaping.apart, 1 - shaping.close, kin_cosine, 0)
    bound = np.array(bounds, np.float32)[group]
    bound[group == 3] = first
    out = vectors.copy()
    for _ in range(shaping.rounds):
        cosines = _cosines(out, pairs)
        active = (cosines < bound) == (strength > 0)
        rows, columns = pairs[active].T
        pull, cosine = strength[active], cosines[active]
        graph = csr_matrix((pull, (rows, columns)), shape=(n, n))
        # d cos(u, v) / du = v - cos(u, v)·u for unit u, v
        move = graph @ out + graph.T @ out
        own = np.bincount(rows, pull * cosine, n) + np.bincount(columns, pull * cosine, n)
        degree = np.bincount(rows, minlength=n) + np.bincount(columns, minlength=n)
        move -= own[:, None] * out
        rate = shaping.rate / np.maximum(degree, 1)
        out += (rate if free is None else rate * free)[:, None] * move
        out /= np.linalg.norm(out, axis=1, keepdims=True)
        out = out.astype(np.float32)
    return out
