"""Long cells and strings stay in their records' bytes: the same output as if they were short."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity import identity, marker, through, through_file

from dpsan.errors import InputError
from dpsan.formats import csv, json_strings
from dpsan.formats import text as text_format
from dpsan.sanitize import rewriting
from dpsan.text import long_text
from dpsan.text.long_text import LongText

SAME, MASK = identity(), marker()
KINDS = {
    "csv": {"fields": ("1",), "header": False, "force_text": True},
    "jsonl": {"fields": ("text",)},
    "text": {},
}
WORDS = st.sampled_from(
    ["word", '"', '""', "\\", "/", "é", "\U0001f600", ", ", " ", "\n", "\r\n", "\ud800", "\u200b"]
)
TEXTS = st.lists(WORDS, max_size=40).map("".join)


def cut_small(patch, long=8, stretch=5):
    """Texts are long from a few characters on."""
    for module in (text_format, json_strings, rewriting):
        patch.setattr(module, "LONG", long)
    patch.setattr(long_text, "_STRETCH", stretch)
    patch.setattr(long_text, "_AHEAD", 2)


@st.composite
def records(draw):
    """A container, two records of it, and whether bytes are damaged."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    out = []
    for text in (draw(TEXTS), draw(TEXTS)):
        if kind == "jsonl":
            plain = draw(st.booleans()) and "\ud800" not in text
            line = json.dumps({"text": text, "n": 1}, ensure_ascii=not plain)
            line = line.replace("/", r"\/") if draw(st.booleans()) else line
        elif kind == "csv" and draw(st.booleans()):
            line = '"' + text.replace('"', '""') + '",x'
        elif kind == "csv":
            line = re.sub('^"|[,\r\n]', "", text) + ",x"
        else:
            line = text.replace("\n", "")
        line = line.replace("\ud800", "")
        data = line.encode()
        at = draw(st.integers(0, len(data)))
        if kind != "jsonl" and draw(st.booleans()) and draw(st.booleans()):
            data = data[:at] + b"\xff" + data[at:]
        out.append(data)
    return kind, b"\n".join(out) + draw(st.sampled_from([b"", b"\n"]))


@pytest.mark.parametrize("sanitizer", [SAME, MASK])
@given(made=records(), long=st.integers(1, 12), stretch=st.integers(1, 9))
def test_long_texts_come_out_as_short_ones(sanitizer, made, long, stretch):
    kind, data = made
    expected = outcome_of(sanitizer, data, kind)
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch, long, stretch)
        assert outcome_of(sanitizer, data, kind, size=7) == expected


def outcome_of(sanitizer, data, kind, **options):
    """Output, invalid sequences and records, or the message."""
    try:
        out, outcome = through(sanitizer, data, kind, **options, **KINDS[kind])
    except InputError as error:
        return str(error)
    return out, outcome.totals.invalid, outcome.totals.records


@given(text=TEXTS, stretch=st.integers(1, 30), ascii_=st.booleans())
def test_a_json_string_in_pieces_has_the_same_value(text, stretch, ascii_):
    """No escape, and no pair of them, is cut in two."""
    raw = json.dumps(text, ensure_ascii=ascii_).encode("utf-8", "replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_text, "_STRETCH", stretch)
        view = LongText(raw, 1, len(raw) - 1, json_strings.JSON_STYLE)
        assert str(view) == json.loads(raw)
        assert view == LongText(raw, 1, len(raw) - 1, json_strings.JSON_STYLE)
        assert (view == LongText(raw)) == (raw == b"")


def test_long_texts_stay_in_their_records(monkeypatch):
    """Else the test above would compare a thing with itself."""
    cut_small(monkeypatch)
    made = []
    monkeypatch.setattr(
        rewriting, "stretches", lambda *a: made.append(a[0]) or long_text.stretches(*a)
    )
    through(MASK, b'"some ""words"" and more",x\n', "csv", **KINDS["csv"])
    through(MASK, b'{"text":"some \\"words\\" and more"}\n', "jsonl", **KINDS["jsonl"])
    through(MASK, b"some words and more\n", "text")
    assert [type(each) for each in made] == [LongText] * 3
    assert [type(each._style) for each in made[:2]] == [
        type(csv._QUOTES),
        type(json_strings.JSON_STYLE),
    ]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_long_cells_and_strings_are_those_of_short_ones(tmp_path, dpsan, jobs):
    """Over 1 MB, on the command line and through workers."""
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    base = ["rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-j", jobs, "-k", "t"]
    base += ["--case", "vocabulary"]
    cell = 'here "there", HERE \u2014/\n' * 60_000
    row = 't,x\n"' + cell.replace('"', '""') + '",HERE\nhere,b\n'
    done = dpsan(*base, "--format", "csv", cwd=tmp_path, stdin=row.encode())
    assert (done.returncode, done.stderr) == (0, b"dpsan: 1 of 2 columns passes unchanged: x\n")
    assert done.stdout.decode() == row.replace("HERE \u2014", "here \u2014")
    line = json.dumps({"a": "HERE", "t": cell, "b": [1]}, ensure_ascii=False) + "\n"
    done = dpsan(*base, "--format", "jsonl", cwd=tmp_path, stdin=line.encode())
    assert done.stderr == b"dpsan: 2 of 3 fields pass unchanged: a, b[]\n"
    assert done.stdout.decode() == line.replace(", HERE ", ", here ")


def test_long_cells_of_parquet(tmp_path, monkeypatch):
    """Beside short ones and nulls, in lists and dictionaries."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    cells = ["word", "é and many words, \U0001f600", None, "", "some more words of it"]
    table = pa.table(
        {
            "t": cells,
            "l": pa.array([cells, [], None, cells[:1], cells[1:2]]),
            "d": pa.array(cells, pa.large_string()).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    fields = {"fields": ("t", "l[]", "d")}
    for sanitizer in (SAME, MASK):
        expected = through_file(sanitizer, tmp_path / "t.parquet", **fields)[0]
        with monkeypatch.context() as patch:
            cut_small(patch)
            assert through_file(sanitizer, tmp_path / "t.parquet", **fields)[0] == expected
