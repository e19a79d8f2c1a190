"""Weighted F1 and ROUGE recall: by hand, and in what is shown."""

import pytest
from support import need_extra

from dpsan.analysis.evaluate.accuracy import Labelled, judge

GOOD, BAD = "good fine lovely", "bad poor awful"


def test_weighted_f1_by_hand():
    """Of 6 test texts 4 are up and 2 down; one up text reads as down.

    F1 of up: precision 1, recall 3/4: 6/7.  F1 of down: precision 2/3, recall 1: 4/5.
    """
    need_extra("evaluate")
    train = Labelled([GOOD, BAD] * 10, [GOOD, BAD] * 10, ["up", "down"] * 10)
    texts = [GOOD, GOOD, GOOD, BAD, BAD, BAD]
    found = judge(train, Labelled(texts, texts, ["up"] * 4 + ["down"] * 2))
    assert found.pairs["clean", "clean"].value == pytest.approx(5 / 6)
    by_hand = (4 * 6 / 7 + 2 * 4 / 5) / 6
    assert found.f1["clean", "clean"] == pytest.approx(by_hand)
    plain_mean = (6 / 7 + 4 / 5) / 2
    assert abs(by_hand - plain_mean) > 0.009  # another average would be seen
    assert found.as_json()["clean_clean"]["weighted_f1"] == found.f1["clean", "clean"]
