"""The largest loss of any distribution over a vocabulary in O(n²): by the columns of its matrix.

The loss of x against x' at an output u is ln P(u|x) - ln P(u|x').  For each u the largest such
difference is that of the largest and the smallest value of one column, so the largest loss of all
pairs needs two numbers of each column, and every input is looked at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from dpsan.privacy.certificate import WORK, Certificate
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

_ROWS: Final = 32
_ERROR: Final = 1e-9
"""Bound on the rounding of a difference of two logarithms of sums of at most 2^24 terms."""


def column_certificate(
    space: MetricSpace, log_pmf: Callable[[Ids], Floats], key: str
) -> Certificate | None:
    """Certificate of a distribution whose logarithms are known row by row.

    Args:
        log_pmf: inputs (m,), ⊥ allowed -> ln P(u|x), (m, n); -inf where it is 0.
        key: names the distribution, for the cache.

    Returns:
        None where 2·n²·d is beyond a few minutes.
    """
    if 2.0 * space.n**2 * (space.d + 32) > WORK:
        return None
    found = space.table(f"certificate-columns-1-{key}", lambda: _losses(space.n, log_pmf))
    first, second = found["pair"].tolist()
    return Certificate(
        method="exact certificate, largest and smallest probability of every output",
        epsilon_ldp=float(found["loss"][0]),
        pair=(first, second),
        slack=_ERROR,
    )


def _losses(n: int, log_pmf: Callable[[Ids], Floats]) -> Arrays:
    high, low = np.full(n, -math.inf), np.full(n, math.inf)
    most, least = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for at in range(0, n + 1, _ROWS):
        ids = np.arange(at, min(at + _ROWS, n + 1))
        rows = log_pmf(ids)
        for best, who, indices in (
            (high, most, rows.argmax(axis=0)),
            (low, least, rows.argmin(axis=0)),
        ):
            values = rows[indices, np.arange(n)]
            better = values > best if best is high else values < best
            best[better], who[better] = values[better], ids[indices[better]]
    possible = high > -math.inf
    spread = np.where(possible, high - np.where(possible, low, 0.0), 0.0)
    worst = int(np.argmax(spread))
    return {
        "loss": np.array([spread[worst] + _ERROR]),
        "pair": np.array([most[worst], least[worst]]),
    }
