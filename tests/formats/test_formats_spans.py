"""``--spans``: every layout is read, and whatever is not drawn comes out byte for byte."""

import csv
import io
import json
import re
import string
import tempfile
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import marker, through

from dpsan.errors import InputError
from dpsan.formats.spans import Span, SpanFile
from dpsan.text.tokens import TOKENIZERS, Kind

TEXT = "Ann Lee met Bo.\n\nCall 555-0199, Bo\n"
DRAWN = b"<unk> <unk> met Bo.\n\nCall <unk>, Bo\n"
ONE = [{"start": 0, "end": 7, "type": "NAME"}]
THREE = [{"start_position": 6, "end_position": 9, "entity_type": "PHONE"}]
RESULTS = [{"entity_type": "NAME", "start": 0, "end": 7, "score": 0.85, "more": None}]
FLAT = [{"record": 1, **ONE[0]}, {"line": 3, "start": 6, "end": 9, "text": "555"}]
DOCS = [
    {"text": "Ann Lee met Bo.", "ents": [{"start": 0, "end": 7, "label": "NAME"}], "tokens": []},
    {"text": "", "ents": [], "tokens": []},
    {"text": "Call 555-0199, Bo", "spans": {"sc": [{"start": 5, "end": 8, "label": "N"}]}},
]
PRETTY = json.dumps([RESULTS, [], THREE], indent=2)


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values)


LAYOUTS = {
    "Presidio, a list of records": json.dumps([RESULTS, [], THREE]),
    "Presidio, pretty-printed": PRETTY,
    "Presidio, a line for each record": lines(RESULTS, [], THREE),
    "behind a byte order mark": "\ufeff" + lines(RESULTS, [], THREE),
    "objects": lines({"spans": ONE}, {"spans": []}, {"full_text": TEXT[17:-1], "spans": THREE}),
    "numbered": lines({"record": 1, "spans": ONE}, {"line": 3, "spans": THREE}),
    "numbered, in one list": json.dumps([{"line": 1, "spans": ONE}, {"line": 3, "spans": THREE}]),
    "numbered spans": lines(*FLAT),
    "numbered spans in one list": json.dumps(FLAT),
    "spaCy": lines(*DOCS),
    "spaCy, a list": json.dumps(DOCS, indent=1),
    "tabs": "1\t0\t7\n3\t6\t9\n",
    "tabs and types": "1\t4\t7\tNAME\n1\t0\t3\tNAME\n3\t6\t7\tPHONE\n\n",
    "tabs under names": "type\tEnd\tstart\tline\textra\nNAME\t7\t0\t1\t\nPHONE\t7\t6\t3\t\r\n",
    "overlapping, in any order": "1\t4\t7\n1\t1\t6\n1\t0\t2\n3\t5\t13\n3\t5\t13\n",
    "parts of tokens": "1\t2\t5\n3\t9\t10\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(tmp_path, layout):
    path = tmp_path / "spans"
    path.write_text(LAYOUTS[layout])
    out, outcome = through(marker(), TEXT.encode(), "text", spans=path, size=7)
    assert out == DRAWN
    assert (outcome.totals.records, outcome.totals.unmarked) == (3, 1)


def test_types_are_read(tmp_path):
    path = tmp_path / "spans"
    for layout in ("objects", "tabs and types", "tabs under names", "spaCy"):
        path.write_text(LAYOUTS[layout])
        assert SpanFile(path).of(1, "Ann Lee met Bo.")[0].kind == "NAME"
    path.write_text(lines([{"start": 0, "end": 1, "type": None}]))
    assert SpanFile(path).of(1, "x") == [Span(0, 1)]


def test_one_record_may_be_the_whole_file(tmp_path):
    path = tmp_path / "spans"
    for text, out in (
        (json.dumps(RESULTS), b"<unk> <unk> met"),
        (json.dumps(DOCS[0] | {"text": "Ann Lee met"}, indent=1), b"<unk> <unk> met"),
        ("[]", b"Ann Lee met"),
        ("record\tstart\tend\n", b"Ann Lee met"),
    ):
        path.write_text(text)
        assert through(marker(), b"Ann Lee met", "text", spans=path)[0] == out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": empty (JSON, or lines such as"),
        ("a\tb\n", ":1: not spans (JSON, or lines such as"),
        ("\nsecret secret\n", ":2: not spans"),
        ("[{secret\n", ":1: not JSON"),
        ("[\n[],\n\n[secret]]\n", ":4: not JSON"),
        ("[]\n\n{secret\n", ":3: not JSON"),
        ('{"secret": 1}\n', ": record 1: not a list of spans"),
        ('[]\n{"record": "secret", "spans": []}\n', ":2: record 2: not a list of spans"),
        ('{"record": true, "spans": []}\n[]', ":1: record 1: not a list of spans"),
        ('[]\n{"ents": ["secret"]}\n', ":2: record 2: not a list of spans"),
        ('[]\n[{"start": "0", "end": 1}]\n', ":2: record 2: not a list of spans"),
        ('[[{"start": 1, "end": 1}], [], []]', ": record 1: not a list of spans"),
        ('[[{"start": -1, "end": 1}], [], []]', ": record 1: not a list of spans"),
        ("1\t0\n", ":1: record 1: not a span"),
        ("1\t0\t3\n3\tsecret\t3\n", ":2: record 3: not a span"),
        ("1\t0\t3\nsecret\t0\t3\n", ":2: not a record, start and end between tabs"),
        ("1\t3\t3\n", ":1: record 1: not a span"),
        ("1\t0\t16\n", ":1: record 1: a span ends behind its text"),
        ("1\t0\t3\n2\t0\t1\n", ":2: record 2: a span ends behind its text"),
        ("1\t0\t" + "9" * 20 + "\n", ":1: not a record, start and end between tabs"),
        ("3\t0\t3\n1\t0\t3\n", ":2: record 1 behind record 3"),
        ("4\t0\t3\n", ":1: record 4: the input has no such text"),
        ("0\t0\t3\n", ":1: not a record, start and end between tabs"),
        ("1\t0\t3\n3\t0\t3\n9\t0\t3\n9\t0\t3\n", ":3: record 9: the input has no such text"),
        (lines([], []), ": spans of 2 records, and there are more (a value for each record"),
        (lines([], [], [], ONE, []), ":4: spans of 5 records, but there are 3 texts"),
        (lines({"record": 1, "spans": []}, []), ":2: a value with a record's number and one with"),
        (lines(*DOCS[1:]), ":1: record 1: spans of another text (are records missing?)"),
        (lines(DOCS[0], DOCS[2]), ":2: record 2: spans of another text"),
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 18])
def test_mistakes_name_file_and_line(tmp_path, text, message, size):
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
    for text in ("5\t0\t2\n", lines([], [{"start": 0, "end": 2}])):
        path.write_text(text)
        out, outcome = through(marker(), JSONL, "jsonl", spans=path, fields=("t",))
        assert out == JSONL.replace(b"Bo", b"<unk>")
        assert (outcome.totals.records, outcome.totals.unmarked) == (5, 1)
    path.write_text("4\t0\t2\n")
    with pytest.raises(InputError, match=":1: record 4: the input has no such text"):
        through(marker(), JSONL, "jsonl", spans=path, fields=("t",))


def test_a_row_of_a_table_is_its_first_line(tmp_path):
    path = tmp_path / "spans"
    path.write_text("2\t2\t3\n4\t0\t1\n")
    out, _ = through(marker(), b'a,b\n1,"x\ny"\n2,z\n3,w\n', "csv", spans=path, fields=("b",))
    assert out == b'a,b\n1,"x\n<unk>"\n2,<unk>\n3,w\n'


def test_several_texts_cannot_be_told_apart(tmp_path):
    path = tmp_path / "spans"
    path.write_text("1\t0\t1\n")
    with pytest.raises(InputError, match="the record in line 1 has several texts"):
        through(marker(), b'{"t":["a","b"]}\n', "jsonl", spans=path, fields=("t[]",))
    with pytest.raises(InputError, match="record 1: two texts of the input have that number"):
        through(marker(), b'[{"t":"a"},{"t":"b"}]', "json", spans=path, fields=("t",))
    path.write_text(json.dumps([[], [{"start": 0, "end": 1}]]))
    out, _ = through(marker(), b'[{"t":"a"},{"t":"b"}]', "json", spans=path, fields=("t",))
    assert out == b'[{"t":"a"},{"t":"<unk>"}]'


def test_all_before_a_mistake_is_written(tmp_path):
    """A stream has what was sure; a file is not placed (run/test_span_runs.py)."""
    from identity import Collected

    path, sink = tmp_path / "spans", Collected()
    path.write_text("1\t0\t3\n2\t5\t6\n")
    with pytest.raises(InputError):
        through(marker(), TEXT.encode(), "text", spans=path, sink=sink)
    assert sink.data == b"<unk> Lee met Bo.\n"


# --- properties -------------------------------------------------------------------------------

LETTERS = string.ascii_letters + string.digits + " '-.,@:/\"\\\t  éÉ\u0301\u200b\u00ad😀漢字’Ss"
TEXTS = st.text(
    st.one_of(
        st.sampled_from(LETTERS), st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    ),
    max_size=40,
)
POINTS = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=3)
RECORDS = st.lists(st.tuples(TEXTS, POINTS), max_size=6)


def spans_of(text, points):
    return [(at % len(text), min(len(text), at % len(text) + size)) for at, size in points if text]


def covered(text, spans):
    """Which characters are in a span, or in a token that a span touches: one after the other."""
    inside = [any(start <= at < end for start, end in spans) for at in range(len(text))]
    at = 0
    for token in TOKENIZERS["unicode"].tokens(text):
        end = at + len(token.text)
        if token.kind in (Kind.WORD, Kind.NUMBER) and any(inside[at:end]):
            inside[at:end] = [True] * (end - at)
        at = end
    return inside


def pattern(text, spans, write=str):
    """All characters outside as they are; of the others, only what is no part of a word."""
    inside = covered(text, spans)
    kinds = {each: TOKENIZERS["unicode"].tokens(each)[0].kind for each in text}
    passing = {each for each, kind in kinds.items() if kind in (Kind.SPACE, Kind.PUNCTUATION)}
    drawn = "|".join(re.escape(write(each)) for each in ["<unk>", "'s", "’s", " ", *passing])
    return "".join(
        f"(?:{drawn})*" if within else re.escape(write("".join(text[at] for at in places)))
        for within, places in (
            (within, list(places))
            for within, places in groupby(range(len(text)), inside.__getitem__)
        )
    )


def check(kind, data, rows, found, **options):
    """Words become masks, and the output is what the pattern says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spans"
        values = [[{"start": a, "end": b} for a, b in each] for each in found]
        path.write_text(lines(*values) or "record\tstart\tend\n")
        out, outcome = through(marker(), data.encode(), kind, spans=path, size=19, **options)
    assert re.fullmatch(rows, out.decode(), re.DOTALL), (out, rows)
    assert outcome.totals.unmarked == sum(not each for each in found)
    return outcome


SETTINGS = settings(max_examples=50, deadline=None)


@SETTINGS
@given(RECORDS)
def test_text_outside_spans_is_byte_equal(records):
    rows = [("first", []), *((text.replace("\n", " "), points) for text, points in records)]
    found = [spans_of(*row) for row in rows]
    data = "".join(f"{text}\n" for text, _ in rows)
    patterns = [pattern(text, each) for (text, _), each in zip(rows, found, strict=True)]
    check("text", data, "\n".join([*patterns, ""]), found)


@SETTINGS
@given(RECORDS, st.booleans())
def test_jsonl_outside_spans_is_byte_equal(records, plain):
    """The text itself has no needless escapes: they would tell of its words."""

    def write(text):
        return json.dumps(text, ensure_ascii=False)[1:-1]

    found = [spans_of(*row) for row in records]
    frame = '{{"a": 1.10, "t" :"{}" , "b":["\\u0041"]}}\n'
    texts = [json.dumps(text, ensure_ascii=plain)[1:-1] for text, _ in records]
    data = "".join(
        frame.format(raw if text.strip() else write(text))
        for raw, (text, _) in zip(texts, records, strict=True)
    )
    each = (pattern(text, own, write) for (text, _), own in zip(records, found, strict=True))
    before, behind = map(re.escape, frame.format("\0").split("\0"))
    check("jsonl", data, "".join(f"{before}{one}{behind}" for one in each), found, fields=("t",))


@SETTINGS
@given(RECORDS)
def test_csv_outside_spans_is_byte_equal(records):
    out = io.StringIO()
    table = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writerows([("a", "t", "b"), *(("1,2", text, 'Maria "x"') for text, _ in records)])
    found = [spans_of(*row) for row in records]
    rows = (
        pattern(text, own, lambda part: part.replace('"', '""'))
        for (text, _), own in zip(records, found, strict=True)
    )
    wanted = "".join(f'"1,2","{one}","Maria ""x"""\n' for one in rows)
    check("csv", out.getvalue(), f'"a","t","b"\n{wanted}', found, fields=("t",))


PARTS = (
    *(b"[", b"]", b"{", b"}", b",", b"\n", b"\t", b"1", b"2", b"0", b"-1", b"99999999999999999999"),
    *(b'{"record":', b'{"line":', b'{"text":"a","ents":', b',"spans":', b'{"spans":', b'{"sc":'),
    *(b'{"start":0,"end":1}', b'"start":', b'"end":', b'"secret"', b"secret", b"null", b"1e999"),
    *(b"1\t0\t1\n", b"record\tstart\tend\n", b"[]\n", b"\xff", b"\xef\xbb\xbf", b"\0", b"\xb2"),
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
