"""``docx``: words of paragraphs change; what a person wrote elsewhere is refused, or goes."""

import io
import re
import zipfile
from xml.parsers import expat

import pytest
from docx_files import OUTSIDE, R, W, document, links, paragraph, part, parts_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from identity import identity, lettered, through
from support import ROOT, cases, tables

from dpsan.errors import InputError
from dpsan.formats.base import ReadOptions

IDENTITY, LETTERED = identity(), lettered()


def run(data, sanitizer=LETTERED, **more):
    return through(sanitizer, data, "docx", size=997, **more)


def body_of(data):
    found = re.search("<w:body>(.*)</w:body>|<w:body/>", parts_of(data)["word/document.xml"])
    return found[1] or ""


def test_a_document():
    body = (FILES / "whole.docx.xml").read_text(encoding="utf8")
    data = document(
        body,
        {"word/header1.xml": part("hdr", paragraph("five"))},
        [("hyperlink", "https://a.b/c?d&amp;e", OUTSIDE), ("header", "/word/header1.xml", "")],
    )
    given_ = parts_of(data)
    found, outcome = run(data, IDENTITY)
    body = body.replace("&#x3E;", "&gt;").replace(body[4 : body.index(">")], "")
    assert body_of(found) == body
    assert set(parts_of(found)) == {*given_}
    assert parts_of(found)["word/styles.xml"] == given_["word/styles.xml"]
    assert outcome.passing.noted == {
        "passed unchanged, and may hold text:layout part": 1,
        "passed unchanged, and may hold text:style name": 1,
    }
    assert run(found, IDENTITY)[0] == found
    with zipfile.ZipFile(io.BytesIO(found)) as archive:
        assert {each.date_time[:3] for each in archive.infolist()} == {(1980, 1, 1)}
    drawn, outcome = run(data)
    assert body_of(drawn) == re.sub("one|two|three|four", "W", body)
    assert "five" not in parts_of(drawn)["word/header1.xml"]
    assert outcome.totals.records == 4
    links = parts_of(drawn)["word/_rels/document.xml.rels"]
    assert 'hyperlink" Target="W" TargetMode="External"' in links


def test_words_over_runs():
    """A word that runs cut is one word, in the run where it began; formats stay where they were."""
    assert body_of(run(document(paragraph("Ma", "ri", "a, b", "ob c")))[0]) == (
        "<w:p><w:r><w:t>W</w:t></w:r><w:r><w:t></w:t></w:r>"
        '<w:r><w:t>, W</w:t></w:r><w:r><w:t xml:space="preserve"> W</w:t></w:r></w:p>'
    )
    for between, words in (("tab", ["W", "W"]), ("br", ["W", "W"]), ("softHyphen", ["W", ""])):
        text = paragraph("Ma", "ria").replace("</w:r><w:r>", f"<w:{between}/>")
        assert re.findall("<w:t>([^<]*)</w:t>", body_of(run(document(text))[0])) == words
    for word, runs in (("longer", ["longer ", "longer"]), ("a b", ["a b a b", ""])):
        found = body_of(run(document(paragraph("a ", "b")), lettered(word))[0])
        assert re.findall("<w:t[^>]*>([^<]*)</w:t>", found) == runs


CASES, FILES = tables("formats/cases"), ROOT / "tests" / "formats" / "files"
PLANTED = (FILES / "planted.docx.xml").read_text(encoding="utf8")
NOTE = paragraph("Zorblatt")
ELSEWHERE = {
    **{f"docProps/{name}": "Zorblatt" for name in ("core.xml", "thumbnail.jpeg")},
    **{f"word/{name}": "Zorblatt" for name in ("comments.xml", "people.xml", "media/zorblatt.png")},
    **dict.fromkeys(("customXml/item1.xml", "zorblatt.bin"), "Zorblatt"),
    "word/footnotes.xml": part("footnotes", f"<w:footnote w:id='1'>{NOTE}</w:footnote>"),
    "word/settings.xml": part("settings", '<w:docVars><w:docVar w:val="Zorblatt"/></w:docVars>'),
}
ROWS = [("hyperlink", link, OUTSIDE) for link in ("https://a.b/", "mailto:zorblatt@x.org")]
ROWS += [(name, f"{name}.xml", "") for name in ("comments", "footnotes", "settings")]
ROWS += [("image", "media/zorblatt.png", "")]
ROWS += [("attachedTemplate", "file:///C:/Zorblatt.dot", OUTSIDE)]


def test_planted_everywhere():
    data = document(PLANTED, ELSEWHERE, ROWS)
    with pytest.raises(InputError) as caught:
        run(data, strict=True)
    assert str(caught.value) == (
        "test: holds 2 attributes, 1 bookmark, 1 comment, 3 drawings, 1 edit session, "
        "3 embedded files, 2 fields, 1 link, 5 metadata parts, 3 other elements, 1 setting, "
        "3 tracked changes (without --strict or -i they are left out)"
    )
    found, outcome = run(data)
    for name, text in parts_of(found).items():
        assert "orblatt" not in name + text, name
    words = re.findall("<w:t[^>]*>([^<]*)</w:t>", body_of(found))
    assert words == 7 * [" W"]
    assert outcome.passing.noted["left out:tracked change"] == 3
    assert "<w:footnote " in parts_of(found)["word/footnotes.xml"]
    run(found)  # nothing is left that would be refused


BAD_XML = "word/document.xml: XML that no word processor writes$"
DTD = '<!DOCTYPE x [<!ENTITY a "secret">]><x>&a;</x>'


@cases(
    "data told",
    (b"secret", r"a damaged document or none \(save it again"),
    (document()[:200], r"a damaged document or none \(save it again"),
    (b"\xd0\xcf\x11\xe0secret", "an old document or one with a password "),
    (document().replace(b"word/styles.xml", b"word/secret.xml"), "holds 1 embedded file "),
    (document(**{"_rels/.rels": links()}), "no word processor's document in it "),
    (document("<w:p>"), BAD_XML),
    (document("secret"), BAD_XML),
    (document("<w:p><!-- secret --></w:p>"), BAD_XML),
    (document("<w:p>" * 400), BAD_XML),
    (document("<w:p><w:t><![CDATA[secret]]></w:t></w:p>"), BAD_XML),
    (document("<w:p><w:t>a<w:t>b</w:t></w:t></w:p>"), BAD_XML),
    (document(**{"word/document.xml": DTD}), BAD_XML),
    (document(**{"word/styles.xml": "<a>secret</a>"}), "word/styles.xml: XML that no"),
    (document(**{"_rels/.rels": "<!DOCTYPE x []><x/>"}), "an archive with a DTD$"),
)
def test_bad_documents_get_one_line(data, told):
    with pytest.raises(InputError, match=f"^test(:1|:2)?: ({told})") as caught:
        run(data, strict=True)
    assert "secret" not in str(caught.value)


@cases(
    "body most told",
    (" " * 20_000_000, 100_000, "parts longer than 400000 bytes together"),
    (f"<w:p><w:t>{' ' * 20_000_000}</w:t></w:p>", 16 << 20, "parts longer than 16777216 bytes"),
    ("<w:p/>" * 140_000, 4 << 20, r"more than 131072 elements of XML \(split it"),
    ids=["white space", "a text", "empty paragraphs"],
)
def test_what_unpacks_to_a_thousand_times_the_archive_is_refused(body, most, told, monkeypatch):
    monkeypatch.setattr(ReadOptions, "max_record", most)
    with pytest.raises(InputError, match=told):
        run(document(body))


def test_words_spelled_with_symbols_do_not_pass():
    spelled = "".join(f'<w:sym w:font="Arial" w:char="{ord(each):04X}"/>' for each in "Zorblatt")
    spelled += "".join(f'<w:sym w:font="Arial" w:char="F0{ord(each):02X}"/>' for each in "Zorb")
    spelled += '<w:sym w:char="F041"/>'
    bullet = '<w:sym w:font="Wingdings" w:char="F0FC"/>'
    data = document(f"<w:p><w:r><w:t>Ma</w:t>{bullet}<w:t>ria</w:t>{spelled}</w:r></w:p>")
    with pytest.raises(InputError, match="holds 13 symbols"):
        run(data, strict=True)
    found, outcome = run(data)
    assert body_of(found).count("<w:sym ") == body_of(found).count(bullet) == 1
    assert outcome.passing.noted["left out:symbol"] == 13
    assert outcome.passing.noted["passed unchanged, and may hold text:symbol"] == 1


VALUE = "<w:p><w:pPr><w:{}/></w:pPr></w:p>" + paragraph("a")


NO_VALUES = f"""
pStyle w:val="zorblatt@x.org"; pStyle w:val="call zorblatt!"; pStyle w:val="{"z" * 65}"
jc w:val="zorblatt"; spacing w:after="4155551234"; color w:val="Zorb"; lang w:val="zor-BLATT"
jc w:zorblatt="left"; bookmarkEnd w:name="_Zorblatt"
"""


@cases("layout", *re.split("; |\n", NO_VALUES.strip()))
def test_a_value_of_an_attribute_that_no_standard_has_is_left_out(layout):
    data = document(VALUE.format(layout))
    with pytest.raises(InputError, match="holds 1 attribute "):
        run(data, strict=True)
    assert f"<w:{layout.split()[0]}/>" in body_of(run(data)[0])


@cases("kind layout", *CASES["names"])
def test_a_name_that_somebody_chose_is_counted_once(kind, layout):
    body = VALUE.format(layout) * 2
    found, outcome = run(document(body))
    assert body_of(found) == body.replace(">a<", ">W<")
    names = {each: count for each, count in outcome.passing.noted.items() if "layout" not in each}
    assert names == ({f"passed unchanged, and may hold text:{kind}": 1} if kind != "-" else {})


def test_prefixes_and_identifiers_that_are_words_are_not_written():
    text = (
        f'<zorb:document xmlns:zorb="{W}" xmlns:blatt="{R}" xmlns:x="zorblatt"><zorb:body>'
        '<zorb:p><zorb:hyperlink blatt:id="Zorblatt"><zorb:r><zorb:t>a</zorb:t></zorb:r>'
        "</zorb:hyperlink></zorb:p></zorb:body></zorb:document>"
    )
    named = links(("styles", "styles.xml", ""), ("hyperlink", "https://a.b", OUTSIDE))
    relations = {"word/_rels/document.xml.rels": named.replace("rId2", "Zorblatt")}
    found = parts_of(run(document(**{"word/document.xml": text, **relations}))[0])
    assert "orb" not in str(found)
    assert '<w:hyperlink r:id="rId2"><w:r><w:t>W<' in found["word/document.xml"]
    assert 'Id="rId2"' in found["word/_rels/document.xml.rels"]


def test_two_documents_of_a_person_share_no_identifier():
    """What Word makes at random, once for a session, a list or a template."""
    body = (FILES / "identifiers.docx.xml").read_text(encoding="utf8")
    layout = dict(CASES["layout"])
    theme = layout.pop("theme")
    parts = {f"word/{name}.xml": part(name, inner) for name, inner in layout.items()}
    rows = [("numbering", "numbering.xml", ""), ("fontTable", "fontTable.xml", "")]
    parts["word/theme/theme1.xml"] = theme
    data = document(body, parts, [*rows, ("theme", "theme/theme1.xml", "")])
    found = parts_of(run(data)[0])
    assert set(found) == set(parts_of(data))
    for name, text in found.items():
        assert "0A1B2C3D" not in text, name
        assert "19283746" not in text, name
        assert "Ref99" not in text, name
        expat.ParserCreate().Parse(text, True)
    kept = ("style w:styleId=", "abstractNum w:abstractNumId=", "lvl w:ilvl=", "num w:numId=")
    assert all(any(f"<w:{each}" in text for text in found.values()) for each in kept)
    text = found["word/document.xml"]
    assert (text.count("_Toc1"), text.count("_Ref2")) == (3, 1)


@cases("target", "https://x.org/@zorblatt", "https://x.org/u/zorblatt?n=7", "http://zorblatt.org")
def test_a_link_to_a_page_leads_to_another_one(target):
    text = '<w:p><w:hyperlink r:id="rId2"><w:r><w:t>a</w:t></w:r></w:hyperlink></w:p>'
    data = document(text, (), [("hyperlink", target, OUTSIDE)])
    found = parts_of(run(data, strict=True)[0])
    assert "zorblatt" not in str(found)
    assert 'hyperlink" Target="W" TargetMode' in found["word/_rels/document.xml.rels"]


@cases("target", "ftp://zorblatt", "tel:7")
def test_a_link_to_somebody_does_not_pass(target):
    text = '<w:p><w:hyperlink r:id="rId2"><w:r><w:t>a</w:t></w:r></w:hyperlink></w:p>'
    data = document(text, (), [("hyperlink", target, OUTSIDE)])
    with pytest.raises(InputError, match="holds 1 link "):
        run(data, strict=True)
    found = parts_of(run(data)[0])
    assert target not in str(found)
    assert "<w:t>W</w:t>" in found["word/document.xml"]


@settings(max_examples=60)
@given(st.binary(max_size=8), st.integers(0, 1500))
@example(b"\xff\xff\xff\xff", 18)
def test_damage(patch, at):
    """Whatever bytes are broken: one line, or a document without the word."""
    data = bytearray(document(paragraph("Zorblatt")))
    data[at : at + len(patch)] = patch
    try:
        found = run(bytes(data))[0]
    except InputError as error:
        assert str(error).startswith("test")  # noqa: PT017
    else:
        assert "orblatt" not in str(parts_of(found))


def test_another_program_reads_it(tmp_path):
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    made = docx.Document()
    made.add_heading("One of Maria", 1)
    text = made.add_paragraph("two ")
    text.add_run("three").bold = True
    made.sections[0].footer.paragraphs[0].text = "four"
    made.core_properties.author = "Zorblatt"
    made.save(tmp_path / "a.docx")
    found = run((tmp_path / "a.docx").read_bytes())[0]
    read = docx.Document(io.BytesIO(found))
    assert [each.text for each in read.paragraphs] == ["W W W", "W W"]
    assert [each.bold for each in read.paragraphs[1].runs] == [None, True]
    assert read.paragraphs[0].style.name == "Heading 1"
    assert read.sections[0].footer.paragraphs[0].text == "W"
    assert "orblatt" not in str(parts_of(found))
