"""Documents against the program.  ``python tests/test_docs.py`` rewrites the generated parts."""

import gzip
import itertools
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest
import regex
import typer
from docx_files import document, paragraph
from support import ROOT, marked, skip_without_extra, tables

from dpsan.cli.app import app
from dpsan.formats.kinds import FORMATS, format_class
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.mechanism import CLASSES
from dpsan.mechanisms.registry import parameter_rows, sections
from dpsan.privacy.guarantee import Status
from dpsan.text.shape import INVISIBLE
from dpsan.text.tokens import TOKENIZERS

README = ROOT / "README.md"
MAN = ROOT / "man" / "dpsan.1"
BIBLIOGRAPHY = ROOT / "dpsan" / "mechanisms" / "bibliography.bib"
START = "<!-- mechanisms: generated from the registry; tests/test_docs.py compares -->\n"
END = "<!-- /mechanisms -->"


def mechanism_table() -> str:
    """The page's table of mechanisms."""
    rows = ["| name | status | epsilon in | what it is |", "|---|---|---|---|"]
    for each in MECHANISMS.values():
        rows.append(f"| `{each.name}` | {each.status} | {each.epsilon_unit} | {each.summary} |")
    return "\n".join(rows) + "\n"


def mechanism_names() -> str:
    """The README's: their names, by what their epsilon means and by status."""
    kinds = {True: "LDP, epsilon in nats", False: "metric, epsilon per unit of distance"}
    status = {True: "PROVED", False: "as published, REFUTED or NONE"}
    rows = ["| guarantee | mechanisms |", "|---|---|"]
    for proved, nats in itertools.product((True, False), (True, False)):
        measured = [each for each in MECHANISMS.values() if (each.epsilon_unit == "nats") == nats]
        names = [f"`{each.name}`" for each in measured if (each.status is Status.PROVED) == proved]
        rows.append(f"| {status[proved]}: {kinds[nats]} | {', '.join(names)} |")
    return "\n".join(rows) + "\n"


GENERATED = {README: mechanism_names, ROOT / "docs" / "mechanisms.md": mechanism_table}
"""What stands between START and END, by page."""


def roff(text: str) -> str:
    """Text as roff input: escapes for hyphens, backslashes, leading dots and other scripts."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in text)
    return "\n".join(f"\\&{line}" if line[:1] in ".'" else line for line in text.split("\n"))


def mechanism_man() -> str:
    """The man page's section on mechanisms: what each is, in a sentence, and its parameters."""
    out = []
    for name, kind in MECHANISMS.items():
        summary = f"{kind.summary[0].upper()}{kind.summary[1:]}."
        rows = parameter_rows(name)
        given = [f"{row['name']}={'...' if row['required'] else row['value']}" for row in rows]
        more = f" Parameters: {', '.join(given)}." if given else ""
        out += [".TP", f".B {roff(name)}"]
        out.append(roff(f"{kind.status}; epsilon in {kind.epsilon_unit}. {summary}{more}"))
    return "\n".join(out) + "\n"


CAPABILITIES = dict(tables("cases")["capabilities"])
"""Options that some formats take, by the capability that a format declares."""


def format_man() -> str:
    """The man page's list of formats: suffixes, and options that not every format takes."""
    out = []
    for name, home in FORMATS.items():
        kind = format_class(name, "")
        taken = ["-k (needed)" if kind.needs_fields else "-k"] if kind.takes_fields else []
        taken += [] if kind.own_encoding else ["--encoding"]
        taken += [text for each, text in CAPABILITIES.items() if getattr(kind, each)]
        more = f" Takes {', '.join(taken)}." if taken else ""
        out += [".TP", f".B {roff(name)}", roff(f"{', '.join(home.suffixes)}.{more}")]
    return "\n".join(out) + "\n"


def format_names() -> str:
    """The README's list of formats."""
    return ", ".join(FORMATS)


MAN_START = '.\\" generated from the registry by tests/test_docs.py\n'
MAN_END = '.\\" end of the generated part\n'
MAN_PARTS = (mechanism_man, format_man)
"""What stands in the man page between MAN_START and MAN_END, in order."""
NAMES = re.compile(r"(?<=<!-- formats -->).*?(?=<!-- /formats -->)", re.DOTALL)


def test_generated_parts_are_the_registries():
    run = "run python tests/test_docs.py"
    parts = [each.split(MAN_END)[0] for each in MAN.read_text().split(MAN_START)[1:]]
    assert parts == [part() for part in MAN_PARTS], run
    assert NAMES.findall(README.read_text()) == [format_names()], run
    for page, table in GENERATED.items():
        assert page.read_text().split(START)[1].split(END)[0] == table(), run


def test_the_table_of_mechanisms_is_the_files():
    """Every mechanism is where the table says, and its file describes it."""
    for name, place in CLASSES.items():
        kind = MECHANISMS[name]
        assert f"{kind.__module__}.{kind.__name__}" == place
        assert "Definition" in sections(name)
    assert sections("tldp-paper-l") == sections("tldp-paper-g") != sections("tldp")


@pytest.mark.parametrize("name", MECHANISMS)
def test_docstring(name):
    """It has its sections, a paragraph of docs/proofs.md on it and a source that exists.

    Where there is neither a proof nor a refutation, no paragraph is asked for.
    """
    kind = MECHANISMS[name]
    module = sys.modules[kind.__module__]
    stem = "tldp-paper" if name.startswith("tldp-paper") else name
    parts = re.split("^(?=``)", module.__doc__, flags=re.M)
    (docstring,) = (part for part in parts if part.startswith(f"``{stem}``: "))
    wanted = {"Definition", "Guarantee", "Proof", "Source", "Cost", "Not to be confused with"}
    wanted |= {"Parameters"} if kind.parameters() else set()
    assert wanted <= {*re.findall(r"^([A-Z][\w ]+)$", docstring, re.M)}
    if kind.status not in (Status.CLAIMED, Status.NONE):
        page, number = sections(name)["Proof"].split()
        heads = dict(re.findall(r"^\*\*(\d\.\d+) ([^*]+)\*\*", (ROOT / page).read_text(), re.M))
        assert name in re.split(r",? and |, |\s+", heads[number].replace(".", ""))
    keys = re.findall(r"^@\w+\{([^,]+),", BIBLIOGRAPHY.read_text(), re.M)
    assert kind.source.split()[0].strip(",;") in keys


COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_help_and_a_man_entry(command):
    """And there is no entry without an option."""
    section = MAN.read_text().split(f".SS dpsan {command}\n")[1]
    section = re.split(r"^\.S[SH] ", section, flags=re.M)[0].replace("\\-", "-")
    documented = set(re.findall(r"--[a-z][a-z-]+", section))
    given = [each for each in COMMANDS[command].params if not getattr(each, "hidden", False)]
    actual = {option for each in given if each.name != "help" for option in each.opts}
    actual = {option for option in actual if option.startswith("--")}
    assert documented - {"--json"} <= actual | {"--force"}
    assert actual <= documented
    assert COMMANDS[command].help
    COMMANDS[command].tell()
    assert [each.name for each in given if each.opts and not each.help] == []


@pytest.mark.slow
def test_man_page_lists_what_passes():
    """Every code point is a word, is listed as passing, or is dropped: there is no fourth kind."""
    listed = MAN.read_text().split(".SH WHAT PASSES\n")[1].split(".PP\n")[0]
    ends = re.findall(r"U\+(\w{4})(?:\\-U\+(\w{4}))?", listed.split("of So")[1])
    ranges = [(int(first, 16), int(last or first, 16)) for first, last in ends]
    kinds = set(re.findall(r"\b[PS][a-z]\b", listed)) - {"So"}
    categories = "|".join(rf"\p{{{each}}}" for each in kinds)
    emoji = r"\p{Extended_Pictographic}|\p{Emoji_Modifier}"
    passing = regex.compile(rf"(?!{emoji})(?:{categories})")
    split, seen = TOKENIZERS["unicode"], Counter[str]()
    # Beyond the first two planes there are words, tags, and numbers that have no character.
    for code in [*range(0x20000), *range(0x20000, sys.maxunicode, 251), *range(0xE0000, 0xE0200)]:
        character = chr(code)
        pieces = split(character)
        space = bool(regex.match(r"\p{White_Space}", character))
        kind = "space" if space else "invisible" if INVISIBLE.match(character) else "passes"
        kind = "word" if pieces == ["", character, ""] else kind
        assert pieces in (["", character, ""], [character])
        seen[kind] += 1
        other = any(first <= code <= last for first, last in ranges)
        other = other and not regex.match(r"\p{Extended_Pictographic}", character)
        expected = other or bool(passing.match(character))
        assert (kind == "passes") == expected, hex(code)
    assert seen["space"] == 25
    assert (len(seen), min(seen.values()) > 20) == (4, True)


def test_man_page_is_clean():
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    command = ["groff", "-ww", "-man", "-Tutf8", str(MAN)]
    assert subprocess.run(command, capture_output=True, text=True).stderr == ""


PYTHON = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)


@pytest.mark.parametrize("block", PYTHON, ids=range(len(PYTHON)))
def test_readme_python_runs(block, cache, capsys, monkeypatch):
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    for library in re.findall(r"^(?:import|from) (pandas|polars|datasets)", block, re.M):
        pytest.importorskip(library, reason=f"{library} is not installed")
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    # A drawn word with an apostrophe, such as O'Brien, puts the string between other quotes.
    assert re.search(r"""\.['"]\] (8\.0|7\.99\d+)\n""", capsys.readouterr().out)


@pytest.mark.slow
def test_the_python_page_runs(cache, tmp_path, capsys, monkeypatch):
    """Its blocks one after the other; what a comment says of a printed line is printed."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text()
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(compile(block, "python.md", "exec"), names)  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == re.search(r"promise.delta\)  # (.*)", page)[1]
    assert printed[2].startswith("3 ")
    assert printed[-1] == "epsilon must be > 0 (got -1)"
    drawn = [names["one"], *names["many"], *names["again"], names["tickets"]["text"][0]]
    assert [text[-1] for text in drawn] == list("....??.")  # a word may stay as it was
    assert names["tickets"]["text"].isna().tolist() == [False, True, False]


def test_readme_is_short_and_architecture_shows_every_folder():
    text = README.read_text()
    assert PYTHON
    assert text.count("\n") <= 200
    diagram = (ROOT / "docs/architecture.md").read_text().split("```")[1]
    folders = {path.parent.name for path in (ROOT / "dpsan").glob("*/__init__.py")}
    assert folders <= set(re.findall(r"(?<=─► )\w+|(?<=◄─ )\w+|^\w+", diagram, re.M))


def examples() -> list[str]:
    """Lines of the README's shell blocks but the two that install, and the man page's examples."""
    after = README.read_text().split("## Everyday use")[1]
    blocks = re.findall(r"```sh\n(.*?)```", after, re.S)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    body = MAN.read_text().split(".SH EXAMPLES")[1].split(".SH ")[0].replace("\\e", "\\")
    blocks = re.findall(r"\.EX\n(.*?)\.EE", body, re.S)
    return [*filter(None, lines), *(each.strip().replace("\\-", "-") for each in blocks)]


SLOW = ["dpsan verify -e 8", "dpsan calibrate --unchanged 0.3 -m laplace"]
SLOW += ["dpsan verify -m krr -e 8 --words 10 --draws 20000"]


@pytest.fixture
def named_files(tmp_path):
    """The files that the examples name."""
    letters = "abcdefghijkl"
    words = "".join(f"the {x}o{y} and a {y}u{x}\n" for x in letters for y in letters)
    for name, text in {
        "letter.txt": "Dear Maria, see you in Paris.\n",
        "notes.txt": "Notes of Monday.\n",
        "in": "a house\n",
        "public.txt": 2 * words,
        "one.log": "first line\nsecond line\n",
        "live.log": "a line\n",
        "data.jsonl": '{"id": 1, "text": "Maria in Paris"}\n',
        "chat.jsonl": '{"messages": [{"role": "user", "content": "My name is Maria."}]}\n',
        "tickets.csv": 'id,body\n1,"Maria, in Paris"\n',
        "page.html": "<p title=Maria>Maria in <b>Paris</b></p>\n",
        "a.eml": "From: Maria\nSubject: Paris\n\nMaria in Paris\n",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "report.docx").write_bytes(document(paragraph("Maria in Paris")))
    (tmp_path / "old.gz").write_bytes(gzip.compress(b"an old line\n"))
    (tmp_path / "glove.txt.gz").write_bytes(gzip.compress(b"a 1 0\nhouse 0 1\nhome 1 1\n"))


@pytest.mark.parametrize("line", marked("slow", dict.fromkeys(examples()), *SLOW))
def test_examples_run(line, named_files, shell):
    """As typed; with few words, as what comes out is not the question, but for --fluent."""
    if "jq" in line and not shutil.which("jq"):
        pytest.skip("jq is not installed")
    line = line.replace("timeout 5", "timeout 1")
    done = shell(line, **({} if "--fluent" in line else {"FEWER_WORDS": "300"}))
    skip_without_extra(done.stderr)
    assert done.returncode == 0, done.stderr


def test_the_bibliography_compiles_without_a_warning(tmp_path):
    """BibTeX reads every entry of what `dpsan mechanisms NAME` prints."""
    if not shutil.which("bibtex"):
        pytest.skip("LOUD: bibtex is not installed, the bibliography was NOT compiled")
    shutil.copy(BIBLIOGRAPHY, tmp_path / "all.bib")
    lines = (r"\citation{*}", r"\bibstyle{plain}", r"\bibdata{all}")
    (tmp_path / "paper.aux").write_text("\n".join(lines) + "\n")
    done = subprocess.run(["bibtex", "paper"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "arning" not in done.stdout
    assert (tmp_path / "paper.bbl").read_text().count("\\bibitem") > 20


if __name__ == "__main__":
    for page, table in GENERATED.items():
        before, rest = page.read_text().split(START)
        page.write_text(before + START + table() + END + rest.split(END, 1)[1])
    README.write_text(NAMES.sub(format_names(), README.read_text()))
    first, *rest = MAN.read_text().split(MAN_START)
    for part, old in zip(MAN_PARTS, rest, strict=True):
        first += MAN_START + part() + MAN_END + old.split(MAN_END, 1)[1]
    MAN.write_text(first)
