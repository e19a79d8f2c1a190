"""E-processes: sequential tests that combine many weak deviations into one p-value.

An e-process multiplies a factor exp(t·f(x) - ln E exp(t·f)) for every draw x, with a statistic f
and a tilt t.  The factor has mean 1 if x has the stated distribution, whatever was drawn before.
So the product of a whole run exceeds 1/error with probability at most that error (Markov), and so
does the mean of many such products.  The bound is Chernoff's at the best tilt, but for the factor
that the other tilts cost.  It holds for any number of draws of any inputs, and earlier draws may
decide which input is drawn next.

There are two statistics.  The first is the logarithm of the probability of the output.  A program
that draws from the same scores at another epsilon draws from p^(1+t).  One with other masses inside
and outside of near sets moves mass between two levels of p.  There the factors are the likelihood
ratios.  The second is whether the output equals the input.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpsan.outcomes.intervals import ROUNDING
from dpsan.space.arrays import Floats, Ids

_LEVELS: Final = 256
"""Levels to which the logarithm of a probability is rounded.  The mean is that of the rounded
value, so that rounding costs power alone."""
_DEPTH: Final = 40.0
"""Nats below the likeliest output under which all count as equal."""
_ROWS: Final = 32
"""Inputs at once: a few megabytes."""
_SIZES: Final = 2.0 ** np.arange(-9, 3.25, 0.5)
_TILTS: Final[Floats] = np.concatenate([_SIZES, -_SIZES])


class EProcess:
    """Mean of the products of all tilts of both statistics, over all draws so far."""

    def __init__(self) -> None:
        self._log = np.zeros((2, len(_TILTS)))

    def add(
        self, stated: Floats, inputs: Ids, drawn: Ids, signs: Ids | None = None
    ) -> tuple[Floats, Ids]:
        """Multiply the factors of more draws into the products.

        These draws must not have decided which inputs are drawn, nor the signs.

        Args:
            stated: the stated distributions, (m, n).
            inputs: (m,); ⊥ and other rows from n on are no output.
            drawn: outputs of each input, (m, k), all of positive probability.
            signs: 1 or -1 for each input, (m,).  The tilt of an input is multiplied by its sign.
                Default 1.

        Returns:
            Logarithm of the product at the best tilt of the first statistic for each input alone,
            in nats, (m,), and the sign of that tilt.
        """
        m, n = stated.shape
        draws = drawn.shape[1]
        with np.errstate(divide="ignore"):
            logs = np.log(stated)
        top = logs.max(axis=1, keepdims=True)
        logs = np.maximum(logs - top, -_DEPTH)
        low = logs.min(axis=1, keepdims=True)
        step = np.maximum(-low, 1e-300) / (_LEVELS - 1)
        level = np.rint((logs - low) / step).astype(np.int64)
        cell = level + _LEVELS * np.arange(m)[:, None]
        weights = np.bincount(cell.ravel(), stated.ravel(), m * _LEVELS).reshape(m, _LEVELS)
        mass: Floats = weights / weights.sum(axis=1, keepdims=True)
        values = low + step * np.arange(_LEVELS)
        total = np.take_along_axis(values, np.take_along_axis(level, drawn, 1), 1).sum(axis=1)
        tilts = np.multiply.outer(np.ones(m) if signs is None else signs, _TILTS)
        gains = tilts * total[:, None]
        for at in range(0, m, _ROWS):
            here = slice(at, at + _ROWS)  # at most e^(8·40): no overflow
            factors = np.exp(tilts[here, :, None] * values[here, None, :])
            gains[here] -= draws * np.log((factors * mass[here, None, :]).sum(axis=2))
        gains -= draws * ROUNDING
        best = np.argmax(gains, axis=1)
        # An input that is no output cannot be copied: its factor is 1.
        word = np.minimum(inputs, n - 1)
        rows = np.arange(m)
        own = np.where(inputs < n, stated[rows, word], 0.0)[:, None]
        hits = (drawn == inputs[:, None]).sum(axis=1)[:, None]
        copied = tilts * hits - draws * (np.log1p(own * np.expm1(tilts)) + ROUNDING)
        self._log += np.stack([gains.sum(axis=0), copied.sum(axis=0)])
        return gains[rows, best], np.sign(tilts[rows, best]).astype(np.int64)

    def log_tail(self) -> float:
        """Return a bound on ln P(products that have grown so much), at most 0."""
        most = float(self._log.max())
        mean = most + math.log(float(np.exp(self._log - most).mean()))
        return min(0.0, -mean)
