"""Explaining words: figures against hand computation, draws against laws, Bayes by hand."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import orjson
import pytest
from support import make_embeddings, need_extra

from dpsan.analysis.explain import explain
from dpsan.analysis.explain.match import candidates, parse_at
from dpsan.analysis.explain.rows import rows
from dpsan.analysis.explain.words import Word, read
from dpsan.analysis.figures.words import check, plot
from dpsan.embeddings.base import Embeddings
from dpsan.errors import OutputError, UsageError, printable
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import draw_counts
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.outcomes.observer import Observer, near_observer
from dpsan.outcomes.one_word import from_draws, from_pmf
from dpsan.outcomes.word_statistics import UNKNOWN_PRIOR, prior
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

ALPHA = 1e-9
LN_9 = math.log(9)
LINE = Embeddings(
    ["red", "pink", "blue", "navy"],
    np.array([[0.0], [1.0], [10.0], [12.0]], dtype=np.float32),
    "made-up",
    "explain-line",
    np.array([60, 20, 15, 5]),
)


def sanitizer(mechanism, store, embeddings=LINE, epsilon=LN_9, **parameters):
    return Sanitizer(
        mechanism,
        epsilon=epsilon,
        embeddings=embeddings,
        parameters=parameters,
        allow_unproved=True,
        cache=store,
    )


def told(found, *texts):
    return explain(found, read(found, [("here", text) for text in texts]))


# -- figures from the law ------------------------------------------------------------------------


def test_law_by_hand(store):
    """knn-response, K = 2, e^epsilon = 9: Z = 9 + 9 + 1 + 1 = 20."""
    found = sanitizer("knn-response", store, k=2, outputs="all")
    (red,) = told(found, "red")
    assert red.exact
    assert red.draws == 0
    assert red.unchanged.value == pytest.approx(9 / 20, abs=1e-6)
    # All of the other words are among the 100 nearest.
    assert red.close.value == pytest.approx(11 / 20, abs=1e-6)
    assert red.distant.value == pytest.approx(0, abs=1e-12)
    names = [output.word for output in red.outputs]
    assert names == ["red", "pink", "blue", "navy"]
    values = [output.probability.value for output in red.outputs]
    assert values == pytest.approx([0.45, 0.45, 0.05, 0.05], abs=1e-6)
    assert sum(values) == pytest.approx(1, abs=1e-12)
    assert [output.distance for output in red.outputs] == [0, 1, 10, 12]
    assert red.neighbors == (("pink", 1.0), ("blue", 10.0), ("navy", 12.0))
    assert red.distinct == pytest.approx(4, abs=1e-6)
    assert red.epsilon_ldp == pytest.approx(math.log(9))


def test_distinct_is_an_expectation(space):
    """n outputs of probability 1/n: n (1 - (1 - 1/n)^1000)."""
    n = space.n
    law = np.full(n, 1 / n)
    assert from_pmf(space, 0, law, 3).distinct == pytest.approx(n * (1 - (1 - 1 / n) ** 1000))
    certain = np.eye(n)[0]
    assert from_pmf(space, 0, certain, 3).distinct == pytest.approx(1)


@pytest.mark.parametrize("mechanism", ["knn-response", "exponential", "zipf-response", "krr"])
def test_shares_sum_to_one(mechanism, store):
    big = make_embeddings(n=300)
    found = sanitizer(mechanism, store, big, epsilon=2.0)
    for each in explain(found, [Word("x", 5), Word("y", 299)], top=10**9, posterior=False):
        total = each.unchanged.value + each.close.value + each.distant.value
        assert total == pytest.approx(1, abs=1e-12)
        assert each.distant.value > 0
        listed = sum(output.probability.value for output in each.outputs)
        assert listed == pytest.approx(1, abs=1e-9)
        values = [output.probability.value for output in each.outputs]
        assert values == sorted(values, reverse=True)


def test_unknown_words_are_one_input(store):
    found = sanitizer("knn-response", store, k=2, outputs="all")
    one, other, itself = told(found, "zqvxkjq", "Maria", "⊥")
    for each in (one, other, itself):
        assert each.input is None
        assert each.unchanged.value == 0
        assert each.close is None
        assert each.distant is None
        assert each.neighbors == ()
        assert [o.distance for o in each.outputs] == [None] * 4
        assert [o.probability.value for o in each.outputs] == pytest.approx([0.25] * 4)
    assert one.word == "zqvxkjq"


def test_words_are_looked_up_as_rewrite_does(store):
    found = sanitizer("krr", store)
    (capital,) = read(found, [("here", "Navy")])
    assert capital.id == 3
    for text in ("red navy", "", "red.", "red-navy", "don't-know x", "red's"):
        with pytest.raises(UsageError, match=r"^line 7: not a single word") as caught:
            read(found, [("line 7", text)])
        assert "navy" not in str(caught.value)


# -- figures from draws --------------------------------------------------------------------------


def counts_of(found, word, draws=20_000):
    sampler = found.mechanism.prepare(found.space)
    return draw_counts(sampler, found.space.n, word, draws, randomness.seeded_key("test explain"))


def consistent(counts, law):
    """Whether the Clopper-Pearson interval of every output holds its probability."""
    draws = int(counts.sum())
    bounds = [clopper_pearson(int(each), draws, ALPHA) for each in counts]
    return all(low <= p <= high for (low, high), p in zip(bounds, law, strict=True))


@pytest.mark.parametrize("mechanism", ["knn-response", "exponential", "zipf-response", "tldp"])
def test_draws_agree_with_the_law(mechanism, store, embeddings):
    found = sanitizer(mechanism, store, embeddings, epsilon=3.0)
    law = found.mechanism.prepare(found.space).probabilities(np.array([4]))[0]
    counts = counts_of(found, 4)
    assert consistent(counts, law)
    # The twin: a law whose likeliest output is 30 % less likely is told apart.
    wrong = law.copy()
    wrong[np.argmax(wrong)] *= 0.7
    assert not consistent(counts, wrong / wrong.sum())
    drawn = from_draws(found.space, 4, counts, int(counts.sum()), 60)
    exact = from_pmf(found.space, 4, law, 60)
    for share, truth in ((drawn.unchanged, exact.unchanged), (drawn.close, exact.close)):
        assert share.low <= truth.value <= share.high
    assert drawn.distinct == pytest.approx(exact.distinct, abs=1.5)


def test_distinct_of_draws_is_the_mean_over_subsets():
    """Two outputs, 3 and 1 of 4 draws, subsets of 1000 of 4000: by the hypergeometric law."""
    space = MetricSpace(LINE)
    counts = np.array([3990, 9, 1, 0])
    found = from_draws(space, 0, counts, 4000, 4)
    missing_nine = math.comb(3991, 1000) / math.comb(4000, 1000)
    missing_one = 3 / 4
    assert found.distinct_draws == 1000
    assert found.distinct == pytest.approx(3 - missing_nine - missing_one, rel=1e-9)
    few = from_draws(space, 0, np.array([5, 2, 0, 0]), 7, 4)
    assert (few.distinct, few.distinct_draws) == (2, 7)


def test_draws_are_repeatable_and_seeded(store, embeddings):
    found = sanitizer("laplace", store, embeddings, epsilon=4.0)
    words = read(found, [("here", "word3")])

    def values(**more):
        (each,) = explain(found, words, draws=300, posterior=False, **more)
        return [(o.word, o.probability.value) for o in each.outputs]

    assert values() == values()
    assert values() != values(seed="other")
    both = explain(found, [*words, *words], draws=300, posterior=False)
    assert both[0] == both[1]


def test_progress_adds_up_to_one(store, embeddings):
    for mechanism in ("laplace", "exponential"):
        fresh = make_embeddings(seed=11 + len(mechanism))
        found = sanitizer(mechanism, store, fresh, epsilon=4.0)
        steps: list[float] = []
        explain(found, [Word("a", 1), Word("b", 2)], draws=1200, progress=steps.append)
        assert sum(steps) == pytest.approx(1, abs=1e-9)
        assert len(steps) >= 3


# -- the observer --------------------------------------------------------------------------------


def test_posterior_is_bayes_by_hand(store):
    """Priors .94·(60, 20, 15, 5) % and .06 for ⊥; P(red|w) = 9/20 or 1/20, and 1/4 from ⊥."""
    found = sanitizer("knn-response", store, k=2, outputs="all")
    (red,) = told(found, "red")
    (to_red, to_pink, to_blue) = red.posterior
    assert [each.output for each in red.posterior] == ["red", "pink", "blue"]
    joint = {
        "red": 0.94 * 0.60 * 0.45,
        "pink": 0.94 * 0.20 * 0.45,
        "blue": 0.94 * 0.15 * 0.05,
        "navy": 0.94 * 0.05 * 0.05,
        "⊥": UNKNOWN_PRIOR * 0.25,
    }
    assert UNKNOWN_PRIOR == 0.06
    for posterior in (to_red, to_pink):
        got = {word: share.value for word, _, share in posterior.inputs}
        want = {word: value / sum(joint.values()) for word, value in joint.items()}
        assert got == pytest.approx(want, abs=1e-6)
        assert [unknown for word, unknown, _ in posterior.inputs if word == "⊥"] == [True]
    # Blue and navy swap places with red and pink.
    blue = {word: share.value for word, _, share in to_blue.inputs}
    total = 0.94 * (0.15 + 0.05) * 0.45 + 0.94 * 0.8 * 0.05 + 0.06 * 0.25
    assert blue["blue"] == pytest.approx(0.94 * 0.15 * 0.45 / total, abs=1e-6)
    # The best guess is red for red and pink, blue for blue and navy.
    success = 2 * joint["red"] + 2 * 0.94 * 0.15 * 0.45
    assert red.observer_success == pytest.approx(success, abs=1e-6)


@pytest.mark.parametrize("mechanism", ["exponential", "zipf-response", "custext"])
def test_pass_in_blocks_is_the_whole_matrix(mechanism, store, monkeypatch):
    import dpsan.outcomes.observer as module

    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 60 * 7)  # 7 inputs at a time
    embeddings = make_embeddings(seed=23)
    found = sanitizer(mechanism, store, embeddings, epsilon=2.0)
    sampler, space = found.mechanism.prepare(found.space), found.space
    observer = Observer.build(found.mechanism, sampler, found.space, lambda _: None)
    joint = sampler.probabilities(np.arange(space.n + 1)) * prior(space)[:, None]
    assert observer.marginal == pytest.approx(joint.sum(axis=0), rel=1e-12)
    assert observer.joint == pytest.approx(-np.sort(-joint, axis=0)[:5], rel=1e-12)
    assert observer.success == pytest.approx(joint.max(axis=0).sum())
    picked = np.take_along_axis(joint, np.maximum(observer.inputs, 0), axis=0)
    assert picked == pytest.approx(observer.joint)


def test_prior_sums_to_one(space):
    assert prior(space).sum() == pytest.approx(1)
    without = MetricSpace(Embeddings(LINE.index_to_key, LINE.vectors, "", "no counts"))
    zipf = prior(without)[:4]
    assert zipf[0] / zipf[3] == pytest.approx(5.7 / 2.7)


def test_near_observer_covers_the_law(store, embeddings):
    """Its intervals from draws hold the posterior of the law among the same inputs."""
    found = sanitizer("exponential", store, embeddings, epsilon=4.0)
    sampler = found.mechanism.prepare(found.space)
    figures = from_draws(found.space, 4, counts_of(found, 4, 5000), 5000, 5)
    key = randomness.seeded_key("test near observer")
    drawn = near_observer(found.space, sampler, figures, 4000, key, False, lambda _: None)
    exact = near_observer(found.space, sampler, figures, 4000, key, True, lambda _: None)
    assert drawn.rows[0][0] == exact.rows[0][0]
    truth = {point.id: point.probability.value for point in exact.rows[0][1]}
    compared = 0
    for point in drawn.rows[0][1]:
        if point.id in truth:
            compared += 1
            estimate = point.probability
            assert estimate.low <= truth[point.id] <= estimate.high
            # The twin: the interval is narrow enough to say something.
            assert estimate.high - estimate.low < 0.5
    assert compared >= 3
    whole = Observer.build(found.mechanism, sampler, found.space, lambda _: None).posteriors(
        [exact.rows[0][0]]
    )
    for point in whole.rows[0][1]:
        assert point.probability.value <= truth.get(point.id, 1) + 1e-12


def test_too_few_draws_give_a_sentence(store, embeddings):
    found = sanitizer("laplace", store, embeddings, epsilon=0.01)
    (each,) = explain(found, [Word("word3", 3)], draws=100)
    assert each.posterior == ()
    assert "do not tell" in each.posterior_note


def test_large_vocabularies_have_a_near_observer(store, monkeypatch):
    """Where n² is too large, the law of a few inputs is still exact."""
    monkeypatch.setattr("dpsan.analysis.explain.MOST_CELLS", 0)
    found = sanitizer("knn-response", store, k=2, outputs="all")
    (red,) = told(found, "red")
    (posterior,) = red.posterior
    got = {word: share.value for word, _, share in posterior.inputs}
    # ⊥ does not take part, and 9/20 against 1/20 is all there is.
    weights = {"red": 0.6 * 9, "pink": 0.2 * 9, "blue": 0.15, "navy": 0.05}
    want = {word: weight / sum(weights.values()) for word, weight in weights.items()}
    assert got == pytest.approx(want, abs=1e-6)
    assert red.observer_success is None
    assert "more than is public" in red.posterior_note


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_is_explained(name, store):
    embeddings = make_embeddings(n=40)
    kind = MECHANISMS[name]
    values = {"delta": 1e-3} if "delta" in kind.parameters() else {}
    draft = Draft(kind, values, embeddings.key_to_index)
    epsilon = draft.anywhere(MetricSpace(embeddings))[0].epsilon
    found = sanitizer(name, store, embeddings, epsilon=epsilon, **values)
    for each in explain(found, [Word("word7", 7), Word("?", 40)], draws=60, top=3):
        assert 1 <= len(each.outputs) <= 3
        assert 1 <= each.distinct <= 40
        if each.input is not None:
            total = each.unchanged.value + each.close.value + each.distant.value
            assert total == pytest.approx(1, abs=1e-9)
        for posterior in each.posterior:
            shares = [share.value for _, _, share in posterior.inputs]
            assert shares == sorted(shares, reverse=True)
            assert 0 < sum(shares) <= 1 + 1e-9
    orjson.dumps(rows([[each]], embeddings, ""))


# -- what is asked for ---------------------------------------------------------------------------


def test_parameters_go_to_those_that_have_them():
    found = candidates(["knn-response", "krr", "knn-response"], {"k": "5"})
    assert [(each.kind.name, dict(each.values)) for each in found] == [
        ("knn-response", {"k": "5"}),
        ("krr", {}),
    ]
    with pytest.raises(UsageError, match="krr: no parameter besides epsilon"):
        candidates(["krr"], {"k": "5"})
    with pytest.raises(UsageError, match="did you mean 'outputs'"):
        candidates(["krr", "knn-response"], {"outptus": "5"})
    with pytest.raises(UsageError, match="did you mean 'laplace'"):
        candidates(["laplce"], {})


@pytest.mark.parametrize("text", ["ldp", "ldp=", "ldp=x", "ldp=-1", "unchanged=1", "close=.3", ""])
def test_bad_at(text):
    with pytest.raises(UsageError):
        parse_at(text)


def test_control_characters_are_escaped():
    assert printable("caf\u00e9 [bold]") == "caf\u00e9 [bold]"
    assert printable("a\x1b[31mb") == "a\\x1b[31mb"
    assert printable("a\u202eb\U000e0041") == "a\\u202eb\\U000e0041"


def test_rows_are_json(store):
    exact = sanitizer("krr", store)
    drawn = sanitizer("laplace", store, epsilon=1.0)
    lists = [
        explain(each, read(each, [("a", "Red"), ("b", "green")]), draws=200, seed="s")
        for each in (exact, drawn)
    ]
    values = orjson.loads(orjson.dumps(rows(lists, LINE, "s")))
    assert [(each["word"], each["mechanism"]) for each in values] == [
        ("Red", "krr"),
        ("Red", "laplace"),
        ("green", "krr"),
        ("green", "laplace"),
    ]
    first, second, third = values[:3]
    for key in ("epsilon", "epsilon_ldp", "unchanged", "close", "distant", "distinct"):
        assert isinstance(first[key], (int, float)), key
    assert first["input"] == "red"
    assert first["exact"]
    assert first["intervals"] is None
    assert set(first["outputs"][0]) == {"word", "probability", "distance"}
    low, high = second["intervals"]["unchanged"]
    assert low <= second["unchanged"] <= high
    assert second["draws"] == 200
    assert third["unknown"]
    assert third["close"] is None
    assert first["embeddings"]["digest"] == "explain-line"
    assert first["seed"] == "s"
    assert set(first["versions"]) == {"dpsan", "numpy"}


# -- pictures ------------------------------------------------------------------------------------


@pytest.fixture
def explained(store):
    found = sanitizer("knn-response", store, k=2, outputs="all")
    return [told(found, "red", "zqvxkjq")]


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_plot(explained, tmp_path, suffix):
    need_extra("plot")
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for path in (first, second):
        check(path, 2, force=False)
        plot(explained, path, force=False)
    assert first.read_bytes() == second.read_bytes()
    if suffix == ".svg":
        text = "".join(ElementTree.parse(first).getroot().itertext())  # noqa: S314 - our own file
        assert "pink" in text
        assert "probability of the output" in text
    else:
        assert first.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(OutputError, match="exists"):
        check(first, 1, force=False)
    plot(explained, first, force=True)
    assert not list(tmp_path.glob(".*"))


def test_plot_refuses(tmp_path):
    need_extra("plot")
    with pytest.raises(UsageError, match=r"pictures end in \.pdf, \.png or \.svg"):
        check(tmp_path / "a.gif", 1, force=False)
    with pytest.raises(UsageError, match="at most 20 words"):
        check(tmp_path / "a.svg", 21, force=False)


# -- the command ---------------------------------------------------------------------------------

WORDS = "red 1 0\n[bold] 0 1\nblue 1 1\nblack 2 1\n日本語 2 2\n"


@pytest.fixture
def words_file(tmp_path):
    (tmp_path / "words.txt").write_text(WORDS, encoding="utf-8")
    return tmp_path


def test_columns_fit(dpsan, words_file):
    command = ["explain", "red", "-m", "krr", "-m", "exponential", "-e", "2", "-E", "words.txt"]
    for columns, beside in ((80, True), (78, False), (40, False), (5, False)):
        done = dpsan(*command, cwd=words_file, env={"COLUMNS": str(columns)})
        assert done.returncode == 0, done.stderr
        lines = done.stdout.decode().splitlines()
        from rich.cells import cell_len

        assert max(cell_len(line) for line in lines) <= max(columns, 30)
        assert any("krr (" in line and "exponential (" in line for line in lines) == beside
        assert "[bold]" in done.stdout.decode()


def test_ascii_terminal(dpsan, words_file):
    done = dpsan(
        *("explain", "--unknown", "-m", "krr", "-e", "2", "-E", "words.txt"),
        cwd=words_file,
        env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        check=False,  # a Python of its own: these variables are read at its start
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert b"####" in done.stdout


def test_stdin_is_never_echoed_in_errors(dpsan, words_file):
    lines = b"red\r\n\nblue\n\x1b[31mSECRET word\n"
    done = dpsan(
        "explain", "-", "-m", "krr", "-e", "2", "-E", "words.txt", stdin=lines, cwd=words_file
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode() == (
        "dpsan: standard input:4: not a single word (give its words one by one)\n"
    )
    good = dpsan(
        *("explain", "-", "blue", "-m", "krr", "-e", "2", "-E", "words.txt", "--json"),
        stdin=b"red\r\n\n black \nr\xad\n",
        cwd=words_file,
    )
    # A byte that is not UTF-8 is no word.
    assert good.returncode == 2
    good = dpsan(
        *("explain", "-", "blue", "-m", "krr", "-e", "2", "-E", "words.txt", "--json"),
        stdin="red\r\n\n black \nre\u00add\n".encode(),
        cwd=words_file,
    )
    assert [each["word"] for each in orjson.loads(good.stdout)] == [
        *("red", "black", "re\u00add", "blue")
    ]


def test_terminal_shows_no_control_characters(dpsan, words_file):
    done = dpsan(
        *("explain", "-", "-m", "krr", "-e", "2", "-E", "words.txt"),
        stdin="re\u00add\nfoo\u200dbar\n".encode(),
        cwd=words_file,
    )
    text = done.stdout.decode()
    assert "re\\xadd, read as red" in text
    assert "foo\\u200dbar: not in the vocabulary" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200d]", text)
