"""What all formats have in common, and what pages, mails and Word files have."""

import gzip
import re
import zipfile

import pytest
from docx_files import document, paragraph
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import lettered, through

from dpsan.errors import InputError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.formats.registry import FORMATS
from dpsan.text.letter_case import article_for

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
def test_options(kind, monkeypatch):
    """Those that make no sense are refused in Python, too; with force_text all is text."""
    wrongs = [{"encoding": "utf-16"}, {"fields": ("a",)}]
    for wrong in wrongs if kind == "docx" else wrongs[:1]:
        with pytest.raises(UsageError):
            through(LETTERED, b"", kind, **wrong)
    assert through(LETTERED, b"a: <b>", kind, force_text=True)[0] == b"W: <W>"
    monkeypatch.setattr(ReadOptions, "max_record", 3)
    with pytest.raises(InputError, match="longer than 3 bytes"):
        through(LETTERED, b"a: b", kind)


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


@pytest.mark.slow
def test_a_person_of_a_document_is_one_person(folder, dpsan):
    """In a page, a mail and a Word file: all texts are one unit, in any number of processes."""
    long = b"<p>%s</p>" % (b"there " * 9000) * 3
    (folder / "a.html").write_bytes(b"<b>Grace Young</b> met Bob.%s<p>Ms. Young left.</p>" % long)
    (folder / "a.eml").write_bytes(b"Subject: to Grace Young\n\nMs. Young left.\n")
    people = (paragraph("Grace Young", " met Bob."), paragraph("Ms. Young left."))
    (folder / "a.docx").write_bytes(document("".join(people)))
    files = ("a.html", "a.eml", "a.docx")
    for jobs in ("1", "2"):
        options = ("--seed", "5", "-j", jobs, "-O", f"out{jobs}")
        dpsan("rewrite", "--only", "people", *options, *files, cwd=folder, status=0)
    for name in files:
        data = (folder / "out1" / name).read_bytes()
        assert (folder / "out2" / name).read_bytes() == data
        if name.endswith("docx"):
            data = zipfile.ZipFile(folder / "out1" / name).read("word/document.xml")
        text = re.sub(r"(?:<[^>]*>)+", " ", data.decode())
        pattern = r"[A-Z]\w+ ([A-Z][\w'-]+)\b.*Ms\. \1 left"
        assert re.search(pattern, text, re.DOTALL), name


@pytest.mark.slow
def test_an_article_follows_the_word_behind_the_end_of_a_text(folder, dpsan):
    (folder / "an.html").write_bytes(b"He got an <b>$8,000</b> loan, an <i>Italian</i> lamp.")
    (folder / "a.html").write_bytes(b"He got a <b>$9,000</b> loan, a <i>German</i> lamp.")
    for number in range(8):
        outputs = []
        for name in ("an.html", "a.html"):
            given = ("--only", "sensitive", "--seed", str(number), "--consistent", "record")
            outputs.append(dpsan("rewrite", *given, name, cwd=folder).stdout)
        assert outputs[0] == outputs[1]
        assert all(
            article == article_for(word)
            for article, word in re.findall(r"\b(an?) <.>(\$?\w+)", outputs[0].decode())
        )
