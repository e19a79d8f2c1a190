"""What is not text is refused by name; -f text reads it all the same.  Issue 13."""

import gzip

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from identity import identity, through, through_file
from support import cases

from dpsan.errors import InputError, UsageError
from dpsan.formats.paths import parse_field
from dpsan.formats.registry import REFUSED

SAME = identity()


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
    for data, message in {
        b'[{"text": "one"}]': "a JSON array",
        b'[\n  {"text": "one"}\n]\n': "a JSON array",
        b"[{}]": "a JSON array",
        b'\xef\xbb\xbf {"text": "one"}\n': "JSON",
        b'{\r\n  "text": "one"\r\n}\r\n': "JSON",
    }.items():
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
