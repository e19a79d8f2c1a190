"""char-response: the distribution of randomized response on characters, where a word comes out."""

import math
import pickle
from itertools import product

import numpy as np
import pytest

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.char_response import CharResponse, differing
from dpsan.privacy.certificate import pairwise_losses
from dpsan.space.metric_space import MetricSpace

WORDS = ["a", "ab", "b", "ba", "bb", "bab"]
VECTORS = np.random.default_rng(1).normal(size=(len(WORDS), 3)).astype(np.float32)
SPACE = MetricSpace(Embeddings(WORDS, VECTORS, "made", "made"))


def by_strings(word, epsilon, length=3, signs=" ab"):
    """Randomized response on each position, drawn until a word comes out."""
    odds = math.exp(epsilon / 2)
    shares = {
        "".join(string): math.prod(
            (odds if sign == own else 1) / (odds + len(signs) - 1)
            for sign, own in zip(string, word.ljust(length), strict=True)
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
    assert differing(SPACE.letters, np.array([1, 5])).tolist() == [
        [1, 0, 2, 2, 1, 3],
        [3, 3, 2, 1, 2, 0],
    ]


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
