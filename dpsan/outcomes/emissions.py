"""How likely outputs are under inputs, and which inputs explain an output best.

Guessing the input argmax over w of prior(w)·P(u|w) for an output u is right as often as any rule
that sees one word at a time can be (Bayes).  Distributions are computed for a block of inputs at a
time, so memory is bounded.  ⊥ is never guessed: it is no string, so guessing it is never right.
Where a mechanism has no distribution in closed form, the density of its noise at the output's own
point stands for P(u|w): all inputs share the cell of u, so its volume cancels where cells are
small.  That observer is not the best one: its success is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import distributions, has_distribution
from dpsan.outcomes.likeliest import Likeliest
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

_CELLS: Final = 1 << 23
"""Probabilities that are held at once."""
_LEAST: Final = 1e-300


class Emissions:
    """P(u|w) of a mechanism, or what stands for it.

    Args:
        mechanism: resolved on the space.
    """

    def __init__(self, mechanism: Mechanism, space: MetricSpace) -> None:
        self.space = space
        self.sampler: Sampler = mechanism.prepare(space)
        self._block = max(1, min(512, _CELLS // space.n))
        self.exact = has_distribution(self.sampler)
        self._density = None if self.exact else mechanism.log_density(space)
        unknown = np.full((1, space.n), 1 / space.n)
        if self.exact:
            unknown = distributions(self.sampler, np.array([space.n]))
        self.unknown: Floats = np.log(np.maximum(unknown[0], _LEAST))
        """ln P(u|⊥), shape (n,); uniform where no distribution is known."""

    @property
    def name(self) -> str:
        """What the observer does."""
        if self.exact:
            return "optimal for single words"
        return "by noise density, heuristic: a lower bound"

    def log(self, ids: Ids, outputs: Ids) -> Floats:
        """Ln P(u|w) of inputs (b,) and outputs (q,), shape (b, q); b at most a block."""
        return self._logged(self._rows(ids)[:, outputs])

    def _rows(self, ids: Ids) -> Floats:
        """P(u|w), or where that is not known the distance, of inputs and all outputs, (b, n)."""
        if self._density is not None:
            return self.space.distances(ids)
        return distributions(self.sampler, ids)

    def _logged(self, cells: Floats) -> Floats:
        """Logarithms of cells of :meth:`_rows`; only those needed, for they are slow."""
        if self._density is not None:
            return self._density(cells)
        return np.asarray(np.log(np.maximum(cells, _LEAST)))

    def pairs(self, inputs: Ids, outputs: Ids) -> Floats:
        """Ln P(u|w) of m pairs, shape (m,); ⊥ allowed."""
        out = np.empty(len(inputs))
        unknown = inputs == self.space.n
        out[unknown] = self.unknown[outputs[unknown]]
        order = np.argsort(inputs, kind="stable")[: int((~unknown).sum())]
        distinct, starts = np.unique(inputs[order], return_index=True)
        starts = np.append(starts, len(order))
        for at in range(0, len(distinct), self._block):
            rows = distinct[at : at + self._block]
            some = order[starts[at] : starts[at + len(rows)]]
            cells = self._rows(rows)[np.searchsorted(rows, inputs[some]), outputs[some]]
            out[some] = self._logged(cells)
        return out

    def seen(self, inputs: Ids, outputs: Ids) -> Floats:
        """Ln P of what is seen, of m inputs and k noisings (k, m) of each, shape (m,)."""
        out = np.zeros(len(inputs))
        for each in outputs:
            told = each >= 0
            out[told] += self.pairs(inputs[told], each[told])
        return out

    def candidates(
        self,
        outputs: Ids,
        log_priors: Sequence[Floats],
        count: int,
        progress: Callable[[float], None] | None = None,
    ) -> list[Likeliest]:
        """The inputs that explain each output best; ties go to the smaller row.

        Args:
            outputs: what is seen, (q,), or of k noisings together (k, q), negative where one of
                them tells nothing.
            log_priors: of several observers, each (n,); all are served by one pass.

        Returns:
            Those of each observer; their scores are ln prior(w) + ln P(u|w).
        """
        n, noisings = self.space.n, np.atleast_2d(outputs)
        seen = np.unique(noisings)
        seen = seen[seen >= 0]
        # A last column for what tells nothing.
        places = np.where(noisings >= 0, np.searchsorted(seen, noisings), len(seen))
        numbers = np.arange(noisings.shape[1])
        found = [Likeliest(numbers, min(count, n), np.float32) for _ in log_priors]
        block = max(1, min(self._block, _CELLS // max(len(numbers), 1)))
        for at in range(0, n, block):
            ids = np.arange(at, min(at + block, n))
            logs = np.zeros((len(ids), len(seen) + 1))
            logs[:, :-1] = self.log(ids, seen)
            likelihoods = logs[:, places[0]]
            for each in places[1:]:
                likelihoods += logs[:, each]
            for each, log_prior in zip(found, log_priors, strict=True):
                each.add(ids, likelihoods + log_prior[ids, None])
            if progress:
                progress((at + len(ids)) / n)
        return found
