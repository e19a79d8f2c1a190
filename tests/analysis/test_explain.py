"""Explaining words: figures against hand computation, draws against laws."""

from __future__ import annotations

import math
import re

import numpy as np
import orjson
import pytest
from read_back import Page
from support import ROOT, make_embeddings

from dpsan.analysis.explain import explain, figures_of, read, shown
from dpsan.analysis.pages import page as html_page
from dpsan.embeddings.words import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import draw, prior
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

LN_9 = math.log(9)
WORDS, POINTS = ["red", "pink", "blue", "navy"], np.array([[0], [1], [10], [12]], np.float32)
LINE = Embeddings(WORDS, POINTS, "made-up", "explain-line", np.array([60, 20, 15, 5]))


def sanitizer(mechanism, store, embeddings=LINE, epsilon=LN_9, **parameters):
    given = {"embeddings": embeddings, "parameters": parameters, "allow_unproved": True}
    return Sanitizer(mechanism, epsilon=epsilon, cache=store, **given)


@pytest.fixture
def near(store):
    """knn-response, K = 2, e^epsilon = 9."""
    return sanitizer("knn-response", store, k=2, outputs="all")


def told(found, *texts):
    return explain(found, read(found, texts))


def test_law_by_hand(near):
    """Z = 9 + 9 + 1 + 1 = 20."""
    (red,) = told(near, "red")
    assert (red["exact"], red["draws"]) == (True, 0)
    assert red["unchanged"] == pytest.approx(9 / 20, abs=1e-6)
    assert [output["word"] for output in red["outputs"]] == ["red", "pink", "blue", "navy"]
    values = [output["probability"] for output in red["outputs"]]
    assert values == pytest.approx([0.45, 0.45, 0.05, 0.05], abs=1e-6)
    assert [output["distance"] for output in red["outputs"]] == [0, 1, 10, 12]
    assert red["epsilon_ldp"] == pytest.approx(LN_9)


def test_unknown_words_are_one_input(near):
    for each in told(near, "zqvxkjq", "Maria", "⊥"):
        assert (each["input"], each["unchanged"]) == (None, 0)
        assert [o["distance"] for o in each["outputs"]] == [None] * 4
        assert [o["probability"] for o in each["outputs"]] == pytest.approx([0.25] * 4)


@pytest.mark.parametrize("text", ["red navy", "", "red.", "red-navy", "don't-know x", "red's"])
def test_words_are_looked_up_as_rewrite_does(near, text):
    (capital,) = read(near, ["Navy"])
    assert capital == ("Navy", 3)
    with pytest.raises(UsageError, match=r"^word 2: not a single word") as caught:
        read(near, ["red", text])
    assert "navy" not in str(caught.value)


@pytest.mark.parametrize("mechanism", ["exponential", "tldp"])
def test_figures_of_draws_are_those_of_the_law(mechanism, store, embeddings):
    found = sanitizer(mechanism, store, embeddings, epsilon=3.0)
    sampler = found.mechanism.prepare(found.space)
    law = sampler.probabilities(np.array([4]))[0]
    words = draw(sampler, np.full(20_000, 4), randomness.seeded_key("test explain"))
    counts = np.bincount(words, minlength=found.space.n).astype(float)
    keys = embeddings.index_to_key
    drawn = figures_of(found.space, keys, 4, counts, 20_000, 60)
    exact = figures_of(found.space, keys, 4, law, 0, 60)
    low, high = drawn["intervals"]["unchanged"]
    assert low <= exact["unchanged"] <= high


def test_draws_are_repeatable(store, embeddings):
    found = sanitizer("laplace", store, embeddings, epsilon=4.0)
    words = read(found, ["word3"]) * 2

    def values():
        both = explain(found, words, draws=300)
        assert both[0] == both[1]
        return both[0]["outputs"]

    assert values() == values()


def test_prior_without_counts_is_zipf():
    without = MetricSpace(Embeddings(LINE.index_to_key, LINE.vectors, "", "no counts"))
    assert prior(without).sum() == pytest.approx(1)
    assert prior(without)[0] / prior(without)[3] == pytest.approx(5.7 / 2.7)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_explained(name, store):
    embeddings, kind = make_embeddings(n=40), MECHANISMS[name]
    values = {"delta": 1e-3} if "delta" in kind.parameters() else {}
    draft = Draft(kind, values)
    epsilon = draft.anywhere(MetricSpace(embeddings))[0].epsilon
    found = sanitizer(name, store, embeddings, epsilon=epsilon, **values)
    words = [("word7", 7), ("?", 40)]
    known, unknown = explain(found, words, draws=60, top=99)
    assert unknown["input"] is None
    for each in (known, unknown):
        values = [output["probability"] for output in each["outputs"]]
        assert values == sorted(values, reverse=True)
        assert sum(values) == pytest.approx(1, abs=1e-9)
    orjson.dumps([known, unknown])


def test_rows_are_json(store):
    both = sanitizer("krr", store), sanitizer("laplace", store, epsilon=1.0)
    words = [("Red", 0), ("green", 4)]
    lists = [explain(each, words, draws=200) for each in both]
    (first, third), (second, last) = orjson.loads(orjson.dumps(lists))
    shown = [(each["word"], each["mechanism"]) for each in (first, second, third, last)]
    assert shown == [(w, m) for w in ("Red", "green") for m in ("krr", "laplace")]
    assert (first["input"], first["exact"], first["intervals"]) == ("red", True, None)
    assert set(first["outputs"][0]) == {"word", "probability", "distance"}
    low, high = second["intervals"]["unchanged"]
    assert low <= second["unchanged"] <= high
    assert (second["draws"], third["unknown"]) == (200, True)
    assert first["embeddings"]["digest"] == "explain-line"
    assert set(first["versions"]) == {"dpsan", "numpy"}


def test_what_is_said(near):
    red, unknown = map(shown, told(near, "red", "zqvxkjq"))
    figures, outputs = red.parts
    assert figures.columns == ("figure", "knn-response (PROVED)")
    assert [row[0] for row in figures.rows][3:] == ["unchanged"]
    assert outputs.texts()[1] == ["pink", "1.00", "0.4500"]
    assert unknown.parts[1].columns == ("output", "probability")
    page = Page(html_page("dpsan explain", [red, unknown]))
    assert page.tags.count("table") == 4


@pytest.fixture
def run(dpsan, tmp_path):
    words = "red 1 0\n[bold] 0 1\nblue 1 1\nblack 2 1\n日本語 2 2\n"
    (tmp_path / "words.txt").write_text(words, encoding="utf-8")
    given = ("-m", "krr", "-e", "2", "-E", "words.txt")
    return lambda *each, **more: dpsan("explain", *each, *given, cwd=tmp_path, **more)


def test_ascii_terminal(run):
    done = run("--unknown", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert b"\\u65e5\\u672c\\u8a9e" in done.stdout


def test_words_are_never_echoed_in_errors(run, dpsan):
    done = run("red", "\x1b[31mSECRET word")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"dpsan: word 2: not a single word (give its words one by one)\n"
    good = run("red", "re\u00add", "blue", "--json")
    assert [each["word"] for each in orjson.loads(good.stdout)] == ["red", "re\u00add", "blue"]
    rules = ("explain", "--only", "names", "-")
    assert dpsan(*rules, stdin=b"r\xad\n").stderr == b"dpsan: standard input:1: not UTF-8\n"
    endless = dpsan(*rules, stdin=b"red\n" * (1 << 24) + b"red\n")
    assert (endless.returncode, endless.stdout) == (2, b"")
    assert endless.stderr == b"dpsan: standard input: longer than 67108864 bytes\n"


def test_terminal_shows_no_control_characters(run):
    text = run("re\u00add", "foo\u200dbar").stdout.decode()
    assert "re\\xadd, read as red" in text
    assert "foo\\u200dbar: not in the vocabulary" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200d]", text)


def test_a_claim_is_not_called_known_by_its_distribution(dpsan, tmp_path):
    """Issue 60: exact are the probabilities of outputs; the LDP epsilon is marked as claimed."""
    (tmp_path / "words.txt").write_text("red 1 0\nblue 0 1\ngreen 5 5\n")
    own = (ROOT / "docs/own_mechanism.py").read_text()
    (tmp_path / "own.py").write_text(own)
    for name, told in (("own.py:Squares", "LDP epsilon, claimed  2"), ("krr", "LDP epsilon  2")):
        given = ("explain", "red", "-e", "2", "-E", "words.txt", "-m", name)
        out = dpsan(*given, cwd=tmp_path, status=0).stdout.decode()
        assert f"{told}\n" in out
        assert "exact probabilities\n" in out
        assert "known by" not in out
