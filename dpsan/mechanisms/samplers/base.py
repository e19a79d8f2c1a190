"""Samplers map row numbers to random row numbers: the interface and the common samplers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.wide_integers import cumulative, first_above, number_below
from dpsan.privacy.certificate import PROBABILITY_ERROR, Certificate
from dpsan.privacy.integer_weights import IntegerWeights, RowWeights
from dpsan.privacy.randomness import KEY_BYTES, Streams, streams_for
from dpsan.space.arrays import Floats, Ids, blocks, by_word, side_by_side
from dpsan.space.metric_space import MetricSpace


class ByRank(NamedTuple):
    """Probabilities that are the same for every word but for the order of the outputs."""

    pmf: Floats
    """Probability of each rank, shape (n,)."""
    order: Callable[[Ids], NDArray[np.int32]]
    """All words by rank from each word: (m,) -> (m, n)."""


class Sampler(ABC):
    """A mechanism made ready for one space: the array function that carries the privacy."""

    whole_records: bool = False
    """True if the words of a record must be given together (see :attr:`Streams.records`)."""
    probability_error: float = PROBABILITY_ERROR
    """Bound on the relative error of :meth:`probabilities`."""
    batch_words: int = 4096
    """Words best given at once: enough to work on together, few enough to hold."""
    makes_rows: bool = False
    """True if the first draw of a word computes n numbers."""
    integrates: bool = False
    """True if a known distribution takes an integral, and its certificate minutes."""

    @abstractmethod
    def sample(self, ids: Ids, streams: Streams) -> Ids:
        """Draw one output for each input.

        Args:
            ids: shape (m,), row numbers; ``n`` is ⊥.
            streams: the keyed streams of the same m words.

        Returns:
            Row numbers, shape (m,), all < n.
        """

    def sample_all(
        self, ids: Ids, streams: Streams, progress: Callable[[float], None] | None = None
    ) -> Ids:
        """Return the outputs of :meth:`sample` for any number of inputs, some at a time."""
        out, at = np.empty(len(ids), dtype=np.int64), 0
        for part in streams.chunks(self.batch_words, whole_records=self.whole_records):
            end = at + len(part)
            out[at:end] = self.sample(ids[at:end], part)
            at = end
            if progress is not None:
                progress(at / len(out))
        return out

    def load_libraries(self) -> None:  # noqa: B027 - most have none
        """Import what the first draw needs."""

    def probabilities(self, ids: Ids) -> Floats | None:
        """Return the exact distribution of each input as a matrix (m, n), or None where none is
        known.

        Several threads may call this at a time, with different inputs.
        """
        return None

    @property
    def by_rank(self) -> ByRank | None:
        """Return the distribution of ranks, if the rank alone decides the probability."""
        return None

    def integer_weights(self) -> IntegerWeights | None:
        """Return all integers that are drawn from, or None where draws come from anything else."""
        return None

    def certificate(self) -> Certificate | None:
        """Return the exact loss of the integers that are drawn from, where it is known."""
        return None

    def unchanged(self, ids: Ids) -> Floats | None:
        """Probability that each word is its own output, (m,); None where a draw is cheaper."""
        return None


Projection = Callable[[MetricSpace, Floats, Streams], Ids]
"""Noisy points (m, d) -> words.  It is not given the inputs: post-processing by construction."""


def nearest(space: MetricSpace, points: Floats, streams: Streams) -> Ids:
    """Return the word nearest to each noisy point, ties by row number."""
    return space.index.nearest(points)


def nearest_in(words: MetricSpace, space: MetricSpace, points: Floats, streams: Streams) -> Ids:
    """Return the word nearest to each noisy point in a space of one's own: among the unclipped
    words.
    """
    return nearest(words, points, streams)


_NOISY: Final = 1024
"""Words whose noise a thread draws at a time."""


class PointSampler(Sampler):
    """Stock sampler of point mechanisms: point, noise, projection.

    Args:
        space: where the points and the words are.
        noise: (streams, d) -> (m, d).
        project: noisy points -> words.
    """

    def __init__(
        self,
        space: MetricSpace,
        noise: Callable[[Streams, int], Floats],
        project: Projection = nearest,
    ) -> None:
        self.space = space
        self.noise = noise
        self.project = project

    def load_libraries(self) -> None:
        import faiss  # noqa: F401 - of the search

        self.noise(streams_for(bytes(KEY_BYTES), [0], [1]), self.space.d)  # thrown away

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        points = self.space.points(ids)

        def add(part: tuple[int, Streams]) -> None:
            begin, some = part
            points[begin : begin + len(some)] += self.noise(some, self.space.d)

        parts = streams.chunks(_NOISY)
        begins = np.cumsum([0, *map(len, parts)])[:-1].tolist()
        side_by_side(add, list(zip(begins, parts, strict=True)))
        return self.project(self.space, points, streams)


SCORE_CAP: Final = 30.0
"""Scores are capped here: e^-30 of the top weight.  min(S, cap) of a metric S is a metric, and at
2^62·e^-30 integer weights still resolve ratios to WEIGHT_ERROR, which guarantees account for."""
WEIGHT_ERROR: Final = 2.4e-6
"""Bound on |ln W + min(score, cap) - ln 2^62|: floor of a value >= 2^62·e^-30 = 4.3e5."""
ROW_BYTES: Final = 256 << 20
"""Memory for what is kept of rows."""
_ROWS: Final = 32
"""Rows whose weights are computed at once."""
_BLOCK_BYTES: Final = 64 << 20
"""Size of one such block; fewer rows are taken where n is large."""


class RowSampler(Sampler):
    """Stock sampler of table mechanisms: integer weights W_u = floor(2^62·exp(-score)), exactly.

    The distribution of input w is W_u / sum(W): the integers *are* the mechanism, so certificates
    computed from them hold without any floating-point assumption.  Cumulative rows are kept for the
    most recently used inputs, up to a number of bytes.

    Args:
        scores: words (m,) -> scores (m, n) >= 0, a deterministic function of each word; the
            distribution of ⊥ is uniform.
    """

    makes_rows = True

    def __init__(
        self,
        space: MetricSpace,
        scores: Callable[[Ids], Floats],
        cache_bytes: int = ROW_BYTES,
    ) -> None:
        self.space = space
        self.scores = scores
        self.block = max(4, min(_ROWS, _BLOCK_BYTES // (8 * space.n) // 4 * 4))
        self._room = max(self.block, cache_bytes // (12 * space.n))
        self._rows: OrderedDict[int, tuple[NDArray[np.uint64], NDArray[np.uint32]]] = OrderedDict()

    def weights(self, ids: Ids) -> NDArray[np.uint64]:
        """Return the integer weights of each input, shape (m, n), each in 1 ... 2^62."""
        out = np.full((len(ids), self.space.n), np.uint64(1 << 62))
        known = np.flatnonzero(ids < self.space.n)
        for at in range(0, len(known), self.block):
            rows = known[at : at + self.block]
            # Matrix products may differ in their last bit with the number of rows, so it is always
            # the same: a row is a function of its word alone, whatever the batch.
            padded = np.resize(ids[rows], self.block)
            scores = self.scores(padded)[: len(rows)]
            np.minimum(scores, SCORE_CAP, out=scores)
            np.exp(np.negative(scores, out=scores), out=scores)
            scores *= 2.0**62
            out[rows] = scores  # the cast rounds down
        return out

    def probabilities(self, ids: Ids) -> Floats:
        weights = self.weights(ids).astype(np.float64)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def integer_weights(self) -> RowWeights | None:

        def rows() -> Iterator[NDArray[np.uint64]]:
            for ids in blocks(self.space.n, self.block):
                yield from self.weights(ids)

        return RowWeights(rows)

    def unchanged(self, ids: Ids) -> Floats:
        distinct, inverse = np.unique(ids, return_inverse=True)
        found = np.empty(len(distinct))
        for at in range(0, len(distinct), self.block):
            part = distinct[at : at + self.block]
            found[at : at + len(part)] = self.probabilities(part)[np.arange(len(part)), part]
        return np.asarray(found[inverse], dtype=np.float64)

    def _cumulative(self, ids: Ids) -> None:
        """Make sure that the rows of these distinct inputs are held, at most ``block`` of them."""
        for key in ids.tolist():
            if key in self._rows:
                self._rows.move_to_end(key)
        missing = np.array([i for i in ids.tolist() if i not in self._rows], dtype=np.int64)
        if not len(missing):
            return
        while self._rows and len(self._rows) + len(missing) > self._room:
            self._rows.popitem(last=False)
        high, low = cumulative(self.weights(missing))
        for row, key in enumerate(missing.tolist()):
            self._rows[key] = high[row].copy(), low[row].astype(np.uint32)

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        out = np.empty(len(ids), dtype=np.int64)
        self._draw(ids, streams, np.arange(len(ids)), out)
        return out

    def _draw(self, ids: Ids, streams: Streams, pending: Ids, out: Ids) -> None:
        """Draw an output for each input at the positions ``pending``."""
        attempt = 0
        while len(pending):  # a second round has a chance of about 2^-13 per word
            bits = streams.bits(f"row/{attempt}", 2)[pending]
            pending = pending[~self._round(ids[pending], bits, out, pending)]
            attempt += 1

    def _round(
        self, ids: Ids, bits: NDArray[np.uint64], out: Ids, indices: Ids
    ) -> NDArray[np.bool_]:
        """Try to draw every input once; True where the draw was accepted."""
        good = np.zeros(len(ids), dtype=np.bool_)
        for words, tokens, rows in by_word(ids, self.block):
            self._cumulative(words)
            for row, word in enumerate(words.tolist()):
                high, low = self._rows[word]
                group = tokens[rows == row]
                good[group], *drawn = number_below(high[-1:], low[-1:], bits[group])
                first = np.zeros(len(group), dtype=np.int64)
                out[indices[group]] = first_above(high[None], low[None], first, *drawn)
        return good

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": OrderedDict()}
