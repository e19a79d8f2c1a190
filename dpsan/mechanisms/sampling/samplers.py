"""What turns row numbers into row numbers: the interface and the stock samplers.

Knows arrays, streams and spaces.  Must not know parameters, guarantees or strings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.privacy.randomness import KEY_BYTES, Streams, streams_for
from dpsan.space.metric_space import MetricSpace

__all__ = [
    "ROW_BYTES",
    "SCORE_CAP",
    "WEIGHT_ERROR",
    "ByRank",
    "PointSampler",
    "Projection",
    "RowSampler",
    "Sampler",
    "nearest",
]

Ids = NDArray[np.int64]


class ByRank(NamedTuple):
    """Probabilities that are the same for every word but for the order of the outputs."""

    law: NDArray[np.float64]
    """Of each rank, shape (n,)."""
    order: Callable[[Ids], NDArray[np.int32]]
    """All words by rank from each word: (m,) -> (m, n)."""


class Sampler(ABC):
    """A mechanism made ready for one space: the array function that carries the privacy."""

    whole_records: ClassVar[bool] = False
    """Whether words of one record must be given together (see :attr:`Streams.records`)."""
    batch_words: int = 4096
    """Words best given at once: enough to work on together, few enough to hold."""

    @abstractmethod
    def sample(self, ids: Ids, streams: Streams) -> Ids:
        """Draw one output for each input.

        Args:
            ids: shape (m,), row numbers; ``n`` is ⊥.
            streams: the keyed streams of the same m words.

        Returns:
            Row numbers, shape (m,), all < n.
        """

    def load_libraries(self) -> None:  # noqa: B027 - most have none
        """Import what the first draw needs."""

    def probabilities(self, ids: Ids) -> NDArray[np.float64] | None:
        """The exact law of each input as a matrix (m, n), or None where none is known."""
        return None

    @property
    def by_rank(self) -> ByRank | None:
        """Where a probability depends on the rank of the output alone."""
        return None

    def unchanged(self, ids: Ids) -> NDArray[np.float64] | None:
        """Probability that each word comes out as itself, (m,); None where a draw is cheaper."""
        return None


Projection = Callable[[MetricSpace, NDArray[np.float64], Streams], Ids]
"""Noisy points (m, d) -> words.  It is not given the inputs: post-processing by construction."""


def nearest(space: MetricSpace, points: NDArray[np.float64], streams: Streams) -> Ids:
    """The word nearest to each noisy point, ties by row number."""
    return space.index.nearest(points)


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
        noise: Callable[[Streams, int], NDArray[np.float64]],
        project: Projection = nearest,
    ) -> None:
        self.space = space
        self.noise = noise
        self.project = project

    def load_libraries(self) -> None:
        """See :class:`Sampler`."""
        import faiss  # noqa: F401 - of the search

        self.noise(streams_for(bytes(KEY_BYTES), [0], [1]), self.space.d)  # thrown away

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        """See :class:`Sampler`."""
        points = self.space.points(ids)
        points += self.noise(streams, self.space.d)
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

    The law of input w is W_u / sum(W): the integers *are* the mechanism, so certificates computed
    from them hold without any floating-point assumption.  Cumulative rows are kept for the most
    recently used inputs, up to a number of bytes.

    Args:
        space: the outputs.
        scores: words (m,) -> scores (m, n) >= 0, a deterministic function of each word; the law of
            ⊥ is uniform.
        cache_bytes: memory for rows.
    """

    def __init__(
        self,
        space: MetricSpace,
        scores: Callable[[Ids], NDArray[np.float64]],
        cache_bytes: int = ROW_BYTES,
    ) -> None:
        self.space = space
        self.scores = scores
        self.block = max(4, min(_ROWS, _BLOCK_BYTES // (8 * space.n) // 4 * 4))
        self._room = max(self.block, cache_bytes // (12 * space.n))
        self._rows: OrderedDict[int, tuple[NDArray[np.uint64], NDArray[np.uint32]]] = OrderedDict()

    def weights(self, ids: Ids) -> NDArray[np.uint64]:
        """The integer weights of each input, shape (m, n), each in 1 ... 2^62."""
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

    def probabilities(self, ids: Ids) -> NDArray[np.float64]:
        """See :class:`Sampler`."""
        weights = self.weights(ids).astype(np.float64)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def unchanged(self, ids: Ids) -> NDArray[np.float64]:
        """See :class:`Sampler`."""
        distinct, place = np.unique(ids, return_inverse=True)
        found = np.empty(len(distinct))
        for at in range(0, len(distinct), self.block):
            part = distinct[at : at + self.block]
            found[at : at + len(part)] = self.probabilities(part)[np.arange(len(part)), part]
        return np.asarray(found[place], dtype=np.float64)

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
        weights = self.weights(missing)
        # Sums of n weights need up to 62 + log2(n) bits: two limbs of 32 and 64 bits.
        low = weights & np.uint64(0xFFFFFFFF)
        np.cumsum(low, axis=1, out=low)
        weights >>= np.uint64(32)
        high = np.cumsum(weights, axis=1, out=weights)
        high += low >> np.uint64(32)
        for row, key in enumerate(missing.tolist()):
            self._rows[key] = (high[row].copy(), low[row].astype(np.uint32))

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        """See :class:`Sampler`."""
        out = np.empty(len(ids), dtype=np.int64)
        self._draw(ids, streams, np.arange(len(ids)), out)
        return out

    def _draw(self, ids: Ids, streams: Streams, pending: Ids, out: Ids) -> None:
        """Draw an output for each input at the places ``pending``."""
        attempt = 0
        while len(pending):  # a second round has a chance of about 2^-13 per word
            bits = streams.bits(f"row/{attempt}", 2)[pending]
            pending = pending[~self._round(ids[pending], bits, out, pending)]
            attempt += 1

    def _round(
        self, ids: Ids, bits: NDArray[np.uint64], out: Ids, places: Ids
    ) -> NDArray[np.bool_]:
        """Try to draw every input once; True where the draw was accepted."""
        good = np.zeros(len(ids), dtype=np.bool_)
        order = np.argsort(ids, kind="stable")
        distinct, starts = np.unique(ids[order], return_index=True)
        groups = np.split(order, starts[1:])
        for at in range(0, len(distinct), self.block):
            keys = distinct[at : at + self.block]
            self._cumulative(keys)
            for key, group in zip(keys.tolist(), groups[at : at + self.block], strict=True):
                high, low = self._rows[key]
                good[group], out[places[group]] = _inverse(high, low, bits[group])
        return good

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_rows": OrderedDict()}


def _inverse(
    high: NDArray[np.uint64], low: NDArray[np.uint32], bits: NDArray[np.uint64]
) -> tuple[NDArray[np.bool_], Ids]:
    """Exact inverse of a cumulative row: accepted?, position; for bits (m, 2)."""
    total_high, total_low = high[-1], np.uint64(low[-1])
    bound = total_high + np.uint64(1)
    excess = np.uint64((1 << 64) % int(bound))
    drawn_high = bits[:, 0] % bound
    drawn_low = bits[:, 1] >> np.uint64(32)
    good = bits[:, 0] <= np.uint64(2**64 - 1) - excess
    good &= (drawn_high < total_high) | ((drawn_high == total_high) & (drawn_low < total_low))
    # The first position whose cumulative weight exceeds the drawn number.
    at = np.searchsorted(high, drawn_high, side="left")
    at[~good] = 0
    while True:
        step = good & (high[at] == drawn_high) & (low[at] <= drawn_low)
        if not step.any():
            return good, at
        at[step] += 1
