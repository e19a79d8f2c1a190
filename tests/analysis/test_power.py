"""A small part of tests/power.py: mutants that draws alone cannot see at epsilon 8."""

import json
import math

import power
import pytest
from broken_programs import MUTANTS
from power import made, on_paper, run, table
from scipy import stats
from support import some_mutants


def test_there_are_enough_mutants():
    assert len(MUTANTS) >= 25


@pytest.mark.parametrize(
    "name",
    some_mutants(
        [
            "noise × .9",
            "copies of 50 %",
            "one seed for two lines",
            "rank off by one",
            "backdoor in one word",
            "outputs that never come",
        ],
        "copies of 50 %",
        "outputs that never come",
    ),
)
def test_a_mutant_is_violated_at_epsilon_8(name):
    """Each is found with probability above .99999 by these draws: docs/reliability.md."""
    found = run(MUTANTS[name], 8.0, 40, 20_000)
    assert found["verdict"] == "violated", found
    assert json.loads(json.dumps(found)) == found


def test_what_shows_in_no_cell_is_violated():
    """Issue 16: epsilon times 1.1, nowhere more than 1 % of a probability; 38 nats on paper."""
    found = run(MUTANTS["epsilon × 1.1"], 2.0, 40, 60_000)
    assert found["expected"]
    assert 30 < found["nats on paper"] < 45
    assert found["by"] == ["goodness of fit"]
    assert "inputs together" in found["checks"]["goodness of fit"]


def test_what_nothing_could_see_is_not_expected():
    mutant = MUTANTS["copies of 2 %, optimal"]
    sanitizer = made(mutant.mechanism, 8.0, 40)
    mutant.change(sanitizer)
    nats, chance = on_paper(mutant, sanitizer, 100_000)
    assert nats < 1
    assert chance < 1e-6
    row: dict = {"mutant": "copies of 2 %, optimal", "setting": "epsilon 8, 40", "verdict": "kept"}
    row |= {"nats on paper": nats, "probability on paper": chance}
    assert "(optimal-response) |  | **kept** (0.745" in table([row])


@pytest.mark.parametrize(("p", "q"), [(0.01, 0.0145), (0.01, 0.0128), (0.3, 0.282), (0.3, 0.27)])
def test_the_best_test_on_paper_is_that_of_neyman_and_pearson(p, q):
    """Against the exact power of the test of a share: it errs with probability 1e-9."""
    draws = 20_000
    more = math.log(q / p), math.log((1 - q) / (1 - p))
    mean = q * more[0] + (1 - q) * more[1]
    spread = q * (1 - q) * (more[0] - more[1]) ** 2
    if q > p:
        exact = stats.binom.sf(stats.binom.isf(power.ERROR, draws, p), draws, q)
    else:
        exact = stats.binom.cdf(stats.binom.ppf(power.ERROR, draws, p) - 1, draws, q)
    assert power._chance(draws * mean, draws * spread) == pytest.approx(exact, abs=0.06)
