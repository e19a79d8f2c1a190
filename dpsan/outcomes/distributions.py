"""Output distributions of words where they are known, else draws under public keys.

Draws come from the code of ``rewrite``; with public keys all figures are repeatable.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.words import Progress, no_progress
from dpsan.errors import counted, number, refuse
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.tables import Sampler
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Floats32, Ids, blocks, by_word, side_by_side
from dpsan.space.metric_space import MetricSpace

# Public statistics of a vocabulary: prior of the inputs, cosines.

UNKNOWN_PRIOR: Final = 0.06
"""Prior of ⊥: the share of tokens of AG News and SST-2 that the bundled vocabulary lacks."""
_BATCH: Final = 1024
OTHER_SETTINGS: Final = "these texts were not written by these settings"
_LOST, _FEW = 0.05, 100
"""Share of words that are no outputs of a mechanism, in texts of so many words and more."""


def prior(space: MetricSpace) -> Floats:
    """Return the public probabilities of the inputs, shape (n + 1,), ⊥ last; they sum to 1.

    See :func:`dpsan.embeddings.words.word_frequencies`.
    """
    return np.append(space.frequencies * (1 - UNKNOWN_PRIOR), UNKNOWN_PRIOR)


def words_at(space: MetricSpace, quantiles: Floats) -> Ids:
    """Return the words at quantiles 0 ... 1 of the public frequencies, shape (m,).

    Uniform quantiles choose words by frequency; evenly spaced ones stand for the whole vocabulary.
    """
    rows = np.searchsorted(np.cumsum(space.frequencies), quantiles, side="right")
    return np.asarray(np.minimum(rows, space.n - 1), dtype=np.int64)


def cosines(units: Floats32, ids: Ids, outputs: Ids) -> Floats:
    """Return the cosines of words (m,) and their outputs (m,), shape (m,)."""
    out = np.empty(len(ids))
    for part in blocks(len(ids), _BATCH):
        out[part] = np.einsum("md,md->m", units[ids[part]], units[outputs[part]])
    return out


_FLOPS: Final = 4e9
"""Floating-point operations of the draws, 2·n·d each."""
_WORDS: Final = (50, 400)


def has_distribution(sampler: Sampler) -> bool:
    """Return whether the sampler knows its output distributions."""
    return sampler.probabilities(np.zeros(1, dtype=np.int64)) is not None


def distributions(sampler: Sampler, ids: Ids) -> Floats:
    """Return P(u|w) of words (m,) for all outputs, shape (m, n).

    Args:
        ids: words; n for ⊥.
    """
    rows = sampler.probabilities(ids)
    if rows is None:
        raise AssertionError("the distribution is known for some words only")
    return rows


def check_outputs(sampler: Sampler, counts: Ids) -> None:
    """Raise UsageError if a table cannot have written a text: many of its words are no outputs.

    A few such words are no evidence: a setting may let some words pass.

    Args:
        counts: occurrences of each word in the text, (n,).
    """
    if isinstance(sampler, SparseTable):
        shown, words = np.flatnonzero(counts), int(counts.sum())
        lost = int(counts[shown[sampler.unchanged(shown) == 0]].sum())
        what = f"{number(lost)} of {counted(words, 'word')} cannot be outputs of this mechanism"
        refuse(lost > _LOST * max(words, _FEW), OTHER_SETTINGS, what)


def draw(sampler: Sampler, ids: Ids, key: bytes) -> Ids:
    """Draw one output for each word, each in a record of its own.

    Args:
        ids: words (m,).
        key: public.
    """
    streams = randomness.streams_for(key, range(len(ids)), [1] * len(ids))
    return sampler.sample_all(ids, streams)


def expected_share_of(sampler: Sampler, space: MetricSpace, among: NDArray[np.bool_]) -> float:
    """Return the expected share of unchanged words among some, weighted by public frequencies.

    Of many words, those at evenly spaced quantiles of the frequencies count.

    Args:
        among: the words, (n,).

    Raises:
        AssertionError: the sampler does not know the probability.
    """
    ends = np.cumsum(np.where(among, space.frequencies, 0.0))
    if not ends[-1]:
        return 0.0
    many = min(int(among.sum()), _WORDS[1])
    ids = np.searchsorted(ends, (np.arange(many) + 0.5) / many * ends[-1], side="right")
    if (shares := sampler.unchanged(ids)) is None:
        raise AssertionError("the probability of an unchanged word is not known")
    return float(np.mean(shares))


def expected_unchanged(sampler: Sampler, space: MetricSpace, public: tuple[int, ...] = ()) -> float:
    """Return the expected share of unchanged words, weighted by public word frequencies.

    The words lie at evenly spaced quantiles of the public frequencies.  Where the sampler does not
    know the probability, each word is drawn once.  The share is the same for every text.

    Args:
        public: row numbers of public words, which do not count.
    """
    words = int(np.clip(_FLOPS / (2 * space.n * space.d), *_WORDS)) // 10 * 10
    ids = words_at(space, (np.arange(words) + 0.5) / words)
    if public:
        ids = ids[~np.isin(ids, public)]
        if not len(ids):  # public words have nearly all of the frequency
            ids = np.delete(np.arange(space.n), public)[:words]
    shares = sampler.unchanged(ids)
    if shares is None:
        key = randomness.seeded_key("dpsan retention")
        streams = randomness.streams_for(key, range(len(ids)), [1] * len(ids))
        shares = sampler.sample(ids, streams) == ids
    return float(np.mean(shares))


# Likelihood of outputs under inputs, and the inputs that explain an output best.
#
# For an output u, no rule that sees one word at a time is right more often than the guess
# argmax over w of prior(w)·P(u|w) (Bayes).  Distributions are computed for a block of inputs at a
# time, so memory is bounded.  ⊥ is never guessed: it is no string, so guessing it is never right.
#
# Where a mechanism has no distribution in closed form, the density of its noise at the output's own
# point stands for P(u|w).  All inputs share the cell of u, so its volume cancels where cells are
# small.  That observer is not the best one, so its success is a lower bound.

_CELLS: Final = 1 << 23
"""Probabilities that are held at once."""
_PART: Final = 64
"""Inputs of one task of a thread."""
_LEAST: Final = 1e-300


class Likeliest:
    """The c best inputs for each of q outputs, best first; ties go to the earlier input.

    Args:
        outputs: rows, ascending, (q,).
    """

    def __init__(self, outputs: Ids, count: int, dtype: type[np.floating[Any]]) -> None:
        self.outputs = outputs
        self.inputs: NDArray[np.int32] = np.full((len(outputs), count), -1, dtype=np.int32)
        """Shape (q, c); -1 where there were too few inputs."""
        self.scores: NDArray[Any] = np.full((len(outputs), count), -np.inf, dtype=dtype)
        """Scores of these inputs, shape (q, c)."""

    def add(self, ids: Ids, scores: NDArray[Any]) -> None:
        """Merge inputs (b,) with their scores (b, q)."""
        scores = scores.T.astype(self.scores.dtype, copy=False)
        # Only outputs for which some input of this block is better than the last one held.
        better = np.flatnonzero(scores.max(axis=1) > self.scores[:, -1])
        joined = np.concatenate([self.scores[better], scores[better]], axis=1)
        names = np.broadcast_to(ids.astype(np.int32), (len(better), len(ids)))
        names = np.concatenate([self.inputs[better], names], axis=1)
        top = _largest(joined, self.scores.shape[1])
        self.scores[better] = np.take_along_axis(joined, top, axis=1)
        self.inputs[better] = np.take_along_axis(names, top, axis=1)

    def guesses(self) -> Ids:
        """Return the best input for each output, (q,)."""
        return self.inputs[:, 0].astype(np.int64)


def _largest(values: NDArray[Any], count: int) -> Ids:
    """Return the columns of the largest values of each row, largest first, ties by column."""
    if values.shape[1] > 4 * count:  # sort those only that a quicker pass leaves
        edge = np.partition(values, -count, axis=1)[:, -count, None]
        above, ties = values > edge, values == edge
        ties &= np.cumsum(ties, axis=1) <= count - above.sum(axis=1, keepdims=True)
        left = np.nonzero(above | ties)[1].reshape(len(values), count)
        order = np.argsort(-np.take_along_axis(values, left, axis=1), axis=1, kind="stable")
        return np.take_along_axis(left, order, axis=1)
    return np.argsort(-values, axis=1, kind="stable")[:, :count]


@dataclass(frozen=True)
class Observations:
    """The distinct observations of m positions."""

    outputs: Ids
    """Outputs of k noisings, negative where one of them is missing, (k, q)."""
    of: Ids
    """Index of the observation of each position, -1 where all noisings are missing, (m,)."""

    @classmethod
    def combined(cls, noisings: Sequence[Ids]) -> "Observations":
        """Combine all noisings of the same m positions.

        Args:
            noisings: outputs, negative where they are missing, (m,) each.
        """
        every = np.maximum(np.stack(noisings), -1)
        shown = (every >= 0).any(axis=0)
        outputs, numbers = np.unique(every[:, shown], axis=1, return_inverse=True)
        of = np.full(every.shape[1], -1, dtype=np.int64)
        of[shown] = numbers.ravel()
        return cls(outputs, of)


class Emissions:
    """P(u|w) of a mechanism, or the density of its noise where that is not known.

    Args:
        mechanism: resolved on the space.
    """

    def __init__(self, mechanism: Mechanism, space: MetricSpace) -> None:
        self.space = space
        self.sampler: Sampler = mechanism.prepare(space)
        self._block = max(1, min(512, _CELLS // space.n))
        self.exact = has_distribution(self.sampler)
        heuristic = "by noise density, heuristic: a lower bound"
        self.name = "optimal for single words" if self.exact else heuristic
        """Name of the observer, for reports."""
        self._density = None if self.exact else mechanism.log_density(space)
        unknown = np.full((1, space.n), 1 / space.n)
        if self.exact:
            unknown = distributions(self.sampler, np.array([space.n]))
        self.unknown: Floats = np.log(np.maximum(unknown[0], _LEAST))
        """ln P(u|⊥), shape (n,); uniform where no distribution is known."""

    def log(self, ids: Ids, outputs: Ids) -> Floats:
        """Return ln P(u|w) of inputs (b,) and outputs (q,), shape (b, q); b is at most a block."""
        return self._logs(ids, (slice(None), outputs))

    def _logs(self, ids: Ids, cells: Any) -> Floats:
        """Return ln P(u|w) in those cells of (b, n) that are needed: logarithms are slow."""
        if self._density is not None:
            return self._density(self.space.distances(ids)[cells])
        return np.asarray(np.log(np.maximum(distributions(self.sampler, ids)[cells], _LEAST)))

    def pairs(self, inputs: Ids, outputs: Ids) -> Floats:
        """Return ln P(u|w) of m pairs, shape (m,); ⊥ is allowed."""
        out = np.empty(len(inputs))
        unknown = inputs == self.space.n
        out[unknown] = self.unknown[outputs[unknown]]
        listed = np.flatnonzero(~unknown)
        for words, at, which in by_word(inputs[listed], self._block):
            rows = listed[at]
            out[rows] = self._logs(words, (which, outputs[rows]))
        return out

    def seen(self, inputs: Ids, outputs: Ids) -> Floats:
        """Return ln P of k noisings (k, m) of m inputs, shape (m,)."""
        out = np.zeros(len(inputs))
        for outputs_of_copy in outputs:
            shown = outputs_of_copy >= 0
            out[shown] += self.pairs(inputs[shown], outputs_of_copy[shown])
        return out

    def candidates(
        self,
        outputs: Ids,
        log_priors: Sequence[Floats],
        count: int,
        progress: Progress = no_progress,
    ) -> list[Likeliest]:
        """Return the inputs that explain each output best; ties go to the smaller row.

        Args:
            outputs: seen outputs, (q,), or those of k noisings (k, q), negative where one is
                missing.
            log_priors: prior of each observer, (n,); one pass serves all observers.

        Returns:
            Inputs of each observer, with scores ln prior(w) + ln P(u|w).
        """
        n, noisings = self.space.n, np.atleast_2d(outputs)
        distinct = np.unique(noisings)
        distinct = distinct[distinct >= 0]
        # The last column stands for missing outputs.
        columns = np.where(noisings >= 0, np.searchsorted(distinct, noisings), len(distinct))
        numbers = np.arange(noisings.shape[1])
        likeliest = [Likeliest(numbers, min(count, n), np.float32) for _ in log_priors]
        block = max(1, min(self._block, _CELLS // max(len(numbers), 1)))
        for ids in blocks(n, block):
            logs = np.zeros((len(ids), len(distinct) + 1))

            def fill(part: slice, ids: Ids = ids, logs: Floats = logs) -> None:
                logs[part, :-1] = self.log(ids[part], distinct)

            side_by_side(fill, [slice(first, first + _PART) for first in range(0, len(ids), _PART)])
            likelihoods = logs[:, columns[0]]
            for item in columns[1:]:
                likelihoods += logs[:, item]
            for item, log_prior in zip(likeliest, log_priors, strict=True):
                item.add(ids, likelihoods + log_prior[ids, None])
            progress((ids[-1] + 1) / n)
        return likeliest
