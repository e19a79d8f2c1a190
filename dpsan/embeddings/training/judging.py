"""How good vectors are: near words, and similarity as people judge it.

Knows words, vectors and lists of judged pairs.  Nothing here may be used to train or to shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.training.recipe import Trained
from dpsan.errors import InputError
from dpsan.text.out_of_vocabulary import read_utf8
from dpsan.text.tokens import folded

_CHUNK: Final = 1_000
_SHOWN: Final = 20
_NEAR: Final = 6

Vectors = NDArray[np.float32]
Judged = list[tuple[str, str, float]]


def nearest(vectors: Vectors, k: int) -> NDArray[np.int64]:
    """The k nearest words of every word by Euclidean distance, itself left out, nearest first."""
    lengths = np.einsum("ij,ij->i", vectors, vectors)
    out = np.empty((len(vectors), k), dtype=np.int64)
    for start in range(0, len(vectors), _CHUNK):
        # |v|² - 2uv orders like the distance |u - v|
        rows = lengths - 2 * (vectors[start : start + _CHUNK] @ vectors.T)
        rows[np.arange(len(rows)), np.arange(start, start + len(rows))] = np.inf
        part = np.argpartition(rows, k, axis=1)[:, :k]
        order = np.argsort(np.take_along_axis(rows, part, axis=1), axis=1)
        out[start : start + _CHUNK] = np.take_along_axis(part, order, axis=1)
    return out


def read_judged(path: Path) -> Judged:
    """Pairs of words with a score, "word word score" a line, such as WS-353.

    Raises:
        InputError: it cannot be read, or a line is something else; names file and line only.
    """
    pairs = []
    for number, line in enumerate(read_utf8(path).splitlines(), 1):
        try:
            first, second, score = line.split()
            pairs.append((folded(first), folded(second), float(score)))
        except ValueError:
            raise InputError(path, "needs two words and a score", line=number) from None
    return pairs


def judged_similarity(
    ids: Mapping[str, int], vectors: Vectors, path: Path
) -> tuple[float, float, int]:
    """Spearman correlation of cosines with judgements, share of pairs that are known, pairs in all.

    The correlation is NaN where fewer than three pairs are known.

    Raises:
        InputError: as :func:`read_judged`.
    """
    from scipy.stats import spearmanr  # heavy import

    pairs = read_judged(path)
    known = [(ids[a], ids[b], score) for a, b, score in pairs if a in ids and b in ids]
    if len(known) < 3:
        return float("nan"), len(known) / max(1, len(pairs)), len(pairs)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second, scores = (np.array(column) for column in zip(*known, strict=True))
    cosines = np.einsum("ij,ij->i", unit[first], unit[second])
    spearman = float(spearmanr(cosines, scores).statistic)
    return spearman, len(known) / len(pairs), len(pairs)


def neighbours_shown(
    words: Sequence[str], vectors: Vectors, count: int, near: int
) -> dict[str, list[str]]:
    """The nearest words of some words, frequent and rare ones alike, all of letters.

    Args:
        words: most frequent first.
        vectors: shape (n, d).
        count: words shown, at most.
    """
    # Grammar is frequent and short; it says little about vectors.
    rows = [row for row, word in enumerate(words) if len(word) > 3 and word.isalpha()]
    if not rows:
        return {}
    places = np.geomspace(1 + len(rows) // 200, len(rows), count).astype(np.int64) - 1
    found = nearest(vectors, min(near, len(words) - 1))
    return {words[rows[at]]: [words[each] for each in found[rows[at]]] for at in places}


def report_on(trained: Trained, similarity: Sequence[Path]) -> dict[str, Any]:
    """What there is to say of a vocabulary, as JSON: sizes, judged similarity, near words.

    Raises:
        InputError: as :func:`read_judged`.
    """
    vectors = trained.vectors.astype(np.float32)
    ids = {word: row for row, word in enumerate(trained.words)}
    judged = []
    for path in similarity:
        rho, known, pairs = judged_similarity(ids, vectors, path)
        spearman = None if np.isnan(rho) else rho
        judged.append({"file": str(path), "spearman": spearman, "known": known, "pairs": pairs})
    return {
        "words": len(trained.words),
        "dimensions": vectors.shape[1],
        "text_words": trained.running,
        "known": trained.known,
        "with_capitals": sum(map(str.__ne__, trained.words, trained.spellings)),
        "synonyms": trained.synonyms,
        "antonyms": trained.antonyms,
        "similarity": judged,
        "neighbours": neighbours_shown(trained.words, vectors, _SHOWN, _NEAR),
    }
