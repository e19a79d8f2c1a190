"""docs/for_whoever_signs.md, and the report that fills it in."""

import re

import pytest
from support import ROOT

from dpsan.analysis.pages.sections import Prose, Section, Shown, page
from dpsan.analysis.report.page import signing

PAGE = (ROOT / "docs/for_whoever_signs.md").read_text()
CLASSES = (ROOT / "docs/classes.md").read_text()
HARD = (
    "LDP|nats?|PROVED|⊥|integers?|certificate of|distribution|entropy|quantile|theorems?|epsilon 0"
)


def test_the_report_has_every_word_of_the_page(dpsan, tmp_path):
    (tmp_path / "a.txt").write_text("Maria met John in Paris on 3 May 2021 and went home.\n")
    done = dpsan("rewrite", "-q", "--only", "sensitive", "-a", "a.jsonl", "a.txt", cwd=tmp_path)
    assert done.returncode == 0
    assert dpsan("report", "a.jsonl", "--html", "r.html", cwd=tmp_path).returncode == 0
    html = (tmp_path / "r.html").read_text()
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    for heading in re.findall(r"^## (.+)$", PAGE, re.M):
        assert f"<h3>{heading}</h3>" in html
    assert "Of 12 words, by class: " in text
    assert "names 2" in text
    assert re.search(r"Here \d of 12 words\.", text)
    assert re.search(r"a\.txt: SHA-256 [0-9a-f]{64}", text)
    assert not {"Maria", "John", "Paris"} & set(text.split())
    assert b"The decision" not in dpsan("report", "a.jsonl", cwd=tmp_path).stdout


def test_where_every_word_was_drawn_nothing_is_said_of_lists(dpsan, tmp_path):
    (tmp_path / "a.txt").write_text("Maria met John in Paris on 3 May 2021 and went home.\n")
    assert dpsan("rewrite", "-e", "8", "-a", "a.jsonl", "a.txt", cwd=tmp_path).returncode == 0
    assert dpsan("report", "a.jsonl", "--html", "r.html", cwd=tmp_path).returncode == 0
    html = (tmp_path / "r.html").read_text()
    headings = re.findall(r"^## (.+)$", PAGE, re.M)
    of_only = headings[1:4]
    assert [heading for heading in headings if f"<h3>{heading}</h3>" not in html] == of_only
    for claim in ("cannot be calculated back", "none of these calculates"):
        assert html.count(claim) == len(
            re.findall(f"(?i)with <span>--only</span>[^.]*{claim}", html)
        )


def test_a_line_breaks_inside_no_option_and_words_of_a_table_begin_together():
    shown = Shown(
        "", [Prose("", "of --review and a--b"), Section(("a", "b", "c"), [("x", "y", 1)])]
    )
    made = page("", [shown])
    assert "of <span>--review</span> and a--b" in made
    assert re.findall(r'<t[hd] [^>]*class="([^"]*)"', made) == [
        "text",
        "text",
        "",
        "text",
        "text",
        "",
    ]


def test_the_figures_are_those_of_the_page_on_classes():
    """Shares of sensitive words that change, of three sets, and of other words that do."""
    told = re.search(
        r"(\d\d) of 100 sensitive words changed, in chats written in small letters (\d\d), in\s+"
        r"invented documents of 13 kinds (\d\d)",
        PAGE,
    )
    rows = (
        "presidio_synth_dataset_v2",
        "MultiDoGO, in small letters",
        "13 kinds, four of them German",
    )
    for figure, row in zip(told.groups(), rows, strict=True):
        share = re.search(rf"^\| [^|]*{row}[^|]*\| (\.\d+) of", CLASSES, re.M)[1]
        assert round(100 * float(share)) == int(figure), row


def test_each_of_the_eighteen_kinds_has_its_row():
    (table,) = (
        part for part in signing({}) if isinstance(part, Section) and "Safe" in part.columns[0]
    )
    assert len(table.rows) == 18


def test_no_word_of_it_needs_statistics():
    assert (
        re.findall(rf"(?<!\w)(?:{HARD})(?!\w)", PAGE.replace("Its theorem is written down", ""))
        == []
    )


@pytest.mark.parametrize("heading", ["The decision", "Signed"])
def test_facts_of_a_run_stand_below_their_heading(heading):
    filled = next(
        part for part in signing({heading: ["a fact"]}) if getattr(part, "heading", "") == heading
    )
    assert filled.lines[0] == "a fact"
