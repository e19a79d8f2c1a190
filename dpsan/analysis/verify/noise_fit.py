"""Whether the noise has its stated distribution, and the output is a function of the noisy point.

Three things make such a mechanism: its noise, tested here against the distribution functions of the
proof; the sum of point and noise; and a projection that sees nothing else.  For the last two every
output is computed a second time from point, noise and projection, and must be the same; and the
projection is given the same noisy points with other inputs.  These are exact; noise that has its
distribution is refuted with probability at most ERROR in a run.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpsan.analysis.verify.base import (
    Check,
    bonferroni,
    drawn_rows,
    log10,
    probability,
    words_at_random,
)
from dpsan.analysis.verify.goodness_of_fit import ERROR
from dpsan.mechanisms.samplers.base import PointSampler
from dpsan.outcomes.intervals import log_tail_of_cells, log_tail_of_share
from dpsan.privacy.noise_distributions import NoiseDistribution
from dpsan.privacy.randomness import Streams, derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids

_VALUES: Final = 1 << 19
"""Coordinates of noise that are tested, at most."""
_VECTORS: Final = (256, 1 << 15)
"""Vectors of noise: at least, at most."""
_CELLS: Final = 16
_WORDS: Final = 2048
"""Words at random, or all, that are drawn besides the inputs that are given."""
_POINTS: Final = 1024
"""Outputs that are computed a second time, at least."""


def _part(sanitizer: Sanitizer, stated: PointSampler, name: str) -> object:
    """The noise or the projection that runs; the stated one where the sampler shows none."""
    return getattr(sanitizer.sampler, name, getattr(stated, name))


def noise_fit(
    sanitizer: Sanitizer,
    stated: PointSampler,
    distribution: NoiseDistribution,
    *,
    draws: int,
    key: bytes,
) -> Check:
    """Test noise vectors of the sampler that runs.

    Radius, direction or coordinates by equal cells of their distribution functions; the signs of
    neighbouring coordinates, and of the same coordinate of two words, agree half of the time.
    """
    d = stated.space.d
    m = int(np.clip(min(draws // 4, _VALUES // d), *_VECTORS)) // 2 * 2
    made = _part(sanitizer, stated, "noise")(streams_for(key, range(m), [1] * m), d)  # type: ignore[operator]
    figures: dict[str, float] = {"vectors": m, "dimensions": d}
    if made.shape != (m, d) or not np.isfinite(made).all():
        return Check("noise", False, "the noise has not the shape of the points", figures)
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
    worst, log = bonferroni(families)
    figures["log10_probability"] = log10(log)
    if log > math.log(ERROR):
        sentence = f"{m:,} vectors of {d} dimensions have the distribution of the proof"
        return Check("noise", True, sentence, figures)
    sentence = f"{m:,} vectors have not the {worst} of the proof: {probability(log)} by chance"
    return Check("noise", False, sentence, figures)


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
        inputs: strings that are drawn, and ``rows`` the inputs that they stand for.
        draws: how many, about.
        key: fresh.
    """
    name, keys = "projection", sanitizer.embeddings.index_to_key
    words = words_at_random(sanitizer, _WORDS, derive_key(key, "words"))
    inputs, rows = [*inputs, *(keys[w] for w in words.tolist())], np.concatenate([rows, words])
    m = max(len(rows), min(_POINTS, draws // 32))
    place = np.arange(m) % len(rows)
    texts, ids = [inputs[at] for at in place.tolist()], rows[place]
    streams = streams_for(derive_key(key, "same"), range(m), [1] * m)
    came = drawn_rows(sanitizer, texts, derive_key(key, "same"))
    noise = _part(sanitizer, stated, "noise")
    project = _part(sanitizer, stated, "project")
    points = stated.space.points(ids)
    z = noise(streams, stated.space.d)  # type: ignore[operator]
    again = project(stated.space, points + z, streams)  # type: ignore[operator]
    figures: dict[str, float] = {"outputs": m, "other": int((came != again).sum())}
    if figures["other"]:
        sentence = (
            f"{figures['other']:.0f} of {m:,} outputs are not the projection of the word's point "
            "plus the noise"
        )
        return Check(name, False, sentence, figures)
    # Noisy points on a grid, so that point + (noisy point - point) is exact for another point too.
    grid = 2.0 ** np.floor(np.log2(max(float(np.abs(points + z).max()), 1e-300)) - 24)
    target = np.rint((points + z) / grid) * grid
    other = rows[(place + 1 + np.arange(m) // len(rows)) % len(rows)]
    there = stated.space.points(other)
    chosen, moved = target - points, target - there
    exact = ((points + chosen == target) & (there + moved == target)).all(axis=1) & (other != ids)
    sampler = sanitizer.sampler
    if not isinstance(sampler, PointSampler):
        return Check(name, None, "the sampler takes no noise that could be chosen", figures)
    first = _with_noise(sampler, ids, chosen, streams)
    second = _with_noise(sampler, other, moved, streams)
    differ = (first != second) & exact
    figures |= {"points": int(exact.sum()), "differ": int(differ.sum())}
    if figures["differ"]:
        sentence = (
            f"{figures['differ']:.0f} of {figures['points']:.0f} noisy points became another word "
            "when they came from another input"
        )
        return Check(name, False, sentence, figures)
    sentence = (
        f"{m:,} outputs come of the noisy point alone, {figures['points']:,.0f} of them whatever "
        "the input"
    )
    return Check(name, True, sentence, figures)


def _with_noise(sampler: PointSampler, ids: Ids, chosen: Floats, streams: Streams) -> Ids:
    """What comes out with chosen noise, of the sampler itself: a copy could know less."""
    kept = sampler.noise
    sampler.noise = lambda some, d: chosen[some.records]  # a record each, drawn in parts
    try:
        return sampler.sample(ids, streams)
    finally:
        sampler.noise = kept
