"""Preview: what it prints follows from its figures, and no original sentence is in it."""

import json
import math

import field
import numpy as np
import page_parts
import pytest
import readability
from read_back import Page
from support import cases, make_embeddings

from dpsan.analysis.pages import odds, page, plain_meaning
from dpsan.analysis.preview import Level, Preview
from dpsan.analysis.preview import shown as said
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import Emissions
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.text_likelihood import LEAST_POSTERIOR, MOST_INPUTS, likeliest_inputs
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

TEXT = (
    "The weather in the city was cold and the river was frozen.\n"
    "My brother works as a teacher in a small school near the park.\n"
    "After dinner we talked about the journey and about Maria.\n"
) * 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("preview")
    (path / "notes.txt").write_text(TEXT)
    return path


def shown(dpsan, folder, *arguments):
    done = dpsan("preview", "-q", *arguments, "notes.txt", cwd=folder, status=0)
    return done.stdout.decode()


@pytest.mark.slow
def test_figures_agree_with_what_is_said(dpsan, folder):
    """At .5 next to nothing is learnt, and the page says so; at 14 most words are read back."""
    found = json.loads(shown(dpsan, folder, "-e", ".5,14", "--json", "--vocab-size", "6000"))
    only, both, low, middle = found["levels"]
    assert "nearly random" in low["meaning"]
    assert "e^0.5 = 1.65" in low["meaning"]
    assert "nearly random" not in middle["meaning"]
    assert "e^14 = 1,202,605" in middle["meaning"]
    read = [each["read_back"]["share"] for each in (low, middle)]
    assert read[0] < 0.35 < read[1]
    fails = [cell["fails"] for cell in found["tests"]["inference"]]
    assert fails[1]
    assert fails[3]
    assert only["linked_words"] is None
    assert "stands there as it was" in only["meaning"]
    assert "nothing about which of two words of one group" in both["meaning"]
    assert len(low["sentences"]) == 3


@pytest.mark.slow
def test_the_terminal_and_the_page(dpsan, folder):
    before = sorted(folder.iterdir())
    out = shown(dpsan, folder, "-e", "6", "--vocab-size", "3000")
    assert sorted(folder.iterdir()) == before  # nothing is written
    for option in ("-e 6", "-e 12 --class sensitive", "--only sensitive"):
        assert f"\n{option}\n" in out
    assert "singling out" in out
    assert "The weather in the city was cold" in out.split("-e 12 --class sensitive\n")[0]
    page = ("preview", "notes.txt", "-e", "6", "--vocab-size", "3000", "--html", "p.html")
    done = dpsan(*page, cwd=folder)
    assert b"Do not publish" in done.stderr
    assert (folder / "p.html").stat().st_mode & 0o777 == 0o600  # samples are sensitive
    text = (folder / "p.html").read_text()
    assert "Do not publish" in text
    assert Page(text).tags
    again = dpsan(*page, cwd=folder)
    assert (again.returncode, again.stdout) == (1, b"")
    (folder / "empty.txt").write_text(" .\n")
    done = dpsan("preview", "empty.txt", cwd=folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"empty.txt: no words" in done.stderr


LISTED = "I think I'm late and I've lost it. Yesterday I met Maria in Boston.\n"


def written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.slow
def test_names_are_the_words_of_the_lists(dpsan, folder):
    """I, I'm and I've are capitalised inside a sentence, and no names."""
    written(folder, "notes_i.txt", LISTED * 20)
    done = dpsan("preview", "-q", "-e", "8", "--json", "notes_i.txt", cwd=folder)
    only = json.loads(done.stdout)["levels"][0]
    assert only["options"] == "--only sensitive"
    assert only["classes_read_back"]["of"] == 2 * 20
    assert only["classes_read_back"]["hits"] < 10
    assert only["read_back"]["hits"] >= 12 * 20


@pytest.mark.slow
def test_the_end_of_a_long_file_is_seen(dpsan, folder):
    """The samples hold names although the first 6,000 lines have none."""
    plain = "The weather was cold and the river was frozen.\n"
    written(folder, "long.txt", plain * 6000 + "Yesterday Maria met John again in Boston.\n" * 3000)
    done = dpsan("preview", "-q", "-e", "8", "--json", "long.txt", cwd=folder)
    found = json.loads(done.stdout)
    only = found["levels"][0]
    assert 500 < found["words_measured"] < 2000
    assert 100 < only["classes_read_back"]["of"] < 400
    assert only["sentences"][0].startswith("Yesterday ")
    written(folder, "one.txt", ("The weather was cold. " * 1500 + "Maria met John. " * 1500))
    done = dpsan("preview", "-q", "-e", "8", "--json", "one.txt", cwd=folder)
    assert json.loads(done.stdout)["levels"][0]["classes_read_back"]["of"] > 100


def test_two_lines_of_three_words_are_too_little_to_judge(dpsan, folder):
    written(folder, "short.txt", "Maria met John.\n" * 2)
    done = dpsan("preview", "-q", "-e", "4", "--vocab-size", "1000", "short.txt", cwd=folder)
    out = " ".join(done.stdout.decode().split())
    assert "Too little text to judge: 6 words of 300." in out
    assert "No test fails" not in out
    assert "too few" in out


@pytest.mark.parametrize("epsilon", [0.3, 1, 2, 4, 6, 7.9, 8, 10, 14, 33])
def test_a_bound_is_never_rounded_down(epsilon):
    told = float(odds(epsilon).split("= ")[1].replace(",", ""))
    assert 1 - 1e-9 <= told / math.exp(epsilon) < 1.01
    assert "but for a delta of" not in plain_meaning(epsilon)
    assert "but for a delta of 1e-6" in plain_meaning(epsilon, delta=1e-6)


@cases(
    "linked read lengths fails",
    (4, 50, [3, 9], [True, True, True]),
    (4, 50, [3, 3], [False, False, True]),
    (0, 4, [64, 9], [False, False, False]),
    (0, 4, [65, 9], [True, True, False]),
    (None, 4, [1], [True, True, False]),
)
def test_the_three_tests(linked, read, lengths, fails):
    none = Share(0, 0)
    level = Level("-e 1", 1.0, "", ("a",), none, Share(read, 100), none, linked)
    given = {"words_measured": 300, "guessed_without_output": Share(5, 100), "language_model": True}
    given |= {"file": "x", "lengths": np.array(lengths), "records": len(lengths), "left_out": None}
    found = Preview(levels=(level,), **given)
    assert [cells[0]["fails"] for cells in found.tests().values()] == fails
    passing = "Not anonymous" not in found.conclusion()
    assert passing is not any(fails)
    assert found.conclusion() in page("preview", [said(found)])


@cases("given", {}, {"public": "function"}, {"classes": "sensitive"}, {"classes": "names,health"})
@cases("mechanism", "optimal-response", pytest.param("knn-response", marks=pytest.mark.slow))
def test_the_likeliest_inputs_are_those_of_all_distributions(mechanism, given):
    """Near sets give what a sweep over the distributions of all words gives."""
    sanitizer = Sanitizer(mechanism, epsilon=6.0, vocab_size=2000, **given)
    mechanism, space = sanitizer.mechanism, sanitizer.space
    held = likeliest_inputs(mechanism, space)
    prior = np.log(space.frequencies)
    swept = Emissions(mechanism, space).candidates(held["outputs"], [prior], MOST_INPUTS)[0]

    inputs, logs = held["inputs"][:, :-1], held["scores"][:, :-1]
    own = np.sort(logs + prior[np.maximum(inputs, 0)], axis=1)
    every = np.sort(swept.scores, axis=1)
    kept = np.isfinite(own)  # all but the unlikely ones, which stand first
    assert own[kept] == pytest.approx(every[kept], abs=1e-4)
    shares = np.exp(every) / np.exp(every).sum(axis=1, keepdims=True)
    assert kept.any(axis=1).all()
    assert shares[kept].min() > 0.999 * LEAST_POSTERIOR
    assert shares[~kept].max() < 1.001 * LEAST_POSTERIOR


# docs/field.md and docs/readability.md against the program.


def rows(page, name):
    lines = [each for each in page_parts.part(page, name).splitlines() if each.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_row_has_the_status_and_the_proof_of_its_mechanism():
    """A mechanism that is newer than the page has no row yet."""
    words = field.opened()
    for row in rows(field.PAGE, "claims"):
        name = row[0].strip("`")
        assert row[1] == str(MECHANISMS[name].status), "run python tests/field.py"
        assert row[5] == field.proof_link(name)
        if name in ("knn-response", "krr", "clusant", "diffractor", "rantext-paper"):
            assert tuple(row) == field.claim_row(name, words), "run python tests/field.py claims"


def test_a_budget_that_reads_the_text_is_none():
    """The page has what is computed, and a budget that is fixed loses what it says."""
    part = page_parts.part(field.PAGE, "budgets")
    assert part == field.budgets(None), "run python tests/field.py budgets"
    assert [float(row[-1]) > 8 for row in rows(field.PAGE, "budgets")] == [True, True, False]
    assert field.largest_loss((4.0, 4.0), (4.0, 4.0), 50) == pytest.approx(8)
    by_hand = math.log(math.e / (math.e + 4)) - math.log(1 / (math.exp(3) + 4))
    assert field.largest_loss((1.0,), (3.0,), 5) == pytest.approx(by_hand)


def test_two_texts_near_one_are_not_near_each_other():
    """The page has what is computed: chances at the bound, and a delta above the claimed one."""
    assert page_parts.part(field.PAGE, "fusion") == field.fusion(None), "run python tests/field.py"
    for bound, base in ((0.1, 1e-4), (0.5, 0.01)):
        high, low = field.within(bound, np.array([base]))
        for first, second in ((high, base), (base, low)):
            divergence = np.log(first**2 / second + (1 - first) ** 2 / (1 - second))
            assert divergence == pytest.approx(bound)
            assert np.log(second**2 / first + (1 - second) ** 2 / (1 - first)) < bound
    for _, claimed, true, _, delta, true_delta in rows(field.PAGE, "fusion"):
        assert float(true) > 3 * float(claimed)
        assert float(true_delta) > float(delta)


def test_comparison():
    found = {row[0].strip("`"): row[1:] for row in rows(field.PAGE, "equal")}
    assert list(found) == list(field._COMPARED)
    for name, row in found.items():
        certain = MECHANISMS[name].status.name != "PROVED"
        assert row[0] in (("none", "–") if certain else (row[0], "–"))
        assert (row[3] == "–") == certain


@pytest.mark.parametrize("name", ["krr", "exponential", "clusant", "santext-plus", "custext"])
def test_the_target_is_reached_from_below(name):
    space, draft = MetricSpace(make_embeddings(n=60, d=4)), Draft(MECHANISMS[name])
    first = np.arange(30)
    pairs = first, field.pairs_at(space, first)
    if name == "custext":
        with pytest.raises(UsageError, match=r"total variation 0\.1 is "):
            field.at_target(draft, space, pairs, 0.1)
        return
    mechanism = field.at_target(draft, space, pairs, 0.4)
    reached = field.apart(mechanism.prepare(space), *pairs).mean()
    assert 0.39 < reached <= 0.4
    if name == "krr":  # the total variation of every pair
        growth = math.exp(mechanism.epsilon)
        assert reached == pytest.approx((growth - 1) / (growth + 59))
    if name == "santext-plus":
        with pytest.raises(UsageError, match="no finite LDP epsilon"):
            field.at_certified(draft, space, 4.0)
    else:
        assert 3.98 < field.at_certified(draft, space, 4.0).certificate(space).epsilon_ldp <= 4.0


@pytest.mark.slow
def test_the_sentences_are_what_the_command_writes(cache, monkeypatch):
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    part = page_parts.part(readability.PAGE, "sentences")
    assert part == readability.sentences(), "run python tests/readability.py sentences"
    assert len(rows(readability.PAGE, "sentences")) == len(set(readability.SENTENCES)) == 10


def test_nothing_crosses_the_bound():
    found = rows(readability.PAGE, "study")
    assert [row[0] for row in found] == readability.EPSILONS.split(",")
    for _, *values, bound in found:
        assert max(map(float, values)) <= float(bound)
        assert float(values[-1]) > max(map(float, values[:-1]))  # optimal-response is the best


def test_perplexities_are_those_of_their_ratios():
    found = rows(readability.PAGE, "perplexity")
    assert len(found) == 2
    for _, original, *others in found:
        assert len(others) == 1 + len(readability.MECHANISMS)
        for cell in others:
            value, times = cell.replace(",", "").strip(")").split(" (")
            ratio = float(value) / float(original.replace(",", ""))
            assert ratio == pytest.approx(float(times), abs=0.02)
