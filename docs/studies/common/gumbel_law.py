"""The exact distribution of tgumbel-paper, by Gauss-Legendre quadrature, and its audit.

O(n²) for a word, so that all pairs are for hundreds of words.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
from scipy.special import pdtr

from dpsan.mechanisms.tgumbel_paper import TGumbelPaper, TruncatedGumbelSampler
from dpsan.privacy.certificate import Certificate, input_distances, matrix_certificate
from dpsan.privacy.guarantee import Claim
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

ERROR: Final = 1e-8
"""An estimate: no bound is proved for the quadrature."""


def law(sampler: TruncatedGumbelSampler, ids: Ids) -> Floats:
    """P(u|w) for each of some words, shape (m, n); ⊥ gives a uniform word."""
    n = sampler.space.n
    rows = np.full((len(ids), n), 1 / n)
    for row in np.flatnonzero(ids < n).tolist():
        (order,), (distances,) = sampler.nearest(ids[row : row + 1], n)
        rows[row, order] = pmf(distances, sampler.b, sampler.delta, sizes(n))
    return rows


def sizes(n: int) -> Floats:
    """P(K = k) for k = 1 ... n; what is drawn as 0 or beyond n means n."""
    out = np.diff(pdtr(np.arange(n + 1), math.log(n)))
    out[-1] = max(1 - float(out[:-1].sum()), 0.0)
    return np.asarray(out)


def pmf(distances: Floats, b: float, delta: float, sizes: Floats) -> Floats:
    """P(candidate j) for ascending distances (n,).

    ``sum over k of P(K=k) · integral of f(x - d_j) · product over i <= k, i != j of
    (1 - F(x - d_i)) dx``; the integrand is smooth between the points d_i - Delta.
    """
    n = len(distances)
    nodes, weights = _nodes(distances, b, delta)
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
        tails = sizes[:, None] * np.exp(np.cumsum(survival, axis=0))
        tails = np.cumsum(tails[::-1], axis=0)[::-1]  # candidate j takes part for k >= j
        out += (hazard * tails) @ weights[at : at + step]
    return out


def _nodes(distances: Floats, b: float, delta: float) -> tuple[Floats, Any]:
    """Quadrature nodes and weights on [-Delta, Delta]."""
    edges = np.unique(np.concatenate([distances - delta, [-delta, delta]]))
    edges = edges[(edges >= -delta) & (edges <= delta)]
    widest = min(b, delta) / max(8, len(distances) / 4)
    parts = np.maximum(np.ceil(np.diff(edges) / widest), 1).astype(int)
    lows = np.concatenate(
        [
            np.linspace(a, c, part, endpoint=False)
            for a, c, part in zip(edges[:-1], edges[1:], parts.tolist(), strict=True)
        ]
    )
    widths = np.diff(np.append(lows, delta))
    nodes, weights = [], []
    for order, chosen in ((16, widths > widest / 4), (8, widths <= widest / 4)):
        x, share = np.polynomial.legendre.leggauss(order)
        nodes.append((lows[chosen, None] + widths[chosen, None] * (x + 1) / 2).ravel())
        weights.append((widths[chosen, None] * share / 2).ravel())
    return np.concatenate(nodes), np.concatenate(weights)


def audit(mechanism: TGumbelPaper, space: MetricSpace) -> Certificate:
    """Return the exact loss of all pairs, against the claim."""
    distances = input_distances(space)
    distances[-1], distances[:, -1] = math.inf, math.inf  # nothing is claimed for ⊥
    rows = law(mechanism.prepare(space), np.arange(space.n + 1))
    claim = Claim(mechanism.epsilon, metric=mechanism.claimed_metric())
    found = matrix_certificate(rows, claim, distances, error=ERROR)
    return replace(found, method="exact distribution matrix by quadrature")
