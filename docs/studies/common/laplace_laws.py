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

The first is [Curse] Theorem 5.5 and, on both sides, Corollary 5.6; the second is sharper than
Theorem 5.8, which joins Corollary 5.6 with Chernoff's bounds of the length, Theorem 5.7:
P(r >= a·d/epsilon) for a > 1, and P(r <= a·d/epsilon) for a < 1, are at most (a e^(1-a))^d, so
P(|<z, e>| <= a·t·sqrt(d)/epsilon) >= (1 - (a e^(1-a))^d)(1 - 2e^(-t²/2)).  Corollary 5.10 is
Chebyshev's inequality for the mean of m products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
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


@cache
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
    """Return rows of moments and tails of draws of U = <u, e> and Z = epsilon·<z, e>."""
    out = [{"item": "5.1", **compared("E U", 0.0, t)}]
    moment = 1.0
    for k in range(1, 4):  # E U^(2k) = (2k-1)!!/(d(d+2)...(d+2k-2))
        moment *= (2 * k - 1) / (d + 2 * k - 2)
        out.append({"item": "5.1", **compared(f"E U^{2 * k}", moment, t ** (2 * k))})
    for epsilon in epsilons:
        at = f" at epsilon {epsilon:g}"
        out.append({"item": "5.9", **compared(f"E Z{at}", 0.0, x / epsilon)})
        exact = (d + 1) / epsilon**2
        out.append({"item": "5.9", **compared(f"Var Z{at}", exact, (x / epsilon) ** 2)})
    for item, name, drawn, unit, tail, bound in (
        ("5.5, 5.6", "U", t, 1 / math.sqrt(d), angular_tail, angular_bound),
        ("eq. 11", "Z", x, math.sqrt(d + 1), noisy_tail, noisy_bound),
    ):
        for sigmas in range(1, 5):
            s = np.array([min(sigmas * unit, 1.0) if drawn is t else sigmas * unit])
            out.append(
                {
                    "item": item,
                    "quantity": f"P({name} >= {sigmas} sd)",
                    "closed_form": float(tail(s, d)[0]),
                    **_share(int((drawn >= s).sum()), len(drawn)),
                    "bound": float(bound(s, d)[0]),
                }
            )
    return [{"d": d, **row} for row in out]


def length_bound(a: float, d: int) -> float:
    """(a e^(1-a))^d: Theorem 5.7's bound of both tails of the length at a·d/epsilon."""
    return math.exp(d * (math.log(a) + 1 - a))


def length_tails(d: int, r: Floats) -> list[dict[str, Any]]:
    """Return rows of Theorem 5.7 for draws r of epsilon·|z|."""
    from scipy.special import gammainc, gammaincc  # heavy import

    rows = []
    for a in (0.5, 0.8, 1.2, 2.0):
        exact = gammaincc(d, a * d) if a > 1 else gammainc(d, a * d)
        hits = int(((r >= a * d) if a > 1 else (r <= a * d)).sum())
        rows.append(
            {
                "d": d,
                "item": "5.7",
                "quantity": f"P(R {'>=' if a > 1 else '<='} {a:g} d)",
                "closed_form": float(exact),
                **_share(hits, len(r)),
                "bound": length_bound(a, d),
            }
        )
    return rows


def interval(d: int, share: float) -> tuple[float, float]:
    """A and t of Theorem 5.8 for an interval of that mass, both factors being equal."""
    from scipy.optimize import brentq

    rest = 1 - math.sqrt(share)
    high = 2.0
    while length_bound(high, d) > rest:
        high *= 2
    a = brentq(lambda a: math.log(length_bound(a, d) / rest), 1.0, high)
    return float(a), math.sqrt(2 * math.log(2 / rest))


def intervals(d: int, x: Floats, share: float) -> list[dict[str, Any]]:
    """Return rows of Theorem 5.8: half the width of an interval, and what is needed."""
    from scipy.optimize import brentq

    a, t = interval(d, share)
    wide = a * t * math.sqrt(d)

    def beyond(s: float) -> float:
        return float(noisy_tail(np.array([s]), d)[0]) - (1 - share) / 2

    own = {"d": d, "item": "5.8"}
    return [
        {**own, "quantity": "t", "closed_form": t},
        {**own, "quantity": "a", "closed_form": a},
        {
            **own,
            "quantity": f"half width of {share:.0%} of |Z|",
            "closed_form": float(brentq(beyond, 0.0, 2 * wide)),
            "monte_carlo": float(np.quantile(np.abs(x), share)),
            "bound": wide,
        },
    ]


_MEAN_OF: Final = 1000
"""Draws m of the means of Corollary 5.10."""


def mean_tails(d: int, x: Floats, epsilons: Sequence[float]) -> list[dict[str, Any]]:
    """Return rows of Corollary 5.10: the mean of m draws is a standard deviation 1.82 off, or more.

    The closed form is that of a normal number, which the mean of so many nearly is.
    """
    from scipy.special import ndtr  # heavy import

    rows = []
    for epsilon in epsilons:
        deviation = math.sqrt((d + 1) / _MEAN_OF) / epsilon
        limit = float(f"{1.82 * deviation:.3g}")
        means = x[: len(x) // _MEAN_OF * _MEAN_OF].reshape(-1, _MEAN_OF).mean(axis=1) / epsilon
        hits = int((np.abs(means) >= limit).sum())
        rows.append(
            {
                "d": d,
                "item": "5.10",
                "quantity": f"P(|mean of {_MEAN_OF:,} Z| >= {limit:g}) at epsilon {epsilon:g}",
                "closed_form": float(2 * ndtr(-limit / deviation)),
                **(_share(hits, len(means)) if len(means) else {}),
                "bound": (d + 1) / (_MEAN_OF * limit**2 * epsilon**2),
            }
        )
    return rows


def disc(count: int, seed: str) -> dict[str, Any]:
    """Compare the mean length of uniform points of the unit disc with that of the density 2r."""
    key = randomness.seeded_key(f"dpsan study disc {seed}")
    square = 2 * randomness.streams_for(key, [0], [2 * count]).uniform("square", 2) - 1
    lengths = np.linalg.norm(square, axis=1)
    return compared("E |x|, uniform in the unit disc", 2 / 3, lengths[lengths <= 1])


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
