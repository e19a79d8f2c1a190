"""What a run prints is what is certified and counted; `verify` compares the two."""

from unittest import mock

import pytest
from broken_programs import MUTANTS
from planted import many_words, response
from power import run

from dpsan import Sanitizer
from dpsan.analysis.verify.statement import statement_check
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy.certificate import certify
from dpsan.privacy.randomness import seeded_key
from dpsan.sanitize.statement import Statement

KEY = seeded_key("statement")
STATED = ("statement with half the epsilon", "public words not counted", "compounds counted once")


def found(sanitizer):
    return statement_check(sanitizer, certify(sanitizer.mechanism, sanitizer.space), key=KEY)


@pytest.mark.parametrize("name", STATED)
@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_a_statement_that_says_too_little_is_violated(name, epsilon):
    """Issue 32: nothing compared what a run prints with what is certified."""
    told = run(MUTANTS[name], epsilon, 40, 10_000)
    assert told["verdict"] == "violated", told
    assert "statement" in told["by"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tokenizer": "ptb"},
        {"tokenizer": "whitespace"},
        {"consistent": "record"},
        {"consistent": "run"},
        {"numbers": "value"},
        {"public": ["word1", "word2"]},
        {"unknown": "mask"},
        {"unknown": "keep"},
        {"case": "input"},
        {"keep": ["word3"]},
    ],
    ids=str,
)
def test_every_setting_is_counted(options):
    check = found(response(8.0, many_words(), **options))
    assert check.held, check.sentence
    assert check.figures["draws"] > 20


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_prints_its_loss(name):
    """Also a delta, an epsilon per unit of distance, and that a loss has no bound."""
    parameters = {"delta": 1e-6} if "delta" in MECHANISMS[name].parameters() else {}
    given = {"embeddings": many_words(60), "parameters": parameters, "allow_unproved": True}
    try:
        sanitizer = Sanitizer(name, epsilon=0.9, **given)
    except UsageError:  # beyond the domain of its theorem
        sanitizer = Sanitizer(name, epsilon=300.0, **given)
    check = found(sanitizer)
    assert check.held, check.sentence


@pytest.mark.parametrize(
    ("name", "epsilon", "old", "new", "what"),
    [
        ("gaussian", 0.9, "with delta 1e-6", "with delta 1e-7", "delta of one"),
        ("exponential", 0.9, "euclidean", "cosine", "epsilon per unit"),
        ("knn-response", 8.0, "LDP epsilon 16 per word in", "LDP epsilon 8 per word in", "short"),
        ("knn-response", 8.0, "for the largest file", "for a file", "the largest file, in short"),
        ("custext", 0.9, "no finite LDP", "some LDP", "in short"),
        ("knn-response", 8.0, "2 copies of every word: LDP epsilon 16", "", "all copies"),
        ("knn-response", 8.0, "largest record (", "a record (", "the largest record"),
        ("santext-plus", 0.9, "NOT GUARANTEED", "guaranteed", "not proved"),
    ],
)
def test_each_figure_can_refute(name, epsilon, old, new, what):
    """A line that is gone, or says less."""
    parameters = {"delta": 1e-6} if "delta" in MECHANISMS[name].parameters() else {}
    sanitizer = Sanitizer(
        name,
        epsilon=epsilon,
        embeddings=many_words(60),
        parameters=parameters,
        allow_unproved=True,
    )
    whole = Statement.lines

    def other(self, *, verbose=False):
        lines = whole(self, verbose=verbose)
        assert any(old in line for line in lines), lines
        return [line.replace(old, new) for line in lines]

    with mock.patch.object(Statement, "lines", other):
        check = found(sanitizer)
    assert check.held is False
    assert what in check.sentence
