"""Occurrences of words in groups of texts, estimated from their sanitized words alone.

Counts of outputs are Poisson: ``Y_u ~ Poisson((P'l)_u)`` with the public distributions P(u|x) of a
table and the rates l of all inputs.  Log rates are Gaussian around a public prior.  Their mode and
the curvature there (Laplace) give estimates and deviations; docs/estimate.md has the formulas, and
where the constants come from.  Only outputs and public data are read: post-processing.

Shapes: n words and ⊥, M outputs that are seen, f features, k lists, g groups.  A list is a column
of a sparse 0/1 matrix, shape (n + 1, k).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy import linalg, optimize, sparse
from scipy.linalg import blas
from scipy.special import kl_div

from dpsan.embeddings.words import Progress, no_progress
from dpsan.errors import UsageError, number
from dpsan.mechanisms.tables import Sampler
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.outcomes.distributions import prior
from dpsan.space.arrays import Floats, Ids, unit_rows
from dpsan.space.metric_space import MetricSpace

MOST_OUTPUTS: Final = 6000
"""Outputs of a table whose M x M matrices fit into memory."""
MISFIT: Final = (1.1, 30_000, 0.1)
"""Largest mean deviance of texts that the stated settings wrote, up to so many words, and the power
of their number with which it grows: many words tell more of what the prior does not know."""
_BESIDE: Final = ((0.5, 0.05, 0.2), (0.25, 0.05, 0.3))
_CLEAR: Final = 50.0
"""Scales of a group beside all groups: the usual ones, and those where single words differ less;
nats that the latter must gain."""
_STEPS, _GAIN, _KEPT = 25, 0.5, 10
"""Steps after which the fit is scaled anew, nats that they gain at least, steps that are known."""
_FRESH: Final = 0.02
"""Public share of the prior of groups that are compared."""
_ADDED: Final = 5.0
"""Added to counts in all ratios."""
_BELOW, _ABOVE, _COUNT_FLOOR, _WIDEST = 1.7, 2.0, 0.3, 4.0
"""Ends of an interval of a count, in deviations; the least log error; the largest ratio of ends."""
_CALL, _RATIO_FLOOR, _WORD_FLOOR = 2.0, 0.15, 0.2
"""Deviations of a difference that is called; the least log error of a rate, of one word's rate."""
_USUAL, _CANDIDATES = 50, 3000
"""Ranks of the words among which the over-represented ones are sought."""
_AT_MOST: Final = 1.96
_UNSEEN: Final = 3.69
"""Deviations of an upper bound; expected outputs of which none occurs in a text of forty."""
_TRIES: Final = 8
"""Scales that are tried, about; for progress."""

Lists = sparse.csc_matrix
Scales = tuple[float, float, float]
"""Deviations of log rates from the prior: of single words, those that similar words share, and
that which the words of a list share."""
_FIRST: Final = (1.0, 0.1, 0.0)
"""The usual scales, where a search begins."""


@dataclass(frozen=True)
class Channel:
    """Public distributions of the outputs that are seen: ``P[x] = near[x] + mix[x] * base``."""

    outputs: Ids
    """Row of each output, (M,)."""
    base: Floats
    """(M,)."""
    cells: sparse.csr_matrix
    """``near``, and ``mix`` as the last column, (n + 1, M + 1)."""
    prior: Floats
    """Share of each input before the counts are seen: public, or that in all groups, (n + 1,)."""
    features: Floats
    """1, log public share and word vector of each word, zeros for ⊥: (n + 1, f)."""

    @classmethod
    def of(cls, table: Sampler, space: MetricSpace, read: Sequence[Ids]) -> "Channel":
        """Return the distributions of a table.

        Args:
            read: rows of the words that a reader of the text sees for each word, (n,).

        Raises:
            UsageError: the mechanism has no table of few outputs.
        """
        if not isinstance(table, SparseTable) or len(table.base.words) > MOST_OUTPUTS:
            what = f"a mechanism without a table of at most {number(MOST_OUTPUTS)} outputs"
            raise UsageError(f"cannot estimate: {what}", "optimal-response has one")
        n, drawn = space.n, table.base.words.astype(np.int64)
        words, near, masses = table.near.sets(np.arange(n))
        cells = table.increment * masses / table.totals(words), (words, near)
        written = sparse.csr_matrix(cells, (n + 1, n))
        readings = as_lists([read[word] for word in drawn], n + 1).T.tocsr()
        outputs = np.intersect1d(drawn, readings.indices)
        readings, mix = readings[:, outputs], 1 - np.asarray(written.sum(axis=1))
        logs, units = np.log(space.frequencies), unit_rows(space.vectors) * np.sqrt(space.d)
        features = np.column_stack([np.ones(n), (logs - logs.mean()) / (logs.std() or 1), units])
        return cls(
            outputs=outputs,
            base=readings.T @ (table.base.weights / table.base.total),
            cells=sparse.hstack([written[:, drawn] @ readings, sparse.csr_matrix(mix)]).tocsr(),
            prior=prior(space),
            features=np.asfortranarray(np.vstack([features, np.zeros(features.shape[1])])),
        )

    def mixed(self, values: Any) -> Floats:
        """Return (M,) or (M, k) of (M + 1,) or (M + 1, k): the last one is spread over the base."""
        dense = values if isinstance(values, np.ndarray) else values.toarray()
        return np.asarray(dense[:-1] + np.multiply.outer(self.base, dense[-1]))

    def forward(self, rates: Any) -> Floats:
        """Return the mean count of each output, (M,) or (M, k), of rates (n + 1,) or (n + 1, k)."""
        return self.mixed(self.cells.T @ rates)

    def backward(self, scores: Floats) -> Floats:
        """Return the mean score of the output of each input, (n + 1,), of scores (M,)."""
        return np.asarray(self.cells @ np.append(scores, self.base @ scores))

    def covariances(self, rates: Floats, scales: Scales) -> tuple[Floats, Floats]:
        """Return the variance of each log rate alone, given the outputs, (n + 1,), and the
        covariances of what similar words share, (f, f), where words of low rates count for nothing.
        """
        inverse, mix = 1 / self.forward(rates), self.cells[:, [-1]].toarray().ravel()
        squares = self.cells.power(2) @ np.append(inverse, self.base**2 @ inverse)
        squares += 2 * mix * (self.cells @ np.append(self.base * inverse, 0))
        known = rates > 1
        slopes = self.cells[known].T @ (rates[known, None] * self.features[known])
        slopes = self.mixed(slopes) * np.sqrt(inverse)[:, None]
        shared = slopes.T @ slopes + np.eye(slopes.shape[1]) / scales[1] ** 2
        return 1 / (rates**2 * squares + 1 / scales[0] ** 2), linalg.inv(shared)


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
    lost: float
    """Minus the log posterior density at the mode, up to a constant."""

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
        """Return the mean deviance of an output: below 1 unless other settings wrote the texts.

        A squared residual has no bound where an output is expected in a hundredth of a text.
        """
        return float(2 * np.mean(kl_div(self.counts, self.mean)))

    @property
    def _slopes(self) -> Floats:
        """Derivative of the rates by the shared deviations, (n + 1, f)."""
        return self.rates[:, None] * self.channel.features * self.scales[1]

    @cached_property
    def _mean_slopes(self) -> Floats:
        """Derivative of the mean, (M, f)."""
        return self.channel.forward(self._slopes)

    def factor(self) -> Floats:
        """Return the Cholesky factor of the predictive covariance of the counts, (M, M).

        It is computed anew each time: it takes most of the memory.
        """
        weighted = sparse.diags(self.rates * self.scales[0]) @ self.channel.cells
        near, mix = weighted[:, :-1], weighted[:, [-1]].toarray().ravel()
        table = (near.T @ near).toarray(order="F")
        table[np.diag_indices_from(table)] += self.mean
        table = blas.dsyrk(1, self._mean_slopes, 1, table, lower=1, overwrite_c=1)
        # With b for the base, the mixed part adds mixed b' + b mixed'.
        mixed = near.T @ mix + mix @ mix / 2 * self.channel.base
        table = blas.dsyr2(1, self.channel.base, mixed, lower=1, a=table, overwrite_a=1)
        factor, _ = linalg.cho_factor(table, lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(factor)

    def evidence(self) -> float:
        """Return the log evidence of the scales (Laplace), up to a constant."""
        return float(-self.lost - np.log(np.diag(self.factor()) / np.sqrt(self.mean)).sum())

    def of_lists(self, lists: Lists, factor: Floats) -> tuple[Floats, Floats]:
        """Return estimated occurrences of lists and their standard deviations, (k,) each.

        The fit does not know the lists.  What the words of one share is estimated afterwards, by
        one step of Newton with all other rates free, and moves the estimate of the list.

        Args:
            factor: that of :meth:`factor`, which takes most of the time.
        """
        variance = self.rates * (self.rates * self.scales[0] ** 2 + 1)
        weighted, shared = sparse.diags(variance) @ lists, lists.T @ self._slopes
        expected = self.channel.forward(weighted) + self._mean_slopes @ shared.T
        change = self.channel.forward(sparse.diags(self.rates) @ lists)
        both = np.hstack([expected, change])
        both = linalg.solve_triangular(factor, both, lower=True, check_finite=False)
        half, whole = np.hsplit(both, 2)
        square = lists.T @ variance + (shared**2).sum(axis=1) - (half**2).sum(axis=0)
        slope = lists.T @ self.rates - (half * whole).sum(axis=0)
        spread = self.scales[2] ** 2 / (1 + self.scales[2] ** 2 * (whole**2).sum(axis=0))
        step = spread * (change.T @ (self.counts / self.mean - 1))
        count = np.maximum(lists.T @ self.words + slope * step, 0)
        return count, np.sqrt(np.maximum(square + slope**2 * spread, 0))


def fit(channel: Channel, counts: Floats, scales: Scales = _FIRST, mode: Any = 0.0) -> Fit:
    """Return the most probable rates: L-BFGS, from :meth:`Channel.covariances` on.

    The misfit with the usual scales tells whether these settings wrote the texts.  Scales of
    largest evidence are no test: large ones explain the counts of other settings.

    Args:
        counts: of outputs, (M,).
        mode: of a fit nearby; 0: the prior.
    """
    size, features = len(channel.prior), channel.features
    precision = np.repeat(scales[:2], [size, features.shape[1]]) ** -2.0
    begin = np.log(counts.sum() * channel.prior)

    def objective(mode: Floats) -> tuple[float, Floats, Floats]:
        rates = np.exp(np.minimum(begin + mode[:size] + features @ mode[size:], 20))
        mean = channel.forward(rates)
        slope = rates * channel.backward(counts / mean - 1)
        gradient = mode * precision - np.concatenate([slope, slope @ features])
        return mean.sum() - counts @ np.log(mean) + mode**2 @ precision / 2, gradient, rates

    def solve(vector: Floats) -> Floats:
        return scale * np.concatenate([vector[:size] * words, shared @ vector[size:]])

    mode = np.zeros(len(precision)) + mode
    (lost, gradient, rates), last, steps = objective(mode), np.inf, list[Any]()
    while last - lost > _GAIN:
        last, scale, (words, shared) = lost, 1.0, channel.covariances(rates, scales)
        for _ in range(_STEPS):
            if steps:
                step, change = steps[-1]
                scale *= float(step @ change / (change @ solve(change)))
            direction, length = _newton(gradient, steps, solve), 1.0
            while (found := objective(mode - length * direction))[0] > lost and length > 1e-6:
                length /= 2
            step, change = -length * direction, found[1] - gradient
            mode, (lost, gradient, rates) = mode + step, found
            if step @ change > 0:
                steps = [*steps[1 - _KEPT :], (step, change)]
    return Fit(channel, counts, scales, mode, rates, lost)


def _newton(vector: Floats, steps: Sequence[Any], solve: Callable[[Floats], Floats]) -> Floats:
    """Return the inverse Hessian times a vector, as L-BFGS knows it.

    Args:
        steps: the last ones, and the change of the gradient in each.
        solve: an inverse Hessian from which they start.
    """
    if not steps:
        return solve(vector)
    *earlier, (step, change) = steps
    weight = step @ vector / (step @ change)
    out = _newton(vector - weight * change, earlier, solve)
    return np.asarray(out + (weight - change @ out / (step @ change)) * step)


def most_misfit(words: int) -> float:
    """Return the largest misfit of so many words that the stated settings wrote."""
    limit, least, power = MISFIT
    return float(limit * max(1.0, words / least) ** power)


def best_fit(first: Fit, progress: Progress = no_progress) -> Fit:
    """Return the fit with the scales of largest evidence.

    Climb a grid of scales, from the first fit, until no neighbour gains more than 1 nat.
    """
    best = 0, 0
    tried = {best: (first.evidence(), first)}
    while True:
        value, here = tried[best]
        for step in (1, 0), (-1, 0), (0, 1), (0, -1):
            at = best[0] + step[0], best[1] + step[1]
            if at not in tried and -2 <= at[0] <= 3 and -2 <= at[1] <= 2:
                scales = 2 ** (at[0] / 2), 0.1 * 2.0 ** at[1], 0.0
                neighbour = fit(first.channel, first.counts, scales, here.mode)
                tried[at] = neighbour.evidence(), neighbour
                progress(min(1.0, len(tried) / _TRIES))
        best = max(tried, key=lambda at: tried[at][0])
        if tried[best][0] <= value + 1:
            return here


def beside(whole: Fit, groups: Sequence[Floats]) -> list[Fit]:
    """Return the fits to groups, with the rates of all groups as their prior.

    The largest group tells which scales they have.
    """
    share = whole.rates + _FRESH * whole.counts.sum() * whole.channel.prior
    channel, largest = replace(whole.channel, prior=share / share.sum()), max(groups, key=np.sum)
    best, less = (fit(channel, largest, scales) for scales in _BESIDE)
    if less.evidence() > best.evidence() + _CLEAR:
        best = less
    return [best if each is largest else fit(channel, each, best.scales) for each in groups]


def bounds(whole: Fit, counts: Floats, lists: Lists) -> list[tuple[int | None, int]]:
    """Return lower and upper bounds on the occurrences of each list in a group, (k,).

    The prior and the scales are those of all groups.  The lower bound is None where the ends of an
    interval are too far from each other.
    """
    group = fit(whole.channel, counts, whole.scales, whole.mode)
    count, deviation = group.of_lists(lists, group.factor())
    error = np.hypot(deviation / (count + _ADDED), _COUNT_FLOOR)
    low = (count + _ADDED) * np.exp(-_BELOW * error) - _ADDED
    high = (count + _ADDED) * np.exp(_ABOVE * error) - _ADDED
    is_interval = (low > 0) & (high <= _WIDEST * low)
    return [
        (math.floor(low[at]), math.ceil(high[at]))
        if is_interval[at]
        else (None, math.ceil(at_most(group, lists[:, [at]])))
        for at in range(lists.shape[1])
    ]


def least_ratios(found: Sequence[tuple[Floats, Floats]], sizes: Sequence[int]) -> Floats:
    """Return how often more a list is used in one group than in another at least, (k, g, g).

    It is called where it is above 1.

    Args:
        found: of lists in each group, see :meth:`Fit.of_lists`.
        sizes: words of each group.
    """
    count, deviation = np.transpose(found, (1, 2, 0))[..., None]
    words = np.array(sizes)[:, None]
    smoothed = count + 2 * _ADDED * words / (words + words.T)
    rates, errors = np.log(smoothed / words), (deviation / smoothed) ** 2
    margin = _CALL * np.sqrt(errors + errors.swapaxes(1, 2) + _RATIO_FLOOR**2)
    return np.asarray(np.exp(rates - rates.swapaxes(1, 2) - margin))


def over_represented(whole: Fit, group: Fit, factor: Floats) -> Ids:
    """Return rows of the words that a group uses more than all groups, the clearest first; the
    factor is that of the group.
    """
    rows = np.argsort(-whole.words[:-1])[_USUAL:_CANDIDATES]
    expected = whole.words[rows] * group.counts.sum() / whole.counts.sum()
    ratio = np.log((np.maximum(group.words[rows], 0) + _ADDED) / (expected + _ADDED))
    few = ratio > _CALL * _WORD_FLOOR  # no other word can be called
    rows, ratio = rows[few], ratio[few]
    count, deviation = group.of_lists(as_lists(rows[:, None], len(whole.words)), factor)
    score = ratio / np.hypot(deviation / (count + _ADDED), _WORD_FLOOR)
    order = np.argsort(-score)
    return np.asarray(rows[order][score[order] > _CALL])


def at_most(group: Fit, words: Lists) -> float:
    """Return an upper bound on the occurrences of a list, of 97.5 % and without any prior.

    Weights c >= 0 of outputs with P c >= 1 on the words make c·counts unbiased or too large.  The
    fit chooses the weights; that the bound holds needs none.  Outputs that do not occur may have
    been expected, so no bound is below that of a list without any.
    """
    whole, channel = group.counts.sum(), group.channel
    probabilities = channel.mixed(channel.cells[words.indices].T)
    share = np.maximum(group.mean / whole, 1e-12)
    cost = share + _AT_MOST * np.sqrt(share / whole)
    weights = np.asarray(optimize.linprog(cost, -probabilities.T, -np.ones(words.nnz)).x)
    bound = weights @ group.counts + _AT_MOST * np.sqrt(weights**2 @ group.counts)
    return float(max(bound, _UNSEEN * weights.max()))


def as_lists(lists: Sequence[Ids], inputs: int) -> Lists:
    """Return the 0/1 matrix of lists of rows, (inputs, k)."""
    sizes = [len(rows) for rows in lists]
    cells = np.concatenate([[], *lists]).astype(int), np.repeat(np.arange(len(lists)), sizes)
    return sparse.csc_matrix((np.ones(len(cells[0])), cells), (inputs, len(lists)))
