"""Exact privacy loss of a distribution over the vocabulary, over every pair of inputs, ⊥ included.

The loss of input w against w' is ``max over outputs u of ln P(u|w) - ln P(u|w')``.  For weights
``exp(-S(w, u))`` with a metric S whose inputs are outputs, u = w attains it, by the triangle
inequality: it is ``S(w, w') + ln Z(w') - ln Z(w)``, so O(n²) values are enough instead of O(n³).

A mechanism that has a closed form hands its distribution to one of the functions below
(``Mechanism.certificate``); ``mechanisms.mechanism.certify`` falls back on the matrix of a small
vocabulary.
"""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.privacy.guarantee import Claim
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

# Losses between the rows of a matrix of probabilities, as float64 gives them.


def pairwise_losses(pmf: Floats) -> Floats:
    """Loss of every input against every other, (inputs, inputs); inf where supports differ."""
    out, scratch = np.empty((len(pmf), len(pmf))), np.empty_like(pmf)
    with np.errstate(divide="ignore", invalid="ignore"):  # an output that neither input has: NaN
        logs = np.log(pmf)
        for row in range(len(pmf)):
            out[row] = np.fmax.reduce(np.subtract(logs[row], logs, out=scratch), axis=1)
    return np.maximum(out, 0)


def infinite_loss(pmf: Floats) -> tuple[float, tuple[int, int]]:
    """Largest probability of outputs of one input that another cannot give, and the two inputs."""
    mass = pmf @ (pmf == 0).T.astype(np.float64)
    i, j = np.unravel_index(int(np.argmax(mass)), mass.shape)
    return float(mass[i, j]), (int(i), int(j))


def hockey_stick(pmf: Floats, epsilon: float | Floats) -> tuple[float, tuple[int, int]]:
    """Smallest delta at an epsilon: max over pairs of sum (P(u|w) - e^epsilon P(u|w'))+.

    Args:
        pmf: shape (inputs, outputs).
        epsilon: one value, or one for each pair.
    """
    factors = np.broadcast_to(np.exp(np.minimum(epsilon, 700.0)), (len(pmf), len(pmf)))
    best, pair = 0.0, (0, 0)
    for row in range(len(pmf)):
        deltas = np.maximum(pmf[row] - factors[row][:, None] * pmf, 0).sum(axis=1)
        other = int(np.argmax(deltas))
        if deltas[other] > best:
            best, pair = float(deltas[other]), (row, other)
    return best, pair


MATRIX_WORDS: Final = 2000
"""Largest vocabulary whose distribution matrix is compared in full, O(n³)."""
WORK: Final = 2e13
"""Largest 2·n²·d for the O(n²) certificates; some minutes."""
PROBABILITY_ERROR: Final = 2.0**-36
"""Bound on the relative error of a probability that float64 operations made of integers: one
division, and sums and products of at most 2^16 terms, each rounded by 2^-53 of its value."""
_LOGARITHMS: Final = 2.0**-40
"""Bound on the rounding of two logarithms above -745, to an ulp each, and of their difference."""
WEIGHT_ERROR: Final = 2.4e-6
"""Bound on |ln W + min(score, cap) - ln 2^62|: floor of a value >= 2^62·e^-30 = 4.3e5."""
_ROWS: Final = 32
_CELLS: Final = 1 << 19
"""Rows that are looked at together, and numbers in them where n is large."""
_TOP: Final = 62 * math.log(2)
"""Logarithm of the largest integer weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The loss of the distribution that is sampled, over every pair of inputs (``n`` is ⊥)."""

    method: str
    epsilon_ldp: float
    """Upper bound on every loss, nats; the true maximum is at least this minus ``slack``."""
    epsilon_metric: float | None = None
    """Least value with loss <= epsilon_metric·distance + slack for all pairs; None: no metric."""
    delta: float = 0.0
    """Smallest delta with which the claimed epsilon holds; 0 where the claim is kept."""
    infinite_loss_mass: float = 0.0
    """Largest probability of an output that excludes some other input altogether."""
    pair: tuple[int, int]
    """Inputs with the largest loss, of the first against the second."""
    metric: str | None = None
    slack: float = 0.0
    """Width of the rounding bound, nats; included in ``epsilon_ldp``."""


def input_distances(space: MetricSpace) -> Floats:
    """True distances between all inputs, (n + 1,) * 2; ⊥ is half a diameter from every word."""
    from scipy.spatial.distance import cdist  # heavy import

    n, points = space.n, space.points(np.arange(space.n))
    out = np.full((n + 1, n + 1), space.diameter / 2)
    out[:n, :n] = cdist(points, points)
    out[n, n] = 0.0
    return out


# Distributions exp(-score) with a score that is a metric.


class Metric(NamedTuple):
    """A metric on the words of a space, which falls short of no distance that a proof needs."""

    name: str
    distances: Callable[[Ids], Floats]
    """Distances of words (m,) from all words, shape (m, n), 0 to the word itself."""
    diameter: float
    """The largest distance, or an upper bound; ⊥ counts as a point at half of it from all words."""
    error: float = 0.0
    """Bound on the rounding of a distance."""


def euclidean(space: MetricSpace) -> Metric:
    """Return the Euclidean metric, with distances on the lattice of the space."""
    return Metric("euclidean", space.distances, space.diameter, space.lattice.error)


def exp_certificate(
    space: MetricSpace,
    metric: Metric,
    weights: Callable[[Ids], NDArray[np.uint64]],
    factor: float,
    cap: float,
    key: str,
) -> Certificate | None:
    """Certificate of integer weights floor(2^62·exp(-min(factor·distance, cap))); ⊥ is uniform.

    It speaks of the true distances: their rounding is in ``slack``.

    Args:
        weights: words (m,) -> the integers that are sampled, (m, n).
        key: names the distribution, for the cache.

    Returns:
        None where 2·n²·d is beyond a few minutes.
    """
    error, unknown = WEIGHT_ERROR + factor * metric.error, metric.diameter / 2
    if 2.0 * space.n**2 * (space.d + 32) > WORK:
        return None

    def build() -> Certificate:
        n = space.n
        block = max(1, min(_ROWS, _CELLS // n))
        totals, smallest = np.empty(n), np.empty(n)
        for at in range(0, n, block):
            ids = np.arange(at, min(at + block, n))
            rows = weights(ids)
            totals[ids] = rows.sum(axis=1, dtype=np.float64)
            smallest[ids] = rows.min(axis=1)
        totals = np.log(totals)
        # ⊥ against words and words against ⊥, exact from the integers.
        from_unknown = totals - math.log(n) - np.log(smallest)
        to_unknown = math.log(n) + _TOP - totals
        w = int(np.argmax(from_unknown))
        worst, pair = float(from_unknown[w]), (n, w)
        w = int(np.argmax(to_unknown))
        if to_unknown[w] > worst:
            worst, pair = float(to_unknown[w]), (w, n)
        # The triangle inequality holds for the true scores: two weights and the score at hand are
        # rounded, so a loss is at most score + gap + 3·error, and a gap at most score + 3·error.
        # Totals of n <= 2^24 float64 terms are good to 1e-8.
        rounded = 3 * error + 2e-8 * (n > 1 << 20) + 1e-11
        per_unit = worst / unknown if unknown > 0 else 0.0
        for at in range(0, n, 8 * block):
            ids = np.arange(at, min(at + 8 * block, n))
            apart = metric.distances(ids)
            scores = np.minimum(apart * factor, cap)
            gaps = np.abs(totals[ids, None] - totals)
            losses = scores + gaps
            index = int(np.argmax(losses))
            if losses.flat[index] > worst:
                worst = float(losses.flat[index])
                i, j = at + index // n, index % n
                pair = (i, j) if totals[i] <= totals[j] else (j, i)
            # What rounding may have made of a gap is slack and no loss per unit: all that it can be
            # next to a word, elsewhere what exceeds the score.
            least = np.maximum(gaps - rounded, 0)
            np.minimum(gaps, scores, out=gaps)
            gaps[scores < 1000 * rounded] = 0
            np.maximum(gaps, least, out=gaps)
            gaps += scores
            apart[apart == 0] = math.inf
            gaps /= apart
            per_unit = max(per_unit, float(gaps.max()))
        # loss <= score + gap less rounding + 2·rounded, and the true distance is not that at hand.
        slack = 2 * rounded + per_unit * metric.error
        return Certificate(
            method="exact certificate, integer weights",
            epsilon_ldp=worst + slack,
            epsilon_metric=per_unit,
            pair=pair,
            metric=metric.name,
            slack=slack,
        )

    return kept_certificate(space, key, build)


# Any distribution of which more is known.


def log_ratio(a: int, b: int) -> float:
    """ln(a/b) of positive integers, at least 0: the least float64 that is not below it."""
    if a <= b:
        return 0.0
    with localcontext() as context:
        context.prec = 60  # the integers have at most 20 digits each
        exact = (Decimal(a) / Decimal(b)).ln()
        value = float(exact)
        return value if Decimal(value) >= exact else math.nextafter(value, math.inf)


def kept_certificate(space: MetricSpace, key: str, build: Callable[[], Certificate]) -> Certificate:
    """Return a certificate that takes long: built once, then kept with the space.

    Args:
        key: names the distribution, for the cache.
    """

    def table() -> Arrays:
        return {"figures": np.frombuffer(json.dumps(asdict(build())).encode(), dtype=np.uint8)}

    table_kept = space.table(f"certificate-5-{key}", table, of_mechanism=True)
    figures = json.loads(table_kept["figures"].tobytes())
    return Certificate(**{**figures, "pair": tuple(figures["pair"])})


# Any distribution, as a matrix.


def matrix_certificate(
    pmf: Floats,
    claim: Claim | None = None,
    distances: Floats | None = None,
    *,
    error: float = PROBABILITY_ERROR,
) -> Certificate:
    """Certificate of a distribution matrix, rounded outward: docs/proofs.md 0.7.

    Args:
        pmf: shape (inputs, outputs), rows sum to 1.
        distances: shape (inputs, inputs), for the metric; good to 2^-40 of their value.
        error: bound on the relative error of each probability; those that are 0 are 0.
    """
    losses = pairwise_losses(pmf)
    i, j = np.unravel_index(int(np.argmax(losses)), losses.shape)
    rounded = 2 * error * (1 + error) + _LOGARITHMS
    least = np.maximum(losses - rounded, 0)  # the true loss is this at least
    per_unit = None
    if distances is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(least > 0, least / (distances * (1 - 2.0**-40)), 0.0)
        per_unit = float(ratios.max()) * (1 + 2.0**-50)
    delta, mass = 0.0, 0.0
    if np.isinf(losses[i, j]):
        mass, (i, j) = infinite_loss(pmf)  # type: ignore[assignment]
    if claim is not None:
        apart = math.inf if distances is None else distances
        allowed = claim.epsilon * (1.0 if claim.metric is None else apart)
        if (least > allowed * (1 + 2.0**-40)).any():
            delta = hockey_stick(pmf, allowed - rounded)[0] * (1 + rounded)
    return Certificate(
        method="exact distribution matrix",
        epsilon_ldp=float(losses.max()) + rounded,
        epsilon_metric=per_unit,
        delta=min(delta, 1.0),
        infinite_loss_mass=mass,
        pair=(int(i), int(j)),
        metric=None if per_unit is None or claim is None else claim.metric,
        slack=2 * rounded,
    )
