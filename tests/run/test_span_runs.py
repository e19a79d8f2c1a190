"""``--spans`` with everything else that a run can do: the rest passes, and it is said."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from support import cases, cut_long, make_embeddings, share_of_event

from dpsan.analysis.report import read_audit
from dpsan.analysis.report.page import shown
from dpsan.analysis.verify.checks import exposures
from dpsan.cli.rewrite import Rewrite
from dpsan.errors import UsageError
from dpsan.files import source
from dpsan.formats.base import ReadOptions
from dpsan.run import cluster as engine
from dpsan.run.audit import read_rows
from dpsan.run.audit.writer import AuditWriter
from dpsan.run.plan import Plan
from dpsan.run.run import Run
from dpsan.sanitize.accountant import FACTS
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement

EMBEDDINGS = make_embeddings(n=40, d=4)
KEY = b"k" * 32

CHOICE = FACTS["choice"]


def row(*spans):
    return {"spans": [{"start": start, "end": end} for start, end in spans]}


def opened(**more):
    return Sanitizer(**{"mechanism": "krr", "epsilon": 0.01, "embeddings": EMBEDDINGS, **more})


def test_spans_that_shrink_while_they_are_read_let_no_record_pass(tmp_path, monkeypatch):
    """Records without spans pass as they are, so the rest of the file would be published."""
    spans, text, out = tmp_path / "spans", tmp_path / "a.txt", tmp_path / "out"
    text.write_text("word1 word2\n" * 500)
    lines = [json.dumps({"record": at, **row((0, 5))}) + "\n" for at in range(1, 501)]
    spans.write_text("".join(lines))
    cut = len("".join(lines[:250]))
    monkeypatch.setattr(source, "_CHUNK", 1000)
    real = source.FileSource.read

    def shrinking(self):
        if self.name == str(spans) and self.bytes_read >= cut - 1000:
            os.truncate(spans, cut)
        return real(self)

    monkeypatch.setattr(source.FileSource, "read", shrinking)
    result = Run(opened(), Plan(spans=spans), KEY, [text], out).execute()
    assert result.failed == [f"{spans}: changed while it was read (run it again)"]
    assert not out.exists()


def test_what_a_span_touches_is_drawn_whole():
    sanitizer = opened(case="vocabulary")
    for text, span, before, behind in (
        ("mail m.g@example.org now", (7, 8), "mail ", " now"),
        ("on 2023-03-05 at 10", (8, 12), "on ", " at 10"),
        ("Zo\u0301e's\u200b cat", (0, 1), "", "\u200b cat"),
        ("one word1-word2 two", (4, 5), "one ", " two"),
    ):
        out = sanitizer.rewrite(text, [span])
        assert out.startswith(before)
        assert out.endswith(behind)
        drawn = out.removeprefix(before).removesuffix(behind).removesuffix("'s")
        assert all(each in EMBEDDINGS.key_to_index for each in drawn.split("-"))


def test_gaps_belong_to_the_span_that_they_are_in():
    sanitizer = opened(unknown="mask")
    text = "a\u00ad \u200b b \u200b c\U0001f600d"
    assert sanitizer.rewrite(text, []) == text
    assert sanitizer.rewrite(text, [(2, 4)]) == "a\u00ad  b \u200b c\U0001f600d"
    assert sanitizer.rewrite(text, [(0, 6)]) == "<unk>  <unk> \u200b c\U0001f600d"
    # What stands in a token goes with it; the ending 's stands behind it.
    assert sanitizer.rewrite("MA\u200bRIA'S \u200b", [(0, 1)]) == "<unk>'S \u200b"
    assert sanitizer.rewrite("MARIA'S \u200b", [(0, 7)]) == "<unk>'s \u200b"
    chunks = opened(unknown="mask", tokenizer="whitespace")
    assert chunks.rewrite("\u200b (\u200ba b", [(4, 5)]) == "\u200b <unk> b"
    # Two words without anything between them could not be told apart.
    assert sanitizer.rewrite(text, [(10, 11)]) == "a\u00ad \u200b b \u200b c <unk> d"


def test_lists_of_spans():
    sanitizer = opened(unknown="mask")
    texts, spans = ["a b", None, "c"], [[[2, 3]], None, np.array([[0, 1]])]
    assert sanitizer.rewrite(texts, spans) == ["a <unk>", None, "<unk>"]
    assert sanitizer.rewrite(["a b"], iter([[(0, 1)]])) == ["<unk> b"]
    few, many = [[], []], [[], [], [], []]
    for wrong in (few, many, *([[each], [], []] for each in ((0, 4), (1, 1), (-1, 1)))):
        with pytest.raises(UsageError):
            sanitizer.rewrite(texts, wrong)
    for wrong in (["ab"], [(0,)], [(0, 1, 2)], [(0.0, 1)], [3], [("0", "1")]):
        with pytest.raises(UsageError, match="a span must be a pair of whole numbers"):
            sanitizer.rewrite("a b", wrong)


@pytest.mark.parametrize("unit", [None, "record", "run"])
def test_long_texts_are_cut_between_words(monkeypatch, unit):
    text = "word1, Maria's x-y—word2 é\u0301 \u200b, " * 50
    spans = [(at, at + 9) for at in range(3, len(text) - 9, 31)]
    made = opened(consistent=unit, epsilon=3)
    whole = made.sanitize([text, "word1"], KEY, spans=[spans, []])
    cut_long(monkeypatch, 300, 40, 301)
    done = made.sanitize([text, "word1"], KEY, spans=[spans, []])
    assert done.lines == whole.lines != [text, "word1"]
    assert (done.drawn, done.counts, done.invisible) == (whole.drawn, whole.counts, whole.invisible)


def test_settings_hold_inside_alone():
    given = {"keep": ["kept"], "public": ["word1"], "numbers": "value", "consistent": "record"}
    made = opened(mechanism="optimal-response", epsilon=5, **given)
    text = "kept 555-0199 word2 word1 zq | kept 555-0199 word2 word1 zq"
    half = text.index("|")
    done = made.sanitize([text], KEY, spans=[[(0, half)]], audit=True)
    assert done.lines[0].endswith(text[half:])
    counts = dict.fromkeys(Action, 0) | dict.fromkeys((Action.KEPT, Action.NUMBER), 1)
    counts |= {Action.DRAWN: 2, Action.UNKNOWN: 1, Action.OUTSIDE: 5}
    assert (done.counts, done.drawn, done.public) == (counts, [4], 1)
    assert [*done.records.originals] == text.replace("|", "").split()
    twice = made.sanitize([text], KEY, spans=[[(0, half), (half + 1, len(text))]])
    first, second = twice.lines[0].lower().split(" | ")
    assert first == second  # one draw for each distinct word


ROWS = ["word1 zq, word2", "", "word3 word3", "kept word4"]
SPANS = [[(0, 1), (10, 15)], [], [(3, 8)], []]
FOUND = "".join(
    json.dumps({"record": line, **row(*each)}) + "\n"
    for line, each in enumerate(SPANS, start=1) if each
)  # fmt: skip


def run_of(folder, sanitizer, copies=1, found=FOUND, **more):
    (folder / "in.jsonl").write_text("".join(json.dumps({"t": row}) + "\n" for row in ROWS))
    (folder / "spans").write_text(found)
    plan = Plan(options=ReadOptions(fields=("t",)), copies=copies, spans=folder / "spans")
    return Run(sanitizer, plan, KEY, [folder / "in.jsonl"], **more)


@cases("copies options", (3, {}), (1, {"consistent": "run"}), (1, {"unknown": "mask"}))
def test_the_audit_tells_what_passed(tmp_path, copies, options):
    made = opened(keep=["kept"], **options)
    plan = Plan(copies=copies, spans=tmp_path / "spans", originals=True)
    with AuditWriter(tmp_path / "a", made, plan) as audit:
        more = {"output": tmp_path / "out", "audit": audit}
        result = run_of(tmp_path, made, copies=copies, **more).execute()
    assert not result.failed
    rows = [json.loads(row)["t"] for row in (tmp_path / "out").read_text().splitlines()]
    assert rows[copies : 2 * copies] == [""] * copies
    assert rows[3 * copies :] == ["kept word4"] * copies
    assert all(" zq, " in row for row in rows[:copies])
    told, totals = read_audit(tmp_path / "a"), result.totals
    for action in Action:
        assert told[action] == totals.counts[action]
    assert (told["outside"], totals.unmarked, totals.records) == (3 * copies, 2, 4)
    assert (told["spans"], told["private"], told["linked"]) == (True, False, None)
    assert CHOICE in told["not_protected"]
    assert f"{CHOICE} is not protected" in shown(told).parts[0].lines
    outside = [row for _, row in read_rows(tmp_path / "a") if row.get("action") == "outside"]
    assert {row["out"] for row in outside} == {"zq", "kept", "word4"}
    assert all(row["epsilon"] is None and row["in"] == row["out"] for row in outside)


@pytest.mark.parametrize("tree", [False, True])
def test_no_file_is_placed_after_a_mistake(tmp_path, tree):
    for record, end in ((5, 1), (4, 99), (9, 1)):
        found = FOUND + json.dumps({"record": record, **row((0, end))}) + "\n"
        out = tmp_path / "out"
        (told,) = run_of(tmp_path, opened(), found=found, output=out, tree=tree).execute().failed
        assert told.startswith(f"{tmp_path / 'spans'}:")
        files = [path.name for path in tmp_path.rglob("*") if path.is_file()]
        assert sorted(files) == ["in.jsonl", "spans"]


def test_resumed_and_dry_runs(tmp_path):
    more = {"output": tmp_path / "tree", "tree": True}
    assert not run_of(tmp_path, opened(), **more).execute().failed
    # A finished output is skipped, and its spans are not read.
    again = run_of(tmp_path, opened(), found="", resume=True, **more).execute()
    assert (again.skipped, again.failed) == (1, [])
    dry = run_of(tmp_path, opened(), samples=[])
    totals = dry.execute().totals
    assert (totals.draws, totals.counts[Action.OUTSIDE], len(dry.samples)) == (4, 3, 2)


def test_the_statement(tmp_path):
    def said(found, **more):
        run = run_of(tmp_path, opened(), found=found, output=tmp_path / f"{len(found)}")
        return Statement(run.execute().totals, "krr", 0.1, spans=True).lines(**more)

    passed = (
        "passed outside spans: 3 words, with 2 records without a span; "
        "everything outside the spans and their choice is not protected"
    )
    summary, line, *_ = said(FOUND)
    assert line == passed
    assert summary.startswith("4 words in spans drawn (besides 3 outside) by krr")
    assert "expected unchanged" not in summary  # a share of running words, which spans have not
    assert said("x") == []
    passed = passed.replace("3 words", "7 words").replace("2 records", "4 records")
    assert said('{"record": 1, "spans": []}') == [passed]
    (tmp_path / f"{len(FOUND)}").unlink()
    assert f"not protected: {CHOICE}, number of words" in said(FOUND, verbose=True)[-1]


def test_verify_names_the_setting():
    assert exposures(opened()) == ()
    made = opened(mechanism="knn-response", epsilon=3, public=["word1"])
    found = exposures(made, spans=True)
    assert {each.option: each.stated for each in found}["spans"] is False
    share = share_of_event(
        made, "word2", "zqvxkjq", lambda output: output.lower() != "zqvxkjq", ([(0, 5)], [])
    )
    assert share > 0.9
    assert {each.option for each in found} == {"public", "spans"}


@cases(
    "files more message",
    (["a", "b"], {}, "--spans is for one input"),
    (["a.jsonl"], {"field": ["t", "u"]}, "--spans is for one --field"),
    (["a.jsonl"], {"field": ["t"], "bad_records": Path("bad")}, "--spans excludes --bad-rec"),
    (["a"], {"engine": "ray", "output_dir": Path("out")}, "--engine ray excludes --audit"),
    (["a"], {"output": Path("s")}, "--spans and output are the same file"),
)
def test_what_cannot_be_right_is_refused(monkeypatch, tmp_path, files, more, message):
    monkeypatch.setattr(engine, "require_ray", lambda: None)
    monkeypatch.chdir(tmp_path)
    for name in "abs":
        Path(name).touch()
    given = {"force": True, "output": None, "spans": Path("s"), **more}
    with pytest.raises(UsageError, match=message):
        Rewrite(files=[Path(name) for name in files], epsilon=8, **given).run()


def test_on_the_command_line(dpsan, folder, tmp_path):
    found = json.dumps({"record": 1, **row((0, 2))}) + "\n"
    (tmp_path / "s").write_text(found)
    base = ["rewrite", "-e", "5", "-m", "laplace", "-E", "two.txt", "--spans", "s"]
    done = dpsan(*base, "-j", "2", cwd=tmp_path, stdin=b"zq, Maria\nnever\n", status=0)
    assert done.stdout in (b"Here, Maria\nnever\n", b"There, Maria\nnever\n")
    assert b"dpsan: passed outside spans: 2 words, with 1 record without a span; " in done.stderr
    (tmp_path / "s").write_text(found + found.replace("1", "7", 1))
    done = dpsan(*base, cwd=tmp_path, stdin=b"zq, Maria\nnever\n", status=1)
    assert done.stderr.startswith(b"dpsan: s:2: record 7: the input has no such text")
