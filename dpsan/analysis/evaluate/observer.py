"""An observer of single words who knows the mechanism: likelihoods, and the best guess.

Knows row numbers, laws and frequencies.  Must not know texts.

An output u points to the input argmax over w of prior(w)·P(u|w): no rule that sees one word at a
time is right more often (Bayes).  The law is computed in blocks of inputs, so memory is bounded.
⊥ is never guessed: it is no string, so guessing it is never right.  For mechanisms without a law
in closed form the density of the noise at the output's own point stands for P(u|w): all inputs
share the cell of u, so its volume cancels where cells are small.  That observer is not the best
one: its success is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Mechanism, Sampler
from dpsan.space.metric_space import MetricSpace

__all__ = ["Candidates", "Emissions"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

_CELLS: Final = 1 << 23
"""Cells of the law that are held at once."""
_LEAST: Final = 1e-300


@dataclass(frozen=True)
class Candidates:
    """For each of q outputs the c inputs that explain it best, best first."""

    outputs: Ids
    """Ascending, shape (q,)."""
    inputs: NDArray[np.int32]
    """Shape (q, c)."""
    scores: NDArray[np.float32]
    """ln prior(w) + ln P(u|w), (q, c)."""

    def guesses(self) -> Ids:
        """The best guess for each output, (q,)."""
        return self.inputs[:, 0].astype(np.int64)


class Emissions:
    """P(u|w) of a mechanism, or what stands for it.

    Args:
        mechanism: resolved on the space.
        space: the vocabulary.
    """

    def __init__(self, mechanism: Mechanism, space: MetricSpace) -> None:
        self.space = space
        self._sampler: Sampler = mechanism.prepare(space)
        self._block = max(1, min(512, _CELLS // space.n))
        law = self._sampler.probabilities(np.array([space.n]))
        self.exact = law is not None
        self._density: Callable[[Floats], Floats] | None = None
        unknown = np.full((1, space.n), 1 / space.n) if law is None else law
        with np.errstate(divide="ignore"):
            self.unknown: Floats = np.log(np.maximum(unknown[0], _LEAST))
        """ln P(u|⊥), shape (n,); uniform where no law is known."""
        if not self.exact:
            self._density = mechanism.log_density(space)

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
        """The law of inputs, or their distances, to all outputs, (b, n)."""
        if self._density is not None:
            return self.space.distances(ids)
        law = self._sampler.probabilities(ids)
        assert law is not None  # noqa: S101 - as for the input ⊥
        return law

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

    def candidates(
        self,
        outputs: Ids,
        log_priors: Sequence[Floats],
        count: int,
        progress: Callable[[float], None] | None = None,
    ) -> list[Candidates]:
        """The inputs that explain each output best; ties go to the smaller row.

        Args:
            outputs: different rows, ascending, (q,).
            log_priors: of several observers, each (n,).  The law is computed once for all.
            count: how many candidates.
            progress: told the share done.

        Returns:
            Those of each observer.
        """
        n, q = self.space.n, len(outputs)
        count = min(count, n)
        found = [
            Candidates(
                outputs,
                np.zeros((q, count), dtype=np.int32),
                np.full((q, count), -np.inf, dtype=np.float32),
            )
            for _ in log_priors
        ]
        step = max(1, min(self._block, n))
        for at in range(0, n, step):
            ids = np.arange(at, min(at + step, n))
            law = self.log(ids, outputs)
            for each, log_prior in zip(found, log_priors, strict=True):
                _improve(each, ids, (law + log_prior[ids, None]).T.astype(np.float32))
            if progress:
                progress((at + len(ids)) / n)
        return found


def _improve(found: Candidates, ids: Ids, scores: NDArray[np.float32]) -> None:
    """Take better inputs into candidates; scores (q, b) of the inputs (b,)."""
    who, best = found.inputs, found.scores
    # Only outputs for which some input of this block is better than the last candidate.
    better = np.flatnonzero(scores.max(axis=1) > best[:, -1])
    joined = np.concatenate([best[better], scores[better]], axis=1)
    names = np.broadcast_to(ids.astype(np.int32), (len(better), len(ids)))
    names = np.concatenate([who[better], names], axis=1)
    top = _largest(joined, best.shape[1])
    best[better] = np.take_along_axis(joined, top, axis=1)
    who[better] = np.take_along_axis(names, top, axis=1)


def _largest(values: NDArray[np.float32], count: int) -> Ids:
    """Places of the largest values of each row, largest first, ties by place."""
    if values.shape[1] > 4 * count:
        rough = np.sort(np.argpartition(-values, count - 1, axis=1)[:, :count], axis=1)
        order = np.argsort(-np.take_along_axis(values, rough, axis=1), axis=1, kind="stable")
        return np.take_along_axis(rough, order, axis=1)
    return np.argsort(-values, axis=1, kind="stable")[:, :count]
