"""Likelihood of a sanitized text under each candidate for its original.

Words are drawn independently, so the likelihood of a text is the product over its words.  No
attacker who holds all candidates equally likely is right more often than one who takes the
candidate of the largest likelihood (Bayes).  Everything is computed for a block of inputs at a
time, so the largest matrix is that of the scores, (candidates, records).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import Progress, silent
from dpsan.outcomes.emissions import Emissions
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids, by_word

_BLOCK: Final = 256
"""Inputs whose distributions are held at once."""
_CELLS: Final = 1 << 22
"""Cells of the mixtures of a block of candidates."""
_SLACK: Final = 1e-9
"""Relative difference of scores that rounding may make."""
_LEAST: Final = 1e-300


@dataclass(frozen=True)
class Texts:
    """Texts as row numbers, one after the other.  Negative numbers are missing words, n is ⊥."""

    ids: Ids
    """Rows of all words, (m,)."""
    starts: Ids
    """Offsets of the texts, and the end of the last one, (t + 1,)."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Ids:
        """Number of words of each text, (t,)."""
        return np.diff(self.starts)

    def beginnings(self, words: int | None) -> Texts:
        """Return the first ``words`` words of each text; shorter texts become empty."""
        if words is None:
            return self
        return self._cut(self.starts[:-1], np.where(self.sizes >= words, words, 0))

    def of(self, some: Ids) -> Texts:
        """Return the texts of these numbers."""
        return self._cut(self.starts[some], self.sizes[some])

    def _cut(self, begin: Ids, sizes: Ids) -> Texts:
        """Return slices of the words, each as a text."""
        starts = np.append(0, np.cumsum(sizes))
        positions = np.arange(starts[-1]) - np.repeat(starts[:-1] - begin, sizes)
        return Texts(self.ids[positions], starts)


def sanitized(sampler: Sampler, texts: Texts, key: bytes, progress: Progress) -> Ids:
    """Return an output for each word of all texts, drawn as ``rewrite`` draws them, (m,)."""
    streams = randomness.streams_for(key, range(len(texts)), texts.sizes.tolist())
    return sampler.sample_all(texts.ids, streams, progress)


def ordered(
    emissions: Emissions, candidates: Texts, noisings: Sequence[Texts], progress: Progress = silent
) -> Floats:
    """Return ln P(sanitized text|candidate), word by word, shape (c, r).

    Args:
        candidates: c texts.
        noisings: independent sanitized versions of the same r texts: their logarithms are added.

    Returns:
        Minus infinity where the numbers of words differ or there are no words.
    """
    scores = np.full((len(candidates), len(noisings[0])), -np.inf)
    sizes, own = candidates.sizes, noisings[0].sizes
    order = np.argsort(own, kind="stable")
    outputs = _distinct(noisings)
    # Records of one size side by side: their outputs, numbered, position by position.
    groups: dict[int, tuple[slice, list[Ids]]] = {}
    for size in np.unique(own[own > 0]).tolist():
        low, high = np.searchsorted(own[order], [size, size + 1]).tolist()
        some = order[low:high]
        codes = [_numbered(each.of(some), outputs).reshape(-1, size).T for each in noisings]
        groups[size] = slice(low, high), codes
    matching = np.isin(sizes, list(groups))
    for c in np.flatnonzero(matching).tolist():
        scores[c, groups[int(sizes[c])][0]] = 0.0
    owners = np.repeat(np.arange(len(candidates)), sizes)
    positions = np.arange(len(owners)) - candidates.starts[owners]
    tokens = np.flatnonzero(matching[owners] & (candidates.ids >= 0))
    done, every = 0, len(np.unique(candidates.ids[tokens]))
    for words, at, which in by_word(candidates.ids[tokens], _BLOCK):
        rows = _rows(emissions, words, outputs)
        some = tokens[at]
        found = which.tolist(), owners[some].tolist(), positions[some].tolist()
        for word, c, index in zip(*found, strict=True):
            part, codes = groups[int(sizes[c])]
            row = rows[word]
            for each in codes:
                scores[c, part] += row[each[index]]
        done += len(words)
        progress(done / every)
    return scores[:, np.argsort(order)]


def bag(
    emissions: Emissions, candidates: Texts, noisings: Sequence[Texts], progress: Progress = silent
) -> Floats:
    """Return ln P for an attacker who ignores word order: each output is of a random word, (c, r).

    P(u|candidate) is the mean of P(u|w) over the words w of the candidate.
    """
    from scipy.sparse import csr_matrix  # heavy import

    outputs = _distinct(noisings)
    many = len(outputs) + 1
    counts = sum(counted(_numbered(each, outputs), each.starts, many) for each in noisings)
    scores = np.full((len(candidates), len(noisings[0])), -np.inf)
    step = max(1, _CELLS // many)
    filled = np.flatnonzero(candidates.sizes)
    for at in range(0, len(filled), step):
        some = filled[at : at + step]
        texts = candidates.of(some)
        words, columns = np.unique(texts.ids, return_inverse=True)
        weights = np.repeat(1 / texts.sizes, texts.sizes)
        shares = csr_matrix((weights, columns, texts.starts), (len(some), len(words))).tocsc()
        mixture = np.zeros((len(some), many))
        for first in range(0, len(words), _BLOCK):
            rows = np.exp(_rows(emissions, words[first : first + _BLOCK], outputs))
            mixture += shares[:, first : first + _BLOCK] @ rows
        scores[some] = (counts @ np.log(np.maximum(mixture, _LEAST)).T).T
        progress((at + len(some)) / len(filled))
    return scores


def ranks(scores: Floats, truth: Ids, key: bytes) -> Ids:
    """Return the rank of the true candidate by falling scores, 1 for the first, (r,).

    Ties are broken by a draw: no attacker can do better.

    Args:
        scores: (c, r).
        truth: number of the true candidate of each record, (r,).
        key: public.
    """
    own = scores[truth, np.arange(len(truth))]
    slack = _SLACK * np.maximum(1.0, np.abs(np.where(np.isfinite(own), own, 0.0)))
    above = (scores > own + slack).sum(axis=0)
    level = (scores >= own - slack).sum(axis=0) - above
    streams = randomness.streams_for(key, range(len(truth)), [1] * len(truth))
    drawn = streams.integers("ties", np.maximum(level, 1).astype(np.uint64))
    return np.asarray(1 + above + drawn.astype(np.int64))


def _distinct(noisings: Sequence[Texts]) -> Ids:
    """Return the outputs that occur, ascending."""
    every = np.unique(np.concatenate([each.ids for each in noisings]))
    return every[every >= 0]


def _numbered(texts: Texts, outputs: Ids) -> Ids:
    """Return the index of each output among the distinct ones; their number for a missing one."""
    return np.where(texts.ids >= 0, np.searchsorted(outputs, texts.ids), len(outputs))


def _rows(emissions: Emissions, words: Ids, outputs: Ids) -> Floats:
    """Return ln P(u|w) with a last column for missing outputs, (b, q + 1)."""
    known = np.zeros((len(words), len(outputs) + 1))
    real = words >= 0  # a missing word explains every output alike
    if len(outputs):
        known[real, :-1] = emissions.log(words[real], outputs)
    return known


def counted(numbers: Ids, starts: Ids, size: int) -> Any:
    """Return the counts of numbers in each text, sparse (r, size); the last number is not counted.

    Args:
        numbers: numbers of all words, (m,), below ``size``.
        starts: offsets of the texts, and the end of the last one, (r + 1,).
    """
    from scipy.sparse import csr_matrix  # heavy import

    used = (numbers < size - 1).astype(np.float64)
    return csr_matrix((used, numbers, starts), (len(starts) - 1, size))
