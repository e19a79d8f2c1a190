"""Exact laws of point mechanisms for words on a line: integrals over Voronoi cells."""

import hashlib

import numpy as np
from support import fits, streams

from dpsan.embeddings.words import Embeddings
from dpsan.space.metric_space import MetricSpace


def space_of(vectors):
    """Words at these points."""
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    words = [f"word{row}" for row in range(len(vectors))]
    digest = hashlib.sha256(vectors).hexdigest()
    return MetricSpace(Embeddings(words, vectors, "made-up", digest))


def line_space(positions):
    """Words at these positions, in one dimension; the centroid is the mean."""
    return space_of(np.asarray(positions)[:, None])


def laplace_cdf(x, scale):
    x = np.asarray(x, dtype=float)
    half = 0.5 * np.exp(-np.abs(x) / scale)
    return np.where(x < 0, half, 1 - half)


def truncated_cdf(x, alpha, bound):
    x = np.asarray(x, dtype=float)
    part = 0.5 * np.expm1(-alpha * np.minimum(np.abs(x), bound)) / np.expm1(-alpha * bound)
    return np.where(x < 0, 0.5 - part, 0.5 + part)


def nearest_law(space, cdf):
    """P(nearest word of x + noise), one row for each input, ⊥ last."""
    inputs = space.points(np.arange(space.n + 1))[:, 0]
    places = space.vectors[:, 0].astype(float)
    order = np.argsort(places)
    edges = np.concatenate(([-1e9], (places[order][1:] + places[order][:-1]) / 2, [1e9]))
    law = np.empty((space.n + 1, space.n))
    law[:, order] = np.diff(cdf(edges[None, :] - inputs[:, None]), axis=1)
    return law


def losses(law):
    """Largest log-ratio between every two inputs; inf where supports differ."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(law)
        gaps = logs[:, None, :] - logs[None, :, :]
    return np.nanmax(gaps, axis=2)


def metric_loss(space, law):
    """Largest loss per unit of distance over all pairs of inputs, ⊥ included."""
    inputs = space.points(np.arange(space.n + 1))[:, 0]
    distances = np.abs(inputs[:, None] - inputs[None])
    pairs = distances > 0
    return float((losses(law)[pairs] / distances[pairs]).max())


def hockey_stick(law, epsilon):
    """Largest delta(epsilon) over all pairs of inputs."""
    gaps = law[:, None, :] - np.exp(epsilon) * law[None, :, :]
    return float(np.maximum(gaps, 0).sum(axis=2).max())


def counts(mechanism, space, word, m=40_000):
    """Outputs of m draws for one input."""
    drawn = mechanism.prepare(space).sample(np.full(m, word), streams(m))
    return np.bincount(drawn, minlength=space.n)


def off(law):
    """The same law 30 % off on every second word."""
    wrong = law * np.where(np.arange(len(law)) % 2, 1.3, 0.7)
    return wrong / wrong.sum()


def and_half(space, cdf):
    """The law of the nearest word, and that of half the noise."""
    return nearest_law(space, cdf), nearest_law(space, lambda x: cdf(2 * x))


def draws_follow(mechanism, space, words, law, *others):
    """Draws fit the words' rows of a law: neither one that is 30 % off nor that of another law."""
    for word in np.atleast_1d(words):
        observed = counts(mechanism, space, word)
        assert fits(observed, law[word])
        assert not any(fits(observed, each[word]) for each in others)
        assert not fits(observed, off(law[word]))
