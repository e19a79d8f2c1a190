import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_back import Page
from support import ROOT, cases

from dpsan.analysis.pages import Prose, Section, Shown, page
from dpsan.analysis.report import read_audit
from dpsan.analysis.report.page import shown as said
from dpsan.analysis.report.page import signing
from dpsan.errors import InputError

VOCABULARY = "two.txt"
SECRET = "Zanzibarquux"  # noqa: S105


@pytest.fixture(scope="module")
def audits(dpsan, tmp_path_factory):
    """Three runs with audits: two files of which one fails, masked copies, and JSONL."""
    folder = tmp_path_factory.mktemp("report")
    (folder / VOCABULARY).write_text("here 0 9\nthere 9 0\n")
    (folder / "a<b>.txt").write_text("here there\n\nhere\n" + "here there here\n" * 500)
    (folder / "b.txt").write_bytes(b"here\xff\n" + SECRET.encode() + b"\n")
    (folder / "c.jsonl").write_text('{"t":"here","u":"there x"}\n{"t":null,"u":"here"}\n')
    base = ["-q", "-e", "2", "-m", "laplace", "-E", VOCABULARY]
    runs = (
        (["-O", "out", "-a", "1.jsonl", "a<b>.txt", "b.txt", "none.txt"], 1),
        (["--unknown", "mask", "--copies", "2", "-a", "2.jsonl", "--audit-originals", "b.txt"], 0),
        (["-k", "t", "-k", "u", "-a", "3.jsonl", "c.jsonl"], 0),
    )
    for arguments, status in runs:
        assert dpsan("rewrite", *base, *arguments, cwd=folder).returncode == status
    return folder


def test_sums(audits):
    first = read_audit(audits / "1.jsonl")
    told: dict = {"mechanism": "laplace", "status": "PROVED", "arithmetic": "up to rounding"}
    told |= {"words": 1505, "drawn": 1503, "unknown": 2, "records_with_words": 504}
    told |= {"epsilon_sum": 3010, "epsilon_per_record": {"p5": 6, "p50": 6, "p95": 6, "max": 6}}
    assert first == first | told | {"complete": False}
    assert [each["records"] for each in first["files"]] == [503, 2]
    assert first["files"][1]["invalid"] == 1
    assert all(len(each["output_sha256"]) == 64 for each in first["files"])
    second = read_audit(audits / "2.jsonl")
    assert second["complete"]
    assert (second["words"], second["draws"], second["masked"]) == (4, 0, 4)
    third = read_audit(audits / "3.jsonl")
    assert (third["records_with_words"], third["epsilon_per_record"]["max"]) == (2, 6)


def test_command(audits, dpsan):
    done = dpsan("report", "1.jsonl", "2.jsonl", cwd=audits, status=0)
    said = b" ".join(done.stdout.split())
    assert b"drawn 1,503 99.87 % unknown, drawn as one input 2 0.13 %" in said
    assert b"epsilon per record, 5/50/95 %/largest 6 / 6 / 6 / 6 " in said
    assert b"1.jsonl\n\n  not finished: some inputs are missing" in done.stdout
    shown = json.loads(dpsan("report", "--json", "1.jsonl", "3.jsonl", cwd=audits).stdout)
    assert [each["words"] for each in shown] == [1505, 4]
    done = dpsan("report", "--html", "r.html", "1.jsonl", "2.jsonl", "3.jsonl", cwd=audits)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = dpsan("report", "--html", "r.html", "1.jsonl", cwd=audits)
    assert (done.returncode, done.stderr) == (1, b"dpsan: r.html: exists (--force replaces it)\n")
    done = dpsan("report", "nothing.jsonl", "3.jsonl", cwd=audits, status=1)
    assert done.stderr == b"dpsan: nothing.jsonl: no such file\ndpsan: 1 of 2 files failed\n"
    # A WEAK guarantee says a long sentence.
    shown = dpsan("report", "2.jsonl", "1.jsonl", cwd=audits).stdout.decode()
    assert "WEAK" in shown
    assert max(map(len, shown.splitlines())) <= 100
    masked, header = (line for line in shown.splitlines() if line.startswith("file"))
    assert masked.split() == ["file", "records", "words", "masked", "epsilon"]
    assert header.split() == ["file", "records", "words", "drawn", "unknown", "epsilon"]


def shown(dpsan, folder):
    """Everything that ``report`` can print of an audit."""
    texts = [dpsan("report", *how, "audit.jsonl", cwd=folder).stdout for how in ([], ["--json"])]
    dpsan("report", "--html", "page.html", "--force", "audit.jsonl", cwd=folder)
    return [*(each.decode() for each in texts), (folder / "page.html").read_text()]


def test_a_report_cannot_test_guesses(dpsan, tmp_path):
    """Reports of as many other words differ in the digest of the output alone."""
    seen = []
    for name, text in (("one", b"here\nthere here\n"), ("two", b"there\nhere there\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / VOCABULARY).write_text("here 0 9\nthere 9 0\n")
        (folder / "text.txt").write_bytes(text)
        more = ("-a", "audit.jsonl", "--audit-originals", "text.txt")
        done = dpsan("rewrite", "-q", "-e", "2", "-m", "krr", "-E", VOCABULARY, *more, cwd=folder)
        assert done.returncode == 0
        told = shown(dpsan, folder)
        (file,) = json.loads(told[1])[0]["files"]
        created = r"\d{4}-\d\d-\d\dT[\d:+]+"
        rest = [re.sub(f"{created}|{file['output_sha256']}", "", each) for each in told]
        for before, each in zip(told, rest, strict=True):
            assert re.search(r"counts of unknown, masked\s+and kept words\s+\(they depend", before)
            assert file["output_sha256"] in before
            for way in ("sha256", "sha1", "md5"):
                assert hashlib.new(way, text).hexdigest() not in each
        seen.append(rest)
    assert seen[0] == seen[1]


REPLACED = ("Mr. Case met {} on Monday. {} waited.\n", "Grace", "Maria")
"""A text with a name, and two names of one group."""


def test_a_report_of_rules_has_reasons_and_no_word_that_was_replaced(dpsan, tmp_path):
    text, *names = REPLACED
    told = []
    for name in names:
        (tmp_path / "text.txt").write_text(text.format(name, name))
        more = ("--seed", "1", "--force", "-o", "out", "-a", "audit.jsonl", "text.txt")
        assert dpsan("rewrite", "-q", "--only", "names", *more, cwd=tmp_path).returncode == 0
        told.append(shown(dpsan, tmp_path))
    (report,) = json.loads(told[0][1])
    counts = {(row["class"], row["rule"], row["passes"]): row["words"] for row in report["reasons"]}
    assert counts["names", "title 1", None] == 1
    assert counts["names", "sure", None] == 2
    assert counts[None, None, "list titles"] == 1
    assert counts[None, None, "class dates is not chosen"] == 1
    assert sum(counts.values()) == report["words"]
    for printed in (told[0][0], told[0][2]):
        assert "title 1" in printed
        assert "list vocabulary" in printed
        assert not any(word in printed for word in ("Case", "Grace", "Monday"))
    created = r"\d{4}-\d\d-\d\dT[\d:+]+"
    assert len({re.sub(created, "", page) for _, page, _ in told}) == 1


@pytest.mark.parametrize(("unit", "most"), [("record", 16), ("off", 24)])
def test_the_report_and_the_audit_name_one_loss_of_the_largest_record(dpsan, tmp_path, unit, most):
    """Two lines share the number 12: the report showed the 8 of each line beside the 16 of both."""
    (tmp_path / "a.txt").write_text("Grace has 12 cats.\nShe has 30 dogs, 12 cats.\n")
    run = ["-q", "--only", "sensitive", "--numbers", "value", "-e", "8", "--consistent", unit]
    assert dpsan("rewrite", *run, "-a", "a.jsonl", "a.txt", cwd=tmp_path).returncode == 0
    told = json.loads((tmp_path / "a.jsonl").read_text().splitlines()[-1])
    report = read_audit(tmp_path / "a.jsonl")
    assert told["epsilon_ldp_largest_record"] == most
    assert report["largest_record"]["epsilon_ldp"] == report["epsilon_per_record"]["max"] == most


def test_weak_runs_are_loud(dpsan, folder):
    more = ("-q", "-e", "20", "-m", "krr", "-E", VOCABULARY, "-a", "audit.jsonl")
    dpsan("rewrite", *more, stdin=b"here there\n", cwd=folder)
    for each in shown(dpsan, folder):
        assert "LDP epsilon 20 per word, and above 16 a bound says almost nothing" in each
        assert "over 99 %" in each


def test_page_is_self_contained_and_without_words(audits):
    out = page("report", [said(read_audit(audits / f"{number}.jsonl")) for number in (1, 2, 3)])
    assert Page(out).tags.count("dl") == 2 * 3
    assert "prefers-color-scheme:dark" in out
    assert "a&lt;b&gt;.txt" in out
    for text in (out, json.dumps([read_audit(audits / "2.jsonl")])):
        assert SECRET not in text
        assert not re.search(r"\b(here|there)\b", text)


def lines(audits):
    return (audits / "1.jsonl").read_bytes().splitlines(keepends=True)


@cases(
    "change message",
    (lambda rows: [*rows[:5], b'{"type":"wo\n', *rows[6:]], ":6: damaged audit row: not JSON"),
    (lambda rows: [*rows[:-1], rows[-1][:-9]], ":1509: damaged audit row: not JSON"),
    (lambda rows: rows[1:], ":1: not an audit of dpsan (see rewrite --audit)"),
    (lambda rows: rows[:7] + rows[8:], ":1504: damaged audit row: the words before it do not"),
    (lambda rows: [*rows, rows[3]], ":1510: damaged audit row: a row behind the totals"),
    (lambda rows: [rows[0], b'{"type":"secret"}\n'], ":2: damaged audit row: unknown type"),
    (lambda rows: [rows[0], b"[1]\n"], ":2: damaged audit row"),
    (lambda rows: [], ": not an audit: empty"),
)
def test_damage_names_file_and_line(audits, tmp_path, change, message):
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"".join(change(lines(audits))))
    with pytest.raises(InputError) as caught:
        read_audit(bad)
    assert str(caught.value).startswith(f"{bad}{message}")
    assert "secret" not in str(caught.value)


@given(data=st.binary(max_size=80), at=st.integers(0, 900))
def test_any_damage_is_one_error(audits, data, at):
    rows = b"".join(lines(audits)[:4])
    bad = audits / "any.jsonl"
    bad.write_bytes(rows[:at] + data + rows[at:])
    try:
        read_audit(bad)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_unfinished_run(audits, tmp_path):
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(lines(audits)[:100]))
    told = read_audit(cut)
    assert not told["complete"]
    assert told["files"][0]["finished"] is False
    assert told["words"] == 99
    page("report", [said(read_audit(cut))])


# docs/for_whoever_signs.md, and the report that fills it in.


PAGE = (ROOT / "docs/for_whoever_signs.md").read_text()
CLASSES = (ROOT / "docs/classes.md").read_text()
HARD = "LDP|nats?|PROVED|⊥|integers?|certificate of|distribution|entropy|quantile|theorems?"
HARD += "|epsilon 0"


def test_the_report_has_every_word_of_the_page(dpsan, tmp_path):
    (tmp_path / "a.txt").write_text("Maria met John in Paris on 3 May 2021 and went home.\n")
    done = dpsan("rewrite", "-q", "--only", "sensitive", "-a", "a.jsonl", "a.txt", cwd=tmp_path)
    assert done.returncode == 0
    assert dpsan("report", "a.jsonl", "--html", "r.html", cwd=tmp_path).returncode == 0
    html = (tmp_path / "r.html").read_text()
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    headings = re.findall(r"^## (.+)$", PAGE, re.M)
    left_out = [heading for heading in headings if f"<h3>{heading}</h3>" not in html]
    assert left_out == ["If every word was drawn"]
    assert "Of 12 words, by class: " in text
    assert "names 2" in text
    assert re.search(r"Here \d of 12 words\.", text)
    assert re.search(r"a\.txt: SHA-256 [0-9a-f]{64}", text)
    assert not {"Maria", "John", "Paris"} & set(text.split())
    assert b"The decision" not in dpsan("report", "a.jsonl", cwd=tmp_path).stdout


@pytest.mark.slow
def test_where_every_word_was_drawn_nothing_is_said_of_lists(dpsan, tmp_path):
    (tmp_path / "a.txt").write_text("Maria met John in Paris on 3 May 2021 and went home.\n")
    assert dpsan("rewrite", "-e", "8", "-a", "a.jsonl", "a.txt", cwd=tmp_path).returncode == 0
    assert dpsan("report", "a.jsonl", "--html", "r.html", cwd=tmp_path).returncode == 0
    html = (tmp_path / "r.html").read_text()
    headings = re.findall(r"^## (.+)$", PAGE, re.M)
    of_only = headings[1:4]
    assert [heading for heading in headings if f"<h3>{heading}</h3>" not in html] == of_only
    for claim in ("cannot be calculated back", "none of these calculates"):
        claims = re.findall(f"(?i)with <span>--only</span>[^.]*{claim}", html)
        assert html.count(claim) == len(claims)


def test_a_line_breaks_inside_no_option_and_words_of_a_table_begin_together():
    parts = [Prose("", "of --review and a--b"), Section(("a", "b", "c"), [("x", "y", 1)])]
    made = page("", [Shown("", parts)])
    assert "of <span>--review</span> and a--b" in made
    classes = re.findall(r'<t[hd] [^>]*class="([^"]*)"', made)
    assert classes == ["text", "text", "", "text", "text", ""]


def test_the_figures_are_those_of_the_page_on_classes():
    """Shares of sensitive words that change, of three sets, and of other words that do."""
    pattern = r"(\d\d) of 100 sensitive words changed, in chats written in small letters (\d\d),"
    pattern += r" in invented documents of 13 kinds (\d\d)"
    told = re.search(pattern, " ".join(PAGE.split()))

    rows = (
        "presidio_synth_dataset_v2",
        "MultiDoGO, in small letters",
        "13 kinds, four of them German",
    )
    for figure, row in zip(told.groups(), rows, strict=True):
        share = re.search(rf"^\| [^|]*{row}[^|]*\| (\.\d+) of", CLASSES, re.M)[1]
        assert round(100 * float(share)) == int(figure), row


def test_each_of_the_eighteen_kinds_has_its_row():
    sections = (part for part in signing({}) if isinstance(part, Section))
    (table,) = (part for part in sections if "Safe" in part.columns[0])
    assert len(table.rows) == 18


def test_no_word_of_it_needs_statistics():
    assert re.findall(rf"(?<!\w)(?:{HARD})(?!\w)", PAGE) == []


@pytest.mark.parametrize("heading", ["The decision", "Signed"])
def test_facts_of_a_run_stand_below_their_heading(heading):
    parts = signing({heading: ["a fact"]})
    filled = next(part for part in parts if getattr(part, "heading", "") == heading)
    assert filled.lines[0] == "a fact"
