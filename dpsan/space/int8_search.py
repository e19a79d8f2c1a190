"""Rows that may be among the nearest, by products of 8-bit integers and a bound that is proved.

The nearest row to q has the largest score p·w - |w|²/2, where p = q - c and w = v - c for any c,
both turned in any way.
Points and rows are rounded to whole multiples of a step, and their products are computed by
:class:`Product`.  By Cauchy and Schwarz each is wrong by at most what docs/speed.md gives; a
row whose score cannot reach what another has for certain is left out.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from dpsan.space.arrays import Floats, Floats32, Ids, Ints, Mask, norms, side_by_side
from dpsan.space.int8_product import SIGNED, Product, levels

_TILE: Final = 512
"""Rows whose products are computed at once: with those of _BLOCK points they fit into a cache."""
_GROUP: Final = 32
"""Rows whose highest product is looked at before they are."""
_BLOCK: Final = 480
"""Points whose products are computed at once.  No power of two: products of a point with many rows
would share a few positions of the nearest cache."""
_FIRST: Final = 2
"""Tiles of which it is known what their rows reach before any is looked at: the frequent words, and
the shortest vectors of all others, which are near to many points."""
_FEWEST_ROWS: Final = 2048
"""Rows that are worth a search by integers."""
FEWEST_POINTS: Final = 64
"""Points that are worth a search by integers."""
_MOST: Final = 512
"""Rows that may be left for a point; beyond that the float32 search is as good."""
_MANY: Final = 16
"""Groups found for a point, on average, before their rows are compared with each other."""
MOST_NEAREST: Final = 8
"""Nearest rows that integers find faster than FAISS among any vectors; fewer than the groups of a
tile."""
_SIZE: Final = (1e-9, 1e9)
"""Norms of vectors and points for which nothing here vanishes or overflows."""
_DIMENSIONS: Final = 1 << 15
"""Dimensions for which products of vectors fit into 32 bits."""
_WHOLE: Final = 2**31 - 1
"""More than any product."""
_NEVER: Final = 1e60
"""More than any score; infinity would make matrix products complain."""


class Candidates(NamedTuple):
    """Rows that may be among the nearest: all others are farther for certain."""

    points: Ids
    """Numbers of points, ascending."""
    rows: Ids
    """A row for each, ascending for each point."""
    lost: Mask
    """Points of which nothing is known, shape (m,); they have no rows."""


class SmallIntegers:
    """Vectors (n, d), rounded to multiples of a step that some hundred rows have in common.

    It takes n·(d + 31) bytes at most.

    Args:
        vectors: shape (n, d), finite.
        level: the largest number of a rounded row, 127 or 63.
    """

    def __init__(self, vectors: Floats32, level: int) -> None:
        self.n, self.d = vectors.shape
        self._level = level
        self._centre = vectors.mean(axis=0, dtype=np.float64)
        tiles = math.ceil(self.n / _TILE)
        groups = math.ceil(self.n / tiles / _GROUP)
        self._width = groups * _GROUP
        # Rows of one group share a step and a bound; so they should be of one size.
        # But the first rows come first: files begin with frequent words, mostly, and a row that is
        # near early leaves few of the others.
        sizes = norms(vectors, self._centre)
        first = np.argsort(sizes[: self._width], kind="stable")
        others = self._width + np.argsort(sizes[self._width :], kind="stable")
        self._order = np.concatenate([first, others]).astype(np.int32)
        self._rows = np.empty((tiles, self._width, self.d), dtype=np.uint8)
        self._steps = np.empty((tiles, groups))
        # Of each row w: the norm of what rounding took from it, that of itself, and |w|²/2.
        # The last rows of the last tile are none: they repeat the last word, and are never near.
        shape = (tiles, groups, _GROUP)
        self._lost, self._norms, self._halves = np.empty(shape), np.empty(shape), np.empty(shape)

        def rounded(tile: int) -> None:
            first = tile * self._width
            indices = np.arange(first, first + self._width).clip(max=self.n - 1)
            turned = _turned(vectors[self._order[indices]] - self._centre)
            turned = turned.reshape(groups, _GROUP, self.d)
            step = np.maximum(np.abs(turned).max(axis=(1, 2)), _SIZE[0]) / level
            small = np.rint(turned / step[:, None, None])
            self._rows[tile] = small.reshape(self._width, self.d) + (level + 1)
            self._steps[tile] = step
            self._lost[tile] = _norms(turned - small * step[:, None, None])
            self._norms[tile] = _norms(turned)
            self._halves[tile] = self._norms[tile] ** 2 / 2

        side_by_side(rounded, range(tiles))
        self._tiles = [Product.rows(tile) for tile in self._rows]
        self._halves.reshape(-1)[self.n :] = _NEVER
        self._largest = float(self._norms.max())
        # Of each group, in its steps, what its limits are made of.
        most = self._lost.max(axis=2), self._norms.max(axis=2)
        parts = [np.ones((tiles, groups)), -most[0], -most[1], self._halves.min(axis=2)]
        self._parts = np.stack(parts, axis=2) / self._steps[..., None]

    @classmethod
    def of(cls, vectors: Floats32) -> "SmallIntegers | None":
        """Return those of vectors, or None where the kernel is missing, wrong or out of range."""
        n, d = vectors.shape
        if n < _FEWEST_ROWS or d >= _DIMENSIONS or not (level := levels()):
            return None
        out = cls(vectors, level)
        return out if _SIZE[0] < out._largest < _SIZE[1] else None

    def candidates(self, points: Floats, k: int) -> Candidates:
        """Return rows of which the k nearest of each point are among, in terms of exact distances.

        Args:
            points: shape (m, d).
            k: 1 ... 8.
        """
        moved = _turned(points - self._centre)
        largest = np.abs(moved).max(axis=1)
        inside = np.flatnonzero(largest < _SIZE[1] / math.sqrt(self.d))
        lost = np.ones(len(points), dtype=np.bool_)
        m = len(inside)
        blocks = math.ceil(m / _BLOCK)
        results = [_NONE]
        for block in range(blocks):
            part = inside[m * block // blocks : m * (block + 1) // blocks]
            at, rows, good = self._block(moved[part], largest[part], k)
            results.append((part[at], self._order[rows].astype(np.int64)))
            lost[part] = ~good
        owners, rows = (np.concatenate(parts) for parts in zip(*results, strict=True))
        ascending = np.argsort(owners * self.n + rows)
        return Candidates(owners[ascending], rows[ascending], lost)

    def _block(self, moved: Floats, largest: Floats, k: int) -> tuple[Ids, Ids, Mask]:
        """Points and positions of rows, and for which points they are all that are needed."""
        m = len(moved)
        steps = np.maximum(largest, _SIZE[0]) / SIGNED
        small = np.rint(moved / steps[:, None])
        product = Product(small, self._level, self._width)
        small *= steps[:, None]
        # All float64, here and where distances are compared.
        reach = _norms(moved) + self._largest + 2 * float(np.linalg.norm(self._centre))
        rest = (self.d + 8) * 2.0**-48 * reach**2
        block = _Points(steps, _norms(small), _norms(moved - small), rest)
        factors = np.stack([rest, block.norms, block.lost, np.ones(m)]) / steps
        least = np.full(m, -np.inf)
        rows, met = _NOTHING, list[_Groups]()
        due, waiting = 1, 0
        for tile, parts in enumerate(self._parts):
            groups = product(self._tiles[tile]).reshape(-1, _GROUP, m)
            highest = groups.max(axis=1)
            if tile < _FIRST:
                least = np.maximum(least, self._reached(tile, highest, block, k))
            # What a product of each group is at least, where it is as good as the k-th best.
            factors[0] = (least - rest) / steps
            limits = parts @ factors
            group, members = np.divmod((highest >= limits).ravel().nonzero()[0], m)
            number = tile * len(parts) + group
            met.append(_Groups(members, number, groups[group, :, members], limits[group, members]))
            waiting += len(group)
            if tile + 1 in (due, len(self._parts)) or waiting > _MANY * m:
                rows = self._checked(rows, _rows(met), block, least, k)
                met.clear()
                due, waiting = 2 * tile + 2, 0
        return rows.points, rows.indices, least < _NEVER

    def _reached(self, tile: int, highest: Ints, block: "_Points", k: int) -> Floats:
        """Return the k-th highest score that rows of a tile have at least."""
        rows = self._lost[tile], self._norms[tile], self._halves[tile]
        lost, norms, halves = (column.max(axis=1, keepdims=True) for column in rows)
        scores = highest * self._steps[tile][:, None] * block.steps  # of different rows
        scores -= lost * block.norms + norms * block.lost + block.rest + halves
        return np.asarray(np.partition(scores, -k, axis=0)[-k], dtype=np.float64)

    def _checked(
        self, earlier: "_Found", more: "_Found", block: "_Points", least: Floats, k: int
    ) -> "_Found":
        """Return those that may be among the nearest by their own bounds, which raise ``least``."""
        points = np.concatenate((earlier.points, more.points))
        indices = np.concatenate((earlier.indices, more.indices))
        products = np.concatenate((earlier.products, more.products))
        steps = self._steps.reshape(-1)[indices // _GROUP] * block.steps[points]
        scores = steps * products - self._halves.reshape(-1)[indices]
        errors = self._lost.reshape(-1)[indices] * block.norms[points]
        errors += self._norms.reshape(-1)[indices] * block.lost[points]
        errors += block.rest[points]
        _raise(least, points, scores - errors, k)
        kept = np.flatnonzero(scores + errors >= least[points])
        lost = np.bincount(points[kept], minlength=len(least)) > _MOST
        if lost.any():
            least[lost] = _NEVER
            kept = kept[~lost[points[kept]]]
        return _Found(points[kept], indices[kept], products[kept])


class _Points(NamedTuple):
    """Points of a block."""

    steps: Floats
    norms: Floats
    """Norms of the rounded points."""
    lost: Floats
    """Norms of what rounding took from them."""
    rest: Floats
    """Bound on all errors of float64."""


class _Groups(NamedTuple):
    """Groups whose highest products may be near, and their points."""

    points: Ids
    groups: Ids
    products: Ints
    """Products of all rows, shape (groups, _GROUP)."""
    limits: Floats
    """Smallest product of a row that may be near."""


class _Found(NamedTuple):
    """Rows that may be near, their points and their products with them."""

    points: Ids
    indices: Ids
    products: Ints


_NONE: Final = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
_NOTHING: Final = _Found(*_NONE, np.zeros(0, dtype=np.int32))


def _turned(points: Floats) -> Floats:
    """Points (m, d) by an orthogonal map, the cosine transform.

    Some coordinates of real vectors are many times larger than others, and would make the steps of
    all large.  Turned, each goes into all by the same share.
    """
    from scipy.fft import dct  # heavy import

    return np.asarray(dct(points, norm="ortho", axis=1, overwrite_x=True), dtype=np.float64)


def _rows(groups: list[_Groups]) -> _Found:
    """Return the rows of groups that may be near."""
    points = np.concatenate([group.points for group in groups])
    numbers = np.concatenate([group.groups for group in groups])
    products = np.concatenate([group.products for group in groups])
    limits = np.ceil(np.concatenate([group.limits for group in groups]))
    whole = limits.clip(-_WHOLE, _WHOLE).astype(np.int32)
    hit, row = np.divmod((products >= whole[:, None]).ravel().nonzero()[0], _GROUP)
    return _Found(points[hit], numbers[hit] * _GROUP + row, products[hit, row])


def _norms(rows: Floats) -> Floats:
    """Return the norm of each row."""
    return np.asarray(np.sqrt(np.einsum("...d,...d->...", rows, rows)), dtype=np.float64)


def _raise(least: Floats, points: Ids, scores: Floats, k: int) -> None:
    """Raise each point's ``least`` to its k-th highest score."""
    for _ in range(k):
        top = np.full(len(least), -np.inf)
        np.maximum.at(top, points, scores)
        scores[scores == top[points]] = -np.inf  # equal ones count as one: then it is less
    np.maximum(least, top, out=least)
