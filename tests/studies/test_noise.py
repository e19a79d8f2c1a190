"""Noise at the same guarantee: golden figures, [TLDP] Table V, and the same mechanisms on words."""

import math

import pytest
from common.noise import opposite
from own import STUDIES

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.space.diameters import clipped, l1_diameter, l2_diameter


@pytest.fixture(scope="module")
def unit():
    return STUDIES["variance"].make(epsilons=(1.0, 10.0))


def test_every_point_mechanism_is_there_or_told(unit):
    """Noise that depends on the words has no value in units of C; nor has epsilon > 1 there."""
    found = {(row["mechanism"], row["epsilon_ldp"]) for row in unit.rows}
    names = {name for name, _ in found}
    assert not names & {"mahalanobis", "pte"}
    assert "gaussian-classical has no value at epsilon 10" in " ".join(unit.notes)
    assert ("gaussian-classical", 1.0) in found
    for name, kind in MECHANISMS.items():
        if kind.family != "table":
            assert name in names or any(note.startswith(name) for note in unit.notes)


def test_equal_noise_is_one_line(unit):
    (panel,) = unit.panels
    equal = {"laplace, rank-softmax, vickrey", "clipped-laplace, clipped-laplace-paper, trlaplace"}
    assert equal <= {each.label for each in panel.series}
    refuted = {each.style for each in panel.series if "no such guarantee" in each.label}
    assert refuted == {"dashed"}


@pytest.mark.parametrize("more", [False, True])
def test_fallback_sensitivities(more):
    space = opposite(300, more=more)
    moved, radius = clipped(space, "auto")
    assert (radius, l2_diameter(moved, radius)) == pytest.approx((1, 2), rel=0, abs=1e-6)
    assert l1_diameter(moved, radius) == pytest.approx(2 * 300**0.5, rel=1e-6)


def test_on_a_vocabulary(space):
    """Every row's own mechanism has, on the clipped words, the noise that the row says."""
    result = STUDIES["variance"].make(space, epsilons=(1.0, 8.0), parameters={"clip": "2"})
    names = {row["mechanism"] for row in result.rows}
    assert {"laplace", "mahalanobis", "pte", "gaussian", "clipped-laplace"} <= names
    chosen = {each["name"]: each["parameters"] for each in result.parameters["mechanisms"]}
    moved, _ = clipped(space, 2.0)
    assert moved.diameter < space.diameter
    for row in result.rows:
        mechanism = Draft(MECHANISMS[row["mechanism"]], chosen[row["mechanism"]]).at(row["epsilon"])
        assert mechanism.noise_scale(moved) == row["std"]
        guarantee = mechanism.guarantee(moved)
        if row["status"] == "PROVED":
            assert 0.99 * row["epsilon_ldp"] <= guarantee.epsilon_ldp <= row["epsilon_ldp"] + 1e-9
            assert guarantee.delta <= 1e-6
    assert {each["clip"] for each in chosen.values() if "clip" in each} == {2.0}
    assert "clipped at 2" in result.caption


def test_parameters(space):
    result = STUDIES["variance"].make(epsilons=(1.0,), parameters={"d": "50,100", "delta": "1e-9"})
    assert {row["d"] for row in result.rows} == {50, 100}
    assert len(result.panels) == 2
    assert {row["delta"] for row in result.rows if row["mechanism"] == "gaussian"} == {1e-9}
    for told, given in (
        ("vocabulary's own", {"space": space, "parameters": {"d": "5"}}),
        ("needs a vocabulary", {"parameters": {"clip": "1"}}),
        ("noise scale", {"mechanisms": [Draft(MECHANISMS["krr"])], "epsilons": (1.0,)}),
    ):
        with pytest.raises(UsageError, match=told):
            STUDIES["variance"].make(**given)


@pytest.mark.parametrize("name", [n for n, k in MECHANISMS.items() if k.family == "tensor"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
def test_a_row_has_the_figures_of_one_guarantee(name, epsilon, space):
    """It said epsilon 1 with the delta 3.98e-129 that belongs to epsilon 300."""
    draft = Draft(MECHANISMS[name])
    (row,) = STUDIES["variance"].make(space, mechanisms=[draft], epsilons=(epsilon,)).rows
    guarantee = draft.at(row["epsilon"]).guarantee(space)
    pairs = [(guarantee.epsilon_ldp, guarantee.delta)]
    if name.startswith("tldp-paper"):
        pairs.append((guarantee.at_claim.epsilon, guarantee.at_claim.delta))
        assert row["delta"] == guarantee.at_claim.delta > guarantee.delta * (1 - 1e-9)
    assert row["epsilon_ldp"] == epsilon
    assert any(e <= epsilon and d == row["delta"] for e, d in pairs)


def test_table_v_of_tldp():
    """Expected noise has the factor 1-p; by sigma² = Delta²/(2 epsilon), -g is worse above 4."""
    forms = [Draft(MECHANISMS[f"tldp-paper-{letter}"], {"range": "1"}) for letter in "lg"]
    result = STUDIES["variance"].make(mechanisms=forms, epsilons=(0.01, 1, 3.9, 4.1, 20))
    found = {(row["mechanism"][-1], row["epsilon_ldp"]): row["std"] ** 2 for row in result.rows}
    p = 1 / (1 + 200 * math.exp(0.01 * 299))
    assert p > 2e-4
    assert found["l", 0.01] == pytest.approx((1 - p) * 2 / 0.01**2, rel=1e-9)
    for epsilon in (1, 3.9, 4.1, 20):
        assert found["l", epsilon] == pytest.approx(2 / epsilon**2, rel=1e-9)
        assert found["g", epsilon] == pytest.approx(1 / (2 * epsilon), rel=1e-9)
        assert (found["g", epsilon] > found["l", epsilon]) == (epsilon > 4)
