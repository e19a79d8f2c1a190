"""``compare``: figures by hand on a tiny vocabulary, intervals, rows without figures, CSV."""

import csv
import io
import json
import math
import re
import signal

import numpy as np
import pytest
from scipy import stats
from support import need_extra

from dpsan.analysis import compare as table
from dpsan.analysis.compare import Request, compare
from dpsan.analysis.compare.measure import Folds, measure, over_seeds, read_corpus, share_over_seeds
from dpsan.analysis.evaluate.accuracy import read_labels
from dpsan.analysis.evaluate.pairs import Inputs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.cli import output
from dpsan.embeddings.words import Embeddings
from dpsan.errors import ExtraMissingError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.text_likelihood import sanitized
from dpsan.privacy.randomness import seeded_key
from dpsan.space.metric_space import MetricSpace

INTERRUPTING = """
import os, signal, time
from dpsan.mechanisms.randomized_response import KRR
from dpsan.privacy.guarantee import Status

class Stops(KRR):
    name, status, summary, source = "stops", Status.CLAIMED, "as krr up to 1.5", "nowhere"

    def guarantee(self, space):
        if self.epsilon > 1.5:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        return super().guarantee(space)
"""
WORDS = ["red", "blue", "green"]
COUNTS = np.array([50, 30, 20])
VECTORS = np.array([[1, 0], [0, 1], [-1, 0]], dtype=np.float32)
QUIET = Inputs(options=ReadOptions(fields=("text",)))
LN2 = math.log(2)
EMBEDDINGS = Embeddings(WORDS, VECTORS, "made-up", "three", COUNTS)
SPACE = MetricSpace(EMBEDDINGS)
VOCABULARY = Vocabulary(EMBEDDINGS, "unicode")


def compared(*drafts, at=(2.0,), **more):
    return compare(Request(drafts, at, **more), EMBEDDINGS, SPACE, lambda *_: None)


@pytest.fixture
def texts(tmp_path):
    """100 records of 13 known words and an unknown one; labels say which word is common."""
    path, lines = tmp_path / "t.tsv", ["label\ttext"]
    for row in range(100):
        own = WORDS[row % 2]
        others = [WORDS[(row >> at) % 3] for at in range(5)]
        lines.append(f"{'ab'[row % 2]}\t{' '.join([own] * 8 + others)} zzyzx!")
    path.write_text("\n".join(lines) + "\n")
    return path


def draft(name, **values):
    return Draft(MECHANISMS[name], values)


def test_figures_of_krr_by_hand(texts):
    """At e^epsilon = 2 a word stays with probability 2/4; red is the best guess for green too."""
    # The public frequencies that a vocabulary is given are not its counts as they stand.
    most, some, few = SPACE.frequencies
    assert few * 2 < most < some * 2
    corpus = read_corpus(texts, QUIET, None, VOCABULARY)
    krr = MECHANISMS["krr"](LN2)
    found, optimal = measure(krr, corpus, None, 3, SPACE)
    assert optimal
    ids = corpus.words.ids
    assert (ids == 3).sum() == 100  # zzyzx
    same, read, similar = [], [], []
    for seed in (1, 2, 3):
        key = seeded_key(f"dpsan compare {seed}")
        drawn = sanitized(krr.prepare(SPACE), corpus.words, key)
        same.append(np.mean(drawn == ids))
        read.append(np.mean(np.where(drawn == 1, 1, 0) == ids))
        known = ids < 3
        units = VECTORS.astype(float)
        similar.append(np.mean((units[ids[known]] * units[drawn[known]]).sum(axis=1)))
    assert found["unchanged"].value == pytest.approx(np.mean(same))
    assert found["read_back"].value == pytest.approx(np.mean(read))
    assert found["cosine"].value == pytest.approx(np.mean(similar), abs=1e-6)
    stayed = round(np.mean(same) * 3 * len(ids))
    low, high = stats.binomtest(stayed, 3 * len(ids)).proportion_ci(0.95, "exact")
    assert (found["unchanged"].low, found["unchanged"].high) == pytest.approx((low, high))


def test_intervals_by_hand():
    """Student's t with two degrees of freedom: 4.302653·.1/√3 = .248414."""
    found = over_seeds([0.4, 0.5, 0.6], (0.0, 1.0))
    assert found == pytest.approx((0.5, 0.251586, 0.748414), abs=1e-6)
    assert over_seeds([0.0, 0.1, 0.2], (0.0, 1.0)).low == 0.0
    assert over_seeds([0.4], (0.0, 1.0)) == (0.4, None, None)
    # The upper limit is that of no hit in 300 draws, 1 - .025^(1/300).
    none = share_over_seeds([Share(0, 100)] * 3)
    assert none == pytest.approx((0.0, 0.0, 1 - 0.025 ** (1 / 300)))
    assert share_over_seeds([Share(0, 0)]) is None
    # Five seeds that agree by chance, nine or ten of ten, say little of other records.
    found = share_over_seeds([Share(9, 10), Share(10, 10)] * 2 + [Share(9, 10)])
    low, high = stats.binomtest(47, 50).proportion_ci(0.95, "exact")
    assert found == pytest.approx((0.94, low, high))


@pytest.mark.parametrize("form", ["--json", "-o", "-q"])
def test_a_finished_row_outlives_an_interrupt(dpsan, tmp_path, form):
    """The second epsilon of a mechanism of one's own interrupts the command."""
    (tmp_path / "v.txt").write_text("red 1 0\nblue 0 1\ngreen -1 0\n")
    (tmp_path / "own.py").write_text(INTERRUPTING)
    own = ("-m", "own.py:Stops", "--epsilon-ldp", "1,2", "--seeds", "2", "-E", "v.txt")
    given = ["-q", "-o", "t.csv", "-o", "t.tex", "-o", "t.json"] if form == "-o" else [form]
    done = dpsan("compare", *own, *given, cwd=tmp_path, status=-signal.SIGINT)
    assert "1 of 2 rows are finished" in done.stderr.decode()
    out = done.stdout.decode()
    if form == "--json":
        (row,) = json.loads(out)["rows"]
        assert row["epsilon_ldp"] == 1.0
        assert row["unchanged"] is not None
    elif form == "-o":
        assert len((tmp_path / "t.csv").read_text().splitlines()) == 2
        assert "LDP epsilon 1 " in (tmp_path / "t.tex").read_text()
        assert len(json.loads((tmp_path / "t.json").read_text())["rows"]) == 1
    else:
        assert "LDP epsilon 1" in out
        assert "LDP epsilon 2" not in out


@pytest.mark.slow
def test_accuracies(texts, monkeypatch):
    need_extra("evaluate")
    given = {"seeds": 5, "data": texts, "inputs": QUIET, "labels": "label"}
    found = compared(draft("krr"), at=[1e-9, 40.0], **given)
    assert found.baseline["clean_to_clean"] == 1.0
    assert found.baseline["majority"] <= 0.5
    noise, same = found.rows
    assert all(same[name] == 1.0 for name in list(table.HEADINGS)[-3:])
    assert noise["sanitized_to_sanitized"] < 0.8
    assert noise["clean_to_sanitized"] < 0.8
    monkeypatch.setattr("dpsan.analysis.evaluate.accuracy.find_spec", lambda name: None)
    with pytest.raises(ExtraMissingError, match=r"--labels needs an extra .*evaluate"):
        compared(draft("krr"), **given)


def test_labels_that_cannot_be_learnt(tmp_path):
    """tests/cli/cases/compare.case has equal labels, and a text without words."""
    path = tmp_path / "t.tsv"
    path.write_text("label\ttext\na\tred\nb\tblue\n")
    with pytest.raises(UsageError, match="at least 5 records"):
        Folds(read_corpus(path, QUIET, "label", VOCABULARY), WORDS, 1)


def test_a_field_whose_values_all_differ_is_no_label(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("label\ttext\n" + "".join(f"{at}\tred {at}\n" for at in range(9)))
    with pytest.raises(UsageError, match="9 different labels of 9 records"):
        read_corpus(path, QUIET, "label", VOCABULARY)
    assert len(read_labels(path, "label", QUIET, "--by")) == 9  # groups may be as many


def test_rows_say_why_there_are_no_figures():
    """tests/cli/cases/compare.case shows the reasons in the table."""
    found = compared(draft("krr"), draft("custext", k=2), draft("trlaplace"), at=[1.0], seeds=2)
    assert found.rows[0]["certified"] == pytest.approx(1.0, rel=2e-3)
    krr, custext, trlaplace = csv.DictReader(io.StringIO(table.as_csv(found)))
    assert krr["reason"] == custext["cosine"] == custext["certified"] == ""
    assert custext["reason"] == "has no certified LDP epsilon (status NONE)"
    assert trlaplace["reason"] == "parameter delta is required (such as -p delta=1e-6)"


def test_no_column_mixes_units():
    found = compared(draft("krr"), draft("laplace"), draft("gaussian", delta=1e-3), seeds=2)
    said = table.shown(found)
    (group,) = said.parts
    assert group.columns[:2] == ("LDP epsilon 2", "cosine")
    assert group.notes == ["gaussian: delta 0.001"]
    for row in found.rows:
        assert (row["epsilon_per_distance"] is None) == (row["mechanism"] != "laplace")
        assert (row["epsilon_nats"] is None) == (row["mechanism"] == "laplace")
        assert row["attack"] == ("optimal" if row["mechanism"] == "krr" else "lower bound")
    assert group.rows[1][-1].startswith("≥")
    assert len(json.dumps(table.as_record(found))) > 100
    assert group.right() == {*range(1, len(group.columns))}
    assert said.conclusion == table.caption(found)


def test_cells():
    def cell(name, attack, *figure):
        names = (name, f"{name}_low", f"{name}_high", "attack")
        return table.cell(dict(zip(names, (*figure, attack), strict=True)), name)

    # .0023, rounded up
    assert cell("linked", "optimal", 0.2314, 0.2291, 0.2337) == ".231±.003"
    assert cell("cosine", "lower bound", -0.0124, None, None) == "-.012"
    assert cell("linked", "lower bound", 1.0, 0.99, 1.0) == "≥1.000-.010"
    assert cell("linked", "lower bound", None, None, None) == "-"


def test_progress_is_a_line_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(output, "PERIOD", 0.01)
    with output.Progress().named() as tell:
        tell("krr at LDP epsilon 8", 0.25)
        while not (told := capsys.readouterr().err):
            pass
    assert re.match(r"dpsan: (working|25% done) after \d+ s(: (krr at LDP epsilon 8)?)?\n", told)
    with output.Progress(quiet=True).named() as tell:
        tell("krr", 0.5)
    assert capsys.readouterr().err == ""


def test_a_mechanism_that_fails_has_a_row_with_the_reason_and_the_others_have_figures(monkeypatch):
    def fails(*_):
        raise ValueError("a text that nobody may see")

    monkeypatch.setattr(MECHANISMS["exponential"], "prepare", fails)
    found = compared(draft("krr"), draft("exponential"), draft("tem"))
    assert [row["cosine"] is not None for row in found.rows] == [True, False, True]
    assert found.rows[1]["reason"].startswith("internal error: ValueError at test_compare.py:")
    assert "nobody" not in found.rows[1]["reason"]


def test_one_run_writes_several_forms_with_the_same_figures(dpsan, tmp_path):
    """Issue 60: a table that a paper can include, the figures for a picture, and all as JSON."""
    (tmp_path / "v.txt").write_text("red 1 0\nblue 0 1\ngreen -1 0\n")
    (tmp_path / "a_b%.txt").write_text("red blue\n")
    given = ("compare", "-m", "krr", "-m", "laplace", "-m", "custext", "--epsilon-ldp", "1,2")
    files = ("-o", "t.csv", "-o", "t.tex", "-o", "t.json", "--data", "a_b%.txt", "--seeds", "2")
    out = dpsan(*given, *files, "-E", "v.txt", cwd=tmp_path, status=0).stdout.decode()
    rows = [*csv.DictReader(io.StringIO((tmp_path / "t.csv").read_text()))]
    record = json.loads((tmp_path / "t.json").read_text())
    cosines = [row["cosine"] or 0 for row in record["rows"]]
    assert [float(row["cosine"] or 0) for row in rows] == cosines
    first, needs, *lines = (tmp_path / "t.tex").read_text().splitlines()
    assert needs == r"% \usepackage{booktabs} in the preamble"
    assert first == "% " + record["command"]
    text = "\n".join(lines)
    assert r"a\_b\%.txt" in text
    assert not re.search(r"(?<!\\)[%_#&±≥→](?<! & )", text.replace(" & ", " "))
    assert all(text.count(rf"\begin{{{name}}}") == 1 for name in ("table", "tabular"))
    assert all(text.count(rf"\end{{{name}}}") == 1 for name in ("table", "tabular"))
    assert text.count("{") == text.count("}")
    cells = [line.removesuffix(r" \\").split(" & ") for line in lines if line.endswith(r"\\")]
    assert {len(row) for row in cells} == {5}
    printed = [line.split() for line in out.splitlines() if line.startswith(("krr", "laplace"))]
    plain = {"$\\pm$": "±", "$\\ge$": "≥"}
    for mark, sign in plain.items():
        cells = [[cell.replace(mark, sign) for cell in row] for row in cells]
    assert [row for row in cells if row[0] in ("krr", "laplace")] == printed
    done = dpsan(*given, "-o", "t.csv", "-E", "v.txt", cwd=tmp_path, status=1)
    assert done.stderr == b"dpsan: t.csv: exists (--force replaces it)\n"
    done = dpsan(*given, "-o", "t.md", "-E", "v.txt", cwd=tmp_path, status=2)
    assert b"t.md: its name must end with .csv, .json or .tex" in done.stderr
