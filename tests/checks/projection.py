"""Test that an output of a mechanism that adds noise is a function of the noisy point.

Every output is computed a second time from point, noise and projection, and must be equal.  The
sampler also gets the same noisy points from other inputs.  Both tests are exact.
"""

from typing import Any

import numpy as np
from support import records_of

from checks import KEY
from dpsan.analysis.verify.checks import drawn_rows, words_at_random
from dpsan.mechanisms.tables import PointSampler
from dpsan.privacy.randomness import Streams, derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids

_WORDS = 2048
_OUTPUTS = 1024
"""Least number of outputs that are computed a second time."""


def projection(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Compute outputs again from point, noise and projection, and with other inputs."""
    stated, sampler = sanitizer.mechanism.prepare(sanitizer.space), sanitizer.sampler
    if not isinstance(stated, PointSampler):
        return ""
    words, keys = words_at_random(sanitizer, _WORDS, key), sanitizer.embeddings.index_to_key
    ids = np.resize(words, max(len(words), _OUTPUTS))
    m = len(ids)
    streams = streams_for(derive_key(key, "same"), range(m), [1] * m)
    texts = [keys[word] for word in ids.tolist()]
    outputs = drawn_rows(sanitizer.by_text(), texts, derive_key(key, "same"))

    def part(name: str) -> Any:
        return getattr(sampler, name, getattr(stated, name))

    points = stated.space.points(ids)
    noisy = points + part("noise")(streams, stated.space.d)
    if other := int((outputs != part("project")(stated.space, noisy, streams)).sum()):
        return f"{other} outputs are not the projection of the word's point plus the noise"
    # Noisy points on a grid, so that point + (noisy point - point) is exact for another point too.
    grid = 2.0 ** np.floor(np.log2(max(float(np.abs(noisy).max()), 1e-300)) - 24)
    target = np.rint(noisy / grid) * grid
    others = words[(np.arange(m) + 1 + np.arange(m) // len(words)) % len(words)]
    there = stated.space.points(others)
    noised, moved = target - points, target - there
    exact = ((points + noised == target) & (there + moved == target)).all(axis=1) & (others != ids)
    if not isinstance(sampler, PointSampler) or not exact.any():
        return "no noise could be chosen"
    first = _with_noise(sampler, ids, noised, streams)
    second = _with_noise(sampler, others, moved, streams)
    differ = int(((first != second) & exact).sum())
    return f"{differ} noisy points gave another word for another input" if differ else ""


def _with_noise(sampler: PointSampler, ids: Ids, chosen: Floats, streams: Streams) -> Ids:
    """Draw with chosen noise, by the sampler itself: a copy could know less."""
    kept = sampler.noise
    sampler.noise = lambda some, d: chosen[records_of(some)]  # a record each, drawn in parts
    try:
        return sampler.sample(ids, streams)
    finally:
        sampler.noise = kept
