"""docs/field.md and docs/readability.md against the program."""

import math

import field
import numpy as np
import page_parts
import pytest
import readability
from support import make_embeddings

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.space.metric_space import MetricSpace


def rows(page, name):
    lines = [each for each in page_parts.part(page, name).splitlines() if each.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_row_has_the_status_and_the_proof_of_its_mechanism():
    """A mechanism that is newer than the page has no row yet."""
    words = field.opened()
    for row in rows(field.PAGE, "claims"):
        name = row[0].strip("`")
        assert row[1] == str(MECHANISMS[name].status), "run python tests/field.py"
        assert row[5] == field.proof_link(name)
        if name in ("knn-response", "krr", "clusant", "diffractor", "rantext-paper"):
            assert tuple(row) == field.claim_row(name, words), "run python tests/field.py claims"


def test_a_budget_that_reads_the_text_is_none():
    """The page has what is computed, and a budget that is fixed loses what it says."""
    part = page_parts.part(field.PAGE, "budgets")
    assert part == field.budgets(None), "run python tests/field.py budgets"
    assert [float(row[-1]) > 8 for row in rows(field.PAGE, "budgets")] == [True, True, False]
    assert field.largest_loss((4.0, 4.0), (4.0, 4.0), 50) == pytest.approx(8)
    by_hand = math.log(math.e / (math.e + 4)) - math.log(1 / (math.exp(3) + 4))
    assert field.largest_loss((1.0,), (3.0,), 5) == pytest.approx(by_hand)


def test_two_texts_near_one_are_not_near_each_other():
    """The page has what is computed: chances at the bound, and a delta above the claimed one."""
    assert page_parts.part(field.PAGE, "fusion") == field.fusion(None), "run python tests/field.py"
    for bound, base in ((0.1, 1e-4), (0.5, 0.01)):
        high, low = field.within(bound, np.array([base]))
        for first, second in ((high, base), (base, low)):
            divergence = np.log(first**2 / second + (1 - first) ** 2 / (1 - second))
            assert divergence == pytest.approx(bound)
            assert np.log(second**2 / first + (1 - second) ** 2 / (1 - first)) < bound
    for _, claimed, true, _, delta, true_delta in rows(field.PAGE, "fusion"):
        assert float(true) > 3 * float(claimed)
        assert float(true_delta) > float(delta)


def test_comparison():
    found = {row[0].strip("`"): row[1:] for row in rows(field.PAGE, "equal")}
    assert list(found) == list(field._COMPARED)
    for name, row in found.items():
        certain = MECHANISMS[name].status.name != "PROVED"
        assert row[0] in (("none", "–") if certain else (row[0], "–"))
        assert (row[3] == "–") == certain


@pytest.mark.parametrize("name", ["krr", "exponential", "clusant", "santext-plus", "custext"])
def test_the_target_is_reached_from_below(name):
    space, draft = MetricSpace(make_embeddings(n=60, d=4)), Draft(MECHANISMS[name])
    first = np.arange(30)
    pairs = first, field.pairs_at(space, first)
    if name == "custext":
        with pytest.raises(UsageError, match=r"total variation 0\.1 is "):
            field.at_target(draft, space, pairs, 0.1)
        return
    mechanism = field.at_target(draft, space, pairs, 0.4)
    reached = field.apart(mechanism.prepare(space), *pairs).mean()
    assert 0.39 < reached <= 0.4
    if name == "krr":  # the total variation of every pair
        growth = math.exp(mechanism.epsilon)
        assert reached == pytest.approx((growth - 1) / (growth + 59))
    if name == "santext-plus":
        with pytest.raises(UsageError, match="no finite LDP epsilon"):
            field.at_certified(draft, space, 4.0)
    else:
        assert 3.98 < field.at_certified(draft, space, 4.0).certificate(space).epsilon_ldp <= 4.0


@pytest.mark.slow
def test_the_sentences_are_what_the_command_writes(cache, monkeypatch):
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    part = page_parts.part(readability.PAGE, "sentences")
    assert part == readability.sentences(), "run python tests/readability.py sentences"
    assert len(rows(readability.PAGE, "sentences")) == len(set(readability.SENTENCES)) == 10


def test_nothing_crosses_the_bound():
    found = rows(readability.PAGE, "study")
    assert [row[0] for row in found] == readability.EPSILONS.split(",")
    for _, *values, bound in found:
        assert max(map(float, values)) <= float(bound)
        assert float(values[-1]) > max(map(float, values[:-1]))  # optimal-response is the best


def test_perplexities_are_those_of_their_ratios():
    found = rows(readability.PAGE, "perplexity")
    assert len(found) == 2
    for _, original, *others in found:
        assert len(others) == 1 + len(readability.MECHANISMS)
        for cell in others:
            value, times = cell.replace(",", "").strip(")").split(" (")
            ratio = float(value) / float(original.replace(",", ""))
            assert ratio == pytest.approx(float(times), abs=0.02)
