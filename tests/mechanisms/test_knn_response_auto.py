"""knn-response: the choice of k and outputs."""

import math

import numpy as np
import pytest
from support import make_embeddings

from dpsan.errors import UsageError
from dpsan.mechanisms.knn_response import KnnResponse, mean_cosines
from dpsan.space.metric_space import MetricSpace


@pytest.fixture(scope="module")
def larger():
    return MetricSpace(make_embeddings(n=1500, d=6))


def weighted_cosine(mechanism, space):
    """The utility, from the law itself."""
    law = mechanism.prepare(space).probabilities(np.arange(space.n))
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    shares = space.counts / space.counts.sum()
    return float(shares @ (law * (unit @ unit.T)).sum(axis=1))


@pytest.mark.parametrize("epsilon", [2.0, 5.0, 8.0])
def test_auto_is_the_best_of_the_grid(larger, epsilon):
    chosen = KnnResponse(epsilon)
    grid = {
        (k, m): weighted_cosine(KnnResponse(epsilon, k=k, outputs=m), larger)
        for m in (1000, 1500)
        for k in (5, 10, 20, 50)
    }
    best = max(grid, key=grid.__getitem__)
    assert chosen.sizes(larger) == best
    assert weighted_cosine(chosen, larger) == pytest.approx(grid[best])


def test_closed_form_means(larger):
    """near and all by hand, every input (1,500 are few enough not to be sampled)."""
    near, every = mean_cosines(larger, (500, 1500), (5, 20))
    unit = larger.vectors / np.linalg.norm(larger.vectors, axis=1, keepdims=True)
    shares = larger.counts / larger.counts.sum()
    cosines = (unit @ unit.T).astype(np.float64)
    for i, m in enumerate((500, 1500)):
        assert every[i] == pytest.approx(shares @ cosines[:, :m].mean(axis=1), abs=1e-6)
        for j, k in enumerate((5, 20)):
            ids = larger.neighbors(np.arange(larger.n), k, m)
            expected = shares @ np.take_along_axis(cosines, ids, axis=1).mean(axis=1)
            assert near[i, j] == pytest.approx(expected, abs=1e-6)


def test_reference_ordering_on_glove(glove):
    """Measured on another vocabulary: (1000, 20), (1000, 10), (1000, 5), (2000, 5),
    (5000, 5) at epsilon 5 ... 9: the sets shrink first, then the outputs grow."""
    _, space = glove
    chosen = [KnnResponse(float(epsilon)).sizes(space) for epsilon in range(3, 13)]
    sizes, outputs = zip(*chosen, strict=True)
    assert list(sizes) == sorted(sizes, reverse=True)
    assert list(outputs) == sorted(outputs)
    assert min(sizes) == 5
    assert outputs[-1] > outputs[0]
    assert sizes[0] > 5


@pytest.mark.parametrize(("epsilon", "gain"), [(5.0, 0.1), (7.0, 0.05), (9.0, 0.03)])
def test_fewer_outputs_buy_utility(glove, epsilon, gain):
    """Golden numbers: .325 against .153 at 5, .485 against .412 at 7, .645 against .573 at 9."""
    _, space = glove
    many = (500, 1000, 2000, 5000, space.n)
    near, every = mean_cosines(space, many, (5, 10, 20, 50))

    def cosine(k, m):
        i, j = many.index(m), (5, 10, 20, 50).index(k)
        e = math.exp(epsilon) - 1
        return (e * k * near[i, j] + m * every[i]) / (e * k + m)

    all_outputs = max(cosine(k, space.n) for k in (5, 10, 20, 50))
    assert max(cosine(k, m) for k in (5, 10, 20, 50) for m in many) > all_outputs + gain


def test_choice_does_not_touch_the_guarantee(larger):
    for epsilon in (1.0, 6.0, 11.0):
        assert KnnResponse(epsilon).guarantee(larger).epsilon_ldp == pytest.approx(epsilon)


def test_one_may_be_given(larger):
    assert KnnResponse(5.0, k=7).sizes(larger)[0] == 7
    assert KnnResponse(5.0, outputs=700).sizes(larger)[1] == 700
    assert KnnResponse(5.0, outputs="all").sizes(larger)[1] == larger.n
    assert KnnResponse(5.0, k=20, outputs="all").sizes(larger) == (20, larger.n)
    assert KnnResponse.build(5.0, {"k": "auto", "outputs": "auto"}) == KnnResponse(5.0)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 40])
def test_small_vocabularies(n):
    space = MetricSpace(make_embeddings(n=n, d=3))
    k, m = KnnResponse(3.0).sizes(space)
    assert 1 <= k < m <= n
    assert k == min(k, 5) or n > 6


def test_too_large_k(larger):
    with pytest.raises(UsageError, match="k must be < outputs"):
        KnnResponse(3.0, k=1500).sizes(larger)


def test_without_counts_ranks_stand_in():
    embeddings = make_embeddings(n=600, d=4)
    bare = MetricSpace(type(embeddings)(embeddings.index_to_key, embeddings.vectors, "", "x"))
    near, _ = mean_cosines(bare, (600,), (5,))
    unit = bare.vectors / np.linalg.norm(bare.vectors, axis=1, keepdims=True)
    ids = bare.neighbors(np.arange(600), 5)
    cosine = np.einsum("nkd,nd->n", unit[ids], unit) / 5
    zipf = 1 / (np.arange(600) + 2.7)
    assert near[0, 0] == pytest.approx(zipf @ cosine / zipf.sum(), abs=1e-6)
