"""[TeDA]: two words told apart equally well."""

import math

import numpy as np
import pytest
from support import make_embeddings
from teda import STUDIES, apart, pairs_at

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.krr import KRR
from dpsan.outcomes.calibrate import Draft
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=60, d=4))


def drafts(*names):
    return [Draft(MECHANISMS[name]) for name in names]


def test_divergence_of_krr():
    """Two words of krr differ at two outputs: (e^epsilon - e^loss)/Z, total variation at 0."""
    sampler = KRR(3.0).prepare(SPACE)
    first, second = np.arange(40), np.arange(40) + 1
    total = math.exp(3) + 59
    for loss in (0.0, 1.0):
        growth = math.exp(loss)
        wanted = math.exp(3) - growth + max(0, 58 * (1 - growth))
        assert apart(sampler, first, second, loss) == pytest.approx(wanted / total)
    assert apart(sampler, first, first).max() == 0


def test_pairs():
    ids = np.arange(60)
    others, distance = pairs_at(SPACE, ids, None)
    lengths = SPACE.distances(ids)
    assert distance == pytest.approx(np.median(np.sort(lengths, axis=1)[:, 10]))
    assert (others != ids).all()
    gaps = np.abs(lengths - distance)
    gaps[ids, ids] = np.inf
    assert (gaps[ids, others] == gaps.min(axis=1)).all()
    assert pairs_at(SPACE, ids, 2.5)[1] == 2.5


def test_both_comparisons():
    found = STUDIES["equal"].make(
        SPACE,
        mechanisms=drafts("krr", "exponential", "clusant", "santext-plus"),
        epsilons=(4.0,),
        words=30,
        parameters={"target": "0.4"},
    )
    one = [row for row in found.rows if row["equal"] == "indistinguishability"]
    other = [row for row in found.rows if row["equal"] == "certified epsilon"]
    assert [row["mechanism"] for row in one] == ["krr", "exponential", "clusant", "santext-plus"]
    for row in one:
        assert 0.39 < row["divergence"] <= 0.4
        assert row["divergence_most"] >= row["divergence"] - 1e-9
    assert math.isinf(one[3]["certified"])
    assert one[0]["certified"] == pytest.approx(one[0]["epsilon"], abs=1e-6)
    # krr: (e^epsilon - 1)/(e^epsilon + n - 1) is the total variation of every pair.
    growth = math.exp(one[0]["epsilon"])
    assert one[0]["divergence_most"] == pytest.approx((growth - 1) / (growth + 59))
    assert [row["mechanism"] for row in other] == ["krr", "exponential", "clusant"]
    for row in other:
        assert 3.98 < row["certified"] <= 4.0
    assert len({round(row["divergence"], 3) for row in other}) == 3  # equal epsilon says little
    assert any(
        "santext-plus left out at an equal certified epsilon" in note for note in found.notes
    )
    assert found.summary["divergence"] == "total variation"
    assert [panel.title for panel in found.panels] == [
        "At equal indistinguishability",
        "At equal certified epsilon",
    ]


def test_hockey_stick_and_distance():
    values = {"loss": "1", "target": "0.2", "distance": "2"}
    options = {"mechanisms": drafts("knn-response"), "words": 20, "parameters": values}
    (row, _) = STUDIES["equal"].make(SPACE, **options).rows
    plain = STUDIES["equal"].make(SPACE, **{**options, "parameters": {"target": "0.2"}}).rows[0]
    assert 0.19 < row["divergence"] <= 0.2
    assert row["epsilon"] > plain["epsilon"]


def test_wrong_use():
    for values, message in (
        ({"target": "1"}, "target must be < 1"),
        ({"target": "0"}, "target must be > 0"),
        ({"loss": "-1"}, "loss must be >= 0"),
        ({"distance": "0"}, "distance must be > 0"),
    ):
        with pytest.raises(UsageError, match=message):
            STUDIES["equal"].make(SPACE, mechanisms=drafts("krr"), words=5, parameters=values)
    with pytest.raises(UsageError, match="at least 12 words"):
        STUDIES["equal"].make(MetricSpace(make_embeddings(n=11)))
    with pytest.raises(UsageError, match="no mechanism to compare"):
        STUDIES["equal"].make(SPACE, mechanisms=drafts("laplace"), epsilons=(1e-9,), words=5)


def test_a_value_that_is_jumped_over_is_left_out():
    found = STUDIES["equal"].make(
        SPACE, mechanisms=drafts("krr", "custext"), words=30, parameters={"target": "0.1"}
    )
    assert [row["mechanism"] for row in found.rows][:1] == ["krr"]
    assert "custext" not in {row["mechanism"] for row in found.rows}
    assert any(note.startswith("custext left out at equal indist") for note in found.notes)
