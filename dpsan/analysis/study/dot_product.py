"""``dot-product``: multivariate Laplace noise, its length and along one fixed direction.

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
kind, hold for every d, and are proved here.  The density of the length r is [Curse] Figure 4.

Knows distributions.  Must not know words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Final

import numpy as np

from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.analysis.study.request import dimensions
from dpsan.analysis.study.sample import at_least
from dpsan.mechanisms.noise.vectors import multivariate_laplace
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.outcomes.shares import in_steps
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

_DIMENSIONS: Final = (50, 100, 300)
_DRAWS: Final = 20_000
_BATCH: Final = 4096
_Z: Final = 2.5758293035489
"""Two-sided 99 % of the normal distribution."""
_NODES: Final = 256
_SIGMAS: Final = (1, 2, 3, 4)
_BARS: Final = 40
_PANELS: Final = (
    ("Angular part: density", "<u, e>", "density", False),
    ("Angular part: tail", "s", "P(<u, e> ≥ s)", True),
    ("Noisy dot product: density", "epsilon·<z, e>, |e| = 1", "density", False),
    ("Noisy dot product: tail", "s (units of 1/epsilon)", "P(<z, e> ≥ s)", True),
    ("Length of the noise: density", "epsilon·|z|", "density", False),
)
"""Title, labels of both axes, and whether the upward one is logarithmic."""
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


def run(space: MetricSpace | None, asked: Asked) -> Result:
    """Density, moments and tails of the noisy dot product, closed form against Monte Carlo.

    Args:
        space: its dimension is used; None: the parameter ``d``, by default 50, 100 and 300.
        asked: of it are used
            epsilons: per unit of distance; default 1, so that lengths are in units of 1/epsilon.
            draws: noise vectors for each dimension; default 20,000.
            seed: of the draws.
            parameters: ``d``.

    Raises:
        UsageError: a parameter outside its domain.
    """
    given = asked.parameters.get("d")
    dims = dimensions(given, _DIMENSIONS if space is None else (space.d,))
    count = at_least(asked.draws, 2, _DRAWS, "--draws")
    rows: list[dict[str, Any]] = []
    curves = []
    for d, progress in in_steps(asked.progress, dims):
        t, x, r = _draw(d, count, asked.seed, progress)
        rows += _rows(d, t, x, r, asked.epsilons or (1.0,))
        curves.append(_series(d, t, x, r))
    closed = {row["d"]: row for row in rows if row["quantity"] == "Var <u, e>"}
    return Result(
        order=("d", "quantity", "closed_form", "monte_carlo", "low", "high", "bound"),
        rows=rows,
        summary={
            "dimensions": list(dims),
            "angular_variance": {str(d): row["monte_carlo"] for d, row in closed.items()},
        },
        parameters={
            "d": list(dims),
            "epsilons": list(asked.epsilons or (1.0,)),
            "draws": count,
            "confidence": 0.99,
            "seed": asked.seed,
        },
        panels=[
            Panel(title, across, up, tuple(chain(*each)), log_y=log)
            for (title, across, up, log), *each in zip(_PANELS, *curves, strict=True)
        ],
        caption="Noise z = r·u of the multivariate Laplace mechanism (r ~ Gamma(d, 1/epsilon), u "
        f"uniform on the sphere) along a fixed unit vector e. Points: {count:,} draws for each "
        "dimension d with 99 % intervals; lines: closed forms; dashed: bounds that hold for every "
        "d, exp(-d s²/2) for u and Chernoff's for z.",
        notes=(
            "low and high are 99 % confidence limits of the Monte Carlo value",
            "bound is exp(-d s²/2) for u and the least exp(-l s)·E exp(l·x) for z; they stand for "
            "[Curse] Theorems 7, 8 and Corollary 10: proof in dpsan/analysis/study/dot_product.py",
        ),
    )


def _draw(d: int, count: int, seed: str, progress: Progress) -> tuple[Floats, Floats, Floats]:
    """T = <u, e>, epsilon·<z, e>, epsilon·|z| of ``count`` draws, e the main diagonal."""
    key = randomness.seeded_key(f"dpsan study dot-product {seed} {d}")
    angles, products, lengths = [], [], []
    for part in randomness.streams_for(key, [0], [count]).chunks(_BATCH):
        z = multivariate_laplace(part, d, 1.0)
        x = z.sum(axis=1) / math.sqrt(d)
        lengths.append(np.linalg.norm(z, axis=1))
        angles.append(x / lengths[-1])
        products.append(x)
        progress(sum(map(len, products)) / count)
    return np.concatenate(angles), np.concatenate(products), np.concatenate(lengths)


def _mean(values: Floats) -> dict[str, float]:
    middle, half = float(values.mean()), _Z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return {"monte_carlo": middle, "low": middle - half, "high": middle + half}


def _rows(
    d: int, t: Floats, x: Floats, r: Floats, epsilons: Sequence[float]
) -> list[dict[str, Any]]:
    moments = [("E <u, e>", 0.0, t), ("Var <u, e>", 1 / d, t**2)]
    for epsilon in epsilons:
        at = f" at epsilon {epsilon:g}"
        moments += [
            (f"E <z, e>{at}", 0.0, x / epsilon),
            (f"Var <z, e>{at}", (d + 1) / epsilon**2, (x / epsilon) ** 2),
            (f"E |z|{at}", d / epsilon, r / epsilon),
        ]
    out: list[dict[str, Any]] = [
        {"quantity": name, "closed_form": exact, **_mean(drawn)} for name, exact, drawn in moments
    ]
    for name, drawn, unit, tail, bound in (
        ("<u, e>", t, 1 / math.sqrt(d), angular_tail, angular_bound),
        ("<z, e>", x, math.sqrt(d + 1), noisy_tail, noisy_bound),
    ):
        for sigmas in _SIGMAS:
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


def _series(d: int, t: Floats, x: Floats, r: Floats) -> tuple[list[Series], ...]:
    """The lines of one dimension in each of :data:`_PANELS`."""
    label, sd, reach = f"d = {d}", math.sqrt(d + 1), min(5 / math.sqrt(d), 0.999)

    def density(drawn: Floats, limit: float, exact: _Curve) -> list[Series]:
        grid, points = np.linspace(-limit, limit, 201), _histogram(drawn, -limit, limit)
        return [
            _line(label, grid, exact(grid, d)),
            Series(f"{label}, Monte Carlo", *points, style="points"),
        ]

    def tail(limit: float, exact: _Curve, bound: _Curve) -> list[Series]:
        grid = np.linspace(0, limit, 101)
        return [
            _line(label, grid, exact(grid, d)),
            _line(f"{label}, bound", grid, bound(grid, d), "dashed"),
        ]

    return (
        density(t, reach, angular_density),
        tail(reach, angular_tail, angular_bound),
        density(x, 4.5 * sd, noisy_density),
        tail(6 * sd, noisy_tail, noisy_bound),
        _lengths(d, r),
    )


def _histogram(drawn: Floats, low: float, high: float) -> tuple[_Values, _Values, _Values, _Values]:
    """Middles of bars, their density and its limits."""
    counts, edges = np.histogram(drawn, bins=_BARS, range=(low, high))
    shares = [_share(int(hits), len(drawn)) for hits in counts]
    value, least, most = (
        tuple(each[name] / (edges[1] - edges[0]) for each in shares)
        for name in ("monte_carlo", "low", "high")
    )
    return tuple(((edges[1:] + edges[:-1]) / 2).tolist()), value, least, most


def _lengths(d: int, r: Floats) -> list[Series]:
    """Density of epsilon·|z|, a Gamma(d) number, and of the draws ([Curse] Figure 4)."""
    from scipy.special import gammaln  # heavy import

    low, high = max(0.0, d - 5 * math.sqrt(d)), d + 5 * math.sqrt(d)
    grid = np.linspace(max(low, 1e-9), high, 201)
    density = np.exp((d - 1) * np.log(grid) - grid - gammaln(d))
    points = _histogram(r, low, high)[:2]
    return [
        _line(f"d = {d}", grid, density),
        Series(f"d = {d}, Monte Carlo", *points, style="points"),
    ]


def _line(label: str, x: Floats, y: Floats, style: str = "line") -> Series:
    return Series(label, tuple(x.tolist()), tuple(y.tolist()), style=style)
