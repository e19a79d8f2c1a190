"""Attacks against laws that can be worked out by hand."""

import json
import math

import numpy as np
import pytest
from read_back import learn, pairs_of, small
from support import make_embeddings, streams

from dpsan.analysis.evaluate.attack import attacks
from dpsan.analysis.evaluate.vocabulary import MASKED, OTHER, Vocabulary, WordKind
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.distributions import Emissions
from dpsan.space.metric_space import MetricSpace


def told(found, key):
    (attack,) = (each for each in found[0] if each.attack == key)
    return attack


def success(found, key):
    return told(found, key).success[WordKind.ALL]


def opened(embeddings):
    return Vocabulary(embeddings, "unicode"), MetricSpace(embeddings)


def krr(epsilon):
    return MECHANISMS["krr"].build(epsilon, {})


def draw(mechanism, space, inputs):
    return mechanism.prepare(space).sample(inputs, streams(len(inputs)))


def test_one_word_attack_by_hand():
    """krr, n = 3, e^epsilon = 4, prior 7:2:1: 0 explains 0 and 1 best (7·1 < 2·4), 2 does not."""
    vocabulary, space = opened(small([7, 2, 1]))
    emissions = Emissions(krr(math.log(4)), space)
    assert emissions.exact
    (found,) = emissions.candidates(np.arange(3), [np.log(np.array([0.7, 0.2, 0.1]))], 3)
    # Products: output 0: 2.8 .2 .1; output 1: .7 .8 .1; output 2: .7 .2 .4 (over 6 each).
    assert found.inputs.tolist() == [[0, 1, 2], [1, 0, 2], [0, 2, 1]]
    expected = np.log(np.array([[2.8, 0.2, 0.1], [0.8, 0.7, 0.1], [0.7, 0.4, 0.2]]) / 6)
    assert np.allclose(found.scores, expected, atol=1e-6)
    # Inputs 0 1 2 ⊥ 0 with outputs 0 1 2 2 1: right are the first two only.
    pairs = pairs_of([0, 1, 2, 3, 0], [0, 1, 2, 2, 1])
    result = attacks(pairs, vocabulary, space, krr(math.log(4)), None)
    assert (success(result, "one-word").hits, success(result, "verbatim").hits) == (2, 3)
    low, high = success(result, "one-word").interval
    assert low < 0.4 < high


PRIORS = {"vocabulary counts": ([1, 9, 90], ["w0 " * 500])}
PRIORS |= {"public text": ([90, 9, 1], ["w2 " * 500])}


@pytest.mark.parametrize("stronger", PRIORS)
def test_the_stronger_of_two_priors_is_told(stronger):
    """The text that is read is all word 2; one prior says so, the other holds word 0 likely."""
    counts, public = PRIORS[stronger]
    vocabulary, space = opened(small(counts))
    given = pairs_of([2, 2, 2, 2], [0, 1, 2, 2]), vocabulary, space, krr(math.log(3))
    attack = told(attacks(*given, learn(public, vocabulary)), "one-word")
    assert attack.right.tolist() == [True] * 4
    assert attack.name.endswith(f"; prior: {stronger}")
    without = attacks(*given, None)
    assert without[0][1].name.endswith("prior: vocabulary counts")
    assert len(attack.name) + len("  one-word: ") <= 80


@pytest.mark.parametrize(("epsilon", "expected"), [(40.0, 1.0), (1e-6, None)])
def test_success_at_both_ends(epsilon, expected):
    """Without privacy everything is read; without information the likeliest word is guessed."""
    vocabulary, space = opened(make_embeddings(60))
    edges = np.cumsum(vocabulary.frequencies)
    inputs = np.searchsorted(edges, (np.arange(4000) + 0.5) / 4000)
    pairs = pairs_of(inputs, draw(krr(epsilon), space, inputs))
    value = success(attacks(pairs, vocabulary, space, krr(epsilon), None), "one-word").value
    assert value == pytest.approx(expected or vocabulary.frequencies.max(), abs=2e-3)


def test_heuristic_observer_says_so_and_is_good_where_cells_are_small():
    grid = np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), -1).reshape(-1, 2)
    vocabulary, space = opened(small([1] * 900, grid.astype(np.float32)))
    mechanism = MECHANISMS["laplace"].build(0.8, {})
    inputs = np.tile(np.flatnonzero((grid.min(1) > 8) & (grid.max(1) < 21)), 20)
    pairs = pairs_of(inputs, draw(mechanism, space, inputs))
    found = attacks(pairs, vocabulary, space, mechanism, None)
    assert "heuristic" in found[0][1].name
    # With equal priors the density points to the output itself: as good as reading it.
    assert success(found, "one-word").hits == success(found, "verbatim").hits > 0


LANGUAGE = [" ".join(f"w{(start + step) % 12}" for step in range(12)) for start in range(12)] * 10


class Cycle:
    """A language in which every word is followed by the next: one letter tells the whole line."""

    def __init__(self):
        self.vocabulary, self.space = opened(small([10] * 12))
        self.inputs = np.array([int(w[1:]) for line in LANGUAGE for w in line.split()])
        self.lines = np.repeat(np.arange(len(LANGUAGE)), 12)
        self.model = self.learn(LANGUAGE)

    def learn(self, lines, **kept):
        return learn(lines, self.vocabulary, **kept)

    def drawn(self, mechanism, inputs=None, lines=None):
        inputs = self.inputs if inputs is None else inputs
        lines = self.lines if lines is None else lines
        return pairs_of(inputs, draw(mechanism, self.space, inputs), lines)

    def read(self, pairs, mechanism, model):
        return attacks(pairs, self.vocabulary, self.space, mechanism, model)


@pytest.fixture(scope="module")
def cycle():
    return Cycle()


@pytest.mark.slow
def test_context_of_a_language_without_context_is_no_better(cycle):
    """Words in no order: the test below does not see an attack that cheats."""
    shuffled = np.random.default_rng(5).permutation(cycle.inputs)
    drawn = (np.random.default_rng(each).integers(0, 12, 12) for each in range(1500))
    public = [" ".join(f"w{word}" for word in row) for row in drawn]
    pairs = cycle.drawn(krr(2.5), shuffled)
    found = cycle.read(pairs, krr(2.5), cycle.learn(public))
    assert success(found, "context").value < success(found, "one-word").value + 0.02


def test_who_knows_the_other_words_reads_most(cycle):
    """One output of the cycle says little; both neighbours say the word without any output."""
    pairs = cycle.drawn(krr(2.5))
    found = cycle.read(pairs, krr(2.5), cycle.model)
    assert success(found, "one-word").interval[1] < 0.6
    assert success(found, "context").interval[0] > 0.95
    again = cycle.read(pairs, krr(2.5), cycle.model)
    assert success(again, "context") == success(found, "context")
    found = cycle.read(cycle.drawn(krr(1.5)), krr(1.5), cycle.model)
    shares = [success(found, key) for key in ("one-word", "context", "informed")]
    assert shares[0].interval[1] < shares[1].interval[0]
    assert shares[1].interval[1] < shares[2].interval[0]
    assert shares[2].value > 0.99


def test_masked_and_passed_words(cycle):
    """A mask tells nothing by itself; a word that was passed through is read."""
    pairs = pairs_of([1, 12, 12, 2], [MASKED, MASKED, OTHER, 2])
    pairs.same[2] = True
    found = cycle.read(pairs, krr(3.0), cycle.model)
    for key in ("one-word", "context"):
        assert told(found, key).right.tolist() == [False, False, True, True]


def test_long_lines_are_cut_and_impossible_outputs_are_counted(cycle):
    mechanism = MECHANISMS["knn-response"].build(3.0, {"k": 2, "outputs": 6})
    pairs = cycle.drawn(mechanism, lines=np.zeros(len(cycle.inputs), dtype=np.int64))
    assert pairs.outputs.max() < 6
    found = cycle.read(pairs, mechanism, cycle.model)
    assert found[1] == 0
    assert success(found, "context").value > success(found, "one-word").value
    outputs = pairs.outputs.copy()
    outputs[:3] = 11
    found = cycle.read(pairs_of(cycle.inputs, outputs), mechanism, None)
    assert found[1] == 3


@pytest.mark.slow
def test_several_noisings_of_a_line(cycle):
    pairs, sampler = cycle.drawn(krr(1.5)), krr(1.5).prepare(cycle.space)
    once = cycle.read(pairs, krr(1.5), cycle.model)
    keys = (b"j" * 32, b"l" * 32, b"m" * 32)
    pairs.more = tuple(sampler.sample(cycle.inputs, streams(len(cycle.inputs), k)) for k in keys)
    often = cycle.read(pairs, krr(1.5), cycle.model)
    pairs.more = (np.full(len(cycle.inputs), MASKED),)  # the twin: a noising that tells nothing
    again = cycle.read(pairs, krr(1.5), cycle.model)
    for key in ("one-word", "context"):
        assert success(often, key).interval[0] > success(once, key).interval[1]
        assert success(again, key) == success(once, key)


@pytest.mark.slow
@pytest.mark.parametrize("ordered", [True, False])
def test_trigrams_see_further(cycle, ordered):
    """The third word says which the first was; between them always stands the same one."""
    generator = np.random.default_rng(3)
    first = generator.integers(0, 5, 900)
    last = 6 + (first if ordered else generator.integers(0, 5, 900))
    rows = np.stack([first, np.full(900, 11), last], axis=1)
    pairs = cycle.drawn(krr(2.0), rows[:300].ravel(), np.repeat(np.arange(300), 3))
    public = [" ".join(f"w{word}" for word in row) for row in rows[300:]]
    whole, short = cycle.learn(public), cycle.learn(public, trigrams=0)
    near, far = (cycle.read(pairs, krr(2.0), each) for each in (short, whole))
    for key, least in (("context", 0.03), ("informed", 0.2)):
        gain = success(far, key).value - success(near, key).value
        assert (gain > least) if ordered else (-0.02 <= gain < 0.03), (key, gain)
    name = told(far, "informed").name
    assert name.startswith(("trigrams of public text", "trigrams and coherence"))
    assert name.endswith("; other words known, with this model")
    assert max(len(each.name) for each in far[0]) + len("  informed: ") <= 80


@pytest.mark.slow
def test_other_words_tell_what_a_line_is_about():
    """Each line has words of one topic of two; public text has no order, outputs say little."""
    generator = np.random.default_rng(6)
    vectors = generator.normal(0, 0.1, (40, 4)).astype(np.float32)
    vectors[:, 0] += np.repeat([1, -1], 20)
    vocabulary, space = opened(small([1] * 40, vectors))
    inputs = (np.repeat(np.arange(900) % 2 * 20, 8) + generator.integers(0, 20, 7200)).ravel()
    pairs = pairs_of(inputs, draw(krr(0.1), space, inputs), np.repeat(np.arange(900), 8))
    public = [" ".join(f"w{word}" for word in generator.integers(0, 40, 40)) for _ in range(500)]
    found = attacks(pairs, vocabulary, space, krr(0.1), learn(public, vocabulary))
    assert success(found, "one-word").interval[1] < 0.035
    assert success(found, "informed").interval[0] > 0.04
    assert told(found, "informed").name.startswith("trigrams and coherence")


@pytest.mark.slow
def test_a_model_that_is_too_sure_is_trusted_less(cycle, monkeypatch):
    """Public text is of one order, the private one mostly is not: a power below 1 reads more."""
    generator = np.random.default_rng(5)
    inputs = generator.integers(0, 12, 2400)
    for at in np.flatnonzero(generator.random(2400) < 0.6)[1:]:
        inputs[at] = (inputs[at - 1] + 1) % 12
    pairs = cycle.drawn(krr(4.0), inputs, np.repeat(np.arange(200), 12))
    tempered = cycle.read(pairs, krr(4.0), cycle.model)
    monkeypatch.setattr("dpsan.analysis.evaluate.attack.TAUS", (1.0,))
    alone = cycle.read(pairs, krr(4.0), cycle.model)
    for key in ("context", "informed"):
        assert success(tempered, key).value > success(alone, key).value + 0.03, key
        assert ", tau 0." in told(tempered, key).name
        assert told(tempered, key).name.endswith("with this model")


@pytest.mark.slow
def test_the_command_reads_classes(dpsan, tmp_path):
    """An audit of a run with classes says which; a list of one's own must be the same file."""
    text = "Maria met Peter in London on Monday, and Anna in Paris.\nUnveils 47th 28th: a@b.org.\n"
    (tmp_path / "text.txt").write_text(text)
    small = ("--vocab-size", "3000")
    (tmp_path / "list.txt").write_text("\n".join(["maria", "peter", "anna", "john", "mary"]))
    options = ("-e", "12", "--class", "list.txt,contacts", "-m", "knn-response")
    for name, chosen in {"only": ("--only", "names,places"), "two": (*small, *options)}.items():
        files = ("text.txt", "-a", f"{name}.jsonl", "-o", f"{name}.txt")
        assert dpsan("rewrite", "-q", *chosen, *files, cwd=tmp_path).returncode == 0

    def told(name, *more):
        given = (*small, "--json", "text.txt", f"{name}.txt")
        done = dpsan("evaluate", "--audit", f"{name}.jsonl", *more, *given, cwd=tmp_path)
        if done.returncode:
            return done.stderr.decode()
        found = {each["attack"]: each["success"] for each in json.loads(done.stdout)["attacks"]}
        return found["one-word"]["of a class"]

    assert "an audit of --only: no mechanism drew its words" in told("only")
    assert b"names" in dpsan("report", "only.jsonl", cwd=tmp_path).stdout
    assert "give --class list.txt, the file of the run" in told("two")
    assert told("two", "--class", "list.txt")["of"] >= 2
    (tmp_path / "list.txt").write_text("maria\n")
    assert "another list of the class list.txt" in told("two", "--class", "list.txt")
    alone = dpsan("evaluate", "--class", "list.txt", "text.txt", "two.txt", cwd=tmp_path)
    assert b"--class needs --audit" in alone.stderr
