"""How good a vocabulary is: similarity, hubs, kinds of neighbours, text classification.

Knows the test sets.  Nothing here may be used to train or to shape vectors.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.text.tokens import TOKENIZERS, folded, lookup_keys

__all__ = [
    "Texts",
    "classification",
    "encode",
    "hubs",
    "judged_similarity",
    "kinds_of_neighbours",
    "knn_response",
    "nearest",
    "read_ag_news",
    "read_sst2",
    "similarity",
]

SIMILARITY: Final = {
    "WS-353": "EN-WS-353-ALL.txt",
    "SimLex-999": "EN-SIMLEX-999.txt",
    "Rare Words": "EN-RW-STANFORD.txt",
}
_UNKNOWN: Final = -1
_CHUNK: Final = 1_000

Vectors = NDArray[np.float32]


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


def judged_similarity(
    ids: Mapping[str, int], vectors: Vectors, path: Path
) -> tuple[float, float, int]:
    """Spearman correlation of cosines with judgements, share of pairs that are known, pairs in all.

    The correlation is NaN where fewer than three pairs are known.

    Args:
        path: "word word score" a line, such as WS-353.
    """
    from scipy.stats import spearmanr  # heavy import

    lines = [line.split() for line in path.read_text("utf-8").splitlines()]
    pairs = [(folded(first), folded(second), float(score)) for first, second, score in lines]
    known = [(ids[a], ids[b], score) for a, b, score in pairs if a in ids and b in ids]
    if len(known) < 3:
        return float("nan"), len(known) / max(1, len(pairs)), len(pairs)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second, scores = (np.array(column) for column in zip(*known, strict=True))
    cosines = np.einsum("ij,ij->i", unit[first], unit[second])
    spearman = float(spearmanr(cosines, scores).statistic)
    return spearman, len(known) / len(pairs), len(pairs)


def similarity(
    ids: Mapping[str, int], vectors: Vectors, folder: Path
) -> dict[str, dict[str, float]]:
    """Spearman correlation and share of known pairs, for each similarity set."""
    out = {}
    for name, file in SIMILARITY.items():
        spearman, coverage, _ = judged_similarity(ids, vectors, folder / file)
        out[name] = {"spearman": round(spearman, 4), "coverage": round(coverage, 4)}
    return out


def hubs(words: Sequence[str], near: NDArray[np.int64]) -> list[tuple[str, float]]:
    """The ten words that are among the nearest of most words, with their share of all words."""
    share = np.bincount(near.ravel(), minlength=len(words)) / len(words)
    worst = np.argsort(-share, kind="stable")[:10]
    return [(words[at], round(float(share[at]), 5)) for at in worst]


@dataclass(frozen=True, slots=True)
class Texts:
    """Labelled texts for training and testing a classifier."""

    train: list[str]
    train_labels: list[str]
    test: list[str]
    test_labels: list[str]


def read_ag_news(folder: Path) -> Texts:
    """AG News: trained on the ALPS sample, tested on title and description of the test set."""
    names = {"1": "World", "2": "Sports", "3": "Business", "4": "Sci/Tech"}
    train = [
        line.rsplit("\t", 1)
        for line in (folder / "alps_dev.tsv").read_text(encoding="utf-8").splitlines()
        if "\t" in line
    ]
    with (folder / "test.csv").open(encoding="utf-8", newline="") as file:
        test = list(csv.reader(file))
    return Texts(
        [text for text, _ in train],
        [label for _, label in train],
        [f"{title} {description}" for _, title, description in test],
        [names[label] for label, _, _ in test],
    )


def read_sst2(folder: Path, size: int, rng: np.random.Generator) -> Texts:
    """SST-2: a random part of the training sentences, tested on dev."""

    def table(name: str) -> list[list[str]]:
        lines = (folder / name).read_text(encoding="utf-8").splitlines()[1:]
        return [line.split("\t", 1) for line in lines if "\t" in line]

    train, test = table("train.tsv"), table("dev.tsv")
    chosen = [train[at] for at in rng.permutation(len(train))[:size]]
    return Texts(
        [text for _, text in chosen],
        [label for label, _ in chosen],
        [text for _, text in test],
        [label for label, _ in test],
    )


def _row(token: str, ids: Mapping[str, int]) -> int:
    """Return the row number of a token as the tool finds it, or _UNKNOWN."""
    return next((ids[key] for key in lookup_keys(token) if key in ids), _UNKNOWN)


def encode(texts: Sequence[str], ids: Mapping[str, int]) -> list[NDArray[np.int64]]:
    """Each text as row numbers of its words, unknown ones as -1."""
    split = TOKENIZERS["unicode"]
    known: dict[str, int] = {}
    out = []
    for text in texts:
        rows: list[int] = []
        for token in split(text)[1::2]:
            if token not in known:
                known[token] = _row(token, ids)
            rows.append(known[token])
        out.append(np.array(rows, dtype=np.int64))
    return out


def _means(texts: Sequence[NDArray[np.int64]], vectors: Vectors) -> Vectors:
    out = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
    for at, rows in enumerate(texts):
        known = rows[rows != _UNKNOWN]
        if len(known):
            out[at] = vectors[known].mean(axis=0)
    return out


def knn_response(
    texts: Sequence[NDArray[np.int64]],
    near: NDArray[np.int64],
    epsilon: float,
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Texts with each word drawn with P(u|w) ∝ e^epsilon if u is near w (or w), else 1.

    `near` holds the K - 1 nearest words; w itself is the K-th of the set.  The law is drawn as a
    mixture: uniform over the set with probability K(e^epsilon - 1)/Z, else uniform over all n
    words, with Z = K·e^epsilon + n - K.  Unknown words become uniform words.
    """
    n, k = len(near), near.shape[1] + 1
    total = k * np.exp(epsilon) + n - k
    inside = k * (np.exp(epsilon) - 1) / total  # the rest, n / Z, is uniform over all n words
    table = np.concatenate([np.arange(n)[:, None], near], axis=1)
    out = []
    for rows in texts:
        drawn = table[np.maximum(rows, 0), rng.integers(k, size=len(rows))]
        uniform = rng.integers(n, size=len(rows))
        keep = (rng.random(len(rows)) < inside) & (rows != _UNKNOWN)
        out.append(np.where(keep, drawn, uniform))
    return out


def classification(
    texts: Texts,
    ids: Mapping[str, int],
    vectors: Vectors,
    near: NDArray[np.int64],
    epsilon: float,
    seeds: Sequence[int],
) -> dict[str, Any]:
    """Accuracy on clean test texts after training on clean and on sanitized ones, per cent.

    Logistic regression (C = 100) on the mean of a text's word vectors; unknown words are left out
    of clean texts.
    """
    from sklearn.linear_model import LogisticRegression

    train, test = encode(texts.train, ids), encode(texts.test, ids)
    features = _means(test, vectors)

    def accuracy(rows: Sequence[NDArray[np.int64]]) -> float:
        model = LogisticRegression(C=100.0, solver="newton-cholesky")
        model.fit(_means(rows, vectors), texts.train_labels)
        return 100 * float(model.score(features, texts.test_labels))

    clean = accuracy(train)
    sanitized = [
        accuracy(knn_response(train, near, epsilon, np.random.default_rng(seed))) for seed in seeds
    ]
    unknown = np.concatenate(train) == _UNKNOWN
    return {
        "clean": round(clean, 2),
        "sanitized": round(float(np.mean(sanitized)), 2),
        "lost": round(clean - float(np.mean(sanitized)), 2),
        "sanitized by seed": [round(value, 2) for value in sanitized],
        "unknown tokens": round(float(unknown.mean()), 4),
    }


def kinds_of_neighbours(
    words: Sequence[str],
    near: NDArray[np.int64],
    listed: Mapping[str, Sequence[str]],
    is_kind: Mapping[str, Callable[[str], bool]],
    reach: int = 10,
) -> dict[str, float]:
    """Share of the `reach` nearest words that are of the word's own kind, for each judged kind."""
    ids = {word: row for row, word in enumerate(words)}
    out = {}
    for kind, judge in is_kind.items():
        rows = [ids[word] for word in listed[kind] if word in ids]
        hits = [judge(words[at]) for row in rows for at in near[row, :reach]]
        out[kind] = round(float(np.mean(hits)), 3)
    return out
