"""Attacks against laws that can be worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support import make_embeddings, streams

from dpsan.analysis.evaluate.attack import attacks
from dpsan.analysis.evaluate.context import _Line
from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.analysis.evaluate.vocabulary import MASKED, OTHER, Vocabulary, WordClass
from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes import emissions as emissions_module
from dpsan.outcomes.emissions import Emissions
from dpsan.outcomes.language.kneser_ney import Counts, estimated, symbols_of_lines
from dpsan.outcomes.language.symbols import Gap
from dpsan.space.metric_space import MetricSpace


def learn(lines, vocabulary):
    """The model of a public text."""
    counts = Counts(vocabulary.n)
    for symbols in symbols_of_lines(lines, vocabulary.lookup, vocabulary.n):
        counts.add(symbols)
    return estimated(counts)


def small(counts, vectors=None):
    n = len(counts)
    vectors = np.eye(n, dtype=np.float32) if vectors is None else vectors
    words = [f"w{row}" for row in range(n)]
    return Embeddings(words, vectors, "small", f"small-{n}-{counts}", np.array(counts))


def pairs_of(inputs, outputs, lines=None):
    inputs, outputs = np.array(inputs), np.array(outputs)
    m = len(inputs)
    lines = np.zeros(m, dtype=np.int64) if lines is None else np.array(lines)
    texts = [""] * (int(lines.max(initial=0)) + 1)
    kinds = np.where(np.diff(lines, prepend=-1) != 0, Gap.LINE, Gap.SPACE)
    return Pairs(
        texts, texts, [1] * len(texts), len(texts), 0, lines, np.zeros((m, 2), np.int64),
        inputs, outputs, inputs == outputs, kinds, np.ones(m, dtype=np.int64),
    )  # fmt: skip


def success(found, key):
    (attack,) = (each for each in found.attacks if each.key == key)
    return attack.shares[WordClass.ALL]


def test_one_word_attack_by_hand():
    """krr, n = 3, e^epsilon = 4, prior 7:2:1: 0 explains 0 and 1 best (7·1 < 2·4), 2 does not."""
    embeddings = small([7, 2, 1])
    space = MetricSpace(embeddings)
    mechanism = MECHANISMS["krr"].build(math.log(4), {})
    emissions = Emissions(mechanism, space)
    assert emissions.exact
    log_prior = np.log(np.array([0.7, 0.2, 0.1]))
    (found,) = emissions.candidates(np.arange(3), [log_prior], 3)
    # Products: output 0: 2.8 .2 .1; output 1: .7 .8 .1; output 2: .7 .2 .4 (over 6 each).
    assert found.inputs.tolist() == [[0, 1, 2], [1, 0, 2], [0, 2, 1]]
    expected = np.log(np.array([[2.8, 0.2, 0.1], [0.8, 0.7, 0.1], [0.7, 0.4, 0.2]]) / 6)
    assert np.allclose(found.scores, expected, atol=1e-6)
    vocabulary = Vocabulary(embeddings, "unicode")
    # Inputs 0 1 2 ⊥ 0 with outputs 0 1 2 2 1: right are the first two only.
    result = attacks(pairs_of([0, 1, 2, 3, 0], [0, 1, 2, 2, 1]), vocabulary, space, mechanism, None)
    assert success(result, "one-word").hits == 2
    assert success(result, "verbatim").hits == 3
    low, high = success(result, "one-word").interval
    assert low < 0.4 < high


def test_emissions_of_pairs_are_the_law(space):
    mechanism = MECHANISMS["exponential"].build(2.0, {})
    emissions = Emissions(mechanism, space)
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    inputs = np.array([5, 3, 60, 5, 0, 59, 3])
    outputs = np.array([1, 2, 3, 5, 0, 58, 2])
    assert np.allclose(np.exp(emissions.pairs(inputs, outputs)), law[inputs, outputs])


def test_candidates_over_blocks_are_those_of_the_whole_matrix(monkeypatch):
    space = MetricSpace(make_embeddings(300, 4))
    mechanism = MECHANISMS["exponential"].build(1.5, {})
    prior = np.log(np.arange(300, 0, -1) / 45150)
    monkeypatch.setattr(emissions_module, "_CELLS", 7 * 300)
    emissions = Emissions(mechanism, space)
    (found,) = emissions.candidates(np.arange(0, 300, 3), [prior], 9)
    law = mechanism.prepare(space).probabilities(np.arange(300))
    whole = (np.log(law) + prior[:, None])[:, ::3].T
    order = np.argsort(-whole.astype(np.float32), axis=1, kind="stable")[:, :9]
    assert (np.sort(found.inputs, axis=1) == np.sort(order, axis=1)).mean() > 0.999
    assert np.allclose(found.scores, np.take_along_axis(whole, order, axis=1), atol=1e-5)


def test_two_noisings_by_hand():
    """The same with two outputs of each word: 2 and 2 point to 2, where one 2 points to 0."""
    embeddings = small([7, 2, 1])
    space, vocabulary = MetricSpace(embeddings), Vocabulary(embeddings, "unicode")
    mechanism = MECHANISMS["krr"].build(math.log(4), {})
    # Products: (1, 1): .7 3.2 .1; (0, 1): 2.8 .8 .1; (2, 2): .7 .2 1.6; (2, masked): as one 2.
    pairs = pairs_of([1, 0, 2, 0], [1, 0, 2, 2])
    assert success(attacks(pairs, vocabulary, space, mechanism, None), "one-word").hits == 3
    pairs.more = (np.array([1, 1, 2, MASKED]),)
    found = attacks(pairs, vocabulary, space, mechanism, None)
    assert success(found, "one-word").hits == 4
    assert found.impossible == 0


@pytest.mark.parametrize(
    ("counts", "public", "stronger"),
    [
        ([1, 9, 90], ["w0 " * 500], "vocabulary counts"),
        ([90, 9, 1], ["w2 " * 500], "public text"),
    ],
)
def test_the_stronger_of_two_priors_is_told(counts, public, stronger):
    """The text that is read is all word 2; one prior says so, the other holds word 0 likely."""
    embeddings = small(counts)
    space, vocabulary = MetricSpace(embeddings), Vocabulary(embeddings, "unicode")
    mechanism = MECHANISMS["krr"].build(math.log(4), {})
    pairs = pairs_of([2, 2, 2, 2], [0, 1, 2, 2])
    found = attacks(pairs, vocabulary, space, mechanism, learn(public, vocabulary))
    (attack,) = (each for each in found.attacks if each.key == "one-word")
    assert attack.right.tolist() == [True] * 4
    assert attack.name.endswith(f"; prior: {stronger}")
    without = attacks(pairs, vocabulary, space, mechanism, None)
    assert without.attacks[1].name.endswith("prior: vocabulary counts")
    assert len(attack.name) + len("  one-word: ") <= 80


def draw(mechanism: Mechanism, space, inputs):
    return mechanism.prepare(space).sample(inputs, streams(len(inputs)))


@pytest.mark.parametrize(("epsilon", "expected"), [(40.0, 1.0), (1e-6, None)])
def test_success_at_both_ends(epsilon, expected):
    """Without privacy everything is read; without information the likeliest word is guessed."""
    embeddings = make_embeddings(60)
    space, vocabulary = MetricSpace(embeddings), Vocabulary(embeddings, "unicode")
    edges = np.cumsum(vocabulary.frequencies)
    inputs = np.searchsorted(edges, (np.arange(4000) + 0.5) / 4000)
    mechanism = MECHANISMS["krr"].build(epsilon, {})
    outputs = draw(mechanism, space, inputs)
    found = attacks(pairs_of(inputs, outputs), vocabulary, space, mechanism, None)
    value = success(found, "one-word").value
    assert value == pytest.approx(expected or vocabulary.frequencies.max(), abs=2e-3)


def test_heuristic_observer_says_so_and_is_good_where_cells_are_small():
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), -1).reshape(-1, 2)
    embeddings = small([1] * 900, grid.astype(np.float32))
    space, vocabulary = MetricSpace(embeddings), Vocabulary(embeddings, "unicode")
    mechanism = MECHANISMS["laplace"].build(0.8, {})
    inputs = np.tile(np.flatnonzero((grid.min(1) > 8) & (grid.max(1) < 21)), 20)
    outputs = draw(mechanism, space, inputs)
    found = attacks(pairs_of(inputs, outputs), vocabulary, space, mechanism, None)
    assert "heuristic" in found.attacks[1].name
    # With equal priors the density points to the output itself: as good as reading it.
    assert success(found, "one-word").hits == success(found, "verbatim").hits > 0


LANGUAGE = [" ".join(f"w{(start + step) % 12}" for step in range(12)) for start in range(12)] * 20


@pytest.fixture(scope="module")
def cycle():
    """A language in which every word is followed by the next: one letter tells the whole line."""
    embeddings = small([10] * 12)
    space, vocabulary = MetricSpace(embeddings), Vocabulary(embeddings, "unicode")
    inputs = np.array([int(w[1:]) for line in LANGUAGE for w in line.split()])
    lines = np.repeat(np.arange(len(LANGUAGE)), 12)
    return space, vocabulary, inputs, lines


def test_context_reads_what_one_word_cannot(cycle):
    space, vocabulary, inputs, lines = cycle
    mechanism = MECHANISMS["krr"].build(2.5, {})
    outputs = draw(mechanism, space, inputs)
    found = attacks(
        pairs_of(inputs, outputs, lines), vocabulary, space, mechanism, learn(LANGUAGE, vocabulary)
    )
    assert success(found, "one-word").interval[1] < 0.6
    assert success(found, "context").interval[0] > 0.95
    again = attacks(
        pairs_of(inputs, outputs, lines), vocabulary, space, mechanism, learn(LANGUAGE, vocabulary)
    )
    assert success(again, "context") == success(found, "context")


def test_context_of_a_language_without_context_is_no_better(cycle):
    """The twin: words in no order, so the test above does not see an attack that cheats."""
    space, vocabulary, inputs, lines = cycle
    shuffled = np.random.default_rng(5).permutation(inputs)
    mechanism = MECHANISMS["krr"].build(2.5, {})
    outputs = draw(mechanism, space, shuffled)
    public = [
        " ".join(f"w{w}" for w in np.random.default_rng(each).integers(0, 12, 12))
        for each in range(1500)
    ]
    found = attacks(
        pairs_of(shuffled, outputs, lines), vocabulary, space, mechanism, learn(public, vocabulary)
    )
    assert success(found, "context").value < success(found, "one-word").value + 0.02


def test_masked_and_passed_words(cycle):
    """A mask tells nothing by itself; a word that was passed through is read."""
    space, vocabulary, _, _ = cycle
    mechanism = MECHANISMS["krr"].build(3.0, {})
    pairs = pairs_of([1, 12, 12, 2], [MASKED, MASKED, OTHER, 2])
    pairs.same[2] = True
    found = attacks(pairs, vocabulary, space, mechanism, learn(LANGUAGE, vocabulary))
    for key in ("one-word", "context"):
        (attack,) = (each for each in found.attacks if each.key == key)
        assert attack.right.tolist() == [False, False, True, True]


def test_long_lines_are_cut_and_impossible_outputs_are_counted(cycle):
    space, vocabulary, inputs, _ = cycle
    mechanism = MECHANISMS["knn-response"].build(3.0, {"k": 2, "outputs": 6})
    outputs = draw(mechanism, space, inputs)
    assert outputs.max() < 6
    found = attacks(
        pairs_of(inputs, outputs), vocabulary, space, mechanism, learn(LANGUAGE, vocabulary)
    )
    assert found.impossible == 0
    assert success(found, "context").value > success(found, "one-word").value
    outputs[:3] = 11
    found = attacks(pairs_of(inputs, outputs), vocabulary, space, mechanism, None)
    assert found.impossible == 3


def test_who_knows_the_other_words_reads_most(cycle):
    """One output of the cycle says little; both neighbours say the word without any output."""
    space, vocabulary, inputs, lines = cycle
    mechanism = MECHANISMS["krr"].build(1.5, {})
    pairs = pairs_of(inputs, draw(mechanism, space, inputs), lines)
    found = attacks(pairs, vocabulary, space, mechanism, learn(LANGUAGE, vocabulary))
    shares = [success(found, key) for key in ("one-word", "context", "informed")]
    assert shares[0].interval[1] < shares[1].interval[0]
    assert shares[1].interval[1] < shares[2].interval[0]
    assert shares[2].value > 0.99


def test_several_noisings_of_a_line(cycle):
    space, vocabulary, inputs, lines = cycle
    mechanism = MECHANISMS["krr"].build(1.5, {})
    model = learn(LANGUAGE, vocabulary)
    pairs = pairs_of(inputs, draw(mechanism, space, inputs), lines)
    once = attacks(pairs, vocabulary, space, mechanism, model)
    sampler = mechanism.prepare(space)
    keys = (b"j" * 32, b"l" * 32, b"m" * 32)
    pairs.more = tuple(sampler.sample(inputs, streams(len(inputs), key)) for key in keys)
    often = attacks(pairs, vocabulary, space, mechanism, model)
    for key in ("one-word", "context"):
        assert success(often, key).interval[0] > success(once, key).interval[1]
    pairs.more = (np.full(len(inputs), MASKED),)  # the twin: a noising that tells nothing
    again = attacks(pairs, vocabulary, space, mechanism, model)
    for key in ("one-word", "context"):
        assert success(again, key) == success(once, key)


@pytest.mark.parametrize("ordered", [True, False])
def test_trigrams_see_further(cycle, ordered):
    """The third word says which the first was; between them always stands the same one."""
    space, vocabulary, _, _ = cycle
    generator = np.random.default_rng(3)
    first = generator.integers(0, 5, 900)
    last = 6 + (first if ordered else generator.integers(0, 5, 900))
    rows = np.stack([first, np.full(900, 11), last], axis=1)
    lines = [" ".join(f"w{word}" for word in row) for row in rows]
    mechanism = MECHANISMS["krr"].build(2.0, {})
    inputs = rows[:300].ravel()
    pairs = pairs_of(inputs, draw(mechanism, space, inputs), np.repeat(np.arange(300), 3))
    whole = learn(lines[300:], vocabulary)
    none = np.zeros(0, dtype=np.int64)
    weights = np.zeros_like(whole.bigram_weights)
    short = replace(
        whole, bigram_weights=weights, trigrams=none, log_trigrams=whole.log_trigrams[:0]
    )
    near = attacks(pairs, vocabulary, space, mechanism, short)
    far = attacks(pairs, vocabulary, space, mechanism, whole)
    for key, least in (("context", 0.03), ("informed", 0.2)):
        gain = success(far, key).value - success(near, key).value
        assert (gain > least) if ordered else (-0.02 <= gain < 0.03), (key, gain)
    (attack,) = (each for each in far.attacks if each.key == "informed")
    assert attack.name.startswith("trigrams of public text")
    assert attack.name.endswith("; other words known, with this model")
    assert max(len(each.name) for each in far.attacks) + len("  informed: ") <= 80


def test_an_informed_reader_by_hand(cycle):
    """Every score of a candidate, against the probabilities of whole lines."""
    _, vocabulary, _, _ = cycle
    model = learn(["w0 w1, w2 w3.", "w0 w4, w2 w5.", "w0 w1 w6"], vocabulary)
    n = vocabulary.n
    kinds = np.array([Gap.LINE, 0, Gap.CLAUSE, 0, Gap.END])
    words = np.array([0, 1, 2, 3])
    line = _Line(words, kinds, n)
    states = np.tile(np.arange(n), (4, 1))
    found = line.logs(states, model)

    def whole(other):
        start = [n + Gap.LINE, n + Gap.LINE]
        symbols = [*start, other[0], other[1], n + Gap.CLAUSE, other[2], other[3], n + Gap.END]
        symbols = np.array(symbols)
        below, _ = model.pairs(symbols[1:-1], symbols[2:])
        first = model.pairs(symbols[:-2], symbols[1:-1])[1]
        return float(model.triples(first, symbols[2:], below).sum())

    for at in range(4):
        each = [whole([*words[:at], word, *words[at + 1 :]]) for word in range(n)]
        assert found[at] - found[at, 0] == pytest.approx(np.array(each) - each[0], abs=1e-3)


def test_a_model_that_is_too_sure_is_trusted_less(cycle, monkeypatch):
    """Public text is of one order, the private one mostly is not: a power below 1 reads more."""
    space, vocabulary, _, _ = cycle
    generator = np.random.default_rng(5)
    inputs = generator.integers(0, 12, 2400)
    for at in np.flatnonzero(generator.random(2400) < 0.6)[1:]:
        inputs[at] = (inputs[at - 1] + 1) % 12
    mechanism = MECHANISMS["krr"].build(4.0, {})
    pairs = pairs_of(inputs, draw(mechanism, space, inputs), np.repeat(np.arange(200), 12))
    given = pairs, vocabulary, space, mechanism, learn(LANGUAGE, vocabulary)
    tempered = attacks(*given)
    for module in ("attack", "context"):
        monkeypatch.setattr(f"dpsan.analysis.evaluate.{module}.TAUS", (1.0,))
    alone = attacks(*given)
    for key in ("context", "informed"):
        assert success(tempered, key).value > success(alone, key).value + 0.05, key
        (attack,) = (each for each in tempered.attacks if each.key == key)
        assert "of public text, tau 0." in attack.name
        assert attack.name.endswith("with this model")
