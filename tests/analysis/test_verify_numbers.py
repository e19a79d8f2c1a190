"""`dpsan verify --numbers value`: kept by the program as it is, and violated by broken ones."""

import itertools
from unittest import mock

import pytest
from broken_programs import MUTANTS, seen_years
from planted import many_words, response
from power import run

from dpsan.analysis.verify.numbers import numbers_by_value
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.privacy import randomness
from dpsan.privacy.randomness import seeded_key

BROKEN = [name for name, mutant in MUTANTS.items() if mutant.options == {"numbers": "value"}]


@pytest.fixture(autouse=True)
def same_draws_every_time(monkeypatch):
    numbers = itertools.count()
    monkeypatch.setattr(randomness, "new_key", lambda: seeded_key(f"numbers {next(numbers)}"))


def by_name(found):
    return {each.name: each for each in found.checks}


@pytest.mark.parametrize("unit", [None, "run"])
def test_numbers_by_value_are_kept(unit):
    """They were always VIOLATED, mutant or not; what the guarantee leaves out is stated."""
    sanitizer = response(8.0, many_words(), numbers="value", consistent=unit)
    found = verify(sanitizer, words=12, draws=10_000)
    checks = by_name(found)
    assert all(each.held for each in checks.values())
    assert checks["numbers by value"].figures["draws"] > 2000
    assert checks["numbers by value"].figures["loss"] <= 8.0
    assert checks["independence"].figures["agreement_of_a_number"] < 1e-6
    assert found.exposures[0].stated
    assert found.verdict is (Verdict.KEPT if unit is None else Verdict.VIOLATED)


def test_there_are_mutants_of_numbers():
    assert len(BROKEN) >= 6


@pytest.mark.parametrize("name", BROKEN)
def test_broken_numbers_are_violated(name):
    found = run(MUTANTS[name], 8.0, 40, 40_000)
    assert found["verdict"] == "violated", found
    assert set(found["by"]) <= {"numbers by value", "independence"}


@pytest.mark.parametrize("tokenizer", ["unicode", "ptb", "whitespace"])
def test_a_form_that_depends_on_the_digits_is_refuted(tokenizer):
    """Exactly: no draw is needed to see it."""
    sanitizer = response(8.0, many_words(), numbers="value", tokenizer=tokenizer)
    key = bytes(32)
    assert numbers_by_value(sanitizer, draws=1, key=key).held
    with mock.patch("dpsan.analysis.verify.numbers.formed_number", seen_years):
        found = numbers_by_value(sanitizer, draws=1, key=key)
    assert found.held is False
    assert found.sentence == "which digits a number has decides what form it has"


def test_the_command_says_for_what_it_is_kept(tmp_path, dpsan):
    done = dpsan("verify", "-e", "8", "--numbers", "value", "--vocab-size", "60", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    told = b" ".join(done.stdout.split())
    assert b"optimal-response: KEPT for two words, or two numbers of one form" in told
    assert b"no epsilon holds for a number against a word, or a number of another form" in told
    assert b"shapes have the form of their shape" in told
