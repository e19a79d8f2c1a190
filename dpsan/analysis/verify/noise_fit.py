"""Test the noise against the distribution functions of the proof.

Noise with the stated distribution is refuted with probability at most ERROR in a run.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpsan.analysis.verify import base
from dpsan.analysis.verify.base import Check
from dpsan.analysis.verify.goodness_of_fit import ERROR
from dpsan.mechanisms.samplers.base import PointSampler
from dpsan.outcomes.intervals import log_tail_of_cells, log_tail_of_share
from dpsan.privacy.randomness import streams_for
from dpsan.privacy.rounding import NoiseDistribution
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats

_VALUES: Final = 1 << 19
"""Most coordinates of noise that are tested."""
_VECTORS: Final = (256, 1 << 15)
"""Least and largest number of noise vectors."""
_CELLS: Final = 16


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
    made = getattr(sanitizer.sampler, "noise", stated.noise)(streams_for(key, range(m), [1] * m), d)
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
