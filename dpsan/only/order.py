"""Values in order: how many are smaller, and which are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def ranks(groups: NDArray[np.integer], values: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return of each value how many different ones of its group are smaller."""
    order = np.lexsort((values, groups))
    group, value = groups[order], values[order]
    other = changes(group)
    steps = np.cumsum(~other & changes(value))
    result = np.zeros(len(order), np.int32)
    result[order] = steps - np.maximum.accumulate(np.where(other, steps, 0))
    return result


def changes(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which values are others than the one before, as the first one is."""
    new = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def distinct(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each distinct value stands first, by value, and of each value its index there.

    As ``numpy.unique`` does in twice the time.
    """
    order = values.argsort()
    ordered = values[order]
    new = changes(ordered)
    first = np.minimum.reduceat(order, new.nonzero()[0]) if len(order) else order
    inverse = np.empty_like(order)
    inverse[order] = new.cumsum() - 1
    return first, inverse
