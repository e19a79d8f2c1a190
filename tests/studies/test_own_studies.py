"""Studies of our own: frontier, linkage, speed, fluent."""

import itertools
import json
import math
import os

import fluent
import numpy as np
import pytest
import speed
from own import STUDIES, largest_epsilon, linked_at_most
from support import ROOT, cases, make_embeddings

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=300, d=5))
KNN = MECHANISMS["knn-response"]
KNN_20, KNN_50 = (Draft(KNN, {"k": size, "outputs": "all"}) for size in (20, 50))
TABLES = ("exponential", "krr", "geodesic", "zipf-response")
COLUMNS = [*(Draft(MECHANISMS[name]) for name in TABLES), KNN_20, KNN_50]
# By epsilon and column close, cosine and Bayes; for krr the share kept.
TABLE = {
    4: ".013 .120 .0003|.0055|.028 .130 .0026|.068 .169 .0031|.102 .153 .0050|.217 .188 .0043",
    6: ".015 .124 .0005|.039|.053 .156 .0107|.161 .230 .0146|.431 .305 .0225|.660 .353 .0134",
    8: ".016 .129 .0008|.231|.101 .212 .039|.322 .335 .054|.816 .481 .043|.920 .450 .019",
    10: ".018 .134 .0013|.690|.177 .332 .123|.490 .477 .145|.929 .533 .049|.971 .469 .020",
    12: ".021 .140 .0022|.943|.255 .549 .322|.564 .615 .271|.947 .541 .050|.979 .472 .020",
}


def study(space=SPACE, mechanisms=(), epsilons=(4.0,), words=None, draws=400):
    asked = {"epsilons": epsilons, "words": words, "draws": draws, "seed": "t"}
    return STUDIES["frontier"].make(space, mechanisms=mechanisms, **asked)


def name_of(draft):
    return " ".join([draft.kind.name, *(f"{k}={v}" for k, v in draft.values.items())])


def agrees(row, epsilon, column):
    published = [float(each) for each in TABLE[epsilon].split("|")[column].split()]
    names = ("unchanged",) if len(published) == 1 else ("close", "cosine", "bayes")
    return [row[name] for name in names] == pytest.approx(published, abs=0.005)


def check(result, epsilons, columns):
    assert len(result.rows) == len(epsilons) * len(columns)
    for row in result.rows:
        column = next(i for i in columns if row["mechanism"] == name_of(COLUMNS[i]))
        assert agrees(row, row["epsilon_ldp"], column), row
        assert 0.998 <= row["certified"] / row["epsilon_ldp"] <= 1 + 1e-12
        # The twin: the figures of the next epsilon do not agree.
        if row["epsilon_ldp"] + 2 in TABLE and row["mechanism"] != "exponential":
            assert not agrees(row, row["epsilon_ldp"] + 2, column)


@pytest.mark.long
def test_whole_table(glove):
    check(study(glove[1], COLUMNS, [float(each) for each in TABLE]), list(TABLE), range(6))


def test_default_rows():
    """Every mechanism with a pure epsilon, at the same certificate, within what is possible."""
    result = study(epsilons=(2.0, 5.0))
    n = SPACE.n
    names = {row["mechanism"] for row in result.rows}
    assert {*map(name_of, COLUMNS), "laplace", "tem", "tldp", "clipped-laplace"} <= names
    assert not names & {"uniform", "custext", "trlaplace-paper", "gaussian"}
    assert any("gaussian" in note and "delta" in note for note in result.notes)
    for row in result.rows:
        assert row["epsilon_ldp"] * 0.998 <= row["certified"] <= row["epsilon_ldp"] + 1e-9
        best = math.exp(row["epsilon_ldp"]) / (math.exp(row["epsilon_ldp"]) + n - 1)
        assert row["bayes_low"] <= best * (1 + 1e-9)
        for name in ("unchanged", "close", "cosine", "weighted_cosine", "bayes"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
        assert row["weighted_cosine_low"] <= row["cosine_bound"] <= 1  # nothing crosses it
        # Guessing the output is an attack, and the best one is as good.
        assert row["draws"] is not None or row["bayes"] >= row["unchanged"] - 1e-12
        assert row["draws"] is None or row["bayes_high"] == pytest.approx(best)
    krr = [row["bayes"] for row in result.rows if row["mechanism"] == "krr"]
    assert krr == pytest.approx([math.exp(e) / (math.exp(e) + n - 1) for e in (2, 5)], rel=1e-4)
    for panel in result.panels[:2]:
        assert {series.label for series in panel.series if series.style == "line"} == names
    # A bound is no place on the axis.
    known = {row["mechanism"] for row in result.rows if row["draws"] is None}
    assert {series.label for series in result.panels[2].series} == known < names


LARGEST = {"similarity": 1, "prior": "1", "spread": 1, "even": 0, "frequency": 0}
OPTIMAL = Draft(MECHANISMS["optimal-response"], LARGEST)


def test_a_mechanism_that_cheats_crosses_the_bound():
    """The twin: the certificate is that of epsilon, the draws are those of epsilon + 2."""
    honest = MECHANISMS["optimal-response"]
    more = {"name": "cheat"}
    more["certificate"] = lambda self, space: honest(self.epsilon).certificate(space)
    more["prepare"] = lambda self, space: honest(self.epsilon + 2).prepare(space)
    cheat = Draft(type("Cheat", (honest,), more))
    for row in study(mechanisms=[cheat], epsilons=[1.0, 3.0, 5.0]).rows:
        assert row["certified"] <= row["epsilon_ldp"]
        assert row["weighted_cosine"] > row["cosine_bound"] + 0.02


def test_figures_by_hand_and_from_some_words():
    """Frequency times mean cosine; the best guess for every output; limits hold both."""
    (row,) = study(mechanisms=[KNN_20], epsilons=[5.0]).rows
    pmf = KNN_20.at(row["epsilon"]).prepare(SPACE).probabilities(np.arange(SPACE.n))
    units = SPACE.vectors / np.linalg.norm(SPACE.vectors, axis=1)[:, None]
    means = (pmf * (units @ units.T)).sum(axis=1)
    assert row["weighted_cosine"] == pytest.approx(SPACE.frequencies @ means, abs=1e-6)
    assert row["weighted_cosine"] != pytest.approx(row["cosine"], abs=1e-3)
    assert row["bayes"] == pytest.approx(pmf.max(axis=0).sum() / SPACE.n, rel=1e-9)
    (some,) = study(mechanisms=[KNN_20], epsilons=[5.0], words=60).rows
    # Three standard errors; those of uniform random words would be much larger.
    assert some["weighted_cosine"] == pytest.approx(row["weighted_cosine"], abs=0.017)
    assert 0 < some["weighted_cosine_high"] - some["weighted_cosine_low"] < 0.06
    for name in ("close", "cosine", "bayes"):
        assert some[f"{name}_low"] <= row[name] + 1e-9, name
        assert some[f"{name}_high"] >= row[name] - 1e-9, name


def test_delta_and_what_is_left_out(monkeypatch):
    draft = Draft(MECHANISMS["gaussian"], {"delta": 1e-3})
    (row,) = study(mechanisms=[draft], epsilons=[2.0]).rows
    assert (row["delta"], row["cosine_bound"]) == (1e-3, None)  # the bound is for pure LDP
    assert row["bayes_high"] == pytest.approx((math.exp(2) + 299e-3) / (math.exp(2) + 299))
    # tem has a largest epsilon; what has no certificate is an error if nothing else is asked.
    result = study(mechanisms=[Draft(MECHANISMS["tem"], {"beta": 0.5})], epsilons=[4.0, 40.0])
    assert [row["epsilon_ldp"] for row in result.rows] == [4]
    assert any("40" in note for note in result.notes)
    with pytest.raises(UsageError, match="custext has no certified LDP epsilon"):
        study(mechanisms=[Draft(MECHANISMS["custext"])])
    monkeypatch.setattr("common.frontier._LARGEST", SPACE.n - 1)
    result = study(mechanisms=[KNN_20])
    assert result.rows[0]["cosine_bound"] is None
    assert any("cosine_bound is left out" in note for note in result.notes)


def test_nobody_exceeds_the_bound():
    """krr on three words, texts of l words that all differ: exact success of the best attacker."""
    for epsilon, size in itertools.product((0.1, 0.5, 1.0, 3.0), (1, 2, 3)):
        # By how often the word that is guessed is there: the others have the factor 1.
        guesses = itertools.product(range(3), repeat=size)
        weights = [math.exp(epsilon * max(map(each.count, range(3)))) for each in guesses]
        success = sum(weights) / 3 / (math.exp(epsilon) + 2) ** size
        assert success <= linked_at_most(size, epsilon, 3) + 1e-12
        # One word nearly reaches it.
        assert size > 1 or linked_at_most(1, epsilon, 3) < success + 1e-9
    for size in (1, 12, 40, 1000):
        most = largest_epsilon(size)
        assert linked_at_most(size, most, 1000) <= 0.5 < linked_at_most(size, most + 1e-3, 1000)
    assert largest_epsilon(12) == pytest.approx(0.6916, abs=1e-4)
    assert linked_at_most(1000, 700.0, 10) == 1.0


def test_linkage():
    given = {"epsilons": (1.0, 8.0), "words": 5, "draws": 60, "parameters": {"candidates": "80"}}
    space, linkage = MetricSpace(make_embeddings(200, 4)), STUDIES["linkage"]
    drafts = (Draft(MECHANISMS["krr"]), Draft(MECHANISMS["laplace"]))
    found = linkage.make(space, mechanisms=drafts, **given)
    assert [row["words"] for row in found.rows] == [1, 2, 3, 4, 5] * 4
    assert all(row["linked_low"] <= row["linked"] <= row["linked_high"] for row in found.rows)
    krr = [row for row in found.rows if row["mechanism"] == "krr"]
    assert all(row["linked_low"] <= row["at_most"] for row in krr)
    assert krr[9]["linked"] > 0.8 > krr[4]["linked"]
    assert any("laplace" in note for note in found.notes)
    assert [len(panel.series) for panel in found.panels] == [2, 2]
    for wrong in ({"draws": 81}, {"parameters": {"candidates": "1"}}):
        with pytest.raises(UsageError):
            linkage.make(space, **{**given, **wrong})


# docs/studies/speed.py: what it measures, not how fast anything is.


def test_text_has_zipf_frequencies(tmp_path):
    words = [f"w{number}" for number in range(1000)]
    speed.zipf_text(tmp_path / "text", words, 60_000)
    text = (tmp_path / "text").read_text()
    rows = [int(each.strip(",.")[1:]) for each in text.split()]
    assert len(rows) == 60_000
    seen = np.bincount(rows, minlength=1000) / len(rows)
    law = 1 / (np.arange(1000) + 2.7)
    law /= law.sum()
    error = np.sqrt(law * (1 - law) / len(rows))
    assert (abs(seen - law) < 6 * error).all()
    # The twin: a power of 0.9 would be told apart.
    other = 1 / (np.arange(1000) + 2.7) ** 0.9
    other /= other.sum()
    assert (abs(seen - other) > 6 * error).any()


@pytest.mark.slow
def test_figures(cache, tmp_path, monkeypatch, capsys):
    for name, value in {"PYTHONPATH": ROOT, "DPSAN_CACHE_DIR": cache, "TMPDIR": tmp_path}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr("tempfile.tempdir", None)
    words = "-m gaussian-classical -j 2 --synthetic 2000,4 --words 300 --runs 1 --json"
    speed.main(words.split())
    found = json.loads(capsys.readouterr().out)
    assert [row["mechanism"] for row in found["mechanisms"]] == ["gaussian-classical"]
    (each,) = found["mechanisms"]
    assert (each["n"], each["d"], each["words"]) == (2000, 4, 300)
    figures = {"words/s": "ratio", "with audit": "audit ratio", "jobs": "jobs ratio"}
    for figure, ratio in figures.items():
        assert each[figure] > 0
        assert each[ratio] == pytest.approx(each[figure] / each["bare faiss"])
    for start in ("least start s", "start s", "first line s"):
        assert 0 < each[start] < 60
    assert each["epsilon"] <= 1  # where its theorem holds
    assert not os.listdir(tmp_path)  # the synthetic vectors and their cache are gone


NO_SIZE = [(f"--synthetic {size}", "--synthetic must be N,D") for size in ("20", "1,3")]


@cases("arguments message", *NO_SIZE, ("-m laplac", "you mean 'laplace'"), ("-p k", "NAME=VALUE"))
def test_wrong_use(arguments, message):
    with pytest.raises(UsageError, match=message):
        speed.main(arguments.split())


# docs/studies/fluent.py: figures of drawn and written words.


TEXT = "The company said that profits rose on Monday. He asked her to send the new bill.\n" * 3


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.mark.slow
def test_figures_of_fluent(text, capsys):
    assert fluent.main([str(text), "-e", "8", "--draws", "1"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    for name in ("cosine", "content", "unchanged", "perplexity"):
        assert min(row[name], row[f"{name}_fluent"]) > 0
    assert row["words"] == 48


def test_errors(tmp_path, capsys):
    assert fluent.main([str(tmp_path / "absent.txt")]) == 1
    assert "absent.txt" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        fluent.main([])
