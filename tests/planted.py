"""Mechanisms broken on purpose, which the verifier must see through."""

from dataclasses import replace

import broken_programs as broken
import numpy as np

from dpsan.embeddings.words import Embeddings
from dpsan.mechanisms.tables import PointSampler
from dpsan.privacy import randomness
from dpsan.run.workers import Inline
from dpsan.sanitize.sanitizer import Sanitizer

DRAWS = 60_000
"""Draws at which every planted defect below is found in at least 99 of 100 runs (-m long)."""
WORDS = [f"word{row}" for row in range(12)]


def line_space():
    """Twelve words on a line, two units apart, with a little height."""
    vectors = np.stack([np.arange(12) * 2.0, np.tile([0.1, 0.3], 6)], axis=1).astype(np.float32)
    return Embeddings(WORDS, vectors, "line", "line")


def make(mechanism, epsilon, parameters=None, **options):
    given = {"epsilon": epsilon, "parameters": parameters, **options}
    return Sanitizer(mechanism, embeddings=line_space(), **given)


def boasting(s):
    s.guarantee = replace(s.guarantee, epsilon_metric=0.2, epsilon_ldp=0.2 * s.space.diameter)


def _same(_, ids, streams):
    return ids, randomness.streams_for(b"s" * 32, [0] * len(ids), [1] * len(ids))


one_seed = broken.before(_same)
BROKEN = {
    "a claim too small": ("laplace", 0.8, {}, boasting),
    "noise halved": ("laplace", 0.8, {}, broken.scaled(0.5)),
    "squared distance": ("exponential", 0.5, {}, broken.other_rows(broken.squared)),
    "true word skipped": ("laplace", 1.0, {}, broken.skipped),
    "one seed for all words": ("laplace", 0.3, {}, one_seed),
    "top-k support": ("exponential", 0.2, {}, broken.other_rows(broken.top_k)),
    "a quarter of the noise": ("exponential", 0.5, {}, broken.other_epsilon(4.0)),
    "word of the keep-list": ("laplace", 0.3, {"keep": ["word3"]}, None),
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


def backdoor(_, out, ids, streams):
    """Copy one word of all."""
    return np.where(ids == 1234, ids, out)


class Restarting(Inline):
    """Worker processes that number the records of each batch from 0."""

    window = 2

    def submit(self, batch):
        return super().submit(batch._replace(numbers=range(len(batch.texts))))


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
    options |= {"embeddings": embeddings or line_space(), "parameters": {"k": 3, "outputs": "all"}}
    return Sanitizer("knn-response", epsilon=epsilon, **options)


def placed(place):
    """Draw with the streams of other positions: each word alone, the first of its stream."""

    def other(_, ids, streams):
        if streams is None:  # asked for probabilities
            return ids, None
        blocks = [(record, block, at) for record, block, n in streams.blocks for at in range(n)]
        words = tuple(place(*each) for each in blocks[streams.skip :])
        return ids, randomness.Streams(streams.key, words)

    return broken.before(other, inputs=True)


def looking_back(s):
    """Draw a word anew after a word of odd number."""
    own = s.sampler

    def anew(_, out, ids, streams):
        other = replace(streams, key=randomness.derive_key(streams.key, "odd"))
        return np.where(np.roll(ids, 1) % 2 == 1, own.sample(ids, other), out)

    broken.after(anew)(s)


def point_sampler(kind):
    def make(s):
        return kind(s.space, s.sampler.noise)

    return broken.put(make)


def _many():
    return response(8.0, many_words())


def _laplace():
    return make("laplace", 0.8)


def _every_65536(record, block, at):
    return record % 65536, block << 32 | at, 1


_FIT, _FREE, _FAR = "goodness of fit", "independence", "shared numbers"
HIDDEN = {
    "twice the epsilon": (_many, broken.other_epsilon(2.0), _FIT),
    "a backdoor in one word": (_many, broken.after(backdoor), _FIT),
    "one seed": (_many, one_seed, _FIT),
    "one stream for all records": (response, placed(lambda r, b, at: (0, at << 32 | b, 1)), _FREE),
    "one stream for all blocks": (response, placed(lambda r, b, at: (r, at, 1)), _FAR),
    "records 65,536 apart share": (response, placed(_every_65536), _FAR),
    "blocks 64 apart share": (response, placed(lambda r, b, at: (r, b % 64 << 32 | at, 1)), _FAR),
    "one stream for the words of a block": (response, placed(lambda r, b, at: (r, b, 1)), _FREE),
    "a neighbour's draw": (response, looking_back, "non-interference"),
    "nine tenths of the noise": (_laplace, broken.scaled(0.9), "noise"),
    "nine tenths of it are added": (_laplace, point_sampler(LessNoise), "projection"),
    "the projection sees the input": (_laplace, point_sampler(LooksAtTheInput), "projection"),
    "the projection remembers it": (_laplace, point_sampler(RemembersTheInput), "projection"),
    "the true word never comes": (_laplace, broken.skipped, "projection"),
}
"""Name: a sanitizer, what breaks it, and the check that must find it."""


def hidden(defect):
    """A sanitizer with a defect, and the name of the check that finds it."""
    made, breaking, check = HIDDEN[defect]
    sanitizer = made()
    breaking(sanitizer)
    return sanitizer, check
