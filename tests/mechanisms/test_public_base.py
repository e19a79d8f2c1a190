"""frequency, spread and even of optimal-response: usual outputs first, more of them."""

from dataclasses import replace
from decimal import Context, Decimal

import numpy as np
import pytest
from support import make_embeddings

from dpsan.embeddings import load
from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.optimal import public_base
from dpsan.mechanisms.optimal.public_base import favours, softened, solved_base
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.tables.directions import UNIT
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.space.metric_space import MetricSpace

N = 400
FREQUENCIES = (0.01, 0.03, 0.05)


@pytest.fixture(scope="module")
def space():
    """Words in a few dimensions, whose counts fall as in a text and have ties."""
    vectors = np.random.default_rng(4).normal(size=(N, 6)).astype(np.float32)
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
    sampler, differ = mechanism(frequency).prepare(space), 0
    outputs = sampler.base.words
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    favour = frequency * np.log(space.counts[outputs] / space.counts[0])
    for word in range(0, N, 11):
        plain = unit[outputs] @ unit[word]
        score = dict(zip(outputs.tolist(), plain + favour, strict=True))
        inside = set(sampler.near.row(word)[0].tolist())
        outside = set(score) - inside
        # Directions are rounded to integers.
        assert min(score[u] for u in inside) >= max(score[u] for u in outside) - 0.01
        differ += set(outputs[np.argsort(-plain)][: len(inside)].tolist()) != inside
    assert differ > 5
    law = sampler.probabilities(np.arange(N + 1))[:, outputs]
    loss = float(np.log(law.max(axis=0) / law.min(axis=0)).max())
    assert loss <= mechanism(frequency).guarantee(space).epsilon_ldp + 1e-9 <= 5 + 1e-9


def test_the_larger_it_is_the_more_usual_the_outputs(space):
    found = [mean_count(space, each) for each in (0.0, *FREQUENCIES)]
    assert found == sorted(found)
    assert found[-1] > found[0] + 0.1


def test_favours_are_integers_that_keep_products_exact():
    counts = np.array([10**12, 10**6, 10**5, 10**5, 1])
    added, shift = favours(counts, 5, 5, 0.05, float(UNIT))
    tied = round(-0.05 * np.log(1e7) * UNIT)
    assert added[[0, 2, 3, 4]].tolist() == [0, tied, tied, round(-0.9 * UNIT)]
    assert (added == np.rint(added)).all()
    assert shift == pytest.approx(0.9)
    assert favours(counts, 5, 5, 0.0, float(UNIT)) == (None, 0.0)


def test_favours_are_rounded_as_if_logarithms_were_exact(monkeypatch):
    """Also where the C library's logarithm is off: 60 digits say which integer is nearest."""
    counts = np.sort(np.exp(np.random.default_rng(3).uniform(0, 27, 20_000)).astype(int))[::-1]
    context = Context(prec=60)
    most = context.ln(int(counts[0]))
    exact = [Decimal("0.0125") * UNIT * (context.ln(int(each)) - most) for each in counts]
    wanted = np.array([float(each.to_integral_value()) for each in exact])
    log, caught = np.log, 0
    for off in (-3e-11, 3e-11):
        monkeypatch.setattr(public_base.np, "log", lambda values, off=off: log(values) * (1 + off))
        added, _ = favours(counts, len(counts), len(counts), 0.0125, float(UNIT))
        assert (added == wanted).all()
        # The twin: what the library alone would give.
        caught += (np.rint(0.0125 * np.log(counts / counts[0]) * UNIT) != wanted).sum()
    assert caught


def test_without_public_counts_the_rank_serves():
    space = MetricSpace(replace(make_embeddings(50, 4), counts=None))
    assert mechanism(0.02).prepare(space).probabilities(np.arange(50)).sum() == pytest.approx(50)


def test_sets_of_another_frequency_are_others(space):
    keys = {mechanism(each).prepare(space).key for each in (0.0, *FREQUENCIES)}
    names = {mechanism(each).task(space).name for each in (0.0, *FREQUENCIES, 0.0300000001)}
    assert (len(keys), len(names)) == (4, 5)
    base = mechanism(0.03).prepare(space).base
    bases = base, base._replace(favours=None)
    assert len({SparseTable(space, each, 5.0).key for each in bases}) == 2


SPARED, USUAL = 100, 3000
WITHOUT = {"spread": 1, "even": 0}


@pytest.fixture(scope="module")
def bundled_space():
    """The bundled words without classes: those of groups are tested in test_word_classes.py."""
    words = replace(load(None), classes=None)
    return MetricSpace(words, bundled=True)


def weights(space, base):
    """Shares of all words."""
    shares = np.zeros(space.n)
    shares[base.words] = base.weights / base.weights.sum()
    return shares


def bases(space, **parameters):
    kinds = WITHOUT, {**WITHOUT, **parameters}
    both = [OptimalResponse(8.0, **each).base(space) for each in kinds]
    return *both, *(weights(space, base) for base in both)


def test_without_either_it_is_the_solved_base(bundled_space):
    plain = OptimalResponse(8.0, **WITHOUT)
    solved, base = solved_base(bundled_space, plain.task(bundled_space)), plain.base(bundled_space)
    assert base.words.tolist() == solved["words"].tolist()
    assert base.weights.tolist() == solved["base"].tolist()
    assert base.mass == solved["mass"][0]


@pytest.mark.parametrize("spread", [1.5, 4.0])
def test_spread_makes_rarer_outputs_lighter_and_near_sets_larger(bundled_space, spread):
    plain, base, before, after = bases(bundled_space, spread=spread)
    scale = after[:SPARED].sum() / before[:SPARED].sum()
    assert after[:SPARED] == pytest.approx(before[:SPARED] * scale, abs=3e-6)
    assert after[SPARED:] == pytest.approx(before[SPARED:] * scale / spread, abs=3e-6)
    # The same near mass, in units of the words that are spared.
    assert base.mass / base.total == pytest.approx(scale * plain.mass / plain.total, rel=1e-3)


@pytest.mark.parametrize("even", [0.1, 0.6])
def test_even_share_goes_to_frequent_words_by_the_root_of_their_counts(bundled_space, even):
    plain, base, before, after = bases(bundled_space, even=even)
    assert after[:SPARED] == pytest.approx(before[:SPARED], abs=3e-6)
    added = after[SPARED:] - (1 - even) * before[SPARED:]
    assert np.abs(added[USUAL - SPARED :]).max() < 3e-6
    roots = np.sqrt(bundled_space.counts[SPARED:USUAL])
    wanted = even * before[SPARED:].sum() * roots / roots.sum()
    assert added[: USUAL - SPARED] == pytest.approx(wanted, abs=3e-6)
    assert set(range(USUAL)) <= set(base.words.tolist())
    assert base.mass / base.total == pytest.approx(plain.mass / plain.total, rel=1e-3)


def test_a_vocabulary_of_spared_words_and_none_with_counts(bundled_space):
    """Fewer words than are spared change nothing; without counts the order of the file serves."""
    solved = {
        "words": np.array([0, 2, 3], dtype=np.int32),
        "base": np.array([1 << 19, 1 << 18, 1 << 18], dtype=np.uint32),
        "mass": np.array([1 << 15]),
    }
    words, base, mass = softened(solved, None, 4, 3.0, 0.5)
    assert (words.tolist(), mass) == ([0, 2, 3], 1 << 15)
    assert base.tolist() == solved["base"].tolist()
    words, base, _ = softened(solved, None, 5000, 3.0, 1.0)
    assert words.tolist() == [0, 2, 3]
    # At small epsilons few are left: twice as many words as were solved for share the even part.
    solved["words"] = np.array([*range(60), 4000], dtype=np.int32)
    solved["base"] = np.full(61, 1 << 14, dtype=np.uint32)
    words, base, _ = softened(solved, None, 5000, 3.0, 1.0)
    assert words.tolist() == [*range(60), *range(SPARED, 2 * 61)]
    assert (np.diff(base[60:]) <= 0).all()
    assert base[60] > base[-1]
