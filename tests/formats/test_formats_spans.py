"""``--spans``: every layout is read, and whatever is not drawn comes out byte for byte."""

import json
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import Collected, marker, through
from support import cases, tables

from dpsan.errors import InputError
from dpsan.formats.base import Record
from dpsan.formats.span_file import Span, SpanFile, with_spans

TEXT = "Ann Lee met Bo.\n\nCall 555-0199, Bo\n"
DRAWN = b"<unk> <unk> met Bo.\n\nCall <unk>, Bo\n"


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values)


def row(*spans, **more):
    return {"spans": [{"start": start, "end": end} for start, end in spans], **more}


CASES = tables("formats/cases")


@cases("layout text", *CASES["layouts"])
def test_layouts(tmp_path, layout, text):
    path = tmp_path / "spans"
    path.write_text(text)
    out, outcome = through(marker(), TEXT.encode(), "text", spans=path, size=7)
    assert out == DRAWN
    assert (outcome.totals.records, outcome.totals.unmarked) == (3, 1)


def test_types_are_read(tmp_path):
    path = tmp_path / "spans"
    for kind, expected in (({"type": "NAME"}, "NAME"), ({"type": None}, ""), ({}, "")):
        path.write_text(lines({"spans": [{"start": 0, "end": 1, **kind}]}))
        assert SpanFile(path).of(1, "x") == [Span(0, 1, expected)]


def test_a_subject_is_for_evaluate_and_changes_no_record(tmp_path):
    path = tmp_path / "spans"
    span = {"start": 0, "end": 3, "type": "name"}
    for subject in ({}, {"subject": "Ann"}):
        path.write_text(lines({"spans": [span | subject]}))
        for types, wanted in ((None, [(0, 3)]), ({"name"}, [(0, 3, "name")])):
            record = Record(1, ["Ann met Bo."], lambda texts: texts[0].encode())
            assert [each.spans for each in with_spans(iter([record]), path, types)] == [wanted]
        assert SpanFile(path).of(1, "Ann met Bo.")[0].subject == subject.get("subject", "")


NONE = ': spans of 0 records, and there are more (a line for each record, {"spans": []}'


@cases("message text", (NONE, ""), *CASES["mistakes"])
@pytest.mark.parametrize("size", [1, 1 << 18])
def test_mistakes_name_file_and_line(tmp_path, message, text, size):
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        through(marker(), TEXT.encode(), "text", spans=path, size=size)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "secret" not in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        through(marker(), b"a\n", "text", spans=tmp_path / "none")
    with pytest.raises(InputError, match="directory"):
        through(marker(), b"a\n", "text", spans=tmp_path)


JSONL = b'{"t":"Ann"}\n\n{"u":1}\n{"t":null}\n{"t":"Bo"}\n'


def test_records_are_those_with_a_text(tmp_path):
    """A number is the line, as in the audit; without numbers, what has no text has no value."""
    path = tmp_path / "spans"
    for text in (lines(row((0, 2), record=5)), lines(row(), row((0, 2)))):
        path.write_text(text)
        out, outcome = through(marker(), JSONL, "jsonl", spans=path, fields=("t",))
        assert out == JSONL.replace(b"Bo", b"<unk>")
        assert (outcome.totals.records, outcome.totals.unmarked) == (5, 1)
    path.write_text(lines(row((0, 2), record=4)))
    with pytest.raises(InputError, match=":1: record 4: the input has no such text"):
        through(marker(), JSONL, "jsonl", spans=path, fields=("t",))


def test_a_row_of_a_table_is_its_first_line(tmp_path):
    path = tmp_path / "spans"
    path.write_text(lines(row((2, 3), record=2), row((0, 1), record=4)))
    out, _ = through(marker(), b'a,b\n1,"x\ny"\n2,z\n3,w\n', "csv", spans=path, fields=("b",))
    assert out == b'a,b\n1,"x\n<unk>"\n2,<unk>\n3,w\n'


def test_several_texts_cannot_be_told_apart(tmp_path):
    path = tmp_path / "spans"
    path.write_text(lines(row((0, 1), record=1)))
    with pytest.raises(InputError, match="the record in line 1 has several texts"):
        through(marker(), b'{"t":["a","b"]}\n', "jsonl", spans=path, fields=("t[]",))
    with pytest.raises(InputError, match="record 1: two texts of the input have that number"):
        through(marker(), b'[{"t":"a"},{"t":"b"}]', "json", spans=path, fields=("t",))
    path.write_text(lines(row(), row((0, 1))))
    out, _ = through(marker(), b'[{"t":"a"},{"t":"b"}]', "json", spans=path, fields=("t",))
    assert out == b'[{"t":"a"},{"t":"<unk>"}]'


def test_all_before_a_mistake_is_written(tmp_path):
    """A stream has what was sure; a file is not placed (run/test_span_runs.py)."""
    path, sink = tmp_path / "spans", Collected()
    path.write_text(lines(row((0, 3)), row((5, 6))))
    with pytest.raises(InputError):
        through(marker(), TEXT.encode(), "text", spans=path, sink=sink)
    assert sink.data == b"<unk> Lee met Bo.\n"


# --- properties -------------------------------------------------------------------------------

TOKENS = st.sampled_from(["Ann", "x@y.org", "555-0199", "\u6f22\u5b57", "caf\u00e9", "e\u0301"])
GAPS = st.sampled_from([" ", ", ", "\t", " \u2014 ", ' "', "/ ("])
PIECES = st.tuples(GAPS, TOKENS, st.sampled_from(["outside", "whole", "a part"]))


@settings(max_examples=50)
@given(st.lists(st.lists(PIECES, max_size=5), min_size=1, max_size=6))
def test_text_outside_spans_is_byte_equal(records):
    data, wanted, found = "", "", []
    for pieces in records:
        text, spans = "-", []
        wanted += text
        for gap, token, how in pieces:
            text += gap
            if how != "outside":
                spans.append((len(text), len(text) + (len(token) if how == "whole" else 1)))
            text += token
            wanted += gap + (token if how == "outside" else "<unk>")
        found.append(spans)
        data, wanted = f"{data}{text}\n", f"{wanted}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spans"
        path.write_text(lines(*(row(*each) for each in found)))
        out, outcome = through(marker(), data.encode(), "text", spans=path, size=19)
    assert out.decode() == wanted
    assert outcome.totals.unmarked == sum(not each for each in found)


PARTS = (
    *(b"[", b"]", b"{", b"}", b",", b"\n", b"1", b"2", b"0", b"-1", b"99999999999999999999", b"[]"),
    *(b'{"record":', b'{"text":"a","spans":', b',"spans":', b'{"spans":[', b'{"spans":[]}\n'),
    *(b'{"start":0,"end":1}', b'"start":', b'"end":', b'"secret"', b"secret", b"null", b"1e999"),
    *(b"\xff", b"\xef\xbb\xbf", b"\0", b"\xb2"),
)
FILES = st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(PARTS)).map(b"".join))


@settings(max_examples=100, deadline=None)
@given(FILES)
def test_any_bytes_are_spans_or_one_message(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        path.write_bytes(data)
        message = None
        try:
            out, outcome = through(marker(), b"a\nb c\n", "text", spans=path)
        except InputError as error:
            message = str(error)
    if message is None:
        assert outcome.totals.records == 2
        assert re.fullmatch(rb"(a|<unk>)\n(b|<unk>) (c|<unk>)\n", out)
    else:
        assert message.startswith(f"{path}:")
        assert "secret" not in message
        assert "\n" not in message
