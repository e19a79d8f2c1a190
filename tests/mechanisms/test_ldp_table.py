"""Golden table: close share and mean cosine at the same certified LDP epsilon.

GloVe 840B, n = 9,910, from exact laws.  close: outputs of rank 1 ... 100 from the true word.
"""

import math

import numpy as np
import pytest

from dpsan.mechanisms.geodesic import Geodesic
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.krr import KRR
from dpsan.mechanisms.zipf_response import ZipfResponse
from dpsan.privacy.certificate import certify

EPSILONS = (4, 6, 8, 10, 12)
ZIPF = [(0.068, 0.169), (0.161, 0.230), (0.322, 0.335), (0.490, 0.477), (0.564, 0.615)]
KNN20 = [(0.102, 0.153), (0.431, 0.305), (0.816, 0.481), (0.929, 0.533), (0.947, 0.541)]
KNN50 = [(0.217, 0.188), (0.660, 0.353), (0.920, 0.450), (0.971, 0.469), (0.979, 0.472)]
GEODESIC = [(0.028, 0.130), (0.053, 0.156), (0.101, 0.212), (0.177, 0.332), (0.255, 0.549)]
CALIBRATED = (1.6660, 2.4283, 3.1616, 3.9113, 4.7891)
"""Epsilon per hop whose exact certificate is 4 ... 12 nats (by bisection)."""
TOLERANCE = 3e-3


@pytest.fixture(scope="module")
def nearby(glove):
    """Every tenth word, all words by rank from it, and their cosines with it."""
    _, space = glove
    ids = np.arange(0, space.n, 10)
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    return ids, ZipfResponse(1.0).prepare(space).order(ids), unit[ids] @ unit.T


@pytest.fixture(scope="module")
def measured(glove, nearby):
    """A function mechanism -> (close share, mean cosine)."""
    ids, order, cosines = nearby

    def measure(mechanism):
        sampler = mechanism.prepare(glove[1])
        close = cosine = 0.0
        for at in range(0, len(ids), 256):
            part = slice(at, at + 256)
            law = sampler.probabilities(ids[part])
            close += np.take_along_axis(law, order[part, 1:101], axis=1).sum()
            cosine += np.einsum("mn,mn->", law, cosines[part])
        return close / len(ids), cosine / len(ids)

    return measure


@pytest.fixture(scope="module")
def by_rank(nearby):
    """Mean cosine with the word of each rank."""
    _, order, cosines = nearby
    return np.take_along_axis(cosines, order, axis=1).mean(axis=0, dtype=np.float64)


@pytest.mark.parametrize("row", range(5))
def test_golden_zipf(glove, by_rank, row):
    """The law depends on the rank alone (test_zipf_response checks that it does)."""
    mechanism = ZipfResponse(float(EPSILONS[row]))
    law = mechanism.prepare(glove[1]).weights.astype(np.float64)
    law /= law.sum()
    assert (law[1:101].sum(), law @ by_rank) == pytest.approx(ZIPF[row], abs=TOLERANCE)
    assert certify(mechanism, glove[1]).epsilon_ldp == pytest.approx(EPSILONS[row], abs=1e-5)


@pytest.fixture(scope="module")
def near_and_all(glove):
    """A function K -> mean cosine of a word to its K nearest and to all words, over all words."""
    _, space = glove
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    every = float((unit @ unit.mean(axis=0)).mean(dtype=np.float64))

    def means(sampler, k):
        near = 0.0
        for at in range(0, space.n, 512):
            ids = np.arange(at, min(at + 512, space.n))
            near += float((unit[sampler.sets(ids)].sum(axis=1) * unit[ids]).sum())
        return near / k / space.n, every

    return means


@pytest.mark.parametrize(("k", "table"), [(20, KNN20), (50, KNN50)])
def test_golden_knn(near_and_all, glove, k, table):
    near, every = near_and_all(KnnResponse(8.0, k=k, outputs="all").prepare(glove[1]), k)
    for epsilon, row in zip(EPSILONS, table, strict=True):
        mechanism = KnnResponse(float(epsilon), k=k, outputs="all")
        law = mechanism.prepare(glove[1]).probabilities(np.array([5]))[0]
        inside, outside = law.max(), law.min()
        close = (k - 1) * inside + (101 - k) * outside
        cosine = (inside - outside) * k * near + outside * glove[1].n * every
        assert (close, cosine) == pytest.approx(row, abs=TOLERANCE)
        assert certify(mechanism, glove[1]).epsilon_ldp == pytest.approx(epsilon, abs=1e-5)


def test_golden_krr(measured, glove):
    """Kept share is in test_krr; what is not kept is uniform."""
    close, _ = measured(KRR(8.0))
    assert close == pytest.approx(100 / (math.exp(8) + glove[1].n - 1), abs=1e-4)


@pytest.fixture(scope="module")
def ldp(glove):
    """A function epsilon -> certified LDP epsilon of geodesic hop, k = 5, R = 4, from one table."""
    _, space = glove
    n, paths = space.n, Geodesic(1.0).paths(space)
    steps = np.concatenate(
        [paths.lengths(np.arange(at, min(at + 256, n))).astype(np.uint8) for at in range(0, n, 256)]
    )
    counts = np.stack([(steps == length).sum(axis=1) for length in range(5)], axis=1)

    def certified(epsilon):
        scores = epsilon / 2 * np.arange(5)
        totals = np.log(counts @ np.exp(-scores))
        best = float(max((math.log(n) - totals).max(), (totals - math.log(n) + scores[4]).max()))
        by_length = scores.astype(np.float32)
        small = totals.astype(np.float32)
        for at in range(0, n, 512):
            gaps = np.abs(small[at : at + 512, None] - small)
            gaps += by_length[steps[at : at + 512]]
            best = max(best, float(gaps.max()))
        return best

    return certified


@pytest.mark.parametrize("row", range(5))
def test_golden_geodesic(measured, ldp, row):
    assert ldp(CALIBRATED[row]) == pytest.approx(EPSILONS[row], abs=5e-3)
    assert measured(Geodesic(CALIBRATED[row])) == pytest.approx(GEODESIC[row], abs=TOLERANCE)


def test_the_table_is_the_certificate(glove, ldp):
    found = certify(Geodesic(3.0), glove[1])
    assert found.epsilon_ldp - found.slack == pytest.approx(ldp(3.0), abs=1e-4)
    assert found.epsilon_metric <= 3.0
