"""Exact certificates against brute force over every pair and output, ⊥ included."""

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from support import cases, make_embeddings

from dpsan.embeddings.store import Store
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.exponential import TEM, Exponential, Geodesic
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.randomized_response import KRR, KnnResponse, Uniform, ZipfResponse
from dpsan.mechanisms.tables.dense import DenseTable
from dpsan.privacy import certificate as proof
from dpsan.privacy.certificate import matrix_certificate, pairwise_losses
from dpsan.privacy.guarantee import Claim, Status
from dpsan.space.cached_index import space_of
from dpsan.space.metric_space import MetricSpace


def brute(law):
    """The definition, output by output."""
    logs = np.log(law)
    return max(float((logs[:, None, u] - logs[None, :, u]).max()) for u in range(law.shape[1]))


def integer_law(mechanism, space):
    weights = mechanism.prepare(space).weights(np.arange(space.n + 1)).astype(object)
    return np.array([[w / sum(row) for w in row] for row in weights.tolist()], dtype=np.float64)


EXP = [Exponential(0.3), Exponential(2.0), TEM(1.5), TEM(9.0, beta=0.2), Geodesic(1.0)]
EXP += [Geodesic(3.0, k=2, cap=0), Geodesic(0.7, k=3, cap=6)]


@pytest.mark.parametrize("mechanism", EXP, ids=repr)
def test_exp_certificate_against_brute_force(space, mechanism):
    found = certify(mechanism, space)
    law = integer_law(mechanism, space)
    true = brute(law)
    assert found.epsilon_ldp - found.slack == pytest.approx(true, abs=1e-10)
    assert true <= found.epsilon_ldp <= mechanism.guarantee(space).epsilon_ldp
    i, j = found.pair
    assert np.log(law[i] / law[j]).max() == pytest.approx(true, abs=1e-10)
    assert found.epsilon_metric <= mechanism.epsilon
    losses = pairwise_losses(law)[:-1, :-1]
    ids = np.arange(space.n)
    paths = isinstance(mechanism, Geodesic)
    apart = mechanism.metric(space).distances(ids) if paths else space.distances(ids)
    np.fill_diagonal(apart, np.inf)
    # ⊥ may be the worst: it is counted at half a diameter.
    assert (losses <= found.epsilon_metric * apart + found.slack).all()
    unknown = pairwise_losses(law)[-1].max(), pairwise_losses(law)[:, -1].max()
    half = (mechanism.metric(space).diameter if paths else space.diameter) / 2
    exact = max((losses / apart).max(), max(unknown) / half)
    assert found.epsilon_metric == pytest.approx(exact, abs=1e-7)


RESPONSES = KnnResponse(4.0, k=5, outputs=30), KRR(3.0), ZipfResponse(5.0), ZipfResponse(0.2)


@cases("mechanism", *RESPONSES, Uniform(), ids=repr)
def test_equal_totals_against_brute_force(space, mechanism):
    found = certify(mechanism, space)
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    law = law[:, (law > 0).any(axis=0)]
    assert found.epsilon_ldp == pytest.approx(brute(law), abs=1e-12)
    assert found.epsilon_ldp <= mechanism.epsilon
    i, j = found.pair
    assert np.log(law[i] / law[j]).max() == pytest.approx(brute(law), abs=1e-12)
    assert found.delta == found.infinite_loss_mass == 0


def test_matrix_certificate_by_hand():
    """krr: delta(e') = (e^e - e^e')/(e^e + n - 1)."""
    n, epsilon = 7, 2.0
    law = np.full((n, n), 1.0)
    np.fill_diagonal(law, math.exp(epsilon))
    law /= law.sum(axis=1, keepdims=True)
    found = matrix_certificate(law, Claim(1.0))
    assert found.epsilon_ldp == pytest.approx(epsilon)
    expected = (math.exp(2) - math.exp(1)) / (math.exp(2) + n - 1)
    assert found.delta == pytest.approx(expected)
    assert proof.hockey_stick(law, 1.0)[0] == pytest.approx(expected)
    assert proof.hockey_stick(law, 0.0)[0] == pytest.approx(
        (math.exp(2) - 1) / (math.exp(2) + n - 1)
    )
    assert matrix_certificate(law, Claim(epsilon)).delta == 0


def test_top_k_support_is_an_infinite_loss(space):
    """Planted: the exponential law over the ten nearest words only."""
    law = Exponential(1.0).prepare(space).probabilities(np.arange(space.n + 1))
    cut = np.sort(law, axis=1)[:, -10][:, None]
    law[:-1] = np.where(law >= cut, law, 0)[:-1]
    law /= law.sum(axis=1, keepdims=True)
    found = matrix_certificate(law)
    assert math.isinf(found.epsilon_ldp)
    mass, (i, j) = proof.infinite_loss(law)
    assert found.infinite_loss_mass == mass == pytest.approx(law[i, law[j] == 0].sum())
    assert mass > 0.5


def test_squared_distances_and_a_missing_half_break_the_claim(space):
    """Planted: d² where d is meant, and exp(-epsilon d)."""
    ids, claim = np.arange(space.n), Claim(1.0, metric="euclidean")
    distances = space.distances(ids)

    def found(sampler):
        return matrix_certificate(sampler.probabilities(ids), claim, distances)

    wrong = found(DenseTable.of_scores(space, lambda ids: 0.5 * space.distances(ids) ** 2))
    assert wrong.epsilon_metric > 1.5
    assert wrong.delta > 0.01
    assert found(Exponential(1.0).prepare(space)).delta == 0
    assert 1.2 < found(Exponential(2.0).prepare(space)).epsilon_metric <= 2


def test_every_table_mechanism_is_certified(space):
    """But rantext-paper, whose distribution is an integral over the radius."""
    assert certify(Laplace(1.0), space) is None  # its distribution is not known
    assert certify(MECHANISMS["rantext-paper"](2.0), space) is None
    for name, kind in MECHANISMS.items():
        if kind.family != "table" or name == "rantext-paper":
            continue
        found = certify(kind(300.0 if name == "tgumbel-paper" else 2.0), space)
        assert isinstance(found, proof.Certificate), name
        if kind.status is Status.PROVED:
            assert math.isfinite(found.epsilon_ldp)
            assert found.delta == found.infinite_loss_mass == 0


@pytest.mark.parametrize("kind", [Exponential, TEM, Geodesic])
def test_a_cached_certificate_is_that_of_its_own_epsilon(kind, tmp_path):
    def found(space):
        return [certify(kind(epsilon), space).epsilon_ldp for epsilon in (4.0, 1.0, 2.0)]

    store, fresh = Store(tmp_path), found(MetricSpace(make_embeddings()))
    assert len(set(fresh)) == 3
    for _ in range(2):
        cached = space_of(make_embeddings(), store)
        assert found(cached) == fresh
    assert certify(TEM(9.0, beta=0.2), cached) != certify(TEM(9.0), cached)


def test_identical_words_do_not_blow_up_the_metric():
    embeddings = make_embeddings()
    embeddings.vectors[9] = embeddings.vectors[4]
    embeddings.vectors[11] = embeddings.vectors[5] * (1 + 1e-6)
    assert certify(Exponential(1.0), MetricSpace(embeddings)).epsilon_metric <= 1.0


@pytest.mark.slow
def test_exponential_golden_on_glove(glove):
    """Golden numbers: exact metric epsilon .79 ... .85 where 1 is claimed; 10^4 words."""
    _, space = glove
    found = certify(Exponential(1.0), space)
    assert 0.79 <= found.epsilon_metric <= 0.85
    assert 15 < found.epsilon_ldp < 16 < space.diameter


def near_ties():
    """Integer weights of words that lie 1e-9, 1e-6 ... 1 apart, and exact losses to 50 digits."""
    places = np.array([0.0, 1e-9, 1e-6, 1e-3, 0.5, 1.0])
    distances = np.abs(places[:, None] - places)
    rows = [[int(2.0**62 * math.exp(-0.5 * each)) for each in row] for row in distances.tolist()]
    law = np.array([[weight / sum(row) for weight in row] for row in rows])
    with localcontext() as context:
        context.prec = 50

        def loss(row, other):
            sums = Decimal(sum(other)) / sum(row)
            return max((Decimal(a) / b * sums).ln() for a, b in zip(row, other, strict=True))

        return law, distances, [[loss(row, other) for other in rows] for row in rows]


PAIRS = list(itertools.permutations(range(6), 2))


def test_issue_16_a_matrix_is_rounded_outward():
    """Near ties: the loss of two words 1e-9 apart is a few ulps, and counts all the same."""
    law, distances, exact = near_ties()
    found = matrix_certificate(law, Claim(0.9, metric="euclidean"), distances)
    largest = max(map(max, exact))
    assert largest <= Decimal(found.epsilon_ldp) <= largest + Decimal(found.slack)
    assert found.slack < 1e-10
    per_unit, slack = Decimal(found.epsilon_metric), Decimal(found.slack)
    true = Decimal(0)
    for i, j in PAIRS:
        assert exact[i][j] <= per_unit * Decimal(distances[i, j]) + slack
        if distances[i, j] > 1e-4:
            true = max(true, exact[i][j] / Decimal(distances[i, j]))
    assert float(per_unit) == pytest.approx(float(true), rel=1e-6)  # no rounding in the quotient
    # The twin: without the allowance some pair is above its bound.
    plain = pairwise_losses(law)
    assert any(Decimal(plain[i, j]) < exact[i][j] for i, j in PAIRS)


@pytest.mark.parametrize("error", [2.0**-36, 1e-6])
def test_issue_16_probabilities_within_their_error_have_no_larger_loss(error):
    """Every cell moved to the end of its interval: the worst that rounding may have done."""
    law, _, _ = near_ties()
    found = matrix_certificate(law, Claim(0.1), error=error)
    low, high = law * (1 - error), law * (1 + error)
    assert max(np.log(high[i] / low[j]).max() for i, j in PAIRS) <= found.epsilon_ldp
    deltas = [np.maximum(high[i] - math.exp(0.1) * low[j], 0).sum() for i, j in PAIRS]
    assert max(deltas) <= found.delta
    assert found.delta == pytest.approx(proof.hockey_stick(law, 0.1)[0], abs=8 * error)
