"""Tokens in the order of their codes: where the codes of a table stand, without reading all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsan.only.view import Flags


class Order:
    """Tokens in the order of their codes in one array.

    Args:
        tables: of the tests.
        codes: of the tokens.
    """

    def __init__(self, tables: Flags, codes: NDArray[np.integer]) -> None:
        counts = np.bincount(codes)
        present = np.flatnonzero(counts)
        order = np.argsort(codes, kind="stable")
        self._parts = np.split(order, np.cumsum(counts[present])[:-1])
        self._tables = tables[:, present]
        self.sizes = np.einsum("tc,c->t", self._tables.astype("f4"), counts[present].astype("f4"))
        """For how many tokens each test may hold."""

    def places(self, test: int) -> NDArray[np.intp]:
        """Return the tokens for which a test may hold, ascending."""
        parts = [self._parts[at] for at in np.flatnonzero(self._tables[test]).tolist()]
        return np.sort(np.concatenate([np.zeros(0, np.intp), *parts]))


def distinct(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each distinct value stands first, by value, and of each value its index there.

    As ``numpy.unique`` does in twice the time.
    """
    order = np.argsort(values)
    ordered = values[order]
    new = np.append(True, ordered[1:] != ordered[:-1])[: len(values)]
    first = np.minimum.reduceat(order, np.flatnonzero(new)) if len(order) else order
    inverse = np.empty_like(order)
    inverse[order] = np.cumsum(new) - 1
    return first, inverse
