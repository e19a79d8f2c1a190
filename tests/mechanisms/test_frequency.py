"""frequency of optimal-response: of equally near outputs the more usual one comes first."""

from decimal import Context, Decimal

import numpy as np
import pytest

from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.optimal import public_base
from dpsan.mechanisms.optimal.public_base import favours
from dpsan.mechanisms.optimal.sampler import BaseResponseSampler
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.tables.directions import UNIT, directions, favoured, ranking
from dpsan.space.metric_space import MetricSpace

N = 400
FREQUENCIES = (0.01, 0.03, 0.05)


@pytest.fixture(scope="module")
def space():
    """Words in a few dimensions, whose counts fall as in a text and have ties."""
    generator = np.random.default_rng(4)
    vectors = generator.normal(size=(N, 6)).astype(np.float32)
    counts = np.maximum(10**9 // (np.arange(N) + 1) ** 2, 1)
    return MetricSpace(Embeddings([f"w{i}" for i in range(N)], vectors, "some", "some", counts))


def mechanism(frequency, epsilon=5.0):
    return OptimalResponse(epsilon, similarity=2, spread=1.5, frequency=frequency)


def mean_count(space, frequency):
    """Of the outputs, as a logarithm, inputs being as frequent as in public."""
    law = mechanism(frequency).prepare(space).probabilities(np.arange(N))
    return float(space.counts / space.counts.sum() @ law @ np.log(space.counts))


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_near_sets_hold_what_is_nearest_with_the_favour(space, frequency):
    sampler = mechanism(frequency).prepare(space)
    outputs = sampler.base.words
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    favour = frequency * np.log(space.counts[outputs] / space.counts[0])
    differ = 0
    for word in range(0, N, 7):
        plain = unit[outputs] @ unit[word]
        score = dict(zip(outputs.tolist(), plain + favour, strict=True))
        inside = set(sampler.near.row(word)[0].tolist())
        outside = set(score) - inside
        # Directions are rounded to integers.
        assert min(score[u] for u in inside) >= max(score[u] for u in outside) - 0.01
        differ += set(outputs[np.argsort(-plain)][: len(inside)].tolist()) != inside
    assert differ > 5


@pytest.mark.parametrize("frequency", FREQUENCIES)
@pytest.mark.parametrize("epsilon", [1.0, 5.0, 11.0])
def test_the_guarantee_is_the_same(space, frequency, epsilon):
    given = mechanism(frequency, epsilon)
    law = given.prepare(space).probabilities(np.arange(N + 1))
    used = law.max(axis=0) > 0
    loss = float(np.log(law[:, used].max(axis=0) / law[:, used].min(axis=0)).max())
    promised = given.guarantee(space).epsilon_ldp
    assert loss <= promised + 1e-9 <= epsilon + 1e-9
    assert law.sum(axis=1) == pytest.approx(1)


def test_the_larger_it_is_the_more_usual_the_outputs(space):
    found = [mean_count(space, each) for each in (0.0, *FREQUENCIES)]
    assert found == sorted(found)
    assert found[-1] > found[0] + 0.1


def test_favours_are_integers_that_keep_products_exact():
    counts = np.array([10**12, 10**6, 10**5, 10**5, 1])
    added, shift = favours(counts, 5, 5, 0.05, float(UNIT))
    assert (added == np.rint(added)).all()
    assert added[0] == 0
    assert added[2] == added[3] == round(-0.05 * np.log(1e7) * UNIT)
    assert added[4] == round(-0.9 * UNIT)
    assert shift == pytest.approx(0.9)
    assert favours(counts, 5, 5, 0.0, float(UNIT)) == (None, 0.0)


def test_favours_are_rounded_as_if_logarithms_were_exact(monkeypatch):
    """Also where the C library's logarithm is off: 60 digits say which integer is nearest."""
    counts = np.sort(np.exp(np.random.default_rng(3).uniform(0, 27, 20_000)).astype(int))[::-1]
    context = Context(prec=60)
    most = context.ln(int(counts[0]))
    exact = [Decimal("0.0125") * UNIT * (context.ln(int(each)) - most) for each in counts]
    wanted = np.array([float(each.to_integral_value()) for each in exact])
    log = np.log
    caught = 0
    for off in (-3e-11, 0.0, 3e-11):
        monkeypatch.setattr(public_base.np, "log", lambda values, off=off: log(values) * (1 + off))
        added, _ = favours(counts, len(counts), len(counts), 0.0125, float(UNIT))
        assert (added == wanted).all()
        # The twin: what the library alone would give.
        caught += (np.rint(0.0125 * np.log(counts / counts[0]) * UNIT) != wanted).sum()
    assert caught


def test_ranking_of_favoured_rows_is_that_of_integers():
    generator = np.random.default_rng(2)
    rows = directions(generator.normal(size=(300, 9)).astype(np.float32))
    added = -generator.integers(0, int(0.9 * UNIT), 300).astype(np.float32)
    added[:5] = -int(0.9 * UNIT)
    places, products = ranking(favoured(rows, 1.0), favoured(rows, added), 300)
    exact = rows.astype(np.int64) @ rows.astype(np.int64).T + added.astype(np.int64)
    order = np.lexsort((np.broadcast_to(np.arange(300), (300, 300)), -exact), axis=1)
    assert (order == places.T).all()
    assert (np.take_along_axis(exact, order, axis=1) == products.T).all()


def test_without_public_counts_the_rank_serves():
    vectors = np.random.default_rng(4).normal(size=(50, 4)).astype(np.float32)
    space = MetricSpace(Embeddings([f"w{i}" for i in range(50)], vectors, "some", "some"))
    assert mechanism(0.02).prepare(space).probabilities(np.arange(50)).sum() == pytest.approx(50)


def test_sets_of_another_frequency_are_others(space):
    keys = {mechanism(each).prepare(space).key for each in (0.0, *FREQUENCIES)}
    near = (0.0, *FREQUENCIES, 0.0300000001)
    names = {mechanism(each).task(space).name for each in near}
    assert (len(keys), len(names)) == (4, 5)
    base = mechanism(0.03).prepare(space).base
    plain = BaseResponseSampler(space, base._replace(favours=None), 5.0)
    assert plain.key != BaseResponseSampler(space, base, 5.0).key


@pytest.mark.parametrize("frequency", [-0.01, 0.06, float("nan")])
def test_what_it_may_be(frequency):
    with pytest.raises(UsageError, match="frequency"):
        mechanism(frequency)
