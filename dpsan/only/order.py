"""Tokens in the order of their codes: where the codes of a table stand, without reading all."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsan.only.view import Flags, Ints


class Order:
    """Tokens in the order of their codes in one array.

    Args:
        tables: of the tests.
        codes: of the tokens.
    """

    def __init__(self, tables: Flags, codes: NDArray[np.integer]) -> None:
        self._codes, self._counts = codes, np.bincount(codes)
        self._present = np.flatnonzero(self._counts)
        self._tables = tables[:, self._present]
        counts = self._counts[self._present].astype("f4")
        self.sizes = np.einsum("tc,c->t", self._tables.astype("f4"), counts)
        """For how many tokens each test may hold."""

    @cached_property
    def _parts(self) -> list[Ints]:
        order = np.argsort(self._codes, kind="stable").astype(np.int32)
        return np.split(order, np.cumsum(self._counts[self._present])[:-1])

    def places(self, test: int) -> NDArray[np.intp]:
        """Return the tokens for which a test may hold, ascending."""
        parts = [self._parts[at] for at in np.flatnonzero(self._tables[test]).tolist()]
        return np.sort(np.concatenate([np.zeros(0, np.int32), *parts])).astype(np.intp)


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
