"""E-processes: sequential tests that combine many weak deviations into one p-value.

Each e-process is a row of bets against a stated distribution.

A bet on a statistic f at a tilt t multiplies its stake by exp(t·f(x) - ln E exp(t·f)) with every
draw x.  The mean of that factor is 1 where the draws have their distribution, whatever came before,
so the stake of a whole run is then above 1/error with probability at most that error (Markov); and
so is the mean of many stakes.  This is Chernoff's bound at the best of the tilts but for what the
others cost, it holds for any number of draws of any inputs, and an input may be chosen by the
draws that were made before.

Two statistics.  The logarithm of the probability of the output: a program that draws from the same
scores at another epsilon draws from p^(1+t), one with other masses inside and outside of near
sets moves between two levels of it, and so these bets are then the likelihood ratios themselves.
And whether the output is the input: copies.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.outcomes.intervals import ROUNDING
from dpsan.space.arrays import Floats, Ids

_LEVELS: Final = 256
"""Values of the logarithm of a probability; those between them are rounded, which loses nothing but
power: the mean is that of the rounded value."""
_DEPTH: Final = 40.0
"""Nats below the likeliest output under which all count as equal."""
_ROWS: Final = 32
"""Inputs at once: a few megabytes."""
_SIZES: Final = 2.0 ** np.arange(-9, 3.25, 0.5)
_TILTS: Final[Floats] = np.concatenate([_SIZES, -_SIZES])


class EProcess:
    """The mean of bets on every tilt of both statistics, multiplied up over the draws."""

    def __init__(self) -> None:
        self._log = np.zeros((2, len(_TILTS)))

    def place(
        self, law: Floats, inputs: Ids, came: Ids, signs: NDArray[np.integer] | None = None
    ) -> tuple[Floats, Ids]:
        """Bet on draws, which must not have decided of which inputs they are, nor their signs.

        Args:
            law: the stated distributions, (m, n).
            inputs: (m,); from n on an input is no output.
            came: outputs of each input, (m, k), all of positive probability.
            signs: 1 or -1 for each input, (m,): in which direction the bets of an input go together
                with those of others.  Default 1.

        Returns:
            What the best tilt of the first statistic has gained in nats for each input alone, (m,),
            and the sign of that tilt.
        """
        m, n = law.shape
        draws = came.shape[1]
        with np.errstate(divide="ignore"):
            logs = np.log(law)
        top = logs.max(axis=1, keepdims=True)
        logs = np.maximum(logs - top, -_DEPTH)
        low = logs.min(axis=1, keepdims=True)
        step = np.maximum(-low, 1e-300) / (_LEVELS - 1)
        level = np.rint((logs - low) / step).astype(np.int64)
        place = level + _LEVELS * np.arange(m)[:, None]
        weights = np.bincount(place.ravel(), law.ravel(), m * _LEVELS).reshape(m, _LEVELS)
        mass: Floats = weights / weights.sum(axis=1, keepdims=True)
        values = low + step * np.arange(_LEVELS)
        total = np.take_along_axis(values, np.take_along_axis(level, came, 1), 1).sum(axis=1)
        tilts = np.multiply.outer(np.ones(m) if signs is None else signs, _TILTS)
        gains = tilts * total[:, None]
        for at in range(0, m, _ROWS):
            here = slice(at, at + _ROWS)  # at most e^(8·40): no overflow
            factors = np.exp(tilts[here, :, None] * values[here, None, :])
            gains[here] -= draws * np.log((factors * mass[here, None, :]).sum(axis=2))
        gains -= draws * ROUNDING
        best = np.argmax(gains, axis=1)
        # An input that is no output cannot be copied: nothing is staked on it.
        word = np.minimum(inputs, n - 1)
        own = np.where(inputs < n, law[np.arange(m), word], 0.0)[:, None]
        hits = (came == inputs[:, None]).sum(axis=1)[:, None]
        copied = tilts * hits - draws * (np.log1p(own * np.expm1(tilts)) + ROUNDING)
        self._log += np.stack([gains.sum(axis=0), copied.sum(axis=0)])
        rows = np.arange(m)
        return gains[rows, best], np.sign(tilts[rows, best]).astype(np.int64)

    def log_tail(self) -> float:
        """Bound on ln P(stakes that have grown so much), at most 0."""
        most = float(self._log.max())
        mean = most + math.log(float(np.exp(self._log - most).mean()))
        return min(0.0, -mean)
