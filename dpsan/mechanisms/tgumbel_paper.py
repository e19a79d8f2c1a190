"""``tgumbel-paper``: truncated Gumbel noise on the distances of a random number of neighbours.

Definition
    k ~ TruncatedPoisson(ln n; 1, n), a draw of 0 (or beyond n) meaning k = n; the candidates are
    the k nearest words of w, w included (ties by row number); the output is the candidate with the
    smallest d(w, u_j) + g_j, where g_j ~ Gumbel(0, b) truncated to [-Delta, Delta].
    Delta = diameter, Delta_0 = smallest distance of two words, both exact and not squared,
    alpha = (epsilon - 2(1 + ln n)/Delta_0)/3, b = 2·Delta/min{W(2·alpha·Delta), ln(alpha·Delta_0)}
    with Lambert's W.  ⊥ gives a uniform word.
Guarantee
    REFUTED: epsilon·d_X is claimed.  The proof bounds ratios of the *untruncated* distribution
    function; with truncation up to n-1 factors 1 - F(x - d_j) fall to 0 together, and their product
    changes by more than exp(d/b).  Exact audits of all pairs give 1.33 (n = 100) and 2.16 (n = 200)
    times the claim for n-1 words on a simplex and one at twice their distance, 1 % above the
    domain's edge.
    Some loss is finite: every output has a probability above 0.  For more than 300 words the
    printed LDP epsilon is a bound, about n·ln 2, which says little.
    Appendix C's bound on the share N_w of words that stay, >= 36.7 %, is false as well:
    the exact share is below it for many words at equal distances with one word at twice that
    distance, and for real ones.
    The stated domain epsilon > 2(1 + ln n)/Delta_0 leaves b negative: b > 0 needs
    alpha·Delta_0 > 1, that is epsilon > (2(1 + ln n) + 3)/Delta_0.
Proof
    docs/proofs.md 3.3
Source
    [TGumbel] Algorithm 2, to the letter but for ⊥ and for exact constants.
Cost
    A few neighbours per word, all n for one word in n; the exact distribution by quadrature
    O(n²) per word.
Not to be confused with
    ``tem``, which is the proved form of the same idea.
"""

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dpsan.errors import UsageError, refuse
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.tables import Sampler
from dpsan.privacy import certificate as certificates
from dpsan.privacy.certificate import MATRIX_WORDS, Certificate, matrix_certificate
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.privacy.randomness import Streams, streams_for
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

_AUDIT_WORDS: Final = 300
"""Largest vocabulary that is audited for every statement; some seconds."""


def least_epsilon(n: int, smallest: float) -> float:
    """Epsilon must be greater than this: b > 0 needs alpha·Delta_0 > 1."""
    return (2 * (1 + math.log(n)) + 3) / smallest if smallest > 0 else math.inf


def _smallest_distance(space: MetricSpace) -> float:
    return float(space.nearest_distances()[0]) if space.n > 1 else 0.0


def scale(epsilon: float, n: int, smallest: float, diameter: float) -> float:
    """Return the scale b of the noise ([TGumbel] Algorithm 2, line 2)."""
    from scipy.special import lambertw  # heavy import

    alpha = (epsilon - 2 * (1 + math.log(n)) / smallest) / 3
    lambert = float(lambertw(2 * alpha * diameter).real)
    return 2 * diameter / min(lambert, math.log(alpha * smallest))


def few_candidates(n: int) -> int:
    """Candidates beyond which only a share of about 1/n of the words has more."""
    rate = math.log(n)
    return min(n, math.ceil(rate + 8 * math.sqrt(rate)) + 4)


class TruncatedGumbelSampler(Sampler):
    """Argmin of distance plus truncated Gumbel noise over a Poisson number of neighbours.

    Args:
        space: the vocabulary, all vectors different.
        delta: the noise is truncated to [-delta, delta].
    """

    probability_error = 1e-8
    """An estimate: no bound is proved for the quadrature."""

    def __init__(self, space: MetricSpace, b: float, delta: float) -> None:
        from scipy.special import pdtr  # heavy import

        self.space, self.b, self.delta = space, b, delta
        n, rate = space.n, math.log(space.n)
        self.few = few_candidates(n)
        self._below = np.asarray(pdtr(np.arange(self.few + 1), rate), dtype=np.float64)
        # P(K = k) for k = 1 ... n; what is drawn as 0 or beyond n means n.
        self.sizes = np.diff(pdtr(np.arange(n + 1), rate))
        self.sizes[-1] = 0.0
        self.sizes[-1] = max(1 - float(self.sizes.sum()), 0.0)

    def loss_bound(self) -> float:
        """Return an LDP epsilon of the published distribution: docs/proofs.md 3.3."""
        n, b, delta = self.space.n, self.b, self.delta
        t = np.linspace(0, delta, 402)[1:-1]
        low, high = (math.exp(-math.exp(-x / b)) for x in (-delta, delta))
        with np.errstate(over="ignore", divide="ignore"):
            farthest = np.exp((delta - t) / b)
            above = (np.exp(-math.exp(-delta / b)) - np.exp(-np.exp(-t / b))) / (high - low)
            inside = -np.expm1(farthest - math.exp(delta / b))
            losses = farthest - np.log(inside / (high - low)) - (n - 1) * np.log(above)
        return float(losses.min() - math.log(self.sizes[-1]))

    def _noise(self, uniform: Floats) -> Floats:
        """Truncated Gumbel numbers by the inverse distribution function."""
        low, high = (math.exp(-math.exp(-x / self.b)) for x in (-self.delta, self.delta))
        with np.errstate(divide="ignore"):  # u so small that low + u is 0: -delta
            noise = -self.b * np.log(-np.log(low + uniform * (high - low)))
        return np.clip(noise, -self.delta, self.delta)

    def _nearest(self, words: Ids, k: int) -> tuple[Ids, Floats]:
        """Return the k nearest words of words, and their distances, (m, k) each."""
        near = self.space.neighbors(words, k)
        apart = self.space.vectors[near] - self.space.points(words)[:, None, :]
        return near, np.sqrt(np.einsum("mkd,mkd->mk", apart, apart))

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        n = self.space.n
        out = streams.integers("unknown", n).astype(np.int64)
        size = np.searchsorted(self._below, streams.uniform("size")[:, 0], side="left")
        size[(size == 0) | (size > n)] = n
        noise = self._noise(streams.uniform("gumbel", self.few))
        listed = np.flatnonzero((ids < n) & (size <= self.few))
        for at in range(0, len(listed), 1024):
            rows = listed[at : at + 1024]
            words, indices = np.unique(ids[rows], return_inverse=True)
            near, distances = self._nearest(words, self.few)
            near, values = near[indices], distances[indices] + noise[rows]
            values[np.arange(self.few) >= size[rows, None]] = np.inf
            out[rows] = near[np.arange(len(rows)), np.argmin(values, axis=1)]
        many = np.flatnonzero((ids < n) & (size > self.few))
        keys = streams.bits("all", 4) if len(many) else None
        for row in many.tolist():  # one word in n; a stream of its own for n numbers
            assert keys is not None  # noqa: S101 - for the type checker
            uniform = streams_for(keys[row].tobytes(), [0], [1]).uniform("gumbel", n)[0]
            (order,), (distances,) = self._nearest(ids[row : row + 1], int(size[row]))
            out[row] = order[np.argmin(distances + self._noise(uniform)[: len(order)])]
        return out

    def probabilities(self, ids: Ids) -> Floats | None:
        n = self.space.n
        if n > MATRIX_WORDS:
            return None
        rows = np.full((len(ids), n), 1 / n)
        for row in np.flatnonzero(ids < n).tolist():
            (order,), (distances,) = self._nearest(ids[row : row + 1], n)
            rows[row, order] = self.pmf(distances)
        return rows

    def pmf(self, distances: Floats) -> Floats:
        """P(candidate j) for ascending distances (n,), by Gauss-Legendre quadrature.

        ``sum over k of P(K=k) · integral of f(x - d_j) · product over i <= k, i != j of
        (1 - F(x - d_i)) dx``; the integrand is smooth between the points d_i - Delta.
        """
        n, b, delta = len(distances), self.b, self.delta
        nodes, weights = self._nodes(distances)
        least = math.exp(-delta / b)
        range_ = -math.expm1(-least * math.expm1(2 * delta / b))
        out = np.zeros(n)
        step = max(1, (1 << 20) // n)
        for at in range(0, len(nodes), step):
            shifted = nodes[at : at + step] - distances[:, None]
            inside = shifted > -delta
            with np.errstate(over="ignore", divide="ignore"):
                # 1 - F of the truncated noise is (1 - e^-t)/range, without cancellation at Delta.
                t = least * np.expm1((delta - shifted) / b)
                survival = np.where(inside, np.log(-np.expm1(-t) / range_), 0.0)
                hazard = np.where(inside, np.exp(-shifted / b) / np.expm1(t) / b, 0.0)
            tails = self.sizes[:, None] * np.exp(np.cumsum(survival, axis=0))
            tails = np.cumsum(tails[::-1], axis=0)[::-1]  # candidate j takes part for k >= j
            out += (hazard * tails) @ weights[at : at + step]
        return out

    def _nodes(self, distances: Floats) -> tuple[Floats, Any]:
        """Quadrature nodes and weights on [-Delta, Delta]."""
        delta = self.delta
        edges = np.unique(np.concatenate([distances - delta, [-delta, delta]]))
        edges = edges[(edges >= -delta) & (edges <= delta)]
        widest = min(self.b, delta) / max(8, len(distances) / 4)
        parts = np.maximum(np.ceil(np.diff(edges) / widest), 1).astype(int)
        between = zip(edges[:-1], edges[1:], parts.tolist(), strict=True)
        lows = np.concatenate([np.linspace(a, c, part, endpoint=False) for a, c, part in between])
        widths = np.diff(np.append(lows, delta))
        x, share = np.polynomial.legendre.leggauss(16)
        nodes = lows[:, None] + widths[:, None] * (x + 1) / 2
        return nodes.ravel(), (widths[:, None] * share / 2).ravel()


class TGumbelPaper(Mechanism):
    """Truncated Gumbel mechanism as published."""

    @classmethod
    def least_epsilon(cls, space: MetricSpace) -> float:
        """Epsilon must be greater than this: the scale b of the noise must be positive."""
        return least_epsilon(space.n, _smallest_distance(space))

    def constants(self, space: MetricSpace) -> tuple[float, float]:
        """Scale b and Delta.

        Raises:
            UsageError: outside the theorem's real domain, or Delta_0 cannot be had exactly.
        """
        if not space.eager(space.n):
            raise UsageError("tgumbel-paper needs the smallest distance of all words", space.fewer)
        least, smallest = self.least_epsilon(space), _smallest_distance(space)
        if not self.epsilon > least:
            refuse(math.isinf(least), "tgumbel-paper needs words at different points (Delta_0 = 0)")
            raise UsageError(
                f"tgumbel-paper needs epsilon > (2(1 + ln n) + 3)/Delta_0 = {least:.6g} here "
                f"(got {self.epsilon:g})",
                "for small epsilon use tem or knn-response",
            )
        return scale(self.epsilon, space.n, smallest, space.diameter), space.diameter

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the exactly audited loss for small vocabularies, and a bound for others."""
        constants = self.constants(space)
        why = "the proof uses the untruncated distribution function; "
        audit = self.certificate(space) if space.n <= _AUDIT_WORDS else None
        if audit is None:
            why += f"beyond {_AUDIT_WORDS} words the value is a bound and no audit"
            bound = TruncatedGumbelSampler(space, *constants).loss_bound()
            return self.promise(bound, why=why)
        return self.promise(
            audit.epsilon_ldp,
            metric="euclidean",
            epsilon_metric=audit.epsilon_metric,
            why=why + "the values are an exact audit of all pairs of this vocabulary",
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return an exact audit of all pairs; None for vocabularies that are too large."""
        sampler = self.prepare(space)
        if space.n > MATRIX_WORDS:
            return None

        def build() -> Certificate:
            distances = certificates.input_distances(space)
            distances[-1], distances[:, -1] = math.inf, math.inf  # nothing is claimed for ⊥
            pmf = np.asarray(sampler.probabilities(np.arange(space.n + 1)))
            claim = Claim(self.epsilon, metric=self.claimed_metric())
            audit = matrix_certificate(pmf, claim, distances, error=sampler.probability_error)
            return replace(audit, method="exact distribution matrix by quadrature")

        return certificates.kept_certificate(space, repr(self), build)

    def prepare(self, space: MetricSpace) -> TruncatedGumbelSampler:
        """Return the published sampler."""
        return TruncatedGumbelSampler(space, *self.constants(space))
