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
    [{"start_position": 3, "end_position": 8, "entity_type": "PHONE"}, {"start": 1, "end": 2}],
]


@pytest.mark.parametrize("shape", ["list", "lines", "objects", "bare", "numbered"])
def test_by_hand(tmp_path, shape):
    path = tmp_path / "spans.json"
    rows = ROWS if shape in ("lines", "bare") else [{"x": 1, "spans": row} for row in ROWS]
    if shape == "numbered":
        rows = [{"record": 2 * at, "spans": row} for at, row in enumerate(ROWS, start=1)]
    whole = shape in ("list", "bare")
    path.write_text(json.dumps(rows) if whole else "\n".join(map(json.dumps, rows)))
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
        ("[[]]", "spans of 1 records, and there are more"),
        ('[]\n[{"start":1}]\n', ":2: record 2: not a list of spans"),
        ('[]\n{"no":1}\n', ":2: record 2: not a list of spans"),
        ("[]\n[{]\n", ":2: not JSON"),
        ('[]\n[{"start":5,"end":3}]\n', ":2: record 2: not a list of spans"),
        ('[]\n[{"start":5,"end":30}]\n', ":2: record 2: a span ends behind its text"),
    ],
)
def test_mistakes_name_file_and_line(tmp_path, text, message):
    path = tmp_path / "spans.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        locate(path, pairs())
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
