"""What all formats have in common, and what pages, mails and Word files have."""

import gzip
import zipfile

import pytest
from docx_files import document, paragraph
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import lettered, through

from dpsan.errors import InputError, UsageError
from dpsan.formats.registry import FORMATS

LETTERED = lettered()
KINDS = ("html", "eml", "docx")
FIELDS = {"jsonl": ("x?",), "json": ("x?",), "html": ("x",), "eml": ("x",)}
FIELDS |= {"csv": ("1",), "tsv": ("1",)}


@pytest.mark.parametrize("kind", sorted(FORMATS.keys() - {"parquet"}))
@settings(max_examples=40)
@given(data=st.binary(max_size=60))
def test_any_bytes(kind, data):
    try:
        through(LETTERED, data, kind, size=7, fields=FIELDS.get(kind, ()))
    except InputError as error:
        assert str(error).startswith("test")  # noqa: PT017


@pytest.mark.parametrize("kind", KINDS)
def test_options(kind):
    """Those that make no sense are refused in Python, too; with force_text all is text."""
    wrongs = [{"null_data": True}, {"encoding": "utf-16"}, {"fields": ("a",)}]
    for wrong in wrongs if kind == "docx" else wrongs[:2]:
        with pytest.raises(UsageError):
            through(LETTERED, b"", kind, **wrong)
    assert through(LETTERED, b"a: <b>", kind, force_text=True)[0] == b"W: <W>"
    with pytest.raises(InputError, match="longer than 3 bytes"):
        through(LETTERED, b"a: b", kind, max_record=3)


BASE = ("rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-O", "out")
PAGE = b'<p title="Here">here <b id=x>there</b></p>\n'
MAIL = b"From: x\nSubject: Here there\n\nhere\n"


def test_the_command(folder, dpsan):
    """Each file has an output of its own, the same with two processes; one is refused."""
    for name, data in {
        "a.html": PAGE,
        "b.htm.gz": gzip.compress(PAGE),
        "a.eml": MAIL,
        "b.eml": b"Content-Type: image/png\n\nhere\n",
        "a.docx": document(paragraph("Here ", "there")),
    }.items():
        (folder / name).write_bytes(data)
    files = ("a.html", "b.htm.gz", "a.eml", "b.eml", "a.docx")
    done = dpsan(*BASE, "-j", "2", "-a", "audit", *files, cwd=folder)
    told = done.stderr.decode()
    assert done.returncode == 1
    assert "b.eml:3: a mail that is nothing but an attachment\n" in told
    assert "left out: 1 header (man dpsan, CONTAINERS)" in told
    assert "passed unchanged, and may hold text: 2 attributes, 1 layout part (man" in told
    out = folder / "out"
    assert (out / "a.html").read_bytes() == PAGE.replace(b"Here", b"here")
    assert gzip.decompress((out / "b.htm.gz").read_bytes()) == PAGE.replace(b"Here", b"here")
    assert (out / "a.eml").read_bytes() == MAIL[8:]
    assert not (out / "b.eml").exists()
    text = zipfile.ZipFile(out / "a.docx").read("word/document.xml").decode()
    assert ">Here </w:t>" in text
    assert ">there</w:t>" in text
    assert (folder / "audit").read_text().count('"line":1,') == 8


def test_standard_input_and_in_place(folder, dpsan):
    assert dpsan(*BASE[:-2], "-f", "html", cwd=folder, stdin=b"<p>here").stdout == b"<p>here"
    (folder / "a.eml").write_bytes(MAIL)
    assert dpsan(*BASE[:-2], "-q", "-i", "a.eml", cwd=folder).returncode == 0
    assert (folder / "a.eml").read_bytes() == MAIL[8:]
