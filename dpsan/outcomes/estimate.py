"""Occurrences of words in groups of texts, estimated from their sanitized words alone.

Counts of outputs are Poisson: ``Y_u ~ Poisson((P'l)_u)`` with the public distributions P(u|x) of a
table and the rates l of all inputs.  Log rates are Gaussian around a public prior.  Their mode and
the curvature there (Laplace) give estimates and deviations; docs/estimate.md has the formulas, and
where the constants come from.  Only outputs and public data are read: post-processing.

Shapes: n words and ⊥, M outputs that are seen, f features, k lists.  A list is a column of a sparse
0/1 matrix, shape (n + 1, k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from dpsan.errors import refuse
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.outcomes.distributions import Progress, prior, silent
from dpsan.space.arrays import Floats, Ids, blocks, unit_rows
from dpsan.space.metric_space import MetricSpace
from dpsan.text.numerals import number

MOST_OUTPUTS: Final = 6000
"""Outputs of a table whose M x M matrices fit into memory."""
MISFIT: Final = 1.5
"""Largest mean squared residual of texts that the stated settings wrote."""
_WHITE: Final = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
_SMOOTH: Final = (0.025, 0.05, 0.1, 0.2, 0.4)
"""Deviations of log rates from the prior: those of single words, and those that similar words
share."""
_FIRST: Final = (2, 2)
_BESIDE: Final = (0.5, 0.05, 0.2)
"""The same for a group beside all groups, and that which the words of a list share."""
_STEPS: Final = 50
_GAIN: Final = 0.1
"""Steps after which the fit is scaled anew, and nats that they gain at least."""
_FRESH: Final = 0.02
"""Public share of the prior of groups that are compared."""
ADDED: Final = 5.0
"""Added to counts in all ratios."""
_BELOW, _ABOVE, _COUNT_FLOOR, _WIDEST = 1.7, 2.0, 0.3, 4.0
"""Ends of an interval of a count, in deviations; the least log error; the largest ratio of ends."""
_CALL, _RATIO_FLOOR, _WORD_FLOOR = 2.0, 0.15, 0.2
"""Deviations of a difference that is called; the least log error of a rate, of one word's rate."""
_USUAL, _CANDIDATES = 50, 3000
"""Ranks of the words among which the over-represented ones are sought."""
_AT_MOST: Final = 1.96
_BLOCK: Final = 512
minimize: Any = optimize.minimize  # whose types take no function of two arguments
_TRIES: Final = 8
"""Scales that are tried, about; for progress."""

Lists = sparse.csc_matrix
Scales = tuple[float, float, float]
"""Of deviations of single words, of similar words, and of all words of a list that is asked for."""
Found = tuple[Floats, Floats]
"""Occurrences of lists and their standard deviations, (k,) each."""


@dataclass(frozen=True)
class Channel:
    """Public distributions of the outputs that are seen: ``P[x] = mix[x] * base + near[x]``."""

    outputs: Ids
    """Row of each output, (M,)."""
    base: Floats
    """(M,)."""
    mix: Floats
    """(n + 1,)."""
    near: sparse.csr_matrix
    """(n + 1, M)."""
    prior: Floats
    """Public share of each input, (n + 1,)."""
    features: Floats
    """1, log public share and word vector of each word, zeros for ⊥: (n + 1, f)."""

    @classmethod
    def of(cls, table: Sampler, space: MetricSpace, read: Sequence[Ids]) -> Channel:
        """Return the distributions of a table.

        Args:
            read: rows of the words that a reader of the text sees for each word, (n,).

        Raises:
            UsageError: the mechanism has no table of few outputs.
        """
        few = isinstance(table, SparseTable) and len(table.base.words) <= MOST_OUTPUTS
        what = f"a mechanism without a table of at most {number(MOST_OUTPUTS)} outputs"
        refuse(not few, f"cannot estimate: {what}", "optimal-response has one")
        assert isinstance(table, SparseTable)  # noqa: S101 - for the type checker
        n, drawn = space.n, table.base.words.astype(np.int64)
        words, near, masses = table.near.sets(np.arange(n))
        cells = table.increment * masses / table.totals(words), (words, near)
        written = sparse.csr_matrix(cells, (n + 1, n))
        readings = as_lists([read[word] for word in drawn], n + 1).T.tocsr()
        outputs = np.intersect1d(drawn, readings.indices)
        readings = readings[:, outputs]
        logs, units = np.log(space.frequencies), unit_rows(space.vectors) * np.sqrt(space.d)
        features = np.column_stack([np.ones(n), (logs - logs.mean()) / (logs.std() or 1), units])
        return cls(
            outputs=outputs,
            base=readings.T @ (table.base.weights / table.base.total),
            mix=1 - np.asarray(written.sum(axis=1)).ravel(),
            near=(written[:, drawn] @ readings).tocsr(),
            prior=prior(space),
            features=np.asfortranarray(np.vstack([features, np.zeros(features.shape[1])])),
        )

    @cached_property
    def back(self) -> sparse.csr_matrix:
        """Return the near sets by output, (M, n + 1)."""
        return self.near.T.tocsr()

    def information(self, rates: Floats) -> Floats:
        """Return the Fisher information of each log rate alone, (n + 1,)."""
        inverse = 1 / self.forward(rates)
        out = self.near.power(2) @ inverse + self.mix**2 * (self.base**2 @ inverse)
        return np.asarray(rates**2 * (out + 2 * self.mix * (self.near @ (self.base * inverse))))

    def forward(self, rates: Any) -> Floats:
        """Return the mean count of each output, (M,) or (M, k), of rates (n + 1,) or (n + 1, k)."""
        nearby = self.back @ rates
        dense = nearby if isinstance(nearby, np.ndarray) else nearby.toarray()
        return np.asarray(np.multiply.outer(self.base, self.mix @ rates) + dense)

    def backward(self, scores: Floats) -> Floats:
        """Return the mean score of the output of each input, (n + 1,), of scores (M,)."""
        return np.asarray(self.mix * (self.base @ scores) + self.near @ scores)


@dataclass(frozen=True)
class Fit:
    """Mode of the log rates of all words, and its Gaussian (Laplace) approximation."""

    channel: Channel
    counts: Floats
    """Of outputs, (M,)."""
    scales: Scales
    mode: Floats
    """Deviations of log rates: of each input, then of each feature, (n + 1 + f,)."""
    rates: Floats
    """Expected occurrences of each input, (n + 1,)."""

    @cached_property
    def mean(self) -> Floats:
        """Fitted mean of the counts, (M,)."""
        return self.channel.forward(self.rates)

    @cached_property
    def words(self) -> Floats:
        """Estimated occurrences of each input, given the outputs, (n + 1,)."""
        return self.rates * self.channel.backward(self.counts / self.mean)

    @property
    def misfit(self) -> float:
        """Return the mean squared residual of an output: below 1 unless other settings wrote."""
        return float(np.mean((self.counts - self.mean) ** 2 / self.mean))

    @property
    def _slopes(self) -> Floats:
        """Derivative of the rates by the shared deviations, (n + 1, f)."""
        return self.rates[:, None] * self.channel.features * self.scales[1]

    def _factor(self) -> Floats:
        """Return the Cholesky factor of the predictive covariance of the counts, (M, M).

        It is computed anew each time: it takes most of the memory.
        """
        channel, square = self.channel, (self.rates * self.scales[0]) ** 2
        slopes, base = channel.forward(self._slopes), channel.base
        cross = channel.back @ (square * channel.mix) + (square @ channel.mix**2 / 2) * base
        left = np.column_stack([slopes, cross, base])
        right = np.column_stack([slopes, base, cross])
        weighted = sparse.diags(square) @ channel.near
        table = np.empty((len(base), len(base)))
        for rows in blocks(len(base), _BLOCK):
            table[rows] = left[rows] @ right.T + (channel.back[rows] @ weighted).toarray()
        table[np.diag_indices_from(table)] += self.mean
        # Transposed, the symmetric matrix has the order of columns that needs no copy.
        factor = linalg.cholesky(table.T, lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(factor)

    def evidence(self) -> float:
        """Return the log evidence of the scales (Laplace), up to a constant."""
        scales = np.repeat(self.scales[:2], [len(self.rates), self.channel.features.shape[1]])
        fitted = self.counts @ np.log(self.mean) - self.mean.sum()
        fitted -= np.sum((self.mode / scales) ** 2) / 2
        return float(fitted - np.log(np.diag(self._factor()) / np.sqrt(self.mean)).sum())

    def of_lists(self, lists: Lists) -> Found:
        """Return estimated occurrences of lists and their standard deviations, (k,) each.

        The fit does not know the lists.  What the words of one share is estimated afterwards, by
        one step of Newton with all other rates free, and moves the estimate of the list.
        """
        variance = self.rates * (self.rates * self.scales[0] ** 2 + 1)
        weighted, shared = sparse.diags(variance) @ lists, lists.T @ self._slopes
        expected = self.channel.forward(weighted) + self.channel.forward(self._slopes) @ shared.T
        change = self.channel.forward(sparse.diags(self.rates) @ lists)
        both = np.hstack([expected, change])
        both = linalg.solve_triangular(self._factor(), both, lower=True, check_finite=False)
        half, whole = np.hsplit(both, 2)
        square = lists.T @ variance + (shared**2).sum(axis=1) - (half**2).sum(axis=0)
        slope = lists.T @ self.rates - (half * whole).sum(axis=0)
        spread = self.scales[2] ** 2 / (1 + self.scales[2] ** 2 * (whole**2).sum(axis=0))
        step = spread * (change.T @ (self.counts / self.mean - 1))
        count = np.maximum(lists.T @ self.words + slope * step, 0)
        return count, np.sqrt(np.maximum(square + slope**2 * spread, 0))


def fit(
    channel: Channel, counts: Floats, share: Floats, scales: Scales, mode: Floats | None = None
) -> Fit:
    """Return the most probable rates.

    Args:
        counts: of outputs, (M,).
        share: of each input before the counts are seen, (n + 1,).
        mode: of a fit nearby.
    """
    size, features = len(share), channel.features
    scale = np.repeat(scales[:2], [size, features.shape[1]])
    begin, squares = np.log(counts.sum() * share), features**2
    mode = np.zeros(len(scale)) if mode is None else mode

    def rates_at(mode: Floats) -> Floats:
        return np.asarray(np.exp(np.minimum(begin + mode[:size] + features @ mode[size:], 20)))

    def objective(point: Any, width: Any) -> tuple[float, Floats]:
        mode = width * point
        rates = rates_at(mode)
        mean = channel.forward(rates)
        slope = rates * channel.backward(counts / mean - 1)
        gradient = mode / scale**2 - np.concatenate([slope, slope @ features])
        lost = mean.sum() - counts @ np.log(mean) + np.sum((mode / scale) ** 2) / 2
        return float(lost), width * gradient

    last, gain = np.inf, np.inf
    while gain > _GAIN:  # in units of deviations given the outputs, which depend on the rates
        information = channel.information(rates_at(mode))
        width = scale / np.sqrt(1 + scale**2 * np.concatenate([information, information @ squares]))
        start, method = mode / width, "L-BFGS-B"
        optimum = minimize(objective, start, width, method, jac=True, options={"maxiter": _STEPS})
        mode, gain, last = width * optimum.x, last - optimum.fun, optimum.fun
    return Fit(channel, counts, scales, mode, rates_at(mode))


def first_fit(channel: Channel, counts: Floats) -> Fit:
    """Return the fit with usual scales, whose misfit tells whether these settings wrote the texts.

    Scales of largest evidence are no test: large ones explain the counts of other settings.
    """
    return fit(channel, counts, channel.prior, _scales(_FIRST))


def _scales(at: tuple[int, int]) -> Scales:
    return _WHITE[at[0]], _SMOOTH[at[1]], 0.0


def best_fit(first: Fit, progress: Progress = silent) -> Fit:
    """Return the fit with the scales of largest evidence.

    Climb a grid of scales, from the first fit, until no neighbour gains more than 1 nat.  What was
    tried before had less than the best one then.
    """
    tried, here, best, value, gain = {_FIRST}, _FIRST, first, first.evidence(), np.inf
    while gain > 1:
        fits, (row, column), near = [], here, best.mode
        for at in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if at not in tried and at[0] in range(len(_WHITE)) and at[1] in range(len(_SMOOTH)):
                made = fit(first.channel, first.counts, first.channel.prior, _scales(at), near)
                fits.append((made.evidence(), at, made))
                tried.add(at)
                progress(min(1.0, len(tried) / _TRIES))
        highest = max(fits, key=lambda scored: scored[0], default=(value, here, best))
        gain = highest[0] - value
        if gain > 1:
            value, here, best = highest
    return best


def beside(whole: Fit, counts: Floats) -> Fit:
    """Return the fit to a group, with the rates of all groups as its prior."""
    share = whole.rates + _FRESH * whole.counts.sum() * whole.channel.prior
    return fit(whole.channel, counts, share / share.sum(), _BESIDE)


def intervals(estimated: Found) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return lower and upper ends, and whether they are close enough to be given, (k,) each."""
    count, deviation = estimated
    error = np.hypot(deviation / (count + ADDED), _COUNT_FLOOR)
    low = np.maximum((count + ADDED) * np.exp(-_BELOW * error) - ADDED, 0)
    high = (count + ADDED) * np.exp(_ABOVE * error) - ADDED
    return low, high, (low > 0) & (high <= _WIDEST * low)


def least_log_ratios(first: Found, second: Found, sizes: tuple[float, float]) -> Floats:
    """Return the log of how often more a list is used in one group than in another at least, (k,).

    It is called where it is above 0.

    Args:
        sizes: words of the two groups.
    """
    (counts, deviations), words = np.stack([first, second], axis=1), np.array(sizes)[:, None]
    smoothed = counts + 2 * ADDED * words / words.sum()
    rates, error = np.log(smoothed / words), np.hypot(*(deviations / smoothed))
    return np.asarray(rates[0] - rates[1] - _CALL * np.hypot(error, _RATIO_FLOOR))


def over_represented(whole: Fit, group: Fit) -> Ids:
    """Return rows of the words that a group uses more than all groups, the clearest first."""
    rows = np.argsort(-whole.words[:-1])[_USUAL:_CANDIDATES]
    expected = whole.words[rows] * group.counts.sum() / whole.counts.sum()
    ratio = np.log((np.maximum(group.words[rows], 0) + ADDED) / (expected + ADDED))
    few = ratio > _CALL * _WORD_FLOOR  # no other word can be called
    rows, ratio = rows[few], ratio[few]
    count, deviation = group.of_lists(as_lists(rows[:, None], len(whole.words)))
    score = ratio / np.hypot(deviation / (count + ADDED), _WORD_FLOOR)
    order = np.argsort(-score)
    return np.asarray(rows[order][score[order] > _CALL])


def at_most(group: Fit, rows: Ids) -> float:
    """Return an upper bound on the occurrences of words, of 97.5 % and without any prior.

    Weights c >= 0 of outputs with P c >= 1 on the words make c·counts unbiased or too large.  The
    fit chooses the weights; that the bound holds needs none.
    """
    near, whole = group.channel.near[rows], group.counts.sum()
    outputs = np.unique(near.indices)
    base = np.outer(group.channel.mix[rows], group.channel.base[outputs])
    share = np.maximum(group.mean[outputs] / whole, 1e-12)
    cost = share + _AT_MOST * np.sqrt(share / whole)
    limits = near[:, outputs].toarray() + base
    weights = np.asarray(optimize.linprog(cost, -limits, -np.ones(len(rows))).x)
    counts = group.counts[outputs]
    return float(weights @ counts + _AT_MOST * np.sqrt(weights**2 @ counts))


def as_lists(lists: Sequence[Ids], inputs: int) -> Lists:
    """Return the 0/1 matrix of lists of rows, (inputs, k)."""
    sizes = [len(rows) for rows in lists]
    cells = np.concatenate([[], *lists]).astype(int), np.repeat(np.arange(len(lists)), sizes)
    return sparse.csc_matrix((np.ones(len(cells[0])), cells), (inputs, len(lists)))
