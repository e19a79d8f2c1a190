"""The bundled vocabulary does not answer the name of a group with insults, violence or sex."""

import copy
import re
import sys

import numpy as np
import pytest
from support import ROOT, marked

from dpsan.embeddings import load
from dpsan.embeddings.words import AMBIGUOUS, HARM, NAME
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.randomized_response import KnnResponse
from dpsan.space.metric_space import MetricSpace

VOCAB = ROOT / "vocab"
sys.path.append(str(VOCAB))

from recipe.bias import TERMS, control_nouns, shares  # noqa: E402

WORDS = load(None)
CLASSES = WORDS.classes


def listed(path):
    lines = path.read_text("utf-8").splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


def named(*paths):
    return {word for path in paths for file in VOCAB.glob(path) for word in listed(file)}


def space_of(words):
    return MetricSpace(words, bundled=True)


HARMFUL = named("harm/*.txt", "polar/negative.txt")
NOUNS = control_nouns(VOCAB / "kinds")
MECHANISMS = [OptimalResponse(1.0), OptimalResponse(7.3), KnnResponse(8.0)]


@pytest.fixture(scope="module")
def space():
    return space_of(WORDS)


def near(sampler, row):
    """Rows of the words that are likelier for this word than for others."""
    return sampler.near.row(row)[0]


def check_groups(sampler):
    """No name of a group is near a harmful word or near another group."""
    harmful = np.array([word in HARMFUL for word in WORDS.index_to_key])
    for row in np.flatnonzero(CLASSES >= AMBIGUOUS).tolist():
        found = near(sampler, row)
        assert not harmful[found].any()
        classes = CLASSES[found]
        assert not ((classes >= AMBIGUOUS) & (classes != CLASSES[row])).any()


@pytest.mark.parametrize("mechanism", marked("slow", MECHANISMS, *MECHANISMS[1:]), ids=repr)
def test_gay_is_not_near_violence_nor_homosexuals_near_jews(space, mechanism):
    check_groups(mechanism.prepare(space))


@pytest.mark.parametrize("epsilon", marked("slow", [6.0, 8.0, 10.0], 6.0, 10.0))
def test_groups_and_names(space, epsilon):
    """Names are near names alone, groups come out themselves and are harmed no more than nouns."""
    mechanism = OptimalResponse(epsilon)
    sampler = mechanism.prepare(space)
    check_groups(sampler)
    for row in np.flatnonzero(CLASSES == NAME).tolist():
        assert (CLASSES[near(sampler, row)] == NAME).all()
    outputs = mechanism.base(space).words
    assert np.isin(np.flatnonzero(CLASSES >= AMBIGUOUS), outputs).sum() > 600
    assert np.isin(np.flatnonzero((CLASSES >= AMBIGUOUS) & (CLASSES != NAME)), outputs).all()
    terms = " ".join(TERMS.values()).split()
    assert len(terms) == len(set(terms)) == 80
    found = shares(WORDS, sampler, NOUNS)
    assert [each.term for each in found] == terms
    assert max(each.ratio for each in found) <= 2


@pytest.mark.slow
def test_the_measure_sees_a_vocabulary_without_classes():
    """Its twin: with the near sets that vectors alone give, many terms are above twice theirs."""
    plain = copy.copy(load(None))  # which other tests share
    object.__setattr__(plain, "classes", None)
    sampler = OptimalResponse(8.0).prepare(space_of(plain))
    found = {each.term: each for each in shares(WORDS, sampler, NOUNS)}
    assert found["gay"].own > 0.2
    assert found["homosexual"].ratio > 5
    assert sum(each.ratio > 2 for each in found.values()) > 8


def test_two_hundred_sentences_about_gay_neighbours(dpsan):
    """Through the program: near sets are what it draws from."""
    text = "My gay neighbour reads a book.\n" * 200
    done = dpsan("rewrite", "-q", "-e", "8", "--seed", "neighbours", stdin=text.encode(), status=0)
    groups = named("identity/*.txt")
    second = [re.findall(r"[\w'-]+", line)[1].lower() for line in done.stdout.decode().splitlines()]
    assert len(second) == 200
    assert sum(word in HARMFUL for word in second) <= 5  # of 200 without classes, 57
    assert sum(word in groups for word in second) > 120


def test_the_lists_are_those_of_the_vocabulary():
    """classes.tsv is what the lists say, no list contradicts another, and no slur is a word."""
    slurs = set(listed(VOCAB / "slurs.txt"))
    assert len(slurs) > 100
    assert slurs.isdisjoint(WORDS.index_to_key)
    text = (VOCAB / "en" / "classes.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.split("\n")[:-1]]
    written = dict(rows)
    identity = {path.stem: listed(path) for path in (VOCAB / "identity").glob("*.txt")}
    every = [word for name, words in identity.items() if name != "names" for word in words]
    assert len(every) == len(set(every))
    assert not set(every) & (HARMFUL | slurs)
    known = WORDS.key_to_index
    for name, words in identity.items():
        wanted = {"people": "person", "names": "name"}.get(name, name)
        assert {written.get(word) for word in words if word in known} <= {wanted, None}
        if name != "names":
            assert all(written[word] == wanted for word in words if word in known)
    assert {word for word, own in rows if own == "harm"} == HARMFUL & set(known)
    assert (CLASSES == HARM).sum() == len(HARMFUL & set(known))
