"""Near sets of words that name a group of people: no insult, no violence, no other group."""

import functools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support import make_embeddings

from dpsan.embeddings import words as word_classes
from dpsan.embeddings.words import AMBIGUOUS, GROUP, HARM, NAME, NEUTRAL, PERSON
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.randomized_response import KnnResponse
from dpsan.mechanisms.tables.public_base import softened, solved_base
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.space.cached_index import space_of
from dpsan.space.metric_space import MetricSpace

N = 400
OTHER = GROUP + 1
_KINDS = np.array([NEUTRAL, HARM, PERSON, AMBIGUOUS, NAME, GROUP, OTHER], dtype=np.int8)
_SHARES = [0.5, 0.2, 0.06, 0.04, 0.1, 0.05, 0.05]
CLASSES = np.random.default_rng(5).choice(_KINDS, size=N, p=_SHARES)
WORDS = make_embeddings(n=N, d=6)
PLAIN, SPACE = MetricSpace(WORDS), MetricSpace(replace(WORDS, classes=CLASSES))
PUBLIC = (0, 3, 11, 40)
MECHANISMS = [OptimalResponse(3.0), OptimalResponse(5.0, mass=0.02)]
MECHANISMS += [OptimalResponse(6.0, mass=0.15), OptimalResponse(6.0, frequency=0, spread=1, even=0)]
MECHANISMS += [OptimalResponse(6.0).with_public(PUBLIC), KnnResponse(3.0, k=5, outputs=200)]
MECHANISMS += [KnnResponse(6.0, k=8, outputs="all")]
MECHANISMS += [KnnResponse(6.0, k=5, outputs=200).with_public(PUBLIC)]
GROUPS = np.flatnonzero(CLASSES >= AMBIGUOUS)


@functools.cache
def prepared(mechanism, space):
    return mechanism.prepare(space)


def near_set(sampler, word):
    """The outputs that are likelier than their base."""
    return sampler.near.row(word)[0]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_no_harmful_word_and_no_other_group_is_near_the_name_of_a_group(mechanism):
    """And a harmful word does not become the name of a group."""
    sampler, plain = prepared(mechanism, SPACE), prepared(mechanism, PLAIN)
    wrong = 0
    for word in np.setdiff1d(GROUPS, PUBLIC).tolist():
        found = CLASSES[near_set(sampler, word)]
        assert not ((found == HARM) | (found >= AMBIGUOUS) & (found != CLASSES[word])).any()
        wrong += HARM in CLASSES[near_set(plain, word)]
    assert wrong > len(GROUPS) / 3  # without classes
    for word in np.setdiff1d(np.flatnonzero(CLASSES == HARM), PUBLIC).tolist():
        assert (CLASSES[near_set(sampler, word)] < AMBIGUOUS).all()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_words_without_a_group_have_the_near_sets_that_they_had(mechanism):
    """Of one base: the same sampler on a space that forgets its classes."""
    sampler = prepared(mechanism, SPACE)
    given = sampler.base, mechanism.epsilon, mechanism.public
    forgets = SparseTable(PLAIN, *given, euclidean=isinstance(mechanism, KnnResponse))
    for word in np.flatnonzero((CLASSES == NEUTRAL) | (CLASSES == PERSON)).tolist():
        assert near_set(sampler, word).tolist() == near_set(forgets, word).tolist()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_guarantee_holds_for_near_sets_by_class(mechanism):
    """All inputs against all, from the integers, ⊥ among them."""
    sampler = prepared(mechanism, SPACE)
    epsilon = mechanism.guarantee(SPACE).epsilon_ldp
    assert epsilon <= mechanism.epsilon
    assert sampler.certificate().epsilon_ldp <= epsilon + 1e-12
    law = sampler.probabilities(np.setdiff1d(np.arange(N + 1), mechanism.public))
    held = law[:, law.max(axis=0) > 0]
    assert (held > 0).all()
    assert np.log(held.max(axis=0) / held.min(axis=0)).max() <= epsilon + 1e-9
    assert law.sum(axis=1) == pytest.approx(1)


def test_every_near_set_has_the_same_mass_even_where_harmful_words_must_fill_it():
    sampler = OptimalResponse(3.0, mass=0.95).table(SPACE)
    masses = {Fraction(int(sampler.near.row(word)[1].sum())) for word in range(N)}
    assert masses == {Fraction(sampler.base.mass)}
    assert all(HARM in CLASSES[near_set(sampler, word)] for word in GROUPS.tolist())
    assert sampler.certificate().epsilon_ldp <= 3


def test_near_words_of_a_group_come_first_then_people_then_others():
    sampler = OptimalResponse(5.0, mass=0.3).prepare(SPACE)
    for word in np.flatnonzero(CLASSES == OTHER).tolist():
        found = CLASSES[near_set(sampler, word)].tolist()
        counts = [found.count(each) for each in (OTHER, PERSON, NEUTRAL)]
        assert found == np.repeat([OTHER, PERSON, NEUTRAL], counts).tolist()
        assert min(counts) > 0


def test_names_of_groups_are_outputs_and_rare_names_of_persons_are_not():
    wanted = (CLASSES >= AMBIGUOUS) & ((CLASSES != NAME) | (np.arange(N) < 100))
    found = word_classes.wanted_outputs(CLASSES, 100)
    assert found.tolist() == np.flatnonzero(wanted).tolist()
    n, always, mechanism = 3000, np.arange(1200, 3000, 100), OptimalResponse(8.0)
    classes = np.where(np.isin(np.arange(n), always), GROUP, 0).astype(np.int8)
    space = MetricSpace(replace(make_embeddings(n=n, d=6), classes=classes))
    solved = solved_base(space, mechanism.task(space))
    assert 1000 < 2 * len(solved["words"]) < n
    for chosen in (always, None):
        outputs, weights, _ = softened(solved, space.counts, n, 1.2, 0.3, chosen)
        assert (weights > 0).all()
        assert np.isin(always, outputs).all() == (chosen is not None)
    assert np.isin(always, mechanism.base(space).words).all()


def test_classes_are_read_by_word():
    rows = {"a": 0, "b": 1, "maria": 2, "nun": 3, "muslim": 4}
    data = b"b\tharm\nmaria\tname\nmuslim\treligion\nnun\tgender\n"
    read_classes = word_classes.read_classes
    assert read_classes(data, rows).tolist() == [0, HARM, NAME, GROUP, OTHER]


def test_tables_of_two_vocabularies_that_differ_in_classes_are_apart(store):
    """The same words, vectors and digest: the near sets of one are not read for the other."""
    for mechanism in (OptimalResponse(6.0), KnnResponse(6.0, k=5, outputs=200)):
        spaces = (space_of(WORDS, store), space_of(replace(WORDS, classes=CLASSES), store), SPACE)
        samplers = [prepared(mechanism, each) for each in spaces]
        plain, other, own = ([near_set(s, word).tolist() for word in GROUPS] for s in samplers)
        assert plain != other == own
