"""A container of another package (docs/own_format), which is installed beside dpsan."""

import ast
import gzip
import io
import re
import sys
import tomllib
import zipfile
from dataclasses import fields

import pytest
from docx_files import parts_of
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import identity, lettered, through
from support import ROOT, cases, tables

from dpsan.errors import InputError
from dpsan.files.packages import installed
from dpsan.formats.base import Format, ReadOptions, Record
from dpsan.formats.documents import Document
from dpsan.formats.kinds import FORMATS, REFUSED
from dpsan.formats.passing import LEFT_OUT, PASSED

FOLDER = ROOT / "docs" / "own_format"
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
IDENTITY, LETTERED = identity(), lettered()
MARK = "zqmarkqz"
URN = "urn:oasis:names:tc:opendocument:xmlns"
NAMES = " ".join(
    f'xmlns:{name}="{URN}:{name}:1.0"'
    for name in ("office", "text", "table", "style", "draw", "number", "meta")
)
NAMES += f' xmlns:fo="{URN}:xsl-fo-compatible:1.0" xmlns:svg="{URN}:svg-compatible:1.0"'
MANIFEST = "META-INF/manifest.xml"


def install(site, entries, name=PROJECT["name"]):
    """What pip writes into the folder of a package."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {value}" for key, value in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(["[dpsan.formats]", *lines, ""]))


@pytest.fixture(scope="module", autouse=True)
def site(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    install(site, PROJECT["entry-points"]["dpsan.formats"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(site), str(FOLDER), *sys.path])
        installed.cache_clear()
        yield site
    installed.cache_clear()


def odt(body="", more="", styles="", members=(), head="", top="", **info):
    """A document with a text and a header."""
    content = (
        f'{top}<office:document-content {NAMES} office:version="1.3"{head}>'
        f"<office:automatic-styles>{more}</office:automatic-styles><office:body><office:text>{body}"
        "</office:text></office:body></office:document-content>"
    )
    parts = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content}
    parts["styles.xml"] = f"<office:document-styles {NAMES}>{styles}</office:document-styles>"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**parts, MANIFEST: "<m/>", **dict(members)}.items():
            archive.writestr(name, text)
        archive.comment = info.get("comment", "").encode()
    return out.getvalue()


def p(text):
    return f"<text:p>{text}</text:p>"


def run(data, sanitizer=LETTERED, **options):
    return through(sanitizer, data, "odt", size=997, **options)


def body_of(data):
    return re.search("<office:text>(.*)</office:text>", parts_of(data)["content.xml"])[1]


CASES = tables("formats/cases")


def places(table):
    """Each place of a table, and what :func:`odt` needs for a document with it."""
    found = {}
    for what, part, text in CASES[table]:
        parts = found.setdefault(what, {})
        if part.startswith("member "):
            parts.setdefault("members", {})[part.removeprefix("member ")] = text
        else:
            parts[part] = parts.get(part, "") + text.replace("URN", URN)
    return found


DRAWN, LEFT, GONE = map(places, ("drawn", "left", "gone"))
COUNTS = {"field": 3, "drawing": 2, "computed text": 3, "attribute": 12, "other element": 4}
COUNTS |= {"metadata part": 3, "embedded file": 2}
REFUSED_XML = places("refused")
REFUSED_XML["depth"] = {"body": "<text:span>" * 400 + MARK + "</text:span>" * 400}


@cases("what", *DRAWN, *LEFT, *GONE)
def test_no_place_for_text_passes_in_silence(what):
    """Each is drawn, or left out and counted; ``--strict`` refuses what is left out."""
    data = odt(**(DRAWN | LEFT | GONE)[what])
    found, outcome = run(data)
    parts = (f"{key} {text}" for key, text in parts_of(found).items())
    text = found.decode("latin-1") + "".join(parts)
    for word in (MARK, MARK[:4], MARK[4:]):
        assert word not in text
    noted = {f"{LEFT_OUT}:{what}": COUNTS.get(what, 1)} if what in LEFT else {}
    assert outcome.passing.noted == noted
    assert (">W<" in text) == (outcome.totals.records > 0)
    assert outcome.totals.records or what not in DRAWN
    if noted:
        with pytest.raises(InputError, match=f"holds {what} "):
            run(data, strict=True)


@cases("what", *REFUSED_XML)
def test_what_no_word_processor_writes_is_refused(what):
    with pytest.raises(InputError, match=r"^test:\d+: content.xml: XML that no word processor"):
        run(odt(**REFUSED_XML[what]))


@cases(
    "change, message",
    ({"members": {"mimetype": "application/zip"}}, "no OpenDocument text"),
    ({"members": {MANIFEST: "<m:encryption-data/>"}}, "a document with a password"),
    ({"members": {"Content.xml": ""}}, "an archive in which a name is there twice"),
    ({"body": "<text:p/>" * 40}, "too many elements of XML"),
    ({"body": " " * 5000}, "parts longer than 4000 bytes together"),
)
def test_hostile_archives(change, message, monkeypatch):
    monkeypatch.setattr(ReadOptions, "max_record", 1000)
    with pytest.raises(InputError, match=message):
        run(odt(**change))


def test_a_text_keeps_its_structure():
    """And its spaces: OpenDocument ignores all but one space where no element stands for more."""
    body = (
        '<text:h text:style-name="Heading_20_1" text:outline-level="1">one</text:h>'
        '<text:p text:style-name="P1">two  <text:span text:style-name="T1">three</text:span> four'
        '<text:s text:c="3"/>five<text:tab/>six<text:line-break/>&lt;</text:p><text:p/>'
    )
    styles = '<style:text-properties fo:font-size="12pt" fo:border="0.5pt solid #00ff00"/>'
    font = '<style:font-face style:name="Some Font" svg:font-family="\'Some Font\'"/>'
    found, outcome = run(odt(body, more=f"{styles}{font}"), IDENTITY)
    body = body.replace("two  <", "two <").replace("<text:p/>", p(""))
    assert body_of(found) == body.replace('<text:s text:c="3"/>', ' <text:s text:c="2"/>')
    written = parts_of(found)["content.xml"]
    assert styles.replace("/>", "></style:text-properties>") in written
    assert font.replace("/>", "></style:font-face>") in written
    assert outcome.passing.noted == {f"{PASSED}:font name": 2}
    assert [*parts_of(found)] == ["mimetype", "content.xml", "styles.xml", MANIFEST]
    assert run(found, IDENTITY)[0] == found
    found, _ = run(odt(body), lettered("two words"))
    assert body_of(found).startswith(body.partition("one")[0] + "two words</text:h>")


FRAGMENTS = [p("a"), "<text:p>", "</text:p>", "<text:span>", "</text:span>", "<text:s/>", "a", " "]
FRAGMENTS += ["<text:list>", "</text:list>", "<x/>", "<text:x>", "</text:x>"]
FRAGMENTS += [DRAWN["footnote"]["body"].replace(MARK, "b")]
FRAGMENTS += ["<draw:a>", "</draw:a>", '<text:s text:c="7"/>', "<text:tab/>", "&amp;", "&#9;", "\n"]


@settings(max_examples=80)
@given(st.binary(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=12))
def test_any_bytes(data, fragments):
    for given_ in (data, odt("".join(fragments)), odt(members={"content.xml": data})):
        try:
            found, outcome = run(given_)
        except InputError as error:
            assert str(error).startswith("test")  # noqa: PT017
        else:
            assert run(found)[0] == found  # what is written can be read, and is complete
            assert ("a" in re.sub("<[^>]*>|&amp;", "", body_of(found))) is False
            assert outcome.totals.invalid == 0


CLEAR = "from dpsan.files.packages import installed; installed.cache_clear()\n"


@pytest.fixture
def launch(dpsan, folder, site):
    """Run commands of a dpsan beside which the package is installed."""
    text = f"{p('Here there')}{p('there')}"
    (folder / "a.odt").write_bytes(odt(text))
    (folder / "b.odt").write_bytes(odt(text, members={"Pictures/1.png": "x"}))
    (folder / "a.csv").write_text("text\nhere\n")

    def call(*commands, more=(), change=""):
        path = [*map(str, more), str(site), str(FOLDER)]
        change = f"{CLEAR}import sys; sys.path[:0] = {path!r}\n{change}"
        done = [dpsan(*words, cwd=folder, change=change) for words in commands]
        return [(each.returncode, each.stdout.decode(), each.stderr.decode()) for each in done]

    return call


REWRITE = ("rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt")
PACKAGE = re.compile(r"dpsan-odt, dpsan_odt\.py, SHA-256 [0-9a-f]{16}, third party, not reviewed")


def test_it_is_rewritten_without_what_it_cannot_rewrite(launch, folder):
    """Although its suffix is on the list of refused files; the package is named, not the manual."""
    assert ".odt" in REFUSED
    done = launch(
        [*REWRITE, "-q", "a.odt", "-o", "out.odt"],
        [*REWRITE, "-q", "--strict", "b.odt", "-o", "none.odt"],
        [*REWRITE, "-q", "-f", "odt", "b.odt", "-o", "stripped.odt"],
        [*REWRITE, "a.odt", "-o", "told.odt"],
        [*REWRITE, "-q", "-j", "2", "a.odt", "b.odt", "-O", "both"],
        [*REWRITE, "-q", "-f", "ODT", "a.odt"],
    )
    told = [(status, PACKAGE.sub("PACKAGE", told)) for status, _, told in done]
    left = (0, "dpsan: left out: 1 picture (PACKAGE)\n")
    assert told[:3] == [
        (0, ""),
        (1, "dpsan: b.odt: holds picture (1) (without --strict or -i they are left out)\n"),
        left,
    ]
    assert told[3][1].startswith("dpsan: container: PACKAGE\n")
    assert told[4:] == [left, (2, "dpsan: unknown format 'ODT' (-f odt)\n")]
    first = (folder / "out.odt").read_bytes()
    assert body_of(first) == f"{p('Here there')}{p('there')}"
    for name in ("stripped.odt", "told.odt", "both/a.odt", "both/b.odt"):
        assert (folder / name).read_bytes() == first
    assert not (folder / "none.odt").exists()


def test_resume_does_not_go_on_with_another_program(launch, tmp_path_factory):
    changed = tmp_path_factory.mktemp("changed")
    (changed / "dpsan_odt.py").write_text((FOLDER / "dpsan_odt.py").read_text() + "# changed\n")
    again = [*REWRITE, "-q", "-O", "out", "--resume", "a.odt"]
    assert [status for status, _, _ in launch(again[:-2] + again[-1:], again)] == [0, 0]
    ((status, _, told),) = launch(again, more=[changed])
    assert (status, "made with other options" in told) == (2, True)


def test_options_that_it_does_not_declare_are_refused(launch, folder):
    options, messages = zip(*CASES["options"], strict=True)
    commands = ([*REWRITE, "-q", *each.split(), "a.odt", "-o", "out.odt"] for each in options)
    for (status, _, told), message in zip(launch(*commands), messages, strict=True):
        assert status == 2
        assert told.startswith(f"dpsan: {message}")
    assert not (folder / "out.odt").exists()


def test_a_broken_package_is_named_in_a_line(launch, folder, tmp_path_factory):
    """The message of its error may quote anything; names and suffixes of dpsan stay dpsan's."""
    other = tmp_path_factory.mktemp("other")
    (other / "poor.py").write_text(
        "from dpsan.formats.documents import Document\nprint('no sanitized text')\n"
        "class Half(Document):\n    name = 'half'\n\nclass Named(Document):\n    name = 'other'\n"
        "    records = None\n\nnumber = 1\n"
    )
    (other / "loud.py").write_text("raise ValueError('Maria')\n")
    entries = {"csv": "loud:X", "log": "loud:X", "auto": "loud:X", "loud": "loud:X"}
    entries |= {"half": "poor:Half", "named": "poor:Named", "none": "poor:number", "lost": "poor:X"}
    install(other, entries, "poor-pack")
    (folder / "a.auto").write_text("here\n")
    messages = {
        "loud": "poor-pack: cannot import loud:X: ValueError",
        "half": "poor-pack: poor:Half has no records",
        "named": "poor-pack: poor:Named has another name than named",
        "none": "poor-pack: poor:number is no subclass of Format",
        "lost": "poor-pack: cannot import poor:X: AttributeError",
        "log": "unknown format 'log' (-f text)",
    }
    commands = [[*REWRITE, "-q", "-f", name, "a.csv"] for name in messages]
    commands += [[*REWRITE, "-q", "-k", "text", "a.csv"], [*REWRITE, "-q", "a.auto"]]
    *refused, table, plain = launch(*commands, more=[other])
    for (status, out, told), message in zip(refused, messages.values(), strict=True):
        assert (status, out, told.splitlines()[-1]) == (2, "", f"dpsan: {message}")
        assert "Maria" not in told
    assert [table, plain] == [(0, "text\nhere\n", ""), (0, "here\n", "")]


LOOKED = """
import importlib.metadata
importlib.metadata.entry_points = lambda group: print("looked", file=sys.stderr) or ()
"""


def test_packages_are_looked_for_where_no_suffix_is_dpsans(launch, folder):
    """It takes as long as a start of Python, and no everyday command pays for it."""
    for name in ("a.txt", "a.csv", "a.jsonl", "a.log.gz", "plain", "a.odt", "a.unknown"):
        (folder / name).write_text('{"text": "here"}\n' if "json" in name else "text\nhere\n")
    (folder / "a.log.gz").write_bytes(gzip.compress(b"here\n"))
    base = [*REWRITE, "-q"]
    own = [[*base, name] for name in ("a.txt", "a.log.gz", "plain")]
    own += [[*base, "-k", "text", "a.csv", "-o", "b.csv"], ["rewrite", "--help"]]
    own += [[*base, "-f", "jsonl", "-k", "text", "a.jsonl"]]
    others = [[*base, name] for name in ("a.odt", "a.unknown")]
    done = launch(*own, *others, change=LOOKED)
    told = ["looked" in told for _, _, told in done]
    assert told == [False] * len(own) + [True] * len(others)
    assert [status for status, _, _ in done] == [0] * len(own) + [1, 0]


def test_the_page_shows_the_package():
    page = (ROOT / "docs" / "own_format.md").read_text()
    assert f"```toml\n{(FOLDER / 'pyproject.toml').read_text()}```" in page
    exec(re.search("```python\n(.*?)```", page, re.DOTALL)[1], {})  # noqa: S102
    kind = {name for name in {*vars(Format), *vars(Document)} if name[0] != "_"}
    names = kind - {"suited", "labels", "headers"} | {field.name for field in fields(Record)}
    assert [name for name in sorted(names) if not re.search(rf"`{name}\b", page)] == []


def test_no_module_outside_of_formats_names_a_format():
    package = ROOT / "dpsan"
    others = {*package.rglob("*.py")} - {*(package / "formats").rglob("*.py")}
    quoted = re.compile(rf"""["']({"|".join(FORMATS)})["']""")  # only such files are parsed
    named = [path for path in others if quoted.search(path.read_text())]
    constants = {
        node
        for path in named
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
    }
    assert not {node.value for node in constants} & ({*FORMATS} - {"text"})
