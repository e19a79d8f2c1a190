"""``theorems``: golden numbers of docs/proofs.md 3."""

import math

import pytest

from dpsan.analysis.study import study
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft

TRUE = {
    50: {0.05: 0.8305, 0.1: 0.8262, 0.5: 0.7876, 1.0: 0.7267},
    100: {0.05: 0.9185, 0.1: 0.9164, 0.5: 0.8979, 1.0: 0.8687},
    300: {0.05: 0.9869, 1.0: 0.9790, 5.0: 0.8429, 10.0: 0.3709, 20.0: 0.1229},
}


def test_truncated_laplace():
    result = study("theorems", mechanisms=[Draft(MECHANISMS["trlaplace-paper"])])
    found = {(row["d"], row["epsilon"]): row for row in result.rows}
    for d, values in TRUE.items():
        for epsilon, delta in values.items():
            assert found[d, epsilon]["true"] == pytest.approx(delta, abs=5.1e-5)
    assert found[50, 1.0]["claimed"] == pytest.approx(4.0**-50)
    assert result.summary["worst"] == {"trlaplace-paper": pytest.approx(0.98692, abs=1e-5)}
    (panel,) = result.panels
    # Lines end where dummy dimensions begin, epsilon = sqrt(d)/2; beyond there are points.
    lines = {each.label: each for each in panel.series if each.style == "line"}
    assert max(lines["d = 100"].x) < 5 < max(lines["d = 300"].x) < math.sqrt(300) / 2
    points = {each.label: each for each in panel.series if each.style == "points"}
    assert points["d = 300, padded"].x == (10.0, 20.0)


def test_tensor():
    wanted = {(10, 0.1): 0.253, (300, 0.01): 0.132, (300, 0.1): 0.586, (300, 1.0): 1.0}
    first, second = (Draft(MECHANISMS[f"tldp-paper-{letter}"]) for letter in "lg")
    result = study("theorems", mechanisms=[first], parameters={"d": "10,300"})
    found = {(row["d"], row["epsilon"]): row for row in result.rows}
    for cell, delta in wanted.items():
        assert found[cell]["true"] == pytest.approx(delta, abs=5e-4)
        assert found[cell]["claimed"] == 0
    result = study("theorems", mechanisms=[second], parameters={"d": "10"})
    assert all(row["true"] > 0.2 for row in result.rows)
    # The unit of the data changes the truth.
    wide = Draft(MECHANISMS["tldp-paper-l"], {"range": "10"})
    other = study("theorems", mechanisms=[wide], parameters={"d": "300"}, epsilons=(0.01,))
    assert other.rows[0]["true"] < 0.1
    assert "range 10," in other.caption


def test_tensor_on_a_vocabulary(space):
    """The vocabulary's own dimension and range, as its guarantee has them."""
    kind = MECHANISMS["tldp-paper-g"]
    result = study("theorems", space, mechanisms=[Draft(kind)], epsilons=(0.5,))
    (row,) = result.rows
    assert row["d"] == space.d
    assert row["true"] == pytest.approx(kind(0.5).guarantee(space).delta)


def test_gumbel():
    told = []
    draft = Draft(MECHANISMS["tgumbel-paper"])
    result = study("theorems", mechanisms=[draft], words=100, progress=told.append)
    found = [(row["n"], row["true"] / row["claimed"]) for row in result.rows]
    assert dict(found[:3])[60] == pytest.approx(0.96, abs=6e-3)
    assert dict(found[:3])[100] == pytest.approx(1.33, abs=6e-3)
    assert dict(found[3:])[100] < 1  # far above the edge the claim is loose
    assert result.summary["worst"]["tgumbel-paper"] == pytest.approx(1.33, abs=6e-3)
    assert told == sorted(told)
    assert told[-1] == 1


def test_only_refuted_claims():
    with pytest.raises(UsageError, match=r"nothing of krr.*known: trlaplace-paper"):
        study("theorems", mechanisms=[Draft(MECHANISMS["krr"])])
    with pytest.raises(UsageError, match="--words"):
        study("theorems", words=2)
