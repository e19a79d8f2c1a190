"""Distribution of the length of a vector of independent Laplace numbers.

The square of a Laplace number of scale b has the Laplace transform psi(b²·s), psi(s) =
sqrt(pi/s)/2·erfcx(1/(2·sqrt s)); that of a sum of squares is the product.  It is inverted along
Talbot's contour, exact to about 1e-10, on a grid with a spline: about 1e-7.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dpsan.space.arrays import Floats

_NODES: Final = 32
_GRID: Final = 1000
_TAIL: Final = 1e-10


class LaplaceNorm:
    """P(sqrt(sum of x_i²) > r) for independent x_i of density exp(-|x|/b_i)/(2·b_i).

    Args:
        scales: b_i, (d,), of which at least one is > 0.
    """

    def __init__(self, scales: Floats) -> None:
        from scipy.interpolate import CubicSpline  # heavy import

        self.scales = scales[scales > 0]
        self.largest = float(self.scales.max())
        self.end = 2 * float(np.sqrt(2 * (self.scales**2).sum()))
        while 1 - float(self._below(np.array([self.end]))[0]) > _TAIL:
            self.end *= 1.5
        grid = np.linspace(0.0, self.end, _GRID)
        self._spline = CubicSpline(grid, np.append(0.0, self._below(grid[1:])))

    def above(self, r: Floats) -> Floats:
        """P(length > r), for r >= 0: to about 1e-7, and never below a bound that is positive."""
        found = 1 - self._spline(np.minimum(r, self.end))
        # One coordinate alone is longer than r.
        return np.asarray(np.clip(found, np.exp(-r / self.largest), 1.0))

    def _below(self, r: Floats) -> Floats:
        """P(length <= r), for r > 0, by Talbot's contour."""
        from scipy.special import wofz  # heavy import

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
