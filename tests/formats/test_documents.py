"""What pages, mails and Word files have in common."""

import gzip
import zipfile

import pytest
from docx_files import document, paragraph
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import lettered, through

from dpsan.errors import InputError, UsageError

LETTERED = lettered()
KINDS = ("html", "eml", "docx")


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(data=st.binary(max_size=60))
def test_any_bytes(kind, data):
    try:
        through(LETTERED, data, kind, size=7, fields=() if kind == "docx" else ("x",))
    except InputError as error:
        assert str(error).startswith("test")  # noqa: PT017


@pytest.mark.parametrize("kind", KINDS)
def test_options(kind):
    """Those that make no sense are refused in Python, too; with force_text all is text."""
    for wrong in (
        {"null_data": True},
        {"encoding": "utf-16"},
        *([{"fields": ("a",)}] if kind == "docx" else []),
    ):
        with pytest.raises(UsageError):
            through(LETTERED, b"", kind, **wrong)
    assert through(LETTERED, b"a: <b>", kind, force_text=True)[0] == b"W: <W>"
    with pytest.raises(InputError, match="longer than 3 bytes"):
        through(LETTERED, b"a: b", kind, max_record=3)


PAGE, MAIL = (
    b'<p title="Here">here <b id=x>there</b></p>\n',
    b"From: x\nSubject: Here there\n\nhere\n",
)


def test_the_command(tmp_path, dpsan):
    """Each file has an output of its own, the same with two processes; one is refused."""
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    for name, data in {
        "a.html": PAGE,
        "b.htm.gz": gzip.compress(PAGE),
        "a.eml": MAIL,
        "b.eml": b"Content-Type: image/png\n\nhere\n",
        "a.docx": document(paragraph("Here ", "there")),
    }.items():
        (tmp_path / name).write_bytes(data)
    base = ("rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-O", "out")
    files = ("a.html", "b.htm.gz", "a.eml", "b.eml", "a.docx")
    done = dpsan(*base, "-j", "2", "-a", "audit", *files, cwd=tmp_path)
    told = done.stderr.decode()
    assert done.returncode == 1
    assert "b.eml:3: a mail that is nothing but an attachment\n" in told
    assert "left out: 1 header (man dpsan, CONTAINERS)" in told
    assert "passed unchanged, and may hold text: 2 attributes, 1 layout part (man" in told
    folder = tmp_path / "out"
    assert (folder / "a.html").read_bytes() == PAGE.replace(b"Here", b"here")
    assert gzip.decompress((folder / "b.htm.gz").read_bytes()) == PAGE.replace(b"Here", b"here")
    assert (folder / "a.eml").read_bytes() == MAIL[8:]
    assert not (folder / "b.eml").exists()
    text = zipfile.ZipFile(folder / "a.docx").read("word/document.xml").decode()
    assert ">Here </w:t>" in text
    assert ">there</w:t>" in text
    assert (tmp_path / "audit").read_text().count('"line":1,') == 8


def test_standard_input_and_in_place(tmp_path, dpsan):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    base = ("rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt")
    assert dpsan(*base, "-f", "html", cwd=tmp_path, stdin=b"<p>here").stdout == b"<p>here"
    (tmp_path / "a.eml").write_bytes(MAIL)
    assert dpsan(*base, "-i", "a.eml", cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.eml").read_bytes() == MAIL[8:]
