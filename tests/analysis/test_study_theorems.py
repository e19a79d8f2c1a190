"""``theorems``: golden numbers of docs/proofs.md 3."""

import math

import numpy as np
import pytest

from dpsan.analysis.study import study
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.keep_or_noise import LAPLACE, atoms, keep_probability
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
    assert result.summary["worst"] == {"trlaplace-paper": pytest.approx(0.98724, abs=1e-5)}
    (panel,) = result.panels
    # Lines end where dummy dimensions begin, epsilon = sqrt(d)/2; beyond there are points.
    lines = {each.label: each for each in panel.series if each.style == "line"}
    assert max(lines["d = 100"].x) <= 5 < max(lines["d = 300"].x) < math.sqrt(300) / 2
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
    assert (
        "range=10: true delta of the worst pair of inputs in d coordinates of range 10"
        in other.caption
    )


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
    assert dict(found[3:6])[100] < 1  # far above the edge the claim is loose
    assert result.summary["worst"]["tgumbel-paper"] == pytest.approx(1.33, abs=6e-3)
    assert told == sorted(told)
    assert told[-1] == 1


def test_the_scale_of_the_paper():
    """Delta = 256 and I = 784: nothing is kept, and the 784 noises make the claim as false."""
    result = study("theorems", mechanisms=[Draft(MECHANISMS["tldp-paper-l"])], epsilons=(0.1,))
    found = {(row["d"], row["range"]): row["true"] for row in result.rows}
    assert found[300, 1.0] == pytest.approx(0.586, abs=5e-4)
    assert found[784, 256.0] == pytest.approx(0.8231, abs=1e-3)
    kept = keep_probability(LAPLACE, 0.1, 256.0, 784)
    assert math.log(kept) == pytest.approx(0.1 * -783 - math.log(2 * 2560), abs=1e-6)
    assert atoms(kept, 784) < 1e-30


def test_the_weighted_claim():
    """Theorem 3: the lightest word counts, so that weights change nothing at the worst pair."""
    plain, weighted = (Draft(MECHANISMS[f"tldp-paper-l{end}"]) for end in ("", "-weighted"))
    rows = study("theorems", mechanisms=[plain, weighted], epsilons=(0.05,)).rows
    half = len(rows) // 2
    assert [row["true"] for row in rows[:half]] == [row["true"] for row in rows[half:]]
    assert {row["mechanism"] for row in rows[half:]} == {"tldp-paper-l-weighted"}


def test_appendix_c():
    """N_w of many words at equal distances is below the 36.7 % that are claimed."""
    result = study("theorems", mechanisms=[Draft(MECHANISMS["tgumbel-paper"])], words=20)
    found = [row for row in result.rows if row["quantity"].startswith("N_w")]
    assert {row["n"] for row in found} == {1000, 10_000, 100_000}
    assert {row["claimed"] for row in found} == {0.367}
    for row in found:
        assert row["n"] < 100_000 or row["true"] < row["claimed"]
    assert min(row["true"] for row in found if row["n"] == 100_000) < 0.345


def test_appendix_c_on_a_vocabulary(space):
    """The figure is that of the exact distribution, to the 2/n that it says."""
    draft = Draft(MECHANISMS["tgumbel-paper"])
    result = study("theorems", space, mechanisms=[draft], words=20)
    rows = [row for row in result.rows if row["quantity"].startswith("N_w")]
    for row in rows:
        law = draft.at(row["epsilon"]).prepare(space).probabilities(np.arange(space.n))
        exact = float(np.diag(law).mean())
        assert exact - 1e-6 <= row["true"] <= exact + 2 / space.n
        assert abs(1.3 * exact - row["true"]) > 2 / space.n


def test_only_refuted_claims():
    with pytest.raises(UsageError, match=r"nothing of krr.*known: trlaplace-paper"):
        study("theorems", mechanisms=[Draft(MECHANISMS["krr"])])
    with pytest.raises(UsageError, match="--words"):
        study("theorems", words=2)
