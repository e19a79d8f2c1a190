"""What all formats have in common, and what pages, mails and Word files have."""

import codecs
import gzip
import re
import zipfile
from html import unescape

import pytest
from docx_files import document, paragraph
from hypothesis import example, given, settings
from hypothesis import strategies as st
from identity import identity, lettered, marker, through
from support import ROOT, cases, tables

from dpsan.errors import InputError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.formats.kinds import FORMATS
from dpsan.formats.passing import PASSED
from dpsan.text.letter_case import article_for

LETTERED = lettered()
KINDS = ("html", "eml", "docx")
FIELDS = {"jsonl": ("x?",), "json": ("x?",), "html": ("x",), "eml": ("x",)}
FIELDS |= {"csv": ("1",), "tsv": ("1",)}


def passed(kinds):
    """Counts of what passes by kind, as a record reports them."""
    return {f"{PASSED}:{kind}": count for kind, count in kinds.items()}


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
    assert "left out: 1 From header (man dpsan, CONTAINERS)" in told
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
        pairs = re.findall(r"\b(an?) <.>(\$?\w+)", outputs[0].decode())
    assert all(article == article_for(word) for article, word in pairs)


# ``html``: texts change and markup does not; what cannot be told from text is refused.


IDENTITY, MARKER = identity(), marker()
CASES, FILES = tables("formats/cases"), ROOT / "tests" / "formats" / "files"
WHOLE = (FILES / "whole.html").read_bytes()


def run(data, *fields, sanitizer=LETTERED, **more):
    data = data if isinstance(data, bytes) else data.encode()
    return through(sanitizer, data, "html", size=7, fields=fields, **more)


def out(data, *fields, **more):
    return run(data, *fields, **more)[0].decode()


def test_a_page():
    same, outcome = run(WHOLE, sanitizer=IDENTITY)
    # Characters are entities where tags could be made, or where nobody would see them.
    written = {"<b> eight": "&lt;b> eight", "&nbsp;t": "&#160;t", "five? &gt;": "five? >"}
    written |= {"&mdash;": "\u2014", "&#8212;": "\u2014"}
    expected = WHOLE.decode()
    for before, after in written.items():
        expected = expected.replace(before, after)
    assert same == expected.encode()
    assert outcome.passing.noted == passed({"attribute": 12, "link": 1, "script": 2, "style": 1})
    pages = '<p><a href="#top">a</a>', '<p><img src="data:image/png;base64,AA==">'
    kinds = [run(page, sanitizer=IDENTITY)[1].passing.noted for page in pages]
    assert kinds == [passed({"link": 1}), passed({"picture": 1})]
    assert "&lt;unk>" in out(WHOLE, sanitizer=MARKER)
    words = "One|two|three|four|five|six|seven|eight|web|Letters|notes|(?<=<)b(?=> W<)"
    masked = (
        re.sub(words, "W", same.decode())
        .replace("http://x.org/@2x?b&amp;c", "W")
        .replace("title='a \"title\"'", "title='W \"W\"'")
    )
    assert out(WHOLE) == masked.replace("&lt;b>", "&lt;W>")


PARTS = """
<p> </p> <p < </ <! <!-- --> --!> - > " ' = / <b/ <a =" alt= alt=' title &lt &lt; &#0; <title>
</title> <textarea> <xmp> </xmp> <plaintext> <![CDATA[ ]]> <?xml ?> <svg> <unk> <!doctype <noscript>
<iframe> <x:y> &amp;lt; Zorblatt Zorblatt
"""
SOUP = st.lists(st.sampled_from([*PARTS.split(), *" \n\u200b\0\x80"]), max_size=20)


@settings(max_examples=60)
@given(SOUP.map("".join))
@example("<!-->Zorblatt-->")
@example("<a title='Zorblatt")
@example("<title><script>Zorblatt</script></title>")
@example("<Zorblatt@example.org>")
def test_no_broken_page_lets_a_word_pass(page):
    """Either it is refused, with one line that does not say it, or the word is drawn."""
    try:
        found = out(page)
    except InputError as error:
        found = str(error)
        assert found.startswith("test:")
        assert "\n" not in found
    assert "zorblatt" not in unescape(found).lower()


def test_planted_everywhere():
    found = out((FILES / "planted.html").read_text(encoding="utf8"))
    assert "zorblatt" not in unescape(found).lower()
    for shown in ("mailto:W", "tel:W"):
        assert shown in found


@pytest.mark.parametrize("name", ["data-zorblatt", "data-a.zorblatt", "onzorblatt"])
@pytest.mark.parametrize("value", ["", "=1", "='a b'"])
def test_names_of_attributes_that_somebody_chose_are_counted(name, value):
    page, outcome = run(f"<p {name}{value} {name}>")
    assert name in page.decode()
    kind = "script" if name.startswith("on") else "name"
    assert outcome.passing.noted == passed({kind: 2})
    page, outcome = run(f"<p {name}{value}>", name)
    assert outcome.passing.noted == {}


@pytest.mark.parametrize("foreign", ["svg", "svg width=10/", "math", "svg><svg></svg"])
@pytest.mark.parametrize("raw", ["style", "script"])
@pytest.mark.parametrize("text", ["<p>Zorblatt", "<!-- --><i>Zorblatt", "<![CDATA[ ]]><b>Zorblatt"])
def test_text_that_browsers_show_in_a_style_of_svg_is_drawn(foreign, raw, text):
    assert "orblatt" not in out(f"<{foreign}><{raw}>{text}</{raw}></svg>").lower()


@pytest.mark.parametrize("style", ["p{}", "<!-- p{} -->", "<![CDATA[ p{} ]]>"])
def test_a_style_of_svg_that_holds_no_tags_stays(style):
    for before in ("<svg>", "", "<svg />"):
        page = f"{before}<style>{style}</style>"
        assert run(page)[0].decode() == page
        assert run(page)[1].passing.noted == passed({"style": 1})
    page = "<svg></svg><script>if (a<b) {}</script>"
    assert run(page)[0].decode() == page


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_page_in_utf16_without_a_mark_is_refused(encoding):
    with pytest.raises(InputError, match=r"^test:2: NUL bytes around a tag: UTF-16\? \(convert"):
        run("zorblatt\n<p>zorblatt</p>".encode(encoding))


def test_quotes_in_a_value_without_quotes_lose_no_element():
    page = """<a href=javascript:alert('x')>here</a> <p title=x"y class=b"c>here"""
    assert out(page) == """<a href="W:W('W')">W</a> <p title="W&quot;W" class=b"c>W"""


@cases("frame", *CASES["frames"])
def test_a_frame_that_holds_a_word_is_drawn(frame):
    assert "zorblatt" not in out(frame.format("zorblatt")).lower()
    assert "4155551234" not in out(frame.format("4155551234")).lower()


@cases("frame", *CASES["frames of pages"])
def test_frames_that_pages_have_stay(frame):
    assert run(frame)[0].decode() == frame


def test_names_of_a_page_of_its_own():
    for page, at in (("a\n <Zorblatt>", 2), ("<img alt=M Zorblatt>", 12), ("<p zorb-latt='x'>", 4)):
        line = 1 + page.count("\n")
        with pytest.raises(InputError, match=rf"^test:{line}: a tag or attribute .* at byte {at} "):
            run(page)
    page = '<my-tag jsname="a b" href="x" @click="c">d</my-tag>'
    masked = page.replace("a b", "W W").replace(">d", ">W")
    masked = re.sub('"[cx]"', '"W"', masked)
    assert out(page, "my-tag", "JSNAME", "@click") == masked
    found, outcome = run(page, "*")
    assert found.decode() == masked
    assert outcome.passing.noted == passed({"name": 4})


def test_a_script_that_does_not_end():
    for page in ("<script>zorblatt", "<p>\n<style>p{}"):
        with pytest.raises(InputError, match="that does not end at byte") as caught:
            run(page)
        assert "zorblatt" not in str(caught.value)
    # XHTML ends such a tag at once, HTML does not: what follows is text to be safe.
    assert "zorblatt" not in out("<script src=x /> zorblatt <script></script>")


def test_encodings():
    page = '<meta charset="{}"><p>caf\u00e9 \u20ac'
    for name in ("windows-1252", "ISO-8859-1", "latin1"):
        for encoding in ("utf-8", "cp1252", "iso-8859-1"):
            found = run(page.format(name).encode("cp1252"), encoding=encoding)[0]
            assert found == page.format(name).replace("caf\u00e9", "W").encode("cp1252")
    told = r"^test:2: .* is cp1252, not koi8-r \(--encoding cp1252\)$"
    with pytest.raises(InputError, match=told):
        run("\n" + page.format("latin1"), encoding="koi8-r")
    for name in ("utf-8", "utf-16", "zorblatt"):
        assert out(page.format(name)) == page.format(name).replace("caf\u00e9", "W")
    with pytest.raises(UsageError, match="not supported"):
        run(page.format("utf-7"))
    assert out(codecs.BOM_UTF8 + b"<p>a", encoding="utf-8").startswith("\ufeff<p>")
    assert run("<p>\u00e9".encode(), invalid="error")[1].totals.invalid == 0
    assert run(b"<p>\xe9")[1].totals.invalid == 1
    with pytest.raises(InputError, match="invalid utf-8"):
        run(b"<p>\xe9", invalid="error")
    assert run(b"")[0] == b""
    for encoding in ("utf-16", "utf-7", "iso2022_jp"):
        with pytest.raises(UsageError, match="not supported"):
            run(b"<p>a", encoding=encoding)


def test_what_is_written_stands_where_the_text_stood():
    """A comment and a value without quotes end where they ended."""
    found, _ = run("<p title=a>a<!--a--></p>", sanitizer=lettered('->-->"--!>'))
    assert found.decode() == '<p title="->-->&quot;--!>">->-->"--!><!--- >- ->"- -!>--></p>'
