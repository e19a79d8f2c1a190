"""Rows that may be among the nearest, by products of 8-bit integers and a bound that is proved.

Knows arrays, threads and rounding.  Must not know which of the rows it is: float64 decides that.

The nearest row to q has the largest score p·w - |w|²/2, where p = q - c and w = v - c for any c,
both turned in any way.
Points and rows are rounded to whole multiples of a step, and their products are computed by
:class:`Product`.  By Cauchy and Schwarz each is wrong by at most what docs/proofs.md 0.8 gives; a
row whose score cannot reach what another has for certain is left out.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Floats, Floats32, Ids, norms
from dpsan.space.int8_product import Product, levels, wins
from dpsan.space.threads import side_by_side, threads

_TILE: Final = 2048
"""Rows whose values are computed at once: with those of _BLOCK points they fit into a cache."""
_GROUP: Final = 256
"""Rows of a tile whose highest value is looked at before they are."""
_BLOCK: Final = 512
"""Points whose values are computed at once."""
FEWEST_POINTS: Final = 64
"""Points of a block that are worth a thread."""
_MOST: Final = 512
"""Rows that may be left for a point; beyond that the float32 search is as good."""
MOST_NEAREST: Final = 4
"""Nearest rows that can be asked for."""
_SIZE: Final = (1e-9, 1e9)
"""Norms of vectors and points for which nothing here vanishes or overflows."""
_COLUMNS: Final = 4
"""Coordinates that carry |w|²/2 and the bound, at least: where the kernel takes four at a time, d
and these are a multiple of four."""
_SIGNED: Final = 127
_DIMENSIONS: Final = 1 << 15
"""Dimensions for which products of vectors fit into 32 bits."""
_FULL: Final = 2**31 - 1
"""No product is as large."""


class Candidates(NamedTuple):
    """Rows that may be among the nearest: all others are farther for certain."""

    points: Ids
    """Numbers of points, ascending."""
    rows: Ids
    """A row for each, ascending for each point."""
    lost: NDArray[np.bool_]
    """Points of which nothing is known, shape (m,); they have no rows."""


class SmallIntegers:
    """Vectors (n, d), rounded to multiples of a step that a thousand rows have in common.

    It takes n·(d + 28) bytes.

    Args:
        vectors: shape (n, d), finite.
        level: the largest number of a rounded point, 127 or 63.
    """

    def __init__(self, vectors: Floats32, level: int) -> None:
        self.n, self.d = vectors.shape
        self._level = level
        self._centre = vectors.mean(axis=0, dtype=np.float64)
        tiles = math.ceil(self.n / _TILE)
        self._width = _GROUP * math.ceil(self.n / tiles / _GROUP)
        shape = (tiles, self._width)
        # Rows of one tile share a step, and of one group a bound; so they should be of one size.
        # But the first rows come first: files begin with frequent words, mostly, and a row that is
        # near early leaves few of the others.
        sizes = norms(vectors, self._centre)
        first = np.argsort(sizes[: self._width], kind="stable")
        others = self._width + np.argsort(sizes[self._width :], kind="stable")
        self._order = np.concatenate([first, others]).astype(np.int32)
        self._rows = np.empty((tiles, self.d, self._width), dtype=np.int8)
        self._steps = np.ones((tiles, 1))
        # Of each row w: its norm, that of what rounding took from it, and |w|²/2.  The last rows of
        # the last tile are none: they repeat the last word.
        self._norms, self._lost, self._halves = np.empty(shape), np.empty(shape), np.empty(shape)

        def rounded(tile: int) -> None:
            first = tile * self._width
            places = np.arange(first, first + self._width).clip(max=self.n - 1)
            some = _turned(vectors[self._order[places]] - self._centre)
            step = max(float(np.abs(some).max()), _SIZE[0]) / _SIGNED
            small = np.rint(some / step)
            np.clip(small, -_SIGNED, _SIGNED, out=small)
            self._rows[tile] = small.T
            self._steps[tile] = step
            squares = np.einsum("nd,nd->n", some, some)
            self._halves[tile] = squares / 2
            self._norms[tile] = np.sqrt(squares)
            small *= step
            small -= some
            self._lost[tile] = np.sqrt(np.einsum("nd,nd->n", small, small))

        side_by_side(rounded, range(tiles))
        self._largest = float(self._norms.max())

    @classmethod
    def of(cls, vectors: Floats32) -> SmallIntegers | None:
        """Those of vectors, or None where the kernel is missing, wrong, slower or out of range."""
        n, d = vectors.shape
        if n < _TILE or d >= _DIMENSIONS or not (level := levels()) or not wins(d):
            return None
        out = cls(vectors, level)
        return out if _SIZE[0] < out._largest < _SIZE[1] else None

    def candidates(self, points: Floats, k: int) -> Candidates:
        """Rows of which the k nearest of each point are among, in terms of exact distances.

        Args:
            points: shape (m, d).
            k: 1 ... 4, and at most n.
        """
        moved = _turned(points - self._centre)
        largest = np.abs(moved).max(axis=1)
        # Points of one block have one step; so they should be of one size.
        order = np.argsort(largest, kind="stable")
        known = int(np.searchsorted(largest[order], _SIZE[1] / math.sqrt(self.d)))
        lost = np.ones(len(points), dtype=np.bool_)
        blocks = max(1, math.ceil(known / _BLOCK), min(threads(), known // FEWEST_POINTS))
        found: list[tuple[Ids, Ids]] = [_NONE] * blocks

        def search(block: int) -> None:
            some = order[known * block // blocks : known * (block + 1) // blocks]
            at, rows, good = self._block(moved[some], k)
            found[block] = some[at], self._order[rows].astype(np.int64)
            lost[some] = ~good

        if known:
            side_by_side(search, range(blocks))
        owners, rows = (np.concatenate(each) for each in zip(*found, strict=True))
        ascending = np.argsort(owners * self.n + rows)
        return Candidates(owners[ascending], rows[ascending], lost)

    def _block(self, moved: Floats, k: int) -> tuple[Ids, Ids, NDArray[np.bool_]]:
        """Points and places of rows, and for which points they are all that are needed."""
        level = self._level
        step = max(float(np.abs(moved).max()), _SIZE[0]) / level
        small = np.rint(moved / step)
        np.clip(small, -level, level, out=small)
        columns = _COLUMNS + -self.d % 4
        error = self._error(moved, small * step)
        units, base, digits, slacks = self._raised(error, step, columns)
        carried = np.full((len(moved), self.d + columns), float(level))
        carried[:, : self.d] = small
        product = Product(carried, level, self._width)
        rows = np.empty((self.d + columns, self._width), dtype=np.int8)
        best = np.full((len(moved), k), -np.inf)
        count = np.zeros(len(moved), dtype=np.int64)
        above = slacks.reshape(len(units), -1, _GROUP).max(axis=2)
        found = []
        for tile, unit in enumerate(units):
            rows[: self.d], rows[self.d :] = self._rows[tile], digits[:, tile]
            values = product(rows)
            values[:, self.n - tile * self._width :] = -_FULL  # what is beyond the last row
            groups = values.reshape(len(values), -1, _GROUP)
            highest = groups.max(axis=2)
            _improve(best, highest, unit, unit * base[tile] - above[tile])
            limits = np.clip(np.floor(best[:, -1] / unit - base[tile]), -_FULL, _FULL)
            limits = np.where(count <= _MOST, limits, _FULL).astype(np.int32)
            some, group = np.nonzero(highest >= limits[:, None])
            held = groups[some, group]
            at = np.flatnonzero(held >= limits[some, None])
            hit, column = np.divmod(at, _GROUP)
            points, places = some[hit], column + group[hit] * _GROUP
            scores = unit * (held.reshape(-1)[at] + base[tile])
            if k == 1:  # by the bound of each row, where that of the tile is coarse
                np.maximum.at(best[:, 0], points, scores - slacks[tile, places])
                kept = scores >= best[points, 0]
                points, places, scores = points[kept], places[kept], scores[kept]
            count += np.bincount(points, minlength=len(count))
            found.append((points, places + tile * self._width, scores))
        return self._left(found, best[:, -1], count <= _MOST, slacks, k)

    def _raised(
        self, error: Floats, step: float, columns: int
    ) -> tuple[list[float], Floats, NDArray[np.int8], Floats]:
        """What makes upper bounds on scores of products.

        The columns raise each product so that it is at least as many units as the score and error,
        less what is the same for a tile, and less than a level more.  Where they cannot hold as
        little as that it is more: that costs candidates, no answer.

        Returns:
            Unit and base of each tile, what the rows have in the columns (columns, tiles, width),
            and how much each bound is above what the score is at least, (tiles, width).
        """
        units = step * self._steps
        wanted = (error - self._halves) / units
        most = columns * _SIGNED
        base = wanted.max(axis=1, keepdims=True) - (most - 1) * self._level
        high = np.maximum(np.ceil((wanted - base) / self._level), -most)
        slacks = units * (high * self._level + base) + self._halves + error
        left = high.astype(np.int16)
        digits = np.empty((columns, *left.shape), dtype=np.int8)
        for column in digits:
            column[:] = np.clip(left, -_SIGNED, _SIGNED)
            left -= column
        return units[:, 0].tolist(), base[:, 0], digits, slacks

    def _error(self, moved: Floats, rounded: Floats) -> Floats:
        """Bound on |units · product - p·w| of each row for all these points, (tiles, width)."""
        out = self._lost * _norm(rounded)
        out += self._norms * _norm(moved - rounded)
        # All float64, here and where distances are compared.
        reach = _norm(moved) + self._largest + 2 * float(np.linalg.norm(self._centre))
        out += (self.d + 8) * 2.0**-48 * reach**2
        return out

    def _left(
        self,
        found: list[tuple[Ids, Ids, Floats]],
        least: Floats,
        good: NDArray[np.bool_],
        slacks: Floats,
        k: int,
    ) -> tuple[Ids, Ids, NDArray[np.bool_]]:
        """The same, of rows found in each tile, once more by what is known after the last tile."""
        points, rows, values = (np.concatenate(each) for each in zip(*found, strict=True))
        kept = (values >= least[points]) & good[points] & (rows < self.n)
        points, rows, values = points[kept], rows[kept], values[kept]
        order = np.argsort(points.astype(np.uint16), kind="stable")
        points, rows, values = points[order], rows[order], values[order]
        if not len(points):
            return points, rows, good
        # What each has for certain, by the bound of its own row.
        certain = values - slacks.reshape(-1)[rows]
        starts = np.flatnonzero(np.diff(points, prepend=-1))
        if k == 1:
            limits = np.maximum.reduceat(certain, starts)
        else:
            limits = certain[np.lexsort((-certain, points))[starts + k - 1]]
        kept = values >= np.repeat(limits, np.diff(starts, append=len(points)))
        return points[kept], rows[kept], good


_NONE: Final = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def _turned(points: Floats) -> Floats:
    """Points (m, d) by an orthogonal map, the cosine transform.

    Some coordinates of real vectors are many times larger than others, and would make the steps of
    all large.  Turned, each goes into all by the same share.
    """
    from scipy.fft import dct  # heavy import

    return np.asarray(dct(points, norm="ortho", axis=1, overwrite_x=True), dtype=np.float64)


def _norm(rows: Floats) -> float:
    """The largest norm of rows."""
    return math.sqrt(float(np.einsum("md,md->m", rows, rows).max()))


def _improve(best: Floats, highest: NDArray[np.int32], unit: float, offsets: Floats) -> None:
    """Take into ``best`` (m, k), descending, scores that rows of different groups reach."""
    reached = highest * unit
    reached += offsets
    if best.shape[1] == 1:
        np.maximum(best[:, 0], reached.max(axis=1), out=best[:, 0])
        return
    reached[highest == -_FULL] = -np.inf  # a group without a row
    both = np.concatenate([best, reached], axis=1)
    best[:] = -np.sort(-both, axis=1)[:, : best.shape[1]]
