"""The lines of a statement show its figures, and no other number."""

import json
import pickle
import re
from dataclasses import replace
from itertools import product

import pytest
from support import cases, change_row, make_embeddings, write_vectors

from dpsan.analysis.evaluate.vocabulary import read_run
from dpsan.analysis.report import read_audit
from dpsan.embeddings.word_lists import PublicWords
from dpsan.errors import InputError, UsageError, number
from dpsan.run.audit import read_rows
from dpsan.run.audit.writer import AuditWriter
from dpsan.run.plan import Plan
from dpsan.run.run import Run
from dpsan.sanitize.classes import expected_plain
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer, run_key
from dpsan.sanitize.settings import Settings
from dpsan.sanitize.statement import Statement

TEXT = ["Maria met 12 people on Monday, 87 in Boston: bob@example.net."]
TEXT += ["cancer and 5 mondays qzxjk"]
NUMBER = re.compile(
    r"(?<![\w.])\d(?:[\d,.]*\d)?(?:e-?\d+)?(?: (?:million|billion|trillion))?(?!\w)"
)
GIVEN = {
    "plain": {"epsilon": 8},
    "classes": {"epsilon": 12, "classes": "sensitive"},
    "numbers of a class": {"epsilon": 8, "classes": "numbers", "numbers": "value"},
    "only": {"only": "sensitive"},
    "only with numbers": {"only": "numbers,places", "numbers": "value", "epsilon": 2},
    "delta": {"epsilon": 8, "mechanism": "gaussian", "parameters": {"delta": 1e-6}},
    "metric": {"epsilon": 5, "mechanism": "tem"},
    "public": {"epsilon": 8, "public": "function"},
    "consistent": {"epsilon": 8, "numbers": "value", "consistent": "record"},
}


def statement(given, copies=2):
    sanitizer = Sanitizer(**given)
    totals, whole = sanitizer.accountant(), sanitizer.accountant(whole_run=True)
    totals.records = len(TEXT)
    totals.add([sanitizer.sanitize(TEXT, bytes(32))] * copies)
    whole.merge(totals)
    share = sanitizer.expected_share(whole)
    classes = sanitizer.replaced_classes
    name, spec = sanitizer.mechanism.name, sanitizer.spec
    return Statement(whole, name, 0.1, share, classes, copies=copies, settings=spec)


@pytest.mark.parametrize("name", GIVEN)
def test_lines_have_these_figures_and_no_others(name):
    made = statement(GIVEN[name])
    figures, lines = made.figures(), made.lines(verbose=True)
    totals, text = made.totals, "\n".join(lines)
    shown = {("loss", "copies"), ("loss", "file"), ("loss", "record"), ("sum", "run")}
    shown |= {key for key in figures if key[0] == "per unit"}
    if totals.guarantee.only_groups:
        shown = {("smallest group", "run")}
        shown |= {("loss", "file"), ("loss", "copies")} if "epsilon" in GIVEN[name] else set()
    for key in shown:
        assert str(figures[key]) in text, key
    assert f"{round(100 * figures['unchanged', 'run'].value)} %" in text or "under 1 %" in text
    counts = {*totals.counts.values(), totals.words, totals.draws, made.copies, 1, 16}
    counts |= {*totals.by_kind.values()} | {figure.charges for figure in figures.values()}
    groups = [(group.name, group.words) for group in totals.guarantee.groups]
    counts |= {words for _, words in groups}
    names = [name for name, _ in groups]
    counts |= {names.count(name) for name in names}
    for of_class in made.classes:
        counts.add(sum(n for kind, n in totals.by_kind.items() if made.classes[kind] == of_class))
    counts.add(sum(totals.by_kind.values()))
    counts.add(sum(totals.counts.values()) - totals.counts["plain"])
    known = {number(count) for count in counts}
    known |= {number(x) for figure in figures.values() for x in (figure.value, figure.delta)}
    for line in lines:
        for found in NUMBER.findall(re.sub(r"\d+ %", "", line)):
            assert found in known or "rounding" in line, (found, line)


@pytest.mark.parametrize("name", GIVEN)
def test_the_budget_and_the_ledger_count_what_the_statement_prints(name):
    """One figure for each charge: of a word, and of all draws of a run."""
    made = statement(GIVEN[name], copies=1)
    totals, figures = made.totals, made.figures()
    run, word = figures["loss", "run"], figures["loss", "word"]
    assert run.charges == totals.charges
    assert run.value == pytest.approx(totals.charges * word.value)
    assert figures["sum", "run"].value == pytest.approx(totals.charges * totals.epsilon)
    if totals.guarantee.metric is None and not totals.guarantee.delta:
        assert totals.epsilon == pytest.approx(word.value, abs=1e-9)


# Hiding in plain sight: a word that passed and may be a name stands among drawn names like it.


PASSED = 30
TEXTS = ["Will the park be green?"] * PASSED + ["We met Mr. Olsen."] * 400 + ["Maria left."] * 400


def rewritten(texts=TEXTS, **more):
    sanitizer = Sanitizer(only="people", **more)
    done = sanitizer.sanitize(texts, b"k" * 32, audit=True)
    totals = sanitizer.accountant()
    totals.add([done])
    totals.records = len(texts)
    plain = expected_plain(sanitizer.replacing, totals.by_kind)
    classes = sanitizer.replaced_classes
    return sanitizer, done, Statement(totals, "", 0.0, 0.0, classes, plain_drawn=plain)


def test_the_figure_is_the_share_of_originals_among_words_that_may_be_names():
    sanitizer, done, statement = rewritten()
    plain = sanitizer.replacing.lexicon.plain
    pairs = zip(done.records.outputs, done.records.reasons, strict=True)
    drawn = sum(plain(word.lower()) for word, reason in pairs if reason)
    figure = statement.figures()["names in plain sight", "run"]
    assert done.plain_names == PASSED
    assert 10 < drawn < 80  # 3 to 5 % of 800
    assert figure.value == pytest.approx(PASSED / (PASSED + drawn), rel=0.25)
    (line,) = [line for line in statement.lines() if "plain sight" in line]
    assert f"{figure.charges} words" in line
    assert f"{100 * figure.value:.0f} %" in line


def test_copies_tell_which_are_original():
    _, _, statement = rewritten()
    lines = replace(statement, copies=2).lines()
    assert any(line.endswith("; the copies tell which") for line in lines)


def test_with_a_map_no_name_is_a_word_so_what_looks_like_both_is_original(dpsan, tmp_path):
    stdin = "\n".join(TEXTS).encode()
    more = ("--only", "people", "--map", tmp_path / "map")
    told = dpsan("rewrite", *more, stdin=stdin).stderr.decode()
    assert f"about {PASSED} words" in told
    assert "original with probability over 99 %" in told


@pytest.mark.parametrize("more", [("--only", "dates"), ("--only", "people")])
def test_no_line_without_such_words(dpsan, more):
    stdin = b"Will you come on Monday?\n" if more[1] == "dates" else b"Maria left the box.\n"
    assert b"plain sight" not in dpsan("rewrite", *more, stdin=stdin).stderr


# Public words in a run: what is said of it, what the audit holds, and what must not be told.


EMBEDDINGS = make_embeddings(n=40, d=4)
WORDS = ["word1", "word2", "WORD3", "nobody"]


def made(name="optimal-response", **more):
    return Sanitizer(name, epsilon=3.0, embeddings=EMBEDDINGS, public=WORDS, **more)


def written(folder, text, sanitizer=None):
    sanitizer = sanitizer or made()
    path, source = folder / "audit.jsonl", folder / "in.txt"
    source.write_text(text)
    with AuditWriter(path, sanitizer, Plan(force=True)) as audit:
        run = Run(sanitizer, Plan(force=True), run_key(None), [source], output=folder / "out.txt")
        run.audit = audit
        result = run.execute()
    return path, result.totals


@pytest.mark.parametrize("name", ["optimal-response", "knn-response"])
def test_guarantee(name):
    guarantee = made(name).guarantee
    assert (guarantee.public_words, guarantee.loss_name) == (3, "high-low LDP epsilon")
    assert "high-low LDP" in guarantee.summary()
    again = pickle.loads(pickle.dumps(made(name, seed="a")))
    assert again.public == (1, 2, 3)
    assert again.rewrite("word1 word9") == made(name, seed="a").rewrite("word1 word9")


def test_public_words_mostly_stay():
    text = " ".join(["word1 word2"] * 300)
    drawn = made().rewrite(text).split()
    same = sum(a == b for a, b in zip(text.split(), drawn, strict=True)) / 600
    assert 0.5 < same < 0.95
    others = set(drawn) - {"word1", "word2"}
    assert len(others) > 5
    assert "word3" not in others
    assert not {"word1", "word2", "word3"} & set(made().rewrite("word9 zyx " * 300).split())
    unchanged = made().expected_unchanged  # of protected words
    assert unchanged < 0.7
    every = Sanitizer("optimal-response", epsilon=3.0, embeddings=EMBEDDINGS)
    assert abs(unchanged - every.expected_unchanged) < 0.3
    done = made(keep=["word2"]).sanitize(["word2 word1"], b"k" * 32)
    assert (done.counts[Action.KEPT], done.public) == (1, 1)
    assert str(done.lines[0]).startswith("word2 ")


def test_arguments():
    with pytest.raises(UsageError, match="list of public words"):
        Sanitizer(epsilon=1.0, embeddings=EMBEDDINGS, public="word1")
    with pytest.raises(UsageError, match="most function words of the language of"):
        Sanitizer(epsilon=1.0, embeddings=EMBEDDINGS, public="function")
    found = Sanitizer("knn-response", epsilon=3.0, embeddings=EMBEDDINGS, public=WORDS)
    assert found.guarantee.public_words == 3
    assert found.guarantee.epsilon_ldp == pytest.approx(3.0, rel=3e-3)


def test_what_is_said_does_not_depend_on_how_many_words_are_public(tmp_path):
    """Two texts of as many words, all public or all protected: the same statement and report."""
    told, reports = [], []
    for text in ("word1 word2 word3 word1\n", "word9 word8 word7 word6\n"):
        path, totals = written(tmp_path, text)
        statement = Statement(totals, "optimal-response", 0.1)
        told.append([statement.lines(), statement.lines(verbose=True)])
        found = read_audit(path)
        for each, name in product((found, *found["files"]), ("output_sha256", "created")):
            each.pop(name, None)
        reports.append(found)
    assert (told[0], reports[0]) == (told[1], reports[1])
    line, total, exposed = told[0][0]
    assert line == (
        "4 words drawn by optimal-response, PROVED on integers: high-low LDP epsilon 3 "
        "per protected word; expected unchanged: 10 % of the protected words. "
        "Not protected: see -v."
    )
    assert total == "high-low LDP epsilon at most 12 for the whole text"
    said = "not protected here: 3 public words (an output among them says what the input was)"
    assert exposed == said
    verbose = told[0][1]
    assert "sums count all draws, as if every word were protected" in "\n".join(verbose)
    assert not re.search("(?m)^LDP|(?<!high-low) LDP", "\n".join(verbose))


def test_audit(tmp_path):
    path, totals = written(tmp_path, "word1 word9 zyx\nword2 word3\n")
    assert (totals.draws, totals.public) == (5, 3)
    rows = [row for _, row in read_rows(path)]
    words = PublicWords("list", frozenset(WORDS))
    assert rows[0]["public"] == {"list": "list", "words": 3, "sha256": words.sha256}
    assert rows[0]["guarantee"]["public_words"] == 3
    assert rows[0]["not_protected"][0].startswith("3 public words")
    drawn = [row for row in rows if row["type"] == "word"]
    assert [row["epsilon"] for row in drawn] == [None, 3.0, 3.0, None, None]
    assert [row["action"] for row in drawn] == ["drawn", "drawn", "unknown", "drawn", "drawn"]
    last = rows[-1]
    assert (last["draws"], last["public"], last["epsilon_sum"]) == (5, 3, 6.0)
    assert last["epsilon_ldp_sum"] == pytest.approx(6.0)
    assert last["epsilon_ldp_largest_record"] == pytest.approx(9.0)
    # A report may be shown: it counts all draws.
    told = read_audit(path)
    assert (told["public_words"], told["epsilon_sum"]) == (3, 15.0)
    assert "3 public words" in told["not_protected"][0]
    assert read_run(path).header["public"] == rows[0]["public"]
    with pytest.raises(UsageError, match="other public words"):
        read_run(path).settings()
    (path.parent / "list").write_text("\n".join(WORDS))
    assert read_run(path).settings(path.parent / "list").public == words


@cases(
    "at values message",
    (0, {"public": None}, "public words in one place and not in another"),
    (0, {"public": {"list": "list"}}, "no words"),
    (2, {"epsilon": None}, "the words before it do not add up"),
    (-1, {"public": 0}, "the words before it do not add up"),
)
def test_damaged_audits(tmp_path, at, values, message):
    path, _ = written(tmp_path, "word1 word9 zyx\n")
    change_row(path, at, values)
    with pytest.raises(InputError, match=message):
        read_audit(path)


@pytest.mark.slow
def test_commands(dpsan, tmp_path):
    """Files of words, two processes, evaluate by the audit, calibrate, explain."""
    write_vectors(tmp_path / "v.txt", EMBEDDINGS)
    (tmp_path / "free.txt").write_text("# ours\nword1\nWORD2\nnobody\n")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("word1 word9 zyx word2\n" * 40)
    common = ("-E", "v.txt", "-e", "3", "-m", "optimal-response")
    free = ("--public", "free.txt")

    def run(*arguments, status=0):
        done = dpsan(*arguments, cwd=tmp_path, status=status)
        return done.stdout.decode() + done.stderr.decode()

    outputs, audits = [], []
    for name, jobs in (("1", ()), ("2", ("-j", "2"))):
        out = ("-O", f"out{name}", "-a", f"{name}.jsonl", *jobs, "--seed", "s")
        told = run("rewrite", *common, *free, *out, "a.txt", "b.txt")
        assert "high-low LDP epsilon 3 per protected word" in told
        outputs.append([(tmp_path / f"out{name}" / n).read_text() for n in ("a.txt", "b.txt")])
        rows = (tmp_path / f"{name}.jsonl").read_text().splitlines()
        audits.append([json.loads(row) for row in rows[1:]])
    assert outputs[0] == outputs[1]
    assert [row["epsilon"] for row in audits[0][:4]] == [None, 3.0, 3.0, None]
    for one, two in zip(*audits, strict=True):
        assert {**one, "name": ""} == {**two, "name": ""}
    assert "high-low LDP" in run("report", "1.jsonl")
    run("report", "1.jsonl", "--html", "page.html")
    assert "high-low LDP epsilon per protected word" in (tmp_path / "page.html").read_text()
    files = ("evaluate", "-E", "v.txt", "a.txt", "out1/a.txt", "--json")
    assert "other public words" in run(*files, "--audit", "1.jsonl", status=2)
    assert '"impossible_outputs": 0' in run(*files, "--audit", "1.jsonl", *free)
    command = run("calibrate", *common[:2], *common[4:], *free, "--unchanged", ".3")
    assert "--public free.txt" in command
    assert "PUBLIC: this word is not protected" in run("explain", "word1", *common, *free)
    told = run("explain", "word9", *common, *free)
    assert "PUBLIC" not in told
    assert "high-low 3 for protected words" in told
    found = run("verify", *common, *free, "--draws", "10000")
    assert found.startswith("optimal-response: KEPT for protected words (")
    assert "\n  public words             2\n" in found
    assert "\n  certified                3\n" in found
    assert "--public FILE: no epsilon holds for public words" in found
    assert "VIOLATED" in run("verify", *common, *free, "--keep", "free.txt", status=1)


@pytest.mark.parametrize(("unit", "draws", "public"), [("record", 8, 3), ("run", 6, 2)])
def test_with_one_draw_for_equal_words(tmp_path, unit, draws, public):
    """Each distinct public word is a draw once a unit, and costs nothing."""
    text = "word1 word9 word1 zyx zyx\nword1 word2 word2 word8 word9 word7\n"
    path, totals = written(tmp_path, text, made(consistent=unit))
    assert (totals.draws, totals.public) == (draws, public)
    rows = [row for _, row in read_rows(path) if row["type"] == "word"]
    first, again = rows[0]["epsilon"], rows[2]["epsilon"]
    assert (first, again) == (None, 0.0)
    (last,) = [row for _, row in read_rows(path) if row["type"] == "totals"]
    assert (last["draws"], last["public"]) == (draws, public)
    assert last["epsilon_sum"] == pytest.approx(3.0 * (draws - public))
    report = read_audit(path)
    assert report["epsilon_sum"] == pytest.approx(3.0 * draws)
    assert (
        "high-low"
        in Statement(totals, "optimal-response", 0.1, settings=Settings(consistent=unit)).lines()[0]
    )
