"""A small part of tests/power.py: mutants that draws alone cannot see at epsilon 8."""

import pytest
from power import MUTANTS, run


def test_there_are_enough_mutants():
    assert len(MUTANTS) >= 25


@pytest.mark.parametrize(
    "name",
    [
        "noise × .9",
        "copies of 50 %",
        "one seed for two lines",
        "rank off by one",
        "backdoor in one word",
    ],
)
def test_a_mutant_is_violated_at_epsilon_8(name):
    """Each is found with probability above .99999 by these draws: docs/reliability.md."""
    found = run(MUTANTS[name], 8.0, 40, 20_000)
    assert found["verdict"] == "violated", found
