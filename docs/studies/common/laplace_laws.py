"""Multivariate Laplace noise: its length, and its product with one fixed direction.

With z = r·u, r ~ Gamma(d, 1/epsilon) and u uniform on the unit sphere, and a unit vector e:

* the angular part t = <u, e> has density proportional to (1 - t²)^((d-3)/2); E t = 0,
  Var t = 1/d.
* P(t >= s) = I(1 - s²; (d-1)/2, 1/2)/2 for s >= 0, a regularised incomplete beta function, and
  **P(t >= s) <= exp(-d s²/2)** for every d: E t^(2k) = (2k-1)!!/(d(d+2)...(d+2k-2)) is at most
  (2k-1)!!/d^k, the moment of a normal distribution of variance 1/d, odd moments are 0, so E e^(lt)
  <= e^(l²/(2d)), and Chernoff's bound with l = d·s gives the statement.
* <z, e> has the characteristic function (1 + w²/epsilon²)^(-(d+1)/2): it is a normal number of
  variance 2g/epsilon² with g ~ Gamma((d+1)/2), its variance is E[r²]/d = (d+1)/epsilon², and
  Chernoff's bound is e^(-l s)·(1 - l²)^(-(d+1)/2) at s/epsilon, least at
  l = (sqrt(v² + s²) - v)/s with v = (d+1)/2.

These two bounds stand for those of [Curse] Theorems 7 and 8 and Corollary 10: they are of the same
kind, hold for every d, and are proved here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from common.panels import Series
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.privacy import randomness
from dpsan.privacy.rounding import SphericalLaplace
from dpsan.space.arrays import Floats

_BATCH: Final = 4096
_NODES: Final = 256
_Z: Final = 2.5758293035489
"""Two-sided 99 % of the normal distribution."""
_Values = tuple[float, ...]
_Curve = Callable[[Floats, int], Floats]


def angular_density(t: Floats, d: int) -> Floats:
    """Density of <u, e> for u uniform on the sphere in d >= 2 dimensions, abs(t) < 1."""
    from scipy.special import betaln  # heavy import

    return np.asarray(np.exp((d - 3) / 2 * np.log1p(-(t**2)) - betaln(0.5, (d - 1) / 2)))


def angular_tail(s: Floats, d: int) -> Floats:
    """P(<u, e> >= s), exact, for 0 <= s <= 1."""
    from scipy.special import betainc  # heavy import

    return np.asarray(betainc((d - 1) / 2, 0.5, (1 - s) * (1 + s)) / 2)


def angular_bound(s: Floats, d: int) -> Floats:
    """The sub-Gaussian bound exp(-d s²/2) of :func:`angular_tail`, s >= 0."""
    return np.asarray(np.exp(-d * s**2 / 2))


def _variances(d: int) -> tuple[Floats, Floats]:
    """Nodes and weights of the distribution of 2g, g ~ Gamma((d+1)/2)."""
    from scipy.special import gammaincinv  # heavy import

    x, weights = np.polynomial.legendre.leggauss(_NODES)
    return np.asarray(2 * gammaincinv((d + 1) / 2, (x + 1) / 2)), weights / 2


def noisy_density(x: Floats, d: int) -> Floats:
    """Density of epsilon·<z, e>, as a mixture of normal distributions (quadrature)."""
    variances, weights = _variances(d)
    each = np.exp(-(x[:, None] ** 2) / (2 * variances)) / np.sqrt(2 * math.pi * variances)
    return np.asarray(each @ weights)


def noisy_tail(s: Floats, d: int) -> Floats:
    """P(epsilon·<z, e> >= s), likewise."""
    from scipy.special import ndtr  # heavy import

    variances, weights = _variances(d)
    return np.asarray(ndtr(-s[:, None] / np.sqrt(variances)) @ weights)


def noisy_bound(s: Floats, d: int) -> Floats:
    """Chernoff's bound of :func:`noisy_tail`, s >= 0."""
    v = (d + 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(s > 0, s / (v + np.sqrt(v**2 + s**2)), 0.0)  # no cancellation
    return np.asarray(np.exp(-best * s - v * np.log1p(-(best**2))))


def length_density(r: Floats, d: int) -> Floats:
    """Density of epsilon·|z|, a Gamma(d) number, r > 0."""
    from scipy.special import gammaln  # heavy import

    return np.asarray(np.exp((d - 1) * np.log(r) - r - gammaln(d)))


def draws(d: int, count: int, seed: str, progress: Progress) -> tuple[Floats, Floats, Floats]:
    """T = <u, e>, epsilon·<z, e>, epsilon·|z| of ``count`` draws, e the main diagonal."""
    key = randomness.seeded_key(f"dpsan study dot-product {seed} {d}")
    angles, products, lengths = [], [], []
    for part in randomness.streams_for(key, [0], [count]).chunks(_BATCH):
        z = SphericalLaplace(1.0)(part, d)
        x = z.sum(axis=1) / math.sqrt(d)
        lengths.append(np.linalg.norm(z, axis=1))
        angles.append(x / lengths[-1])
        products.append(x)
        progress(sum(map(len, products)) / count)
    return np.concatenate(angles), np.concatenate(products), np.concatenate(lengths)


def compared(name: str, exact: float, values: Floats) -> dict[str, Any]:
    """Return a mean of draws with 99 % limits beside its closed form."""
    middle, half = float(values.mean()), _Z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return {
        "quantity": name,
        "closed_form": exact,
        "monte_carlo": middle,
        "low": middle - half,
        "high": middle + half,
    }


def moments_and_tails(
    d: int, t: Floats, x: Floats, epsilons: Sequence[float]
) -> list[dict[str, Any]]:
    """Return rows of moments and tails of draws of <u, e> and epsilon·<z, e>."""
    out = [compared("E <u, e>", 0.0, t), compared("Var <u, e>", 1 / d, t**2)]
    for epsilon in epsilons:
        at = f" at epsilon {epsilon:g}"
        out.append(compared(f"E <z, e>{at}", 0.0, x / epsilon))
        out.append(compared(f"Var <z, e>{at}", (d + 1) / epsilon**2, (x / epsilon) ** 2))
    for name, drawn, unit, tail, bound in (
        ("<u, e>", t, 1 / math.sqrt(d), angular_tail, angular_bound),
        ("<z, e>", x, math.sqrt(d + 1), noisy_tail, noisy_bound),
    ):
        for sigmas in range(1, 5):
            s = np.array([min(sigmas * unit, 1.0) if drawn is t else sigmas * unit])
            out.append(
                {
                    "quantity": f"P({name} >= {sigmas} sd)",
                    "closed_form": float(tail(s, d)[0]),
                    **_share(int((drawn >= s).sum()), len(drawn)),
                    "bound": float(bound(s, d)[0]),
                }
            )
    return [{"d": d, "bound": None, **row} for row in out]


def _share(hits: int, count: int) -> dict[str, float]:
    low, high = clopper_pearson(hits, count, 0.005)
    return {"monte_carlo": hits / count, "low": low, "high": high}


def curves(d: int, t: Floats, x: Floats) -> tuple[list[Series], ...]:
    """Return lines of density and tail of the angular part, then of the product."""
    text, sd, reach = f"d = {d}", math.sqrt(d + 1), min(5 / math.sqrt(d), 0.999)

    def density(drawn: Floats, limit: float, exact: _Curve) -> list[Series]:
        grid, points = np.linspace(-limit, limit, 201), _histogram(drawn, -limit, limit)
        return [
            _line(text, grid, exact(grid, d)),
            Series(f"{text}, Monte Carlo", *points, style="points"),
        ]

    def tail(limit: float, exact: _Curve, bound: _Curve) -> list[Series]:
        grid = np.linspace(0, limit, 101)
        return [
            _line(text, grid, exact(grid, d)),
            _line(f"{text}, bound", grid, bound(grid, d), "dashed"),
        ]

    return (
        density(t, reach, angular_density),
        tail(reach, angular_tail, angular_bound),
        density(x, 4.5 * sd, noisy_density),
        tail(6 * sd, noisy_tail, noisy_bound),
    )


def _histogram(drawn: Floats, low: float, high: float) -> tuple[_Values, _Values, _Values, _Values]:
    """Middles of bars, their density and its limits."""
    counts, edges = np.histogram(drawn, bins=40, range=(low, high))
    shares = [_share(int(hits), len(drawn)) for hits in counts]
    value, least, most = (
        tuple(each[name] / (edges[1] - edges[0]) for each in shares)
        for name in ("monte_carlo", "low", "high")
    )
    return tuple(((edges[1:] + edges[:-1]) / 2).tolist()), value, least, most


def _line(text: str, x: Floats, y: Floats, style: str = "line") -> Series:
    return Series(text, tuple(x.tolist()), tuple(y.tolist()), style=style)


def length_curves(d: int, r: Floats) -> list[Series]:
    """Return the density of epsilon·|z|, and that of draws."""
    low, high = max(0.0, d - 5 * math.sqrt(d)), d + 5 * math.sqrt(d)
    grid = np.linspace(max(low, 1e-9), high, 201)
    points = _histogram(r, low, high)[:2]
    return [
        _line(f"d = {d}", grid, length_density(grid, d)),
        Series(f"d = {d}, Monte Carlo", *points, style="points"),
    ]
