"""Shares and similarity of outputs: exact where distributions are known, else from draws."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.calibrate.target import Target
from dpsan.outcomes.distributions import draw, for_each_word, has_distribution
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.outcomes.word_statistics import close_words, cosines, unit_vectors, words_at
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

ATTEMPTS: Final = 3
"""Intervals per calibration; together they err with probability 0.01."""
_ALPHA: Final = 0.01 / 2 / ATTEMPTS
_CELLS: Final = 3e8
"""Probabilities computed for one exact share; divided by n, the number of draws.  Some seconds."""
_DRAWS: Final = (2000, 30_000)
_FEW: Final = 1000


class Outputs:
    """Shares and similarity of the outputs of a mechanism.

    Args:
        mechanism: any one of the kind: shows whether distributions are known.
        target: what is searched for, if it is a share.
    """

    def __init__(
        self, space: MetricSpace, mechanism: Mechanism, target: Target | None = None
    ) -> None:
        self.space = space
        n = space.n
        self.draws = int(min(max(_CELLS / n, _DRAWS[0]), _DRAWS[1]))
        sampler = mechanism.prepare(space)
        self.known = has_distribution(sampler)
        self._cheap = target is Target.UNCHANGED and not sampler.makes_rows
        self._cheap = self._cheap and sampler.unchanged(np.zeros(1, dtype=np.int64)) is not None
        """True if a word's probability of staying unchanged takes no row of probabilities."""
        self.exact = self.known and (self._cheap or float(n) * n <= _CELLS)
        """True if means are computed from the distributions of all words."""
        self.some = self.words(_FEW)
        """Words of the first search."""
        self.many = np.arange(n) if self.exact else self.words(self.draws)
        """Words of the last search."""

    def words(self, count: int) -> Ids:
        """Return ``count`` running words: those at even quantiles of the public frequencies."""
        return words_at(self.space, (np.arange(count) + 0.5) / count)

    def draw(self, mechanism: Mechanism, ids: Ids, name: str) -> Ids:
        """Draw one output for each word, in a record of its own, under the public key of a name."""
        key = randomness.seeded_key(f"dpsan calibrate {name}")
        return draw(mechanism.prepare(self.space), ids, key)

    def _random_words(self, name: str) -> Ids:
        key = randomness.seeded_key(f"dpsan calibrate {name}")
        uniform = randomness.streams_for(key, [0], [self.draws]).uniform("words")[:, 0]
        return words_at(self.space, uniform)

    # -- shares ----------------------------------------------------------------------------------

    def share(self, target: Target, mechanism: Mechanism, ids: Ids) -> float:
        """Return the mean share over running words, from their distributions if known.

        Otherwise from one draw for each word, with the same random numbers for any mechanism.
        """
        if not self.known:
            return float(self._hits(target, ids, self.draw(mechanism, ids, "search")).mean())
        distinct, counts = np.unique(ids, return_counts=True)
        weights = counts.astype(np.float64)
        if self.exact and ids is self.many:
            distinct, weights = ids, self.space.frequencies
        sampler = mechanism.prepare(self.space)
        each = sampler.unchanged(distinct) if self._cheap else None
        if each is None:
            counted = self._counted(target, distinct)

            def figure(pmf: Floats, part: slice) -> Floats:
                return np.asarray(np.take_along_axis(pmf, counted[part], axis=1).sum(axis=1))

            each = for_each_word(sampler, self.space.n, distinct, figure)
        return float(np.average(each, weights=weights))

    def _counted(self, target: Target, ids: Ids) -> NDArray[np.integer]:
        """Return the outputs of each word that count, shape (m, k)."""
        return ids[:, None] if target is Target.UNCHANGED else close_words(self.space, ids)

    def _hits(self, target: Target, ids: Ids, drawn: Ids) -> NDArray[np.bool_]:
        return np.asarray((self._counted(target, ids) == drawn[:, None]).any(axis=1))

    def confirm(
        self, target: Target, mechanism: Mechanism, attempt: int
    ) -> tuple[float, float, float]:
        """Estimate the mean share over running words from fresh draws, with its limits.

        The words are chosen at random by their public frequencies, so the number of hits is
        binomial, and Clopper-Pearson limits hold.
        """
        ids = self._random_words(f"words {attempt}")
        hits = int(self._hits(target, ids, self.draw(mechanism, ids, f"final {attempt}")).sum())
        return hits / len(ids), *clopper_pearson(hits, len(ids), _ALPHA)

    # -- similarity ------------------------------------------------------------------------------

    def similarity(self, mechanism: Mechanism, count: int) -> float:
        """Return the mean cosine of output and word over ``count`` words, by frequency."""
        return float(self._cosines(mechanism, self.words(count), self.known, "search").mean())

    def confirm_similarity(self, mechanism: Mechanism) -> tuple[float, float, float]:
        """Return the mean cosine by frequency, with limits (normal, 99 %) unless it is exact."""
        if self.exact:
            each = self._cosines(mechanism, np.arange(self.space.n), True, "")
            mean = float(each @ self.space.frequencies)
            return mean, mean, mean
        each = self._cosines(mechanism, self._random_words("similarity"), False, "similarity")
        mean, half = float(each.mean()), 2.576 * float(each.std()) / len(each) ** 0.5
        return mean, mean - half, mean + half

    def _cosines(self, mechanism: Mechanism, ids: Ids, known: bool, name: str) -> Floats:
        if not known:
            return cosines(unit_vectors(self.space), ids, self.draw(mechanism, ids, name))
        distinct, inverse = np.unique(ids, return_inverse=True)
        sampler, units = mechanism.prepare(self.space), unit_vectors(self.space)

        def mean_cosine(pmf: Floats, part: slice) -> Floats:
            return np.asarray(np.einsum("mn,mn->m", pmf, units[distinct[part]] @ units.T))

        found = for_each_word(sampler, self.space.n, distinct, mean_cosine)
        return np.asarray(found[inverse])
