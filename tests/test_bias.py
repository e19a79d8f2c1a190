"""The bundled vocabulary does not answer the name of a group with insults, violence or sex."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpsan.embeddings import bundled, load
from dpsan.embeddings.word_classes import AMBIGUOUS, HARM, NAME
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.space.metric_space import MetricSpace

VOCAB = Path(__file__).resolve().parent.parent / "vocab"
sys.path.append(str(VOCAB))

from recipe.bias import TERMS, control_nouns, shares  # noqa: E402

WORDS = load(None)
CLASSES = WORDS.classes
GROUPS = np.flatnonzero(CLASSES >= AMBIGUOUS).tolist()


def listed(path: Path) -> list[str]:
    lines = path.read_text("utf-8").splitlines()
    return [word for line in lines if not line.startswith("#") for word in line.split()]


def named(*paths: str) -> set[str]:
    return {word for path in paths for file in VOCAB.glob(path) for word in listed(file)}


HARMFUL = named("harm/*.txt", "polar/negative.txt")
TERMS_OF_GROUPS = " ".join(TERMS.values()).split()


@pytest.fixture(scope="module")
def space():
    return MetricSpace(WORDS, lambda name, build: bundled.bundled_table(name) or build())


def near(sampler, word):
    """The words that are likelier for this word than for others."""
    if hasattr(sampler, "near"):
        rows = sampler.near.row(WORDS.key_to_index[word])[0]
    else:
        rows = sampler.sets(np.array([WORDS.key_to_index[word]]))[0]
    return {WORDS.index_to_key[row] for row in rows.tolist()}


@pytest.mark.parametrize(
    "mechanism",
    [
        *(OptimalResponse(epsilon) for epsilon in (1.0, 5.5, 7.3, 8.0, 12.0)),
        KnnResponse(8.0),
        KnnResponse(8.0, k=20, outputs="all"),
    ],
    ids=repr,
)
def test_gay_is_not_near_violence_nor_homosexuals_near_jews(space, mechanism):
    """Nor the name of any group near a harmful word, or near another group."""
    sampler = mechanism.prepare(space)
    for row in GROUPS:
        found = near(sampler, WORDS.index_to_key[row])
        assert not found & HARMFUL
        classes = CLASSES[[WORDS.key_to_index[word] for word in found]]
        assert not ((classes >= AMBIGUOUS) & (classes != CLASSES[row])).any()


@pytest.mark.parametrize("epsilon", [6.0, 8.0, 10.0])
def test_maria_and_fatima_become_names(space, epsilon):
    sampler = OptimalResponse(epsilon).prepare(space)
    for row in np.flatnonzero(CLASSES == NAME).tolist():
        found = near(sampler, WORDS.index_to_key[row])
        assert (CLASSES[[WORDS.key_to_index[word] for word in found]] == NAME).all()


@pytest.mark.parametrize("epsilon", [6.0, 8.0, 10.0])
def test_names_of_groups_come_out_themselves(space, epsilon):
    outputs = OptimalResponse(epsilon).base(space).words
    assert np.isin(np.flatnonzero(CLASSES >= AMBIGUOUS), outputs).sum() > 600
    assert np.isin(np.flatnonzero((CLASSES >= AMBIGUOUS) & (CLASSES != NAME)), outputs).all()


def test_slurs_and_swear_words_are_no_outputs():
    """Of no mechanism: the vocabulary does not have them."""
    slurs = set(listed(VOCAB / "slurs.txt"))
    assert len(slurs) > 100
    assert slurs.isdisjoint(WORDS.index_to_key)


@pytest.mark.parametrize("epsilon", [6.0, 8.0, 10.0])
def test_no_group_is_harmed_twice_as_often_as_other_nouns(space, epsilon):
    assert len(TERMS_OF_GROUPS) == len(set(TERMS_OF_GROUPS)) == 80
    nouns = control_nouns(VOCAB / "kinds")
    found = shares(WORDS, OptimalResponse(epsilon).prepare(space), nouns)
    assert [each.term for each in found] == TERMS_OF_GROUPS
    assert max(each.ratio for each in found) <= 2


def test_the_measure_sees_a_vocabulary_without_classes():
    """Its twin: with the near sets that vectors alone give, many terms are above twice theirs."""
    plain = load(None)
    object.__setattr__(plain, "classes", None)
    space = MetricSpace(plain, lambda name, build: bundled.bundled_table(name) or build())
    nouns = control_nouns(VOCAB / "kinds")
    found = {each.term: each for each in shares(WORDS, OptimalResponse(8.0).prepare(space), nouns)}
    assert found["gay"].own > 0.2
    assert found["homosexual"].ratio > 5
    assert sum(each.ratio > 2 for each in found.values()) > 8


def test_two_hundred_sentences_about_gay_neighbours(dpsan):
    """Through the program: near sets are what it draws from."""
    text = "My gay neighbour reads a book.\n" * 200
    done = dpsan("rewrite", "-q", "-e", "8", "--seed", "neighbours", stdin=text.encode())
    assert done.returncode == 0
    second = [re.findall(r"[\w'-]+", line)[1].lower() for line in done.stdout.decode().splitlines()]
    assert len(second) == 200
    assert sum(word in HARMFUL for word in second) <= 5  # of 200 without classes, 57
    assert sum(word in named("identity/*.txt") for word in second) > 120


def test_the_lists_are_those_of_the_vocabulary():
    """classes.tsv is what the lists say, and no list contradicts another."""
    text = (VOCAB / "en" / "classes.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.split("\n")[:-1]]
    written = dict(rows)
    identity = {path.stem: listed(path) for path in (VOCAB / "identity").glob("*.txt")}
    every = [word for name, words in identity.items() if name != "names" for word in words]
    assert len(every) == len(set(every))
    assert not set(every) & HARMFUL
    assert not set(every) & set(listed(VOCAB / "slurs.txt"))
    known = WORDS.key_to_index
    for name, words in identity.items():
        wanted = {"people": "person", "names": "name"}.get(name, name)
        assert {written.get(word) for word in words if word in known} <= {wanted, None}
        if name != "names":
            assert all(written[word] == wanted for word in words if word in known)
    assert {word for word, own in rows if own == "harm"} == HARMFUL & set(known)
    assert (CLASSES == HARM).sum() == len(HARMFUL & set(known))


def test_the_command_that_measures():
    done = subprocess.run(
        [sys.executable, str(VOCAB / "measure.py"), "--help"], capture_output=True, text=True
    )
    assert "bias" in done.stdout
