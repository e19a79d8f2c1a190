"""Words of noisy points must be those that float64 finds, whatever searches for them."""

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from dpsan.embeddings.words import Embeddings
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space import int8_product
from dpsan.space.exact_search import FlatIndex
from scoreboard.base import Row, Size, required, row

_MECHANISMS = ("laplace", "gaussian", "rank-softmax", "vickrey")
_SPARE = 8
"""Rows beyond those asked for whose distances are computed from differences."""
_BLOCK = 512
_SHAPES = ((20_000, 100), None, (100_000, 300))
"""Words and dimensions of random vocabularies; None: the bundled one."""


@row(
    "nearest",
    "noisy words of laplace, gaussian, rank-softmax, vickrey by int8, by int8 whose self-test "
    "fails, by float32 / other than by float64",
    "≥ 100,000 each / 0",
)
def nearest_words(row: Row, size: Size, folder: Path) -> None:
    """The words of each mechanism, by each search, beside those by float64 differences alone."""
    count = size.of(6_000, 3_000, 100_000)
    key = randomness.seeded_key("dpsan scoreboard: nearest")
    integers = int8_product.levels() > 0

    def words(made, ids, **search):
        """The words, and how many points integers were asked for."""
        before, space = FlatIndex.by_integers, made.space
        space.index.__init__(space.vectors)  # not searched yet
        with mock.patch.multiple(FlatIndex, **{"integers": FlatIndex.integers, **search}):
            sampler = made.mechanism.prepare(space)
            streams = randomness.streams_for(key, range(len(ids)), [1] * len(ids))
            at, out = 0, []
            for part in streams.chunks(sampler.batch_words):
                out.append(sampler.sample(ids[at : at + len(part)], part))
                at += len(part)
        return np.concatenate(out), FlatIndex.by_integers - before

    for shape in _SHAPES[: size.of(1, 1, 3)]:
        embeddings = None if shape is None else _random(*shape)
        for mechanism in _MECHANISMS[:: 3 if size is Size.MUTANT else 1]:
            given = required(mechanism)
            options: dict[str, Any] = {"embeddings": embeddings, "cache": folder / "cache"}
            made = Sanitizer(mechanism, epsilon=8, parameters=given, **options)
            ids = np.arange(count) * 7919 % made.space.n
            by_float64, _ = words(made, ids, search=_search, nearest=_nearest)
            by_float32, none = words(made, ids, integers=False)
            row.count("float32: another word", bool((by_float32 != by_float64).any()))
            row.count("integers were used although told not to", none > 0)
            by_integers, some = words(made, ids)
            row.count("int8: another word", bool((by_integers != by_float64).any()))
            row.count("integers were not used", integers and not some)
            int8_product.levels.cache_clear()
            with mock.patch.object(int8_product, "fits", return_value=False):
                failed, none = words(made, ids)
            int8_product.levels.cache_clear()
            row.count("self-test fails: another word", bool((failed != by_float64).any()))
            row.count("integers were used although their test failed", none > 0)
            row.tried += 3 * len(ids)
    row.note = f"level {level}" if (level := int8_product.levels()) else "without dpsan[fast]"


def _random(n: int, d: int) -> Any:
    vectors = np.random.default_rng(n).normal(size=(n, d)).astype(np.float32)
    # Some are so near others that float32 cannot tell which is nearer.
    few = n // 10
    vectors[-few:] = np.nextafter(vectors[:few], np.float32(np.inf))
    names = [f"w{number}" for number in range(n)]
    return Embeddings(names, vectors, f"random {n} x {d}", f"scoreboard nearest {n} {d}")


def _search(index: Any, points: Any, k: int) -> tuple[Any, Any]:
    """The k nearest rows: float64 products choose some, differences decide, ties by row number."""
    if not hasattr(index, "in_float64"):
        vectors = index.vectors.astype(np.float64)
        index.in_float64 = vectors, np.einsum("nd,nd->n", vectors, vectors)
    vectors, squares = index.in_float64
    width = min(len(vectors), k + _SPARE)
    ids, distances = np.empty((len(points), k), dtype=np.int64), np.empty((len(points), k))
    for at in range(0, len(points), _BLOCK):
        some = points[at : at + _BLOCK]
        scores = squares - 2 * (some @ vectors.T)
        found = np.sort(np.argpartition(scores, width - 1, axis=1)[:, :width], axis=1)
        offsets = vectors[found] - some[:, None]
        exact = np.einsum("mkd,mkd->mk", offsets, offsets)
        order = np.argsort(exact, axis=1, kind="stable")[:, :k]
        ids[at : at + _BLOCK] = np.take_along_axis(found, order, axis=1)
        distances[at : at + _BLOCK] = np.sqrt(np.take_along_axis(exact, order, axis=1))
        # What was not chosen is farther by more than the products can err.
        largest = np.take_along_axis(scores, found, axis=1).max(axis=1)
        last = distances[at : at + _BLOCK, -1] ** 2 - np.einsum("md,md->m", some, some)
        scale = squares.max() + np.einsum("md,md->m", some, some)
        assert width == len(vectors) or (last < largest - 1e-12 * scale).all()
    return ids, distances


def _nearest(index: Any, points: Any) -> Any:
    return _search(index, points, 1)[0][:, 0]
