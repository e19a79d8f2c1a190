"""docs/field.md against the program."""

import math

import field
import numpy as np
import page_parts
import pytest
from support import make_embeddings

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.krr import KRR
from dpsan.outcomes.calibrate import Draft
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=60, d=4))


def rows(name):
    """The cells of a part's table, without its head."""
    lines = [
        line for line in page_parts.part(field.PAGE, name).splitlines() if line.startswith("|")
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_row_has_the_status_and_the_proof_of_its_mechanism():
    """A mechanism that is newer than the page has no row yet."""
    for row in rows("claims"):
        name = row[0].strip("`")
        assert row[1] == str(MECHANISMS[name].status), "run python tests/field.py"
        assert row[5] == field.proof_link(name)


@pytest.fixture(scope="module")
def words():
    return field.opened()


@pytest.mark.parametrize("name", ["knn-response", "krr", "clusant", "diffractor", "rantext-paper"])
def test_rows_are_what_the_program_says(name, words):
    (shown,) = [row for row in rows("claims") if row[0] == f"`{name}`"]
    assert tuple(shown) == field.claim_row(name, words), "run python tests/field.py claims"


def test_comparison():
    found = {row[0].strip("`"): row[1:] for row in rows("equal")}
    assert list(found) == list(field._COMPARED)
    assert all(name in MECHANISMS for name in found)
    for name, row in found.items():
        certain = MECHANISMS[name].status.name != "PROVED"
        assert row[0] in (("none", "–") if certain else (row[0], "–"))
        assert (row[3] == "–") == certain


def test_total_variation_of_krr():
    """Two words of krr differ at two outputs: (e^epsilon - 1)/Z."""
    sampler = KRR(3.0).prepare(SPACE)
    first = np.arange(40)
    found = field.apart(sampler, first, first + 1)
    assert found == pytest.approx((math.exp(3) - 1) / (math.exp(3) + 59))
    assert field.apart(sampler, first, first).max() == 0


def test_pairs_are_at_the_distance_of_the_tenth_neighbour():
    ids = np.arange(60)
    others, lengths = field.pairs_at(SPACE, ids), SPACE.distances(ids)
    gaps = np.abs(lengths - np.median(np.sort(lengths, axis=1)[:, 10]))
    gaps[ids, ids] = np.inf
    assert (gaps[ids, others] == gaps.min(axis=1)).all()


@pytest.mark.parametrize("name", ["krr", "exponential", "clusant", "santext-plus"])
def test_the_target_is_reached_from_below(name):
    first = np.arange(30)
    pairs = first, field.pairs_at(SPACE, first)
    mechanism = field.at_target(Draft(MECHANISMS[name]), SPACE, pairs, 0.4)
    reached = field.apart(mechanism.prepare(SPACE), *pairs).mean()
    assert 0.39 < reached <= 0.4
    if name == "krr":  # the total variation of every pair
        growth = math.exp(mechanism.epsilon)
        assert reached == pytest.approx((growth - 1) / (growth + 59))
    if name == "santext-plus":
        with pytest.raises(UsageError, match="no finite LDP epsilon"):
            field.at_certified(Draft(MECHANISMS[name]), SPACE, 4.0)
    else:
        certified = field.at_certified(Draft(MECHANISMS[name]), SPACE, 4.0).certificate(SPACE)
        assert 3.98 < certified.epsilon_ldp <= 4.0


def test_a_value_that_is_jumped_over_has_no_row():
    first = np.arange(30)
    pairs = first, field.pairs_at(SPACE, first)
    with pytest.raises(UsageError, match=r"total variation 0\.1 is "):
        field.at_target(Draft(MECHANISMS["custext"]), SPACE, pairs, 0.1)
