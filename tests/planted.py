"""Mechanisms broken on purpose, which the verifier must see through."""

import numpy as np

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.sampling.samplers import PointSampler, RowSampler, Sampler
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer

DRAWS = 60_000
"""Draws at which every planted defect below is found in at least 99 of 100 runs (-m slow)."""
WORDS = [f"word{row}" for row in range(12)]


def line_space():
    """Twelve words on a line, two units apart, with a little height."""
    vectors = np.stack([np.arange(12) * 2.0, np.tile([0.1, 0.3], 6)], axis=1).astype(np.float32)
    return Embeddings(WORDS, vectors, "line", "line")


def make(mechanism, epsilon, parameters=None, **options):
    return Sanitizer(
        mechanism, epsilon=epsilon, embeddings=line_space(), parameters=parameters, **options
    )


class SkipsTheTrueWord(PointSampler):
    def sample(self, ids, streams):
        points = self.space.points(ids) + self.noise(streams, self.space.d)
        found = self.space.search(points, 2)[0]
        return np.where(found[:, 0] == ids, found[:, 1], found[:, 0])


class OneSeed(Sampler):
    def __init__(self, inner):
        self.inner = inner

    def sample(self, ids, streams):
        same = randomness.streams_for(b"s" * 32, [0] * len(ids), [1] * len(ids))
        return self.inner.sample(ids, same)


class TopK(RowSampler):
    def weights(self, ids):
        full = super().weights(ids)
        keep = np.argsort(np.argsort(-full.astype(float), axis=1), axis=1) < 4
        return np.where(keep, full, 0).astype(np.uint64)


class Squared:
    def __init__(self, space, factor):
        self.space, self.factor = space, factor

    def __call__(self, ids):
        return self.space.distances(ids) ** 2 * self.factor


def halved(s):
    s._rewriter.sampler = Laplace(2 * s.mechanism.epsilon).prepare(s.space)


def squared(s):
    s._rewriter.sampler = RowSampler(s.space, Squared(s.space, 0.5 * s.mechanism.epsilon))


def skipping(s):
    s._rewriter.sampler = SkipsTheTrueWord(s.space, s._rewriter.sampler.noise)


def one_seed(s):
    s._rewriter.sampler = OneSeed(s._rewriter.sampler)


def top_k(s):
    s._rewriter.sampler = TopK(s.space, s._rewriter.sampler.scores)


def too_small(s):
    s._rewriter.sampler = Exponential(4 * s.mechanism.epsilon).prepare(s.space)


BROKEN = {
    "noise halved": ("laplace", 0.8, {}, halved),
    "squared distance": ("exponential", 0.5, {}, squared),
    "true word skipped": ("laplace", 1.0, {}, skipping),
    "one seed for all words": ("laplace", 0.3, {}, one_seed),
    "top-k support": ("exponential", 0.2, {}, top_k),
    "a quarter of the noise": ("exponential", 0.5, {}, too_small),
    "unknown word copied": ("laplace", 0.3, {"unknown": "keep"}, None),
    "word of the keep-list": ("laplace", 0.3, {"keep": ["word3"]}, None),
    "letter case kept": ("laplace", 0.3, {"case": "input"}, None),
    "unknown word masked": ("laplace", 0.3, {"unknown": "mask"}, None),
}


def planted(defect):
    """A sanitizer with a defect."""
    name, epsilon, options, breaking = BROKEN[defect]
    sanitizer = make(name, epsilon, **options)
    if breaking:
        breaking(sanitizer)
    return sanitizer
