"""Mechanisms broken on purpose, which the verifier must see through."""

from dataclasses import replace

import numpy as np

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.samplers.base import PointSampler, RowSampler, Sampler
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


def boasting(s):
    s.guarantee = replace(s.guarantee, epsilon_metric=0.2, epsilon_ldp=0.2 * s.space.diameter)


BROKEN = {
    "a claim too small": ("laplace", 0.8, {}, boasting),
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


# Defects that a lower bound from draws cannot see: above its ceiling, or no loss of a single word.


class Wrapped(Sampler):
    def __init__(self, inner):
        self.inner = inner

    def probabilities(self, ids):
        return self.inner.probabilities(ids)


class Backdoor(Wrapped):
    """Copy one word of all."""

    def sample(self, ids, streams):
        return np.where(ids == 1234, ids, self.inner.sample(ids, streams))


class Placed(Wrapped):
    """Draw with the streams of other positions."""

    def __init__(self, inner, place):
        super().__init__(inner)
        self.place = place

    def sample(self, ids, streams):
        words = [
            self.place(record, block, at)
            for record, block, size in streams.blocks
            for at in range(size)
        ]
        # Each word alone, the first of its stream.
        return self.inner.sample(ids, randomness.Streams(streams.key, tuple(words[streams.skip :])))


class LooksBack(Wrapped):
    """Draw a word anew after a word of odd number."""

    def sample(self, ids, streams):
        other = replace(streams, key=randomness.derive_key(streams.key, "odd"))
        odd = np.roll(ids, 1) % 2 == 1
        return np.where(odd, self.inner.sample(ids, other), self.inner.sample(ids, streams))


class LessNoise(PointSampler):
    def sample(self, ids, streams):
        points = self.space.points(ids) + 0.9 * self.noise(streams, self.space.d)
        return self.project(self.space, points, streams)


class LooksAtTheInput(PointSampler):
    """The true word, where it is the second nearest."""

    def sample(self, ids, streams):
        points = self.space.points(ids) + self.noise(streams, self.space.d)
        found = self.space.search(points, 2)[0]
        return np.where(found[:, 1] == ids, ids, found[:, 0])


class RemembersTheInput(PointSampler):
    """A projection that knows more than it is given: its outputs can be computed again."""

    def __init__(self, space, noise):
        super().__init__(space, noise, self.remembering)
        self.last = None

    def remembering(self, space, points, streams):
        found = space.search(points, 2)[0]
        return np.where(found[:, 1] == self.last, self.last, found[:, 0])

    def sample(self, ids, streams):
        self.last = ids
        return super().sample(ids, streams)


def many_words(n=2000):
    vectors = np.random.default_rng(7).normal(size=(n, 4)).astype(np.float32)
    return Embeddings([f"word{row}" for row in range(n)], vectors, "many", "many")


def response(epsilon=8.0, embeddings=None, **options):
    return Sanitizer(
        "knn-response",
        epsilon=epsilon,
        embeddings=embeddings or line_space(),
        parameters={"k": 3, "outputs": "all"},
        **options,
    )


def twice_the_epsilon(s):
    s._rewriter.sampler = replace(s.mechanism, epsilon=2 * s.mechanism.epsilon).prepare(s.space)


def backdoor(s):
    s._rewriter.sampler = Backdoor(s._rewriter.sampler)


def placed(place):
    def breaking(s):
        s._rewriter.sampler = Placed(s._rewriter.sampler, place)

    return breaking


def looking_back(s):
    s._rewriter.sampler = LooksBack(s._rewriter.sampler)


def point_sampler(kind):
    def breaking(s):
        s._rewriter.sampler = kind(s.space, s._rewriter.sampler.noise)

    return breaking


def smaller_noise(s):
    noise = s._rewriter.sampler.noise
    s._rewriter.sampler.noise = lambda streams, d: 0.9 * noise(streams, d)


def _laplace():
    return make("laplace", 0.8)


HIDDEN = {
    "twice the epsilon": (
        lambda: response(8.0, many_words()),
        twice_the_epsilon,
        "goodness of fit",
    ),
    "a backdoor in one word": (lambda: response(8.0, many_words()), backdoor, "goodness of fit"),
    "one seed": (lambda: response(8.0, many_words()), one_seed, "goodness of fit"),
    "one stream for all records": (
        response,
        placed(lambda record, block, at: (0, at << 32 | block, 1)),
        "independence",
    ),
    "one stream for all blocks": (
        response,
        placed(lambda record, block, at: (record, at, 1)),
        "independence",
    ),
    "one stream for the words of a block": (
        response,
        placed(lambda record, block, at: (record, block, 1)),
        "independence",
    ),
    "a neighbour's draw": (response, looking_back, "non-interference"),
    "nine tenths of the noise": (_laplace, smaller_noise, "noise"),
    "nine tenths of it are added": (_laplace, point_sampler(LessNoise), "projection"),
    "the projection sees the input": (_laplace, point_sampler(LooksAtTheInput), "projection"),
    "the projection remembers it": (_laplace, point_sampler(RemembersTheInput), "projection"),
    "the true word never comes": (_laplace, skipping, "projection"),
}
"""Name: a sanitizer, what breaks it, and the check that must find it."""


def hidden(defect):
    """A sanitizer with a defect, and the name of the check that finds it."""
    made, breaking, check = HIDDEN[defect]
    sanitizer = made()
    breaking(sanitizer)
    return sanitizer, check
