import json
from types import SimpleNamespace

import numpy as np
import pytest

from dpsan.analysis.evaluate.spans import locate, recovered
from dpsan.errors import InputError
from dpsan.outcomes.intervals import Share


def pairs():
    """Two texts: "call Ann Lee now" and "to 555-1" (two words of a number)."""
    return SimpleNamespace(
        original=["call Ann Lee now", "to 555-1"],
        lines=[2, 4],
        text=np.array([0, 0, 0, 0, 1, 1, 1]),
        spans=np.array([[0, 4], [5, 8], [9, 12], [13, 16], [0, 2], [3, 6], [7, 8]]),
    )


def recovery(fully, partly, none):
    total = fully + partly + none
    return {
        "fully": Share(fully, total),
        "partly": Share(partly, total),
        "none": Share(none, total),
    }


ROWS = [
    [{"start": 5, "end": 12, "type": "NAME"}, {"start": 4, "end": 5}],
    [{"start": 3, "end": 8, "type": "PHONE"}, {"start": 1, "end": 2}],
]


@pytest.mark.parametrize("numbers", [[{}, {}], [{"record": 2}, {"record": 4}]])
def test_by_hand(tmp_path, numbers):
    path = tmp_path / "spans.jsonl"
    rows = [number | {"spans": row} for number, row in zip(numbers, ROWS, strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)))
    table = locate(path, pairs())
    assert table.left_out == 1  # the span that is only a blank
    right = np.array([True, True, False, True, True, True, True])
    found = recovered(table, right)
    assert found == {
        "all": recovery(2, 1, 0),
        "NAME": recovery(0, 1, 0),
        "PHONE": recovery(1, 0, 0),
    }
    none = recovered(table, np.zeros(7, dtype=bool))
    assert none["all"] == recovery(0, 0, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"spans":[]}', "spans of 1 records, and there are more"),
        ('{"spans":[]}\n{"no":1}\n', ":2: not an object with a list of spans"),
        ('{"spans":[]}\n{"spans":[{"start":5,"end":30}]}\n', ":2: record 2: a span ends after"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path, text, message):
    path = tmp_path / "spans.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        locate(path, pairs())
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
