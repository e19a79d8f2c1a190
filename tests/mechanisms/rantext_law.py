"""The exact distribution of rantext-paper, by quadrature over the radius.

The square of a Laplace number of scale b has the Laplace transform psi(b²·s), psi(s) =
sqrt(pi/s)/2·erfcx(1/(2·sqrt s)); that of a sum of squares is the product.  It is inverted along
Talbot's contour, exact to about 1e-10, on a grid with a spline: about 1e-7.
"""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import wofz

_NODES = 32
_GRID = 1000
_TAIL = 1e-10
_RADII = 600


class LaplaceNorm:
    """P(sqrt(sum of x_i²) > r) for independent x_i of density exp(-|x|/b_i)/(2·b_i).

    Args:
        scales: b_i, (d,), of which at least one is > 0.
    """

    def __init__(self, scales):
        self.scales = scales[scales > 0]
        self.largest = float(self.scales.max())
        self.end = 2 * float(np.sqrt(2 * (self.scales**2).sum()))
        while 1 - float(self._below(np.array([self.end]))[0]) > _TAIL:
            self.end *= 1.5
        grid = np.linspace(0.0, self.end, _GRID)
        self._spline = CubicSpline(grid, np.append(0.0, self._below(grid[1:])))

    def above(self, r):
        """P(length > r), for r >= 0: to about 1e-7, and never below a bound that is positive."""
        found = 1 - self._spline(np.minimum(r, self.end))
        # One coordinate alone is longer than r.
        return np.clip(found, np.exp(-r / self.largest), 1.0)

    def _below(self, r):
        """P(length <= r), for r > 0, by Talbot's contour."""
        angle = np.arange(1, _NODES) * np.pi / _NODES
        cot, first = 1 / np.tan(angle), 2 * _NODES / 5
        points = np.append(first + 0j, first * angle * (cot + 1j))
        factors = np.exp(points)
        factors[0] /= 2
        factors[1:] *= 1 + 1j * angle * (1 + cot**2) - 1j * cot
        out = np.empty(len(r))
        for at in range(0, len(r), 64):
            s = points / (r[at : at + 64, None] ** 2)
            value = 1 / s
            for scale in self.scales.tolist():
                root = np.sqrt(s) * scale
                value *= 0.5 * np.sqrt(np.pi) / root * wofz(0.5j / root)
            out[at : at + 64] = 0.4 / r[at : at + 64] ** 2 * (factors * value).real.sum(axis=1)
        return out


def law(sampler):
    """P(u|w) for all words, and ⊥ last: shape (n + 1, n)."""
    n = sampler.space.n
    norm = LaplaceNorm(sampler.scales) if (sampler.scales > 0).any() else None
    rows = [_row(sampler, norm, apart) for apart in sampler.space.distances(np.arange(n))]
    return np.array([*rows, np.full(n, 1 / n)])


def _row(sampler, norm, apart):
    radii, shares = _radii(norm, apart) if norm else (np.zeros(1), np.ones(1))
    return shares @ sampler.pmf(np.broadcast_to(apart, (len(radii), len(apart))), radii)


def _radii(norm, cuts):
    """Radii and the shares of R that they stand for; no cut lies between those of one share."""
    end = max(norm.end, 1.01 * float(cuts.max()))
    edges = np.unique(np.concatenate([np.linspace(0.0, end, _RADII), cuts]))
    above = np.minimum.accumulate(norm.above(edges))
    return np.append((edges[1:] + edges[:-1]) / 2, 1.1 * end), np.append(-np.diff(above), above[-1])
