"""Mechanisms of tables: their laws by hand, and how words are drawn from rows."""

import dataclasses
import itertools
import math
import pickle
from contextlib import contextmanager
from itertools import product
from types import SimpleNamespace

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from line_laws import line_space, losses, space_of
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, shortest_path
from support import fits, make_embeddings, streams

from dpsan.embeddings.words import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.exponential import (
    TEM,
    CharResponse,
    Exponential,
    Geodesic,
    differing,
    neighbour_graph,
)
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.published import SanTextPlus
from dpsan.mechanisms.randomized_response import (
    KRR,
    KnnResponse,
    Uniform,
    ZipfResponse,
    mean_cosines,
    orders,
)
from dpsan.mechanisms.tables.dense import DenseTable
from dpsan.privacy.certificate import pairwise_losses
from dpsan.space.arrays import side_by_side
from dpsan.space.arrays import threads as allowed
from dpsan.space.metric_space import MetricSpace


def test_exponential_on_three_words_of_a_line():
    """Distances 1 and 3: weights 1, e^-1 and e^-3 at epsilon 2; ⊥ gives a uniform word."""
    space = line_space([0.0, 1.0, 3.0])
    law = Exponential(2.0).prepare(space).probabilities(np.arange(4))
    weights = np.exp(-np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype=float))
    assert np.allclose(law[:3], weights / weights.sum(axis=1, keepdims=True), rtol=1e-5)
    assert law[3] == pytest.approx([1 / 3] * 3)


def test_golden_ldp_of_tem():
    """At n = 10^4 and beta .001, whatever epsilon is."""
    found = 2 * TEM(1.0).cut(10_000), 2 * TEM(5.0).cut(10_000)
    assert found == pytest.approx((32.2, 32.2), abs=0.05)


def test_published_form_of_tem_is_the_same_law(space):
    """Words within gamma, and one element that means a uniform word beyond gamma."""
    mechanism = TEM(6.0)
    gamma = 2 * mechanism.cut(space.n) / mechanism.epsilon
    law = mechanism.prepare(space).probabilities(np.arange(space.n))
    for w in range(0, space.n, 7):
        distances = np.linalg.norm(space.vectors - space.vectors[w].astype(float), axis=1)
        within = distances <= gamma
        beyond = (~within).sum()
        assert 0 < beyond < space.n - 1
        weights = np.where(within, np.exp(-3.0 * distances), 0)
        rest = math.exp(3.0 * (-gamma + 2 / 6.0 * math.log(beyond)))
        published = np.where(within, weights, rest / beyond) / (weights.sum() + rest)
        assert np.allclose(law[w], published, rtol=1e-5)


def test_santext_by_hand(space):
    mechanism = SanTextPlus(2.0, sensitive=0.5, p=0.25)
    first = mechanism.first(space.n)
    assert first == space.n // 2
    law = mechanism.prepare(space).probabilities(np.array([3, 40, space.n]))
    weights = np.exp(-space.distances(np.array([3, 40]))[:, first:])
    share = weights / weights.sum(axis=1, keepdims=True)
    assert law[0, 3] == law[0, :first].sum() == pytest.approx(0.75)
    assert np.allclose(law[:2, first:], [0.25 * share[0], share[1]], rtol=1e-5)
    assert (law[1, :first] == 0).all()
    assert np.allclose(law[2], 1 / space.n)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(("sensitive", "p"), [(0.9, 0.3), (0.5, 0.2), (0.2, 0.9), (0.3, 1.0)])
def test_infinite_loss_mass_is_exact(space, monkeypatch, sensitive, p, closed):
    if closed:
        monkeypatch.setattr("dpsan.mechanisms.published.MATRIX_WORDS", 0)
    mechanism = SanTextPlus(2.0, sensitive=sensitive, p=p)
    guarantee, found = mechanism.guarantee(space), certify(mechanism, space)
    assert guarantee.epsilon_ldp == found.epsilon_ldp == math.inf
    law, (i, j) = mechanism.prepare(space).probabilities(np.arange(space.n + 1)), found.pair
    masses = law[i, law[j] == 0].sum(), guarantee.infinite_loss_mass
    assert masses == pytest.approx((found.infinite_loss_mass,) * 2, abs=1e-12)


def test_all_sensitive_is_the_exponential_mechanism(space):
    ids = np.arange(space.n + 1)
    law = SanTextPlus(2.0, sensitive=1.0).prepare(space).probabilities(ids)
    assert np.allclose(law, Exponential(2.0).prepare(space).probabilities(ids), rtol=1e-12)


def test_far_words_keep_their_differences(space):
    """Scores count from the nearest sensitive word: the cap does not flatten a row."""
    law = SanTextPlus(200.0, sensitive=0.5, p=1.0).prepare(space).probabilities(np.array([3]))[0]
    assert np.argmax(law) == 30 + np.argmin(space.distances(np.array([3]))[0, 30:])
    assert law.max() > 0.5


def test_krr_by_hand(space, monkeypatch):
    """And no table is built."""
    monkeypatch.setattr(type(space), "table", lambda *_: pytest.fail("table"))
    law = KRR(3.0).prepare(space).probabilities(np.array([4, space.n]))
    own, other = np.array([math.exp(3), 1]) / (math.exp(3) + space.n - 1)
    assert law[0, [4, 5]] == pytest.approx([own, other], rel=1e-9)
    assert np.allclose(law[1], 1 / space.n)


def test_zipf_by_hand(space):
    law = ZipfResponse(4.0).prepare(space).probabilities(np.array([7]))[0]
    order = np.argsort(np.linalg.norm(space.vectors - space.vectors[7].astype(float), axis=1))
    expected = (1.0 + np.arange(space.n)) ** (-4.0 / math.log(space.n))
    assert np.allclose(law[order], expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0, 0.0, 1, 700.0])
def test_uniform_has_true_epsilon_zero(space, epsilon):
    mechanism = Uniform(epsilon)
    guarantee, certificate = mechanism.guarantee(space), mechanism.certificate(space)
    assert guarantee.epsilon_ldp == guarantee.epsilon(np.inf) == certificate.epsilon_ldp == 0
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    assert law == pytest.approx(1 / space.n)


# The ranks of zipf-response: the order of a full sort.


def full_sort(space):
    """The definition: by distance, ties by row number, the word itself first."""
    rows = space.distances(np.arange(space.n)).tolist()
    words = range(space.n)
    return np.array([sorted(words, key=lambda u: (u != w, rows[w][u], u)) for w in words])


def all_orders(space):
    return orders(space, np.arange(space.n))


def test_orders_of_a_full_sort():
    space, some = MetricSpace(make_embeddings(n=300, d=20)), np.array([0, 7, 7, 299])
    reference = full_sort(space)
    assert (orders(space, some) == reference[some]).all()
    assert (all_orders(space) == reference).all()


@settings(max_examples=40)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 3)),
    values=st.integers(0, 3),
    size=st.sampled_from([0.0, 1e-30, 1.0, 3e15]),
    seed=st.integers(0, 2**32 - 1),
)
def test_ties_and_extremes(shape, values, size, seed):
    """Few different coordinates: many equal vectors and equal distances."""
    space = space_of(np.random.default_rng(seed).integers(0, values + 1, size=shape) * size)
    assert (all_orders(space) == full_sort(space)).all()


def test_far_from_the_origin():
    """Two clusters whose distance swallows the distances within them in float32."""
    vectors = np.random.default_rng(4).normal(size=(400, 6))
    space = space_of(vectors + np.repeat([[0], [3e5]], 200, axis=0))
    assert (all_orders(space) == full_sort(space)).all()


# ``knn-response``: its distribution by hand, and the choice of k and outputs.


def test_knn_response_outside_draws_every_other_word(space):
    sampler = KnnResponse(0.5, k=5, outputs=30).prepare(space)
    drawn = sampler.sample(np.full(50_000, 40), streams(50_000))  # not itself an output
    observed = np.bincount(drawn, minlength=space.n)
    assert ((observed > 0) == (np.arange(space.n) < 30)).all()
    assert fits(observed, sampler.probabilities(np.array([40]))[0])


def test_four_words_on_a_line():
    """K = 2 of n = 4: e^epsilon for a word and its nearest, 1 for the others."""
    space = line_space([0.0, 1.0, 3.0, 7.0])
    mechanism = KnnResponse(math.log(3), k=2, outputs="all")
    law = mechanism.prepare(space).probabilities(np.arange(5))
    near = np.array([[3, 3, 1, 1], [3, 3, 1, 1], [1, 3, 3, 1], [1, 1, 3, 3]]) / 8
    assert np.allclose(law[:4], near, rtol=1e-5)
    assert law[4] == pytest.approx([1 / 4] * 4)
    loss = mechanism.guarantee(space).epsilon_ldp
    assert losses(law).max() == pytest.approx(loss, abs=1e-9)
    assert math.log(3) - 1e-5 < loss <= math.log(3)


@pytest.fixture(scope="module")
def larger():
    return MetricSpace(make_embeddings(n=1500, d=6))


def weighted_cosine(mechanism, space):
    """The utility, from the law itself."""
    law = mechanism.prepare(space).probabilities(np.arange(space.n))
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    shares = space.counts / space.counts.sum()
    return float(shares @ (law * (unit @ unit.T)).sum(axis=1))


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_auto_is_the_best_of_the_grid(larger, epsilon):
    chosen = KnnResponse(epsilon)
    pairs = list(itertools.product((5, 10, 20, 50), (1000, 1500)))
    grid = [weighted_cosine(KnnResponse(epsilon, k=k, outputs=m), larger) for k, m in pairs]
    assert chosen.sizes(larger) == pairs[np.argmax(grid)]
    assert weighted_cosine(chosen, larger) == pytest.approx(max(grid))
    assert chosen.guarantee(larger).epsilon_ldp == pytest.approx(epsilon)


def test_one_may_be_given(larger):
    assert KnnResponse(5.0, k=7).sizes(larger)[0] == 7
    for asked, outputs in ((700, 700), ("all", larger.n)):
        assert KnnResponse(5.0, outputs=asked).sizes(larger)[1] == outputs
    assert KnnResponse(5.0, k=20, outputs="all").sizes(larger) == (20, larger.n)
    assert KnnResponse.build(5.0, {"k": "auto", "outputs": "auto"}) == KnnResponse(5.0)
    with pytest.raises(UsageError, match="k must be < outputs"):
        KnnResponse(3.0, k=1500).sizes(larger)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 40])
def test_small_vocabularies(n):
    space = MetricSpace(make_embeddings(n=n, d=3))
    k, m = KnnResponse(3.0).sizes(space)
    assert 1 <= k < m <= n
    assert k == min(k, 5) or n > 6


def test_without_counts_ranks_stand_in():
    bare = MetricSpace(dataclasses.replace(make_embeddings(n=600, d=4), counts=None))
    near, _ = mean_cosines(bare, (600,), (5,), ())
    unit = bare.vectors / np.linalg.norm(bare.vectors, axis=1, keepdims=True)
    ids = bare.neighbors(np.arange(600), 5)
    cosine = np.einsum("nkd,nd->n", unit[ids], unit) / 5
    zipf = 1 / (np.arange(600) + 2.7)
    assert near[0, 0] == pytest.approx(zipf @ cosine / zipf.sum(), abs=1e-6)


# geodesic: the graph, its metric, its law.


def dense(graph):
    parts = (np.ones(len(graph["ends"])), graph["ends"], graph["starts"])
    return csr_matrix(parts, shape=(len(graph["starts"]) - 1,) * 2).toarray()


def test_graph_by_definition(space):
    graph = dense(neighbour_graph(space, 3))
    distances = space.distances(np.arange(space.n))
    np.fill_diagonal(distances, -1)
    rank = np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1)
    joined = (rank >= 1) & (rank <= 3)
    expected = (joined | joined.T).astype(float)
    assert connected_components(csr_matrix(expected))[0] == 1, "choose another example"
    assert (graph == expected).all()


def clusters():
    """Four clusters on a line, far apart."""
    vectors = np.random.default_rng(5).normal(size=(40, 3)).astype(np.float32)
    vectors[:, 0] += np.repeat([0, 100, 250, 1000], 10)
    return space_of(vectors)


def test_components_are_joined_by_their_closest_pair():
    space = clusters()
    graph = dense(neighbour_graph(space, 3))
    assert (graph == graph.T).all()
    assert connected_components(csr_matrix(graph))[0] == 1
    distances = space.distances(np.arange(40))
    for left, right in itertools.pairwise(range(4)):
        a, b = slice(10 * left, 10 * left + 10), slice(10 * right, 10 * right + 10)
        bridges = np.argwhere(graph[a, b])
        assert bridges.tolist() == [[*np.unravel_index(np.argmin(distances[a, b]), (10, 10))]]
    assert not graph[:10, 20:].any()


@pytest.mark.parametrize("cap", [2, 4, 0])
def test_lengths_against_all_pairs(cap):
    space = clusters()
    paths = Geodesic(1.0, k=3, cap=cap).metric(space)
    lengths = paths.distances(np.arange(space.n))
    expected = shortest_path(dense(neighbour_graph(space, 3)))
    assert (lengths == np.minimum(expected, cap or np.inf)).all()
    assert (lengths == lengths.T).all()
    # The triangle inequality, which the guarantee rests on.
    assert (lengths[:, None, :] <= lengths[:, :, None] + lengths[None, :, :]).all()
    assert paths.diameter >= lengths.max()


def test_law_by_hand(space):
    mechanism = Geodesic(2.5, k=3)
    expected = np.exp(-1.25 * mechanism.metric(space).distances(np.array([7]))[0])
    law = mechanism.prepare(space).probabilities(np.array([7]))[0]
    assert np.allclose(law, expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_geodesic_of_small_vocabularies(n, monkeypatch):
    space = MetricSpace(make_embeddings(n=n, d=3))
    assert (Geodesic(1.0).prepare(space).probabilities(np.arange(n)) > 0).all()
    monkeypatch.setattr(MetricSpace, "eager", lambda self, outputs: False)
    with pytest.raises(UsageError, match="needs the neighbours of all"):
        Geodesic(1.0).prepare(MetricSpace(make_embeddings(n=30)))


# char-response: the distribution of randomized response on characters, where a word comes out.


WORDS = ["a", "ab", "b", "ba", "bb", "bab"]
VECTORS = np.random.default_rng(1).normal(size=(len(WORDS), 3)).astype(np.float32)
SPACE = MetricSpace(Embeddings(WORDS, VECTORS, "made", "made"))


def by_strings(word, epsilon, length=3, signs=" ab"):
    """Randomized response on each position, drawn until a word comes out."""
    odds = math.exp(epsilon / 2)
    shares = {
        "".join(string): math.prod(
            (odds if pair[0] == pair[1] else 1) / (odds + len(signs) - 1)
            for pair in zip(string, word.ljust(length), strict=True)
        )
        for string in product(signs, repeat=length)
    }
    assert sum(shares.values()) == pytest.approx(1)
    found = np.array([shares[each.ljust(length)] for each in WORDS])
    return found / found.sum()


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 7.0])
def test_it_is_randomized_response_given_that_a_word_comes_out(epsilon):
    law = CharResponse(epsilon).prepare(SPACE).probabilities(np.arange(len(WORDS) + 1))
    wanted = [by_strings(word, epsilon) for word in WORDS]
    assert law[:-1] == pytest.approx(np.array(wanted), rel=1e-5)
    assert law[-1] == pytest.approx(1 / len(WORDS))
    assert law[:-1] != pytest.approx(np.array([by_strings(word, 2 * epsilon) for word in WORDS]))


def test_characters_that_differ_by_hand():
    found = differing(SPACE.letters, np.array([1, 5])).tolist()
    assert found == [[1, 0, 2, 2, 1, 3], [3, 3, 2, 1, 2, 0]]


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_epsilon_for_each_character_that_differs(epsilon):
    """And half of it would not do: how many strings are words depends on the word."""
    mechanism, words = CharResponse(epsilon), np.arange(len(WORDS))
    losses = pairwise_losses(np.asarray(mechanism.prepare(SPACE).probabilities(words)))
    bound = epsilon * differing(SPACE.letters, words)
    assert (losses <= bound + 1e-4).all()
    assert (losses > bound / 2 + 1e-4).any()
    assert mechanism.guarantee(SPACE).epsilon_ldp == pytest.approx(3 * epsilon, abs=1e-4)
    assert losses.max() < 3 * epsilon


def test_moved_points_and_other_code_have_the_same_letters():
    space = MetricSpace(Embeddings(WORDS, VECTORS, "made", "made"))
    for other in (space.transformed("halved", VECTORS / 2), space.for_code_that_changes("x")):
        assert (other.letters == SPACE.letters).all()


def test_a_pickled_table_draws_without_the_words():
    space = MetricSpace(Embeddings(WORDS, VECTORS, "made", "made"))
    sampler = CharResponse(2.0).prepare(space)
    copy = pickle.loads(pickle.dumps(sampler))
    assert b"bab" not in pickle.dumps(space)
    assert (copy.probabilities(np.arange(7)) == sampler.probabilities(np.arange(7))).all()


# Dense tables: the words of whole cumulative rows, whatever the circumstances.


def words(m, seed, n=3000):
    return np.random.default_rng(seed).integers(0, n + 1, size=m)


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=3000, d=100))


def whole_rows(table, ids, bits):
    """The outputs by whole cumulative rows, in Python's integers of any size."""
    out, pending, attempt = {}, [*range(len(ids))], 0
    while pending:
        numbers, rejected = bits.bits(f"row/{attempt}", 2).tolist(), []
        for token in pending:
            sums = np.cumsum(table.weights(ids[token : token + 1])[0].astype(object))
            bound = (int(sums[-1]) >> 32) + 1
            first, second = numbers[token]
            number = (first % bound << 32) + (second >> 32)
            if first < 2**64 // bound * bound and number < sums[-1]:
                out[token] = int(np.searchsorted(sums, number, side="right"))
            else:
                rejected.append(token)
        pending, attempt = rejected, attempt + 1
    return [out[token] for token in range(len(ids))]


@settings(max_examples=40)
@given(
    n=st.integers(2, 150),
    d=st.integers(1, 5),
    epsilon=st.sampled_from([1e-6, 0.3, 2.0, 9.0, 100.0, 1e5]),
    kind=st.sampled_from([Exponential, TEM, SanTextPlus, ZipfResponse, Geodesic]),
    seed=st.integers(0, 100),
)
def test_parts_of_rows_draw_the_words_of_whole_ones(n, d, epsilon, kind, seed):
    table = kind(epsilon).prepare(MetricSpace(make_embeddings(n=n, d=d, seed=seed)))
    ids, bits = words(60, seed, n), streams(60, key=bytes([seed]) * 32)
    assert table.sample(ids, bits).tolist() == whole_rows(table, ids, bits)


@pytest.mark.parametrize("mechanism", [Exponential(0.05), Exponential(40.0)], ids=repr)
def test_rows_of_a_large_vocabulary(large, mechanism):
    """Sums of a row that 64 bits do not hold, and of one that they do."""
    table = mechanism.prepare(large)
    ids, bits = np.array([0, 5, 299, 300, 2999]).repeat(40), streams(200)
    assert table.sample(ids, bits).tolist() == whole_rows(table, ids, bits)
    assert table.weights(ids[:1]).sum(dtype=object) > 2**64 or mechanism.epsilon == 40


@contextmanager
def openmp(threads):
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


@pytest.mark.parametrize(("threads", "size"), [(1, 700), (2, 2000), (3, 10)])
def test_words_do_not_depend_on_threads_or_on_the_batch(large, threads, size):
    ids, whole = words(2000, 2), streams(2000)
    expected = Exponential(3.0).prepare(large).sample(ids, whole)
    with openmp(threads):
        assert allowed() == threads
        table, outputs = Exponential(3.0).prepare(large), []
        for part in whole.chunks(size):
            at = sum(map(len, outputs))
            outputs.append(table.sample(ids[at : at + len(part)], part))
    assert (np.concatenate(outputs) == expected).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_every_part_is_worked_on_and_an_error_is_raised(threads):
    done = []
    with openmp(threads):
        side_by_side(done.append, range(20))
        assert sorted(done) == list(range(20))
        with pytest.raises(ZeroDivisionError):
            side_by_side(lambda part: 1 // (part - 7), range(20))


def test_what_is_kept_changes_nothing_and_does_not_travel(large):
    """The rows of the last words stay: others, and more of the same, are drawn as before."""
    table, fresh = Exponential(1.5).prepare(large), Exponential(1.5)
    before = len(pickle.dumps(table))
    for ids in ([7] * 30, [7] * 30, [8, 7] * 15, [3000] * 30, [7] * 30):
        bits = streams(30, key=b"k" * 32)
        expected = fresh.prepare(large).sample(np.array(ids), bits)
        assert (table.sample(np.array(ids), bits) == expected).all()
    assert len(pickle.dumps(table)) < before + 1000  # no rows in it


def test_scores_always_see_the_same_number_of_rows(space):
    """Planted: a matrix product whose last bits depend on how many rows it is given."""
    sizes = set()

    def scores(ids):
        sizes.add(len(ids))
        return space.distances(ids) * (1 + len(ids) * 2.0**-40)

    table = DenseTable.of_scores(space, scores)
    together = table.weights(np.arange(50))
    alone = np.concatenate([table.weights(np.array([word])) for word in range(50)])
    assert (together == alone).all()
    assert len(sizes) == 1
    assert (scores(np.arange(3))[0] != scores(np.arange(4))[0]).any()
    assert DenseTable(SimpleNamespace(n=3_000_000), None).block == 4


def test_columns_see_what_supports_hide():
    """The power of the certificate: a 0 in one row is an infinite loss, a 0 column none."""
    space = MetricSpace(make_embeddings(n=3))
    table = np.array([[50, 50, 0], [25, 75, 0], [50, 50, 0]], dtype=np.uint64)
    unknown = np.array([50, 50, 0], dtype=np.uint64)
    certificate = DenseTable(space, lambda ids: table[ids], unknown).certificate("a")
    assert certificate.epsilon_ldp == pytest.approx(math.log(2), abs=2e-9)
    table[1] = (25, 74, 1)
    certificate = DenseTable(space, lambda ids: table[ids], unknown).certificate("b")
    assert (certificate.epsilon_ldp, certificate.pair) == (math.inf, (1, 0))
