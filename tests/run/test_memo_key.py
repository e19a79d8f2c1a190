"""The settings that a memo's key depends on: every field of a request, but those named here."""

import dataclasses

import pytest
from support import embed

from dpsan.embeddings.word_lists import PublicWords, WordClass
from dpsan.run.memo import _settings
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings
from dpsan.space.metric_space import MetricSpace
from dpsan.text.tokens import RULES

EMBEDDINGS = embed([f"w{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(80)])
WORDS = tuple(EMBEDDINGS.index_to_key[:70])
FIRST = Settings(epsilon=4.0)


def own(words=WORDS):
    return (WordClass("own", (words,), english=False),)


OTHERS = {"epsilon": [5.0], "mechanism": ["knn-response"], "parameters": [{"mass": 0.2}]}
OTHERS |= {"tokenizer": ["ptb"], "unknown": ["mask"], "keep": [frozenset({"waa"})]}
OTHERS |= {"public": [PublicWords("list", frozenset({"wab"}))], "case": ["vocabulary"]}
OTHERS |= {"numbers": ["value"], "only": [own(), own(WORDS[:65])], "roles": ["off"]}
OTHERS |= {"consistent": [Unit.RECORD], "classes": [own(), own(WORDS[:65])]}
"""Another value or more of each field that decides the distribution of an output."""
WITHOUT = {
    "embeddings": "the digest of the words and vectors stands for it",
    "vocab_size": "the same",
    "allow_unproved": "changes no output",
    "mapped": "a memo with a map has units",
    "fluent": "with its model's digest, which test_fluent has",
    "own_sha256": "only with a mechanism of one's own, which test_own has",
}


def settings(spec, embeddings=EMBEDDINGS):
    pair = embeddings, MetricSpace(embeddings)
    return _settings(Sanitizer.from_spec(spec, None, opened=lambda: pair))


def test_every_field_has_a_rule():
    """A new field without one turns this red."""
    assert {each.name for each in dataclasses.fields(Settings)} == {*OTHERS, *WITHOUT}


@pytest.mark.parametrize("name", OTHERS)
def test_another_value_is_another_key(name):
    first = FIRST
    if name == "roles":
        first = dataclasses.replace(FIRST, epsilon=None, only=own())
    keys = {settings(first)}
    for value in OTHERS[name]:
        epsilon = None if name == "only" else first.epsilon
        keys.add(settings(dataclasses.replace(first, **{"epsilon": epsilon, name: value})))
    assert len(keys) == 1 + len(OTHERS[name])


def test_another_vocabulary_is_another_key():
    other = dataclasses.replace(EMBEDDINGS, digest="other")
    fewer = embed(EMBEDDINGS.index_to_key[:79], digest=EMBEDDINGS.digest)
    assert (fewer.vectors == EMBEDDINGS.vectors[:79]).all()
    assert len({settings(FIRST), settings(FIRST, other), settings(FIRST, fewer)}) == 3
    assert settings(FIRST) == settings(dataclasses.replace(FIRST, allow_unproved=True))


def test_the_key_keeps_its_bytes():
    """Else every message of a memo would be drawn once more, and cost twice."""
    usual, lists = f"('unicode', {RULES}, 'sample', 'natural', 'word'), [], []", own()[0].sha256
    assert settings(FIRST).endswith(f", {usual})".encode())
    run = dataclasses.replace(FIRST, consistent=Unit.RUN)
    assert settings(run).endswith(f", {usual}, ('consistent', 'run'))".encode())
    roles = dataclasses.replace(FIRST, epsilon=None, only=own(), roles="off")
    assert settings(roles).endswith(f", {usual}, ('own', '{lists}'), ('roles', 'off'))".encode())
    kept = dataclasses.replace(FIRST, keep=frozenset({"waa"}), classes=own())
    assert settings(kept).endswith(f", ['waa'], [], ('own', '{lists}'))".encode())
    python = "<LetterCase.NATURAL: 'natural'>, <NumberPolicy.WORD: 'word'>"
    made = _settings(Sanitizer("krr", epsilon=4, embeddings=EMBEDDINGS))
    assert made.endswith(f"'sample', {python}), [], [])".encode())
