"""A small part of tests/power.py: mutants that draws alone cannot see at epsilon 8."""

import json

import power
import pytest
from broken_programs import MUTANTS
from support import some_mutants

pytestmark = pytest.mark.usefixtures("fixed_keys")

NUMBERS = [name for name, mutant in MUTANTS.items() if mutant.options == {"numbers": "value"}]
STATED = ["statement with half the epsilon", "public words not counted", "compounds counted once"]
WORDS = ["noise × .9", "copies of 50 %", "one seed for two lines", "rank off by one"]
WORDS += ["backdoor in one word", "outputs that never come"]
FOUND_BY = {name: {"statement"} for name in STATED}
FOUND_BY |= {name: {"numbers by value", "independence"} for name in NUMBERS}


def test_there_are_enough_mutants():
    assert len(MUTANTS) >= 25
    assert len(NUMBERS) >= 6


@pytest.mark.parametrize(
    "name",
    some_mutants(
        [*WORDS, *FOUND_BY],
        *("copies of 50 %", "outputs that never come", *STATED),
        *("far numbers never come", "numbers of a line share", "years are a form"),
    ),
)
def test_a_mutant_is_violated_at_epsilon_8(name):
    """Each is found with probability above .99999 by these draws: docs/reliability.md."""
    found = power.run(MUTANTS[name], 8.0, 40, 40_000 if name in NUMBERS else 20_000)
    assert found["verdict"] == "violated", found
    by = {*found["by"]}
    assert by & FOUND_BY.get(name, by)
    assert name not in NUMBERS or by <= FOUND_BY[name]
    assert json.loads(json.dumps(found)) == found


def test_what_shows_in_no_cell_is_violated():
    """Issue 16: epsilon times 1.1, nowhere more than 1 % of a probability; 38 nats on paper."""
    found = power.run(MUTANTS["epsilon × 1.1"], 2.0, 40, 60_000)
    assert found["expected"]
    assert 30 < found["nats on paper"] < 45
    assert found["by"] == ["goodness of fit"]
    assert "inputs together" in found["checks"]["goodness of fit"]


def test_what_nothing_could_see_is_not_expected():
    mutant = MUTANTS["copies of 2 %, optimal"]
    sanitizer = power.made(mutant.mechanism, 8.0, 40)
    mutant.change(sanitizer)
    nats, chance = power.on_paper(mutant, sanitizer, 100_000)
    assert nats < 1
    assert chance < 1e-6
    row: dict = {"mutant": "copies of 2 %, optimal", "setting": "epsilon 8, 40", "verdict": "kept"}
    row |= {"nats on paper": nats, "probability on paper": chance}
    assert "(optimal-response) |  | **kept** (0.745" in power.table([row])
