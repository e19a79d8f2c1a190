"""Test the noise, and that the output is a function of the noisy point.

Such a mechanism consists of its noise, the sum of point and noise, and a projection that sees
nothing else.  The noise is tested against the distribution functions of the proof.  For the sum and
the projection every output is computed a second time from point, noise and projection, and must be
equal.  The projection also gets the same noisy points from other inputs.  These tests are exact.
Noise with the stated distribution is refuted with probability at most ERROR in a run.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dpsan.analysis.verify import base
from dpsan.analysis.verify.base import Check
from dpsan.analysis.verify.goodness_of_fit import ERROR
from dpsan.mechanisms.samplers.base import PointSampler
from dpsan.outcomes.intervals import log_tail_of_cells, log_tail_of_share
from dpsan.privacy.noise_distributions import NoiseDistribution
from dpsan.privacy.randomness import Streams, derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids

_VALUES: Final = 1 << 19
"""Most coordinates of noise that are tested."""
_VECTORS: Final = (256, 1 << 15)
"""Least and largest number of noise vectors."""
_CELLS: Final = 16
_WORDS: Final = 2048
"""Number of random words, or all, that are drawn besides the given inputs."""
_POINTS: Final = 1024
"""Least number of outputs that are computed a second time."""


def _part(sanitizer: Sanitizer, stated: PointSampler, name: str) -> Any:
    """Return the noise or projection of the program; the stated one if the sampler has none."""
    return getattr(sanitizer.sampler, name, getattr(stated, name))


def noise_fit(
    sanitizer: Sanitizer,
    stated: PointSampler,
    distribution: NoiseDistribution,
    *,
    draws: int,
    key: bytes,
) -> Check:
    """Test noise vectors of the program.

    Radius, direction or coordinates are counted in equal cells of their distribution functions.
    The signs of adjacent coordinates, and of one coordinate of two words, agree half of the time.
    """
    d = stated.space.d
    m = int(np.clip(min(draws // 4, _VALUES // d), *_VECTORS)) // 2 * 2
    made = _part(sanitizer, stated, "noise")(streams_for(key, range(m), [1] * m), d)
    figures: dict[str, float] = {"vectors": m, "dimensions": d}
    if made.shape != (m, d) or not np.isfinite(made).all():
        return Check("noise", False, "the shape of the noise is not that of the points", figures)
    noise = distribution.whitened(made)
    families: dict[str, Floats] = {}
    for name, values in distribution.uniforms(noise).items():
        inside = (values >= 0) & (values <= 1)
        if not inside.all():
            families[name] = np.array([-math.inf])
            continue
        cells = np.minimum(values * _CELLS, _CELLS - 1).astype(np.int64)
        counts = np.stack([np.bincount(each, minlength=_CELLS) for each in cells.T])
        if name == "coordinates":  # all independent: together they say most
            counts = np.concatenate([counts, counts.sum(axis=0, keepdims=True)])
        families[name] = log_tail_of_cells(counts, np.full(counts.shape, 1 / _CELLS))
    above = noise > 0
    if d > 1:
        agree = (above == np.roll(above, 1, axis=1)).sum(axis=0)[: None if d > 2 else 1]
        families["signs of coordinates"] = log_tail_of_share(agree, m, np.full(len(agree), 0.5))
    same = float((above[::2] == above[1::2]).sum())
    families["signs of two words"] = log_tail_of_share(np.array([same]), m // 2 * d, np.array(0.5))
    worst, log = base.bonferroni(families)
    figures["log10_probability"] = base.log10(log)
    if log > math.log(ERROR):
        sentence = f"{m:,} vectors of {d} dimensions have the distribution of the proof"
        return Check("noise", True, sentence, figures)
    sentence = f"{m:,} vectors do not have the {worst} of the proof"
    return Check("noise", False, f"{sentence}: {base.probability(log)} by chance", figures)


def projection_check(
    sanitizer: Sanitizer,
    stated: PointSampler,
    inputs: list[str],
    rows: Ids,
    *,
    draws: int,
    key: bytes,
) -> Check:
    """Compute outputs again from point, noise and projection, and with other inputs.

    Args:
        inputs: strings that are drawn.
        rows: row number of each input.
        draws: approximate number of draws.
        key: fresh.
    """
    name, keys = "projection", sanitizer.embeddings.index_to_key
    words = base.words_at_random(sanitizer, _WORDS, derive_key(key, "words"))
    inputs, rows = [*inputs, *(keys[w] for w in words.tolist())], np.concatenate([rows, words])
    m = max(len(rows), min(_POINTS, draws // 32))
    chosen = np.arange(m) % len(rows)
    texts, ids = [inputs[at] for at in chosen.tolist()], rows[chosen]
    streams = streams_for(derive_key(key, "same"), range(m), [1] * m)
    outputs = base.drawn_rows(sanitizer, texts, derive_key(key, "same"))
    noise, project = (_part(sanitizer, stated, each) for each in ("noise", "project"))
    points = stated.space.points(ids)
    z = noise(streams, stated.space.d)
    again = project(stated.space, points + z, streams)
    figures: dict[str, float] = {"outputs": m, "other": int((outputs != again).sum())}
    if other := figures["other"]:
        what = "are not the projection of the word's point plus the noise"
        return Check(name, False, f"{other:.0f} of {m:,} outputs {what}", figures)
    # Noisy points on a grid, so that point + (noisy point - point) is exact for another point too.
    grid = 2.0 ** np.floor(np.log2(max(float(np.abs(points + z).max()), 1e-300)) - 24)
    target = np.rint((points + z) / grid) * grid
    others = rows[(chosen + 1 + np.arange(m) // len(rows)) % len(rows)]
    there = stated.space.points(others)
    noised, moved = target - points, target - there
    exact = ((points + noised == target) & (there + moved == target)).all(axis=1) & (others != ids)
    sampler = sanitizer.sampler
    if not isinstance(sampler, PointSampler):
        return Check(name, None, "the sampler takes no noise that could be chosen", figures)
    first = _with_noise(sampler, ids, noised, streams)
    second = _with_noise(sampler, others, moved, streams)
    repeated, differ = int(exact.sum()), int(((first != second) & exact).sum())
    figures |= {"points": repeated, "differ": differ}
    if differ:
        sentence = f"{differ} of {repeated} noisy points gave another word for another input"
        return Check(name, False, sentence, figures)
    sentence = f"{m:,} outputs depend on the noisy point alone; {repeated:,} of them were repeated"
    return Check(name, True, f"{sentence} with another input", figures)


def _with_noise(sampler: PointSampler, ids: Ids, chosen: Floats, streams: Streams) -> Ids:
    """Draw with chosen noise, by the sampler itself: a copy could know less."""
    kept = sampler.noise
    sampler.noise = lambda some, d: chosen[some.records]  # a record each, drawn in parts
    try:
        return sampler.sample(ids, streams)
    finally:
        sampler.noise = kept
