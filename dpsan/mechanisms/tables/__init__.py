"""Samplers map row numbers to random row numbers: here the interface, noise on points, and tables.

Open ``sparse`` next, then ``dense``: most mechanisms draw from such a table.  Near sets, orders
and the public base are functions of the public vocabulary alone.  A sampler must not know epsilon,
strings or files; guarantees are computed by the mechanism that builds it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.privacy.certificate import PROBABILITY_ERROR, Certificate
from dpsan.privacy.randomness import KEY_BYTES, Streams, streams_for
from dpsan.space.arrays import Floats, Ids, blocks, side_by_side
from dpsan.space.metric_space import MetricSpace


class Sampler(ABC):
    """A mechanism made ready for one space: the array function that carries the privacy."""

    probability_error: float = PROBABILITY_ERROR
    """Bound on the relative error of :meth:`probabilities`."""
    batch_words: int = 4096
    """Words best given at once: enough to work on together, few enough to hold."""
    makes_rows: bool = False
    """True if the first draw of a word computes n numbers."""

    @abstractmethod
    def sample(self, ids: Ids, streams: Streams) -> Ids:
        """Draw one output for each input.

        Args:
            ids: shape (m,), row numbers; ``n`` is ⊥.
            streams: the keyed streams of the same m words.

        Returns:
            Row numbers, shape (m,), all < n.
        """

    def sample_all(self, ids: Ids, streams: Streams) -> Ids:
        """Return the outputs of :meth:`sample` for any number of inputs, some at a time."""
        out, at = np.empty(len(ids), dtype=np.int64), 0
        for part in streams.chunks(self.batch_words):
            end = at + len(part)
            out[at:end] = self.sample(ids[at:end], part)
            at = end
        return out

    def load_libraries(self) -> None:  # noqa: B027 - most have none
        """Import what the first draw needs."""

    def probabilities(self, ids: Ids) -> Floats | None:
        """Return the exact distribution of each input as a matrix (m, n), or None where none is
        known.

        Several threads may call this at a time, with different inputs.
        """
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
            begin, rows = part
            points[begin : begin + len(rows)] += self.noise(rows, self.space.d)

        parts = streams.chunks(_NOISY)
        begins = np.cumsum([0, *map(len, parts)])[:-1].tolist()
        side_by_side(add, list(zip(begins, parts, strict=True)))
        return self.project(self.space, points, streams)


# A table: whole numbers for each input and output, of which draws and certificates are read.
#
# ``P(u|x) = W[x, u] / sum of the row``.  Inputs are the n words and ⊥, whose number is n; all words
# of a group share one row.

ROWS = 32
"""Rows that are looked at together."""


class Table(Sampler):
    """Rows of whole numbers: what is certified is what is drawn."""

    space: MetricSpace

    @abstractmethod
    def weights(self, ids: Ids) -> NDArray[Any]:
        """Return the whole numbers of inputs (⊥ allowed) for all outputs, shape (m, n)."""

    @abstractmethod
    def certificate(self, key: str) -> Certificate | None:
        """Return the largest loss of any two inputs; None where it takes more than minutes.

        Args:
            key: names the table, for the cache.
        """

    def probabilities(self, ids: Ids) -> Floats:
        weights = self.weights(ids).astype(np.float64)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def unchanged(self, ids: Ids) -> Floats:
        distinct, inverse = np.unique(ids, return_inverse=True)
        shares = np.empty(len(distinct))
        for at in blocks(len(distinct), ROWS):
            shares[at] = self.probabilities(distinct[at])[np.arange(len(at)), distinct[at]]
        return np.asarray(shares[inverse], dtype=np.float64)
