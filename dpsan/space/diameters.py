"""Clipping, and how far two inputs can be apart: the constants that noise is scaled by.

A norm is convex, so the largest distance between words is also the largest between any points of
their convex hull: ⊥, the centroid, is covered by every constant here.
"""

from typing import Final

import numpy as np

from dpsan.embeddings.words import shown
from dpsan.errors import UsageError
from dpsan.space import arrays, exact_search
from dpsan.space.metric_space import MetricSpace, diameter_bound

_UP: Final = 1 + 1e-9
_PAIRS: Final = 256
"""Rows that are compared with all others at once."""
_NEAR: Final = 1e-6
"""Pairs nearer than this share of their two squared norms are compared by differences."""
_MANY: Final = 5_000_000
_LEAST: Final = 2.0**-100
"""Smallest clipping radius, and smallest factor of a clipped vector: far above the denormal
numbers of float32, where rounding is no longer relative."""


def clipped(space: MetricSpace, clip: float | str) -> tuple[MetricSpace, float]:
    """Return the words moved onto the ball of a radius where they lie outside, and that radius.

    Clipping projects onto a convex set, which never moves two points apart (Lipschitz 1).

    Args:
        clip: the radius, or "auto": the largest norm, so that nothing moves.

    Raises:
        UsageError: a radius so small that clipped vectors of 32 bits might lie beyond it.
    """
    largest = space.number("largest-norm", lambda: arrays.largest_norm(space.vectors))
    if isinstance(clip, str):
        return space, largest
    if largest <= clip:
        return space, float(clip)
    least = max(_LEAST, largest * _LEAST)
    if clip < least:
        raise UsageError(
            f"clip must be >= {least:.3g} for vectors of 32 bits with norms up to {largest:.3g} "
            f"(got {clip:g})"
        )
    lengths = arrays.norms(space.vectors)
    # Rounded down by more than float32 rounding can add: 2^-24 for the factor, as much for a
    # product, and 2^-150 for a coordinate below the normal numbers, far less than _LEAST.
    factors = np.where(lengths > clip, clip * (1 - 2.0**-22) / lengths, 1.0).astype(np.float32)
    moved = space.transformed(f"clip-{float(clip)!r}", space.vectors * factors[:, None])
    return moved, float(clip)


def l2_diameter(space: MetricSpace, radius: float) -> float:
    """Largest Euclidean distance of two inputs: exact or bounded, never above 2·radius."""
    return min(space.diameter, 2 * radius)


def l1_diameter(space: MetricSpace, radius: float) -> float:
    """Largest L1 distance of two inputs: exact where cheap, else the smallest of four bounds."""
    bound = space.number("l1-diameter-2", lambda: diameter_bound(space.vectors, 1)[0])
    return min(bound, float(np.sqrt(space.d)) * _UP * l2_diameter(space, radius))


def smallest_distance(space: MetricSpace) -> float | None:
    """Return the smallest distance of two words at different points, rounded down.

    None where there are not two, or all nearest words take too long to find.
    """
    if not space.eager(space.n):
        return None

    def build() -> float:
        points = np.unique(space.vectors + np.float32(0), axis=0)  # -0 is the same point as 0
        index, least = exact_search.FlatIndex(points), [np.inf]
        count = len(points) if len(points) > 1 else 0
        for ids in space.in_blocks("looking for the nearest two words", count, 1024):
            least.append(index.search(points[ids].astype(np.float64), 2)[1][:, 1].min())
        return float(min(least) / _UP)

    least_far = space.number("smallest-distance-1", build)
    return least_far if np.isfinite(least_far) else None


def largest_stretch(points: arrays.Floats, images: arrays.Floats) -> float:
    """Max |f(x) - f(y)|/|x - y| over all pairs of rows, rounded up.

    Inf where too many pairs are near, or where equal points have different images.

    Args:
        points: shape (n, d).
        images: what the map f made of them, as they are used, rounding included; shape (n, m).
    """
    apart, moved = points - points.mean(axis=0), images - images.mean(axis=0)
    squares = np.einsum("nd,nd->n", apart, apart)
    lengths = np.einsum("nm,nm->n", moved, moved)
    best, near = 0.0, 0
    for at in shown("comparing distances of all words", range(0, len(points), _PAIRS)):
        part = slice(at, at + _PAIRS)
        limits = squares[part, None] + squares[at:]
        far = limits - 2 * apart[part] @ apart[at:].T
        # Cancellation: the formula is good to 1e-13 of the two squares.
        limits *= _NEAR
        close = far <= limits
        far[close] = np.inf
        moves = lengths[part, None] + lengths[at:]
        moves -= 2 * moved[part] @ moved[at:].T
        moves /= far
        best = max(best, float(moves.max()))
        rows, columns = np.nonzero(close)
        rows, columns = at + rows[rows != columns], at + columns[rows != columns]
        near += len(rows)
        if near > _MANY:
            return float("inf")
        for begin in range(0, len(rows), 8192):
            pair = slice(begin, begin + 8192)
            # Differences of the rows themselves, which lose nothing.
            s, t = (half[rows[pair]] - half[columns[pair]] for half in (points, images))
            size, moves = np.einsum("nd,nd->n", s, s), np.einsum("nm,nm->n", t, t)
            if (moves[size == 0] > 0).any():
                return float("inf")
            distinct = size > 0
            best = max(best, float((moves[distinct] / size[distinct]).max(initial=0.0)))
    return float(np.sqrt(best)) * (1 + 1e-6)
