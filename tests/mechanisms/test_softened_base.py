"""spread and even of optimal-response: more outputs for each word, frequent words as before."""

from dataclasses import replace

import numpy as np
import pytest

from dpsan.embeddings import bundled, load
from dpsan.errors import UsageError
from dpsan.mechanisms.optimal.public_base import softened, solved_base
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.space.metric_space import MetricSpace

SPARED = 100
USUAL = 3000


@pytest.fixture(scope="module")
def space():
    """The bundled words without classes: those of groups are tested in test_word_classes.py."""
    words = replace(load(None), classes=None)
    return MetricSpace(words, lambda name, build: bundled.bundled_table(name) or build())


def weights(space, base):
    """Shares of all words."""
    shares = np.zeros(space.n)
    shares[base.words] = base.weights / base.weights.sum()
    return shares


def bases(space, **parameters):
    plain = OptimalResponse(8.0, spread=1, even=0).base(space)
    return plain, OptimalResponse(8.0, **{"spread": 1, "even": 0, **parameters}).base(space)


def test_without_either_it_is_the_solved_base(space):
    plain = OptimalResponse(8.0, spread=1, even=0)
    solved = solved_base(space, plain.task(space))
    base = plain.base(space)
    assert base.words.tolist() == solved["words"].tolist()
    assert base.weights.tolist() == solved["base"].tolist()
    assert base.mass == solved["mass"][0]


@pytest.mark.parametrize("spread", [1.5, 4.0])
def test_spread_makes_rarer_outputs_lighter_and_near_sets_larger(space, spread):
    plain, base = bases(space, spread=spread)
    before, after = weights(space, plain), weights(space, base)
    scale = after[:SPARED].sum() / before[:SPARED].sum()
    assert after[:SPARED] == pytest.approx(before[:SPARED] * scale, abs=3e-6)
    assert after[SPARED:] == pytest.approx(before[SPARED:] * scale / spread, abs=3e-6)
    # The same near mass, in units of the words that are spared.
    assert base.mass / base.total == pytest.approx(scale * plain.mass / plain.total, rel=1e-3)


@pytest.mark.parametrize("even", [0.1, 0.6])
def test_even_share_goes_to_frequent_words_by_the_root_of_their_counts(space, even):
    plain, base = bases(space, even=even)
    before, after = weights(space, plain), weights(space, base)
    assert after[:SPARED] == pytest.approx(before[:SPARED], abs=3e-6)
    added = after[SPARED:] - (1 - even) * before[SPARED:]
    assert np.abs(added[USUAL - SPARED :]).max() < 3e-6
    roots = np.sqrt(space.counts[SPARED:USUAL])
    wanted = even * before[SPARED:].sum() * roots / roots.sum()
    assert added[: USUAL - SPARED] == pytest.approx(wanted, abs=3e-6)
    assert set(range(USUAL)) <= set(base.words.tolist())
    assert base.mass / base.total == pytest.approx(plain.mass / plain.total, rel=1e-3)


def test_a_reader_guesses_fewer_rarer_words(space):
    """What spread is for, by the exact distributions; the guarantee is the same."""
    ids = np.arange(SPARED, space.n, 97)
    found = []
    for spread in (1.0, 3.3):
        sampler = OptimalResponse(8.0, spread=spread).prepare(space)
        law = sampler.probabilities(ids)
        guessed = (law * space.counts[ids, None]).argmax(axis=0)  # among these words
        found.append(law[guessed, np.arange(space.n)].sum() / len(ids))
        assert sampler.certificate().epsilon_ldp <= 8
    assert found[1] < 0.9 * found[0], found


def test_a_vocabulary_of_spared_words_and_none_with_counts(space):
    """Fewer words than are spared change nothing; without counts the order of the file serves."""
    solved = {
        "words": np.array([0, 2, 3], dtype=np.int32),
        "base": np.array([1 << 19, 1 << 18, 1 << 18], dtype=np.uint32),
        "mass": np.array([1 << 15]),
    }
    words, base, mass = softened(solved, None, 4, 3.0, 0.5)
    assert (words.tolist(), base.tolist(), mass) == (
        [0, 2, 3],
        [1 << 19, 1 << 18, 1 << 18],
        1 << 15,
    )
    words, base, _ = softened(solved, None, 5000, 3.0, 1.0)
    assert words.tolist() == [0, 2, 3]


def test_twice_as_many_words_as_were_solved_for_share_the_even_part():
    """At small epsilons few are left, and thousands beside them would make near sets long."""
    words = np.array([*range(60), 4000], dtype=np.int32)
    solved = {
        "words": words,
        "base": np.full(61, 1 << 14, dtype=np.uint32),
        "mass": np.array([1 << 15]),
    }
    words, base, _ = softened(solved, None, 5000, 3.0, 1.0)
    assert words.tolist() == [*range(60), *range(SPARED, 2 * 61)]
    assert (np.diff(base[60:]) <= 0).all()
    assert base[60] > base[-1]


def test_parameters():
    for wrong in ({"spread": 0.5}, {"spread": float("nan")}, {"even": -0.1}, {"even": 1.01}):
        with pytest.raises(UsageError):
            OptimalResponse(8.0, **wrong)


def test_powers_have_names(space):
    given = {"cosine": 1, "squared": 2, 7: 7}
    for similarity, power in given.items():
        assert OptimalResponse(8.0, similarity=similarity).task(space).power == power
    assert OptimalResponse(8.0).task(space).power == OptimalResponse(0.5).task(space).power == 2
