# mypy: disable-error-code="attr-defined"
import codecs
import csv
import gzip
import html
import io
import json
import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from identity import Collected, identity, lettered, marker, through, through_file
from support import cases, tables

from dpsan.errors import InputError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.formats.kinds import REFUSED
from dpsan.formats.paths import parse_field
from dpsan.sanitize.statement import Statement
from dpsan.text.tokens import TOKENIZERS

SAME, MASK = identity(), marker()


@given(data=st.binary(), size=st.integers(1, 9), batch=st.integers(1, 3))
@example(data=b"\xef\xbb\xbf", size=1, batch=1)
@example(data=b"\xef\xbb\xbfa", size=1, batch=1)
@example(data=b"\n\r\n\r", size=1, batch=1)
def test_any_bytes(data, size, batch):
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    out, outcome = through(SAME, data, "text", size=size, batch=batch, force_text=True)
    assert out.count(b"\n") == data.count(b"\n")
    body = data.removeprefix(codecs.BOM_UTF8)
    assert outcome.totals.records == body.count(b"\n") + bool(body and not body.endswith(b"\n"))
    assert out == data.decode("utf-8", "replace").encode()
    lines, kept = data.split(b"\n"), out.split(b"\n")
    assert [each.endswith(b"\r") for each in lines] == [each.endswith(b"\r") for each in kept]
    assert [not each for each in lines] == [not each for each in kept]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_lines_that_do_not_end_with_one_byte_are_refused(encoding):
    with pytest.raises(UsageError, match=rf"^encoding '{encoding}' is not supported \(convert"):
        through(SAME, "one\n".encode(encoding), "text", encoding=encoding)
    with pytest.raises(InputError, match=r"^test:1: looks like UTF-16 \(iconv -f UTF-16 -t UTF-8"):
        through(SAME, "one\n".encode("utf-16"), "text")
    with pytest.raises(InputError, match=r"^test:1: looks like UTF-32 \(iconv -f UTF-32 -t UTF-8"):
        through(SAME, "one\n".encode("utf-32"), "text")


def test_bytes_of_another_alphabet_are_refused_and_some_odd_bytes_are_not():
    strange = ("\u0438" * 20 + "\n").encode("cp1251")
    told = r"^test:1: most of this line is not utf-8 \(--encoding cp1251"
    with pytest.raises(InputError, match=told):
        through(SAME, strange, "text")
    assert through(SAME, strange, "text", force_text=True)[1].totals.invalid == 20
    assert through(SAME, b"ein " * 20 + b"\xfc" * 17 + b"\n", "text")[1].totals.invalid == 17
    assert through(SAME, b"\xfc" * 16 + b"\n", "text")[1].totals.invalid == 16


def test_limits(monkeypatch):
    monkeypatch.setattr(ReadOptions, "max_record", 4)
    with pytest.raises(InputError, match=r"^test:2: record longer than 4 bytes \(split it\)"):
        through(SAME, b"abc\nabcde\n", "text")


def test_invalid_bytes():
    with pytest.raises(InputError, match=r"^test:2: invalid utf-8 at byte 2"):
        through(SAME, b"a\nb\xff\n", "text", invalid="error")
    out, outcome = through(SAME, b"a\xff \xef\xbf\xbd\n", "text")
    assert out == "a\ufffd \ufffd\n".encode()
    assert outcome.totals.invalid == 1
    with pytest.raises(InputError, match="looks like UTF-16"):
        through(SAME, "a".encode("utf-16"), "text")
    for bad in ("rot13", "nope", "cp500", "undefined"):
        with pytest.raises(UsageError, match="encoding"):
            through(SAME, b"a\n", "text", encoding=bad)
    with pytest.raises(InputError, match="text has no fields"):
        through(SAME, b"a\n", "text", fields=("a",))


FIELD, NUMBER = {"fields": ("t",)}, {"fields": ("1",), "header": False}
LINES = "\ufeffa \u200b,\ufeff\x1b b\r\n\ufeffc\n"
ROW = '{"t":"%s","o":"\u200b"}\n'


@cases(
    "kind data expected dropped options",
    ("text", LINES, "\ufeff<unk> , <unk>\r\n<unk>\n", 4, {}),
    ("text", "a\n \u3164\x07\0", "<unk>\n ", 3, {"force_text": True}),
    ("csv", "\ufefft,o\na \u202e,\u200b\n", "\ufefft,o\n<unk> ,\u200b\n", 1, FIELD),
    ("csv", "\u200b\n", '""\n', 1, NUMBER),
    ("jsonl", ROW % "a \\u200b.\u2066", ROW % "<unk> .", 2, FIELD),
)
def test_what_is_invisible_is_dropped_and_counted(kind, data, expected, dropped, options):
    """Issue 13; a mark at the very start stays, fields that are not chosen too."""
    out, outcome = through(MASK, data.encode(), kind, **options)
    assert out.decode() == expected
    assert outcome.totals.invisible == dropped
    plural = "s" * (dropped > 1)
    said = Statement(outcome.totals, MASK.mechanism.name, 0.0).lines()
    assert f"{dropped} invisible character{plural} between words dropped" in said


# What is not text is refused by name; -f text reads it all the same.  Issue 13.


@given(data=st.binary(max_size=80), size=st.integers(1, 9), kind=st.sampled_from(["text", "csv"]))
def test_no_nul_comes_through(data, size, kind):
    """Also where blocks are cut; with force_text the same bytes are read."""
    options = {"fields": ("1",), "header": False} if kind == "csv" else {}
    try:
        through(SAME, data, kind, size=size, **options)
    except InputError as error:
        assert str(error).startswith("test:")  # noqa: PT017
    else:
        assert b"\0" not in data
    if kind == "text" and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert through(SAME, data, kind, size=size, force_text=True)


@cases(
    "data message",
    (b"%PDF-1.7\n", "a PDF document"),
    (b"PK\x03\x04\x14\0", "a zip archive (.docx, .xlsx and .epub are such)"),
    (gzip.compress(b"one two", mtime=0), "gzip data"),
    (b"BZh91AY", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"(\xb5/\xfd\0", "zstd data"),
    (b"PAR1\x15", "a Parquet file"),
    (b"{\\rtf1", "an RTF document"),
    (b"\x7fELF\2", "a program"),
    (b"\xef\xbb\xbf<?xml version='1.0'?>\n", "an XML document"),
    (b" <!DOCTYPE HTML>\n<p>", "an HTML page"),
    (b"<html lang='en'>\n", "an HTML page"),
)
def test_first_bytes(data, message):
    for size in (1, 1 << 18):
        with pytest.raises(InputError) as caught:
            through(SAME, data, "text", size=size)
        assert str(caught.value).startswith(f"test: {message}, not lines of text (")
        assert str(caught.value).endswith("-f text reads it as it is)")
    # Further on they are text, and so they are where the user says so.
    later = b"a line\n" + data.replace(b"\0", b"")
    assert through(SAME, later, "text")[1].totals.records >= 2
    assert through(SAME, data, "text", force_text=True)[1].totals.records >= 1
    with pytest.raises(InputError, match="not lines of text"):
        through(SAME, data, "csv", fields=("1",), header=False)


@pytest.mark.parametrize("suffix", [*REFUSED, ".PDF", ".xml.gz"])
def test_names(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    data = b"one two\n"
    path.write_bytes(gzip.compress(data, mtime=0) if suffix.endswith(".gz") else data)
    with pytest.raises(InputError, match=rf"^{path}: a.* not lines of text"):
        through_file(SAME, path)
    # The user knows better.
    assert through_file(SAME, path, "text", force_text=True)[0] == data


def test_json(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'{"text": "one"}\n')
    with pytest.raises(InputError, match=r"json needs --field \(such as --field text\)"):
        through_file(SAME, path)
    assert through_file(SAME, path, fields=("text",))[0] == path.read_bytes()
    assert through_file(SAME, path, "jsonl", fields=("text",))[0] == path.read_bytes()
    for data in (b"[\n{}]\n", b'[{"text":"one"}]\n'):
        with pytest.raises(InputError, match=r"test:1: .* \(one JSON array\? -f json reads it"):
            through(SAME, data, "jsonl", fields=("text",))
    with pytest.raises(InputError, match=r"^test:1: record is a list, not an object$"):
        through(SAME, b'[["one"]]', "json", fields=("text",))


def test_json_is_not_taken_for_text():
    """On standard input nothing tells the format: the names of fields were drawn, too."""
    arrays = b'[{"text": "one"}]', b'[\n  {"text": "one"}\n]\n', b"[{}]"
    others = b'\xef\xbb\xbf {"text": "one"}\n', b'{\r\n  "text": "one"\r\n}\r\n'
    messages = dict.fromkeys(arrays, "a JSON array") | dict.fromkeys(others, "JSON")
    for data, message in messages.items():
        for size in (1, 1 << 18):
            with pytest.raises(InputError, match=f"test: {message}, not lines of text .-f json"):
                through(SAME, data, "text", size=size)
        assert through(SAME, data, "text", force_text=True)[0] == data
    for data in (b"[1] a note\n", b'["so" he said]\n', b"{name}, hello\n", b"a\n[\n{\n"):
        assert through(SAME, data, "text")[0] == data
    for data in (b'{"a" b}\n', b"\x0b[\n", b"[\x0c\n"):
        assert through(SAME, data, "text")[0] == data


def test_nul():
    with pytest.raises(InputError, match=r"^test:2: NUL byte: not text \(iconv -f UTF-16 or tr"):
        through(SAME, b"one\ntw\0o\n", "text")
    with pytest.raises(InputError, match=r"^test:1: looks like UTF-16"):
        through(SAME, "one\n".encode("utf-16"), "text")
    assert through(SAME, b"tw\0o\n", "text", force_text=True)[0] == b"tw\0o\n"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_an_empty_file_is_not_compressed_data(tmp_path, suffix):
    """As zcat: exit status 1, not an empty success."""
    if suffix == ".zst":
        pytest.importorskip("zstandard", reason="extra 'zst' is not installed")
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(b"")
    with pytest.raises(InputError, match=r"data: empty$"):
        through_file(SAME, path)
    assert through(SAME, b"", "text")[0] == b""


@given(path=st.text("ab.[]?\\", max_size=300) | st.text(max_size=30))
@example(".".join("a" * 5000))
@example("[]" * 5000)
@example("a" + "[]" * 100)
def test_any_path(path):
    try:
        assert parse_field(path).steps
    except UsageError as error:
        assert len(str(error)) < 200  # noqa: PT017
    else:
        assert len(path) < 1000


# How a text was written (quotes, escapes, entities) follows from its words alone.


LETTERED = lettered()
LETTERED.letter = "\u00e9/"
WORDS = ("maria", "jos\u00e9", "1,234", "https://a.example/b", "\u2615", "ann@b.example")
GAPS = (" ", ", ", "/", ' "', " \u2014 ", " & ", "\t", " <")


def table(delimiter, quoting):
    def write(text):
        out = io.StringIO()
        rows = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n")
        rows.writerows([("n", "t"), ("1", text)])
        return out.getvalue()

    return write


def lines(ascii_, slash):
    def write(text):
        return json.dumps({"t": text}, ensure_ascii=ascii_).replace("/", slash) + "\n"

    return write


def page(text):
    return f"<p>{html.escape(text)}</p>".encode("ascii", "xmlcharrefreplace").decode()


WRITERS = {
    "csv": ("csv", table(",", csv.QUOTE_MINIMAL)),
    "csv, all quoted": ("csv", table(",", csv.QUOTE_ALL)),
    "semicolons": ("csv", table(";", csv.QUOTE_MINIMAL)),
    "tsv": ("tsv", table("\t", csv.QUOTE_MINIMAL)),
    "jsonl in ASCII": ("jsonl", lines(True, "/")),
    "jsonl as PHP writes it": ("jsonl", lines(True, r"\/")),
    "jsonl": ("jsonl", lines(False, "/")),
    "json": ("json", lines(True, r"\/")),
    "html": ("html", page),
}


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=25)
@given(data=st.data())
def test_equal_but_for_the_words(name, data):
    kind, write = WRITERS[name]
    gaps = data.draw(st.lists(st.sampled_from(GAPS), max_size=4))
    options = {} if kind == "html" else {"fields": ("t",)}
    if name == "semicolons":
        options["delimiter"] = ";"
    texts = []
    for _ in range(2):
        words = [data.draw(st.sampled_from(WORDS)) for _ in range(len(gaps) + 1)]
        pieces = (word + gap for word, gap in zip(words, [*gaps, ""], strict=True))
        texts.append("".join(pieces))
    between = [TOKENIZERS["unicode"](text)[::2] for text in texts]
    assume(between[0] == between[1])
    first, second = (through(LETTERED, write(text).encode(), kind, **options)[0] for text in texts)
    assert first == second
    assert "\u00e9/".encode() in first


# test_formats_csv


@given(data=st.binary(max_size=60) | st.text('a,"\n\r\t', max_size=40).map(str.encode))
def test_any_bytes_of_a_table(data):
    try:
        out, _ = through(SAME, data, "csv", fields=("1",), header=False, size=3, force_text=True)
    except InputError as error:
        assert str(error).startswith("test:")  # noqa: PT017
        return
    before, after = (each.decode("utf-8", "replace") for each in (data, out))
    assert after.replace('"', "") == before.replace('"', "")
    assert through(SAME, out, "csv", fields=("1",), header=False, force_text=True)[0] == out


def run(data, *fields, sanitizer=MASK, kind="csv", **options):
    return through(sanitizer, data, kind, fields=fields, **options)[0]


CASES = tables("formats/cases")


@cases("data field header written", *CASES["quotes"])
def test_quotes_and_columns(data, field, header, written):
    assert run(data.encode(), field, header=header == "header") == written.encode()


def test_several_columns_and_tabs():
    assert run(b"id,text,2\na,b,c\n", "1", "text") == b"id,text,2\n<unk>,<unk>,c\n"
    assert run(b"a\tb,c\n", "2", header=False, kind="tsv") == b"a\t<unk>,<unk>\n"


@cases("data field message", *CASES["messages"])
def test_messages(data, field, message):
    with pytest.raises(InputError) as caught:
        run(data.encode(), *field.strip("-").split())
    assert str(caught.value) == message


@pytest.mark.parametrize("fields", [(), ("text",), ("3",)])
@pytest.mark.parametrize("header", [True, False])
def test_issue_13_no_cell_of_the_first_row_is_in_a_message(fields, header):
    """It is data where somebody forgot --no-header."""
    with pytest.raises(InputError) as caught:
        run(b"Maria,secret\n", *fields, header=header)
    assert "2 columns" in str(caught.value)
    assert not re.search("Maria|secret", repr(caught.value.__dict__) + str(caught.value))


def test_big_cells(monkeypatch):
    big = b'id,text\n1,"' + b'x ""y""\n' * 20_000 + b'"\n'
    assert run(big, "text", sanitizer=SAME) == big
    monkeypatch.setattr(ReadOptions, "max_record", 1000)
    with pytest.raises(InputError, match="test:2: record longer than 1000 bytes"):
        run(big, "text")


def test_joined_files_have_one_header():
    sink = Collected()
    for data in (b"\xef\xbb\xbfid,text\n1,a", b"\xef\xbb\xbfid,text\n2,b\n"):
        through(SAME, data, "csv", fields=("text",), sink=sink)
    assert sink.data == b"\xef\xbb\xbfid,text\n1,a\n2,b\n"
    with pytest.raises(InputError, match="other columns than the first file"):
        through(SAME, b"text,id\n2,b\n", "csv", fields=("text",), sink=sink)
    assert sink.data == b"\xef\xbb\xbfid,text\n1,a\n2,b\n"


def test_copies_and_encodings():
    assert through(SAME, b"h\na\nb", "csv", fields=("h",), copies=2)[0] == b"h\na\na\nb\nb"
    data = "h,é\nà,ü\n".encode("latin-1")
    assert run(data, "é", sanitizer=SAME, encoding="latin-1") == data
    assert run(data, "é", encoding="latin-1") == "h,é\nà,<unk>\n".encode("latin-1")
    damaged = b"h,i\n\xff,a\n"  # a table is not damaged with status 0
    for field, line, table in (("é", 1, data), ("1", 1, data), ("h", 2, damaged)):
        with pytest.raises(InputError, match=f"^test:{line}: invalid utf-8 .*--encoding latin-1"):
            run(table, field)
    assert run(damaged, "h", sanitizer=SAME, invalid="replace") == "h,i\n\ufffd,a\n".encode()
    with pytest.raises(InputError, match=r"^test:1: lines end in CR alone"):
        run(b"id,body\r1,Grace Young\r", "body")
