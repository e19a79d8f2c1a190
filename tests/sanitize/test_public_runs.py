"""Public words in a run: what is said of it, what the audit holds, and what must not be told."""

import json
import pickle
import re
from itertools import product

import pytest
from support import cases, change_row, make_embeddings, write_vectors

from dpsan.analysis.evaluate.setting import read_run
from dpsan.analysis.report import read_audit
from dpsan.embeddings.word_lists import PublicWords
from dpsan.errors import InputError, UsageError
from dpsan.run.audit import AuditWriter, read_rows
from dpsan.run.plan import Plan
from dpsan.run.run import Run
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer, run_key
from dpsan.sanitize.settings import Settings
from dpsan.sanitize.statement import Statement

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
        found = read_audit(path).as_json()
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
    told = read_audit(path).as_json()
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
    report = read_audit(path).as_json()
    assert report["epsilon_sum"] == pytest.approx(3.0 * draws)
    assert (
        "high-low"
        in Statement(totals, "optimal-response", 0.1, settings=Settings(consistent=unit)).lines()[0]
    )
