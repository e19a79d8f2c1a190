"""Golden table on GloVe: close share (ranks 1 ... 100) and mean cosine at the same LDP epsilon."""

import itertools
import math

import numpy as np
import pytest

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.base import certify
from dpsan.mechanisms.geodesic import Geodesic
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.zipf_response import ZipfResponse, orders, rank_weights
from dpsan.space.arrays import blocks
from dpsan.space.metric_space import MetricSpace

EPSILONS = (4, 6, 8, 10, 12)
ZIPF = [(0.068, 0.169), (0.161, 0.230), (0.322, 0.335), (0.490, 0.477), (0.564, 0.615)]
KNN20 = [(0.102, 0.153), (0.431, 0.305), (0.816, 0.481), (0.929, 0.533), (0.947, 0.541)]
KNN50 = [(0.217, 0.188), (0.660, 0.353), (0.920, 0.450), (0.971, 0.469), (0.979, 0.472)]
GEODESIC = [(0.028, 0.130), (0.053, 0.156), (0.101, 0.212), (0.177, 0.332), (0.255, 0.549)]
CALIBRATED = (1.6660, 2.4283, 3.1616, 3.9113, 4.7891)
"""Epsilon per hop whose exact certificate is 4 ... 12 nats (by bisection)."""
TOLERANCE = 3e-3


@pytest.fixture(scope="module")
def unit(glove):
    return glove[1].vectors / np.linalg.norm(glove[1].vectors, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def nearby(glove, unit):
    """Every tenth word, all words by rank from it, and their cosines with it."""
    ids = np.arange(0, glove[1].n, 10)
    return ids, np.array([*orders(glove[1], ids)]), unit[ids] @ unit.T


def test_golden_zipf(glove, nearby):
    """The law depends on the rank alone (test_formulas checks that it does)."""
    _, order, cosines = nearby
    by_rank = np.take_along_axis(cosines, order, axis=1).mean(axis=0, dtype=np.float64)
    for epsilon, row in zip(EPSILONS, ZIPF, strict=True):
        mechanism = ZipfResponse(float(epsilon))
        law = rank_weights(float(epsilon), glove[1].n).astype(np.float64)
        law /= law.sum()
        assert (law[1:101].sum(), law @ by_rank) == pytest.approx(row, abs=TOLERANCE)
        assert certify(mechanism, glove[1]).epsilon_ldp == pytest.approx(epsilon, abs=1e-5)


@pytest.mark.slow
def test_golden_knn(glove, unit):
    """Two probabilities: of the k nearest words and of the others."""
    # Mean cosine of every third word to its 50 nearest, by rank, and to all words.
    space, ids = glove[1], np.arange(0, glove[1].n, 3)
    near = [(unit[row] * unit[ids]).sum() / len(ids) for row in space.neighbors(ids, 50).T]
    every = float((unit @ unit.mean(axis=0)).mean(dtype=np.float64))
    asked = itertools.product((20, 50), EPSILONS)
    for (k, epsilon), row in zip(asked, KNN20 + KNN50, strict=True):
        mechanism = KnnResponse(float(epsilon), k=k, outputs="all")
        law = mechanism.prepare(space).probabilities(np.array([5]))[0]
        inside, outside = law.max(), law.min()
        assert certify(mechanism, space).epsilon_ldp == pytest.approx(epsilon, abs=1e-5)
        close = (k - 1) * inside + (101 - k) * outside
        cosine = (inside - outside) * sum(near[:k]) + outside * space.n * every
        assert (close, cosine) == pytest.approx(row, abs=TOLERANCE)


def near_counts(space):
    """A row for each word: how many words are nearer than four hops, by their hops; the rest."""
    paths, out = Geodesic(1.0).paths(space), np.zeros((space.n, 5), dtype=np.int64)
    for ids in blocks(space.n, 256):
        lengths = paths.lengths(ids)
        out[ids] = np.stack([(lengths == hops).sum(axis=1) for hops in range(5)], axis=1)
    return out


def geodesic_ldp(space, near, epsilon):
    """The largest loss between any two words, ⊥ included, of geodesic hop, k = 5, R = 4."""
    scores = epsilon / 2 * np.arange(5)
    totals = np.log(near @ np.exp(-scores))
    flat = max((math.log(space.n) - totals).max(), (totals - math.log(space.n) + scores[4]).max())
    ends = np.array([totals.argmax(), totals.argmin()])
    hops = Geodesic(1.0).paths(space).lengths(ends)[0, ends[1]]
    assert hops == 4  # so no other two words lose more
    return max(flat, np.ptp(totals) + scores[4])


@pytest.mark.slow
def test_golden_geodesic(glove, nearby):
    near, (ids, order, cosines) = near_counts(glove[1]), (each[::2] for each in nearby)
    for epsilon, wanted, row in zip(CALIBRATED, EPSILONS, GEODESIC, strict=True):
        assert geodesic_ldp(glove[1], near, epsilon) == pytest.approx(wanted, abs=5e-3)
        law = Geodesic(epsilon).prepare(glove[1]).probabilities(ids)
        close = np.take_along_axis(law, order[:, 1:101], axis=1).sum() / len(ids)
        cosine = np.einsum("mn,mn->", law, cosines) / len(ids)
        assert (close, cosine) == pytest.approx(row, abs=TOLERANCE)


def test_the_table_is_the_certificate(glove):
    """On its first 1,500 words."""
    words = glove[0].index_to_key[:1500]
    space = MetricSpace(Embeddings(words, glove[1].vectors[:1500].copy(), "glove", "glove-1500"))
    found = certify(Geodesic(3.0), space)
    wanted = geodesic_ldp(space, near_counts(space), 3.0)
    assert found.epsilon_ldp - found.slack == pytest.approx(wanted, abs=1e-4)
    assert found.epsilon_metric <= 3.0
