# mypy: disable-error-code="attr-defined"
"""The best inputs of each output, the likelihood of a whole text, and when a text is linked."""

import itertools
import math

import linkage
import numpy as np
import pytest
from linkage import ordered
from support import make_embeddings, streams

from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.distributions import Emissions, Likeliest, draw
from dpsan.outcomes.intervals import EProcess
from dpsan.outcomes.text_likelihood import HalfLinked, Texts, half_linked, linked_by_words, ranks
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

N = 40


def texts(*rows):
    starts = np.append(0, np.cumsum([len(row) for row in rows]))
    return Texts(np.array([word for row in rows for word in row], dtype=np.int64), starts)


@pytest.fixture(scope="module")
def emissions():
    space = MetricSpace(make_embeddings(N, 4))
    return Emissions(MECHANISMS["exponential"].build(1.5, {}), space)


def law(emissions):
    return emissions.sampler.probabilities(np.arange(N + 1))


CANDIDATES = texts([1, 2, 3], [3, 2, 1], [5, N], [7, 7, 7], [], [2, 1, 3, 9])
NOISINGS = (texts([1, 2, 8], [4, -1], [9, 9, 9]), texts([3, 2, 1], [5, 6], [-2, 0, 30]))


def check(scores, expected):
    """Compare scores with ln P(versions of a text|words of a candidate), -inf where it is None."""
    for c in range(len(CANDIDATES)):
        words = CANDIDATES.of(np.array([c])).ids
        for r in range(3):
            one = expected(words, [each.of(np.array([r])).ids for each in NOISINGS])
            assert scores[c, r] == (-math.inf if one is None else pytest.approx(one, rel=1e-12))


@pytest.mark.parametrize("block", [1, 256])
def test_in_order_it_is_the_product_over_words(emissions, monkeypatch, block):
    monkeypatch.setattr(linkage, "_BLOCK", block)
    known = law(emissions)

    def expected(words, versions):
        if len(words) != len(versions[0]) or not len(words):
            return None
        pairs = [pair for each in versions for pair in zip(words, each, strict=True)]
        return sum(math.log(known[w, u]) for w, u in pairs if u >= 0)

    check(ordered(emissions, CANDIDATES, NOISINGS), expected)
    short = CANDIDATES.beginnings(3)  # they leave out shorter texts
    assert short.sizes.tolist() == [3, 3, 0, 3, 0, 3]
    assert short.ids.tolist() == [1, 2, 3, 3, 2, 1, 7, 7, 7, 2, 1, 3]


def test_ranks_count_better_candidates_and_draw_among_equal_ones():
    scores = np.array([[3.0, 1.0, 5.0], [2.0, 1.0, 5.0 + 1e-12], [9.0, 1.0, 1.0]])
    key = randomness.seeded_key("t")
    found = [ranks(scores, np.array([0, 0, 0]), randomness.derive_key(key, i)) for i in range(600)]
    columns = np.array(found).T
    assert set(columns[0]) == {2}
    counts = np.bincount(columns[1], minlength=4)[1:]
    assert counts.sum() == 600
    # Binomial(600, 1/3): beyond 70 with probability 2·10^-9 each; 100 apart shows a wrong draw.
    assert (abs(counts - 200) < 72).all()
    assert set(columns[2]) == {1, 2}


@pytest.mark.parametrize("together", [1, 3])
def test_the_best_reader_finds_what_the_likelihood_promises(together):
    """krr, texts of 2 words among 3: success follows from the distribution; more noisings add."""
    space = MetricSpace(make_embeddings(6, 3))
    mechanism = MECHANISMS["krr"].build(1.0, {})
    emissions, sampler = Emissions(mechanism, space), mechanism.prepare(space)
    candidates = texts([0, 1], [2, 3], [4, 5])
    m, key = 4000, randomness.seeded_key("linkage")
    truth = np.arange(m) % 3
    words = candidates.of(truth)
    keys = [randomness.derive_key(key, number) for number in range(together)]
    noisings = [Texts(draw(sampler, words.ids, one), words.starts) for one in keys]
    places = ranks(ordered(emissions, candidates, noisings), truth, key)
    keep, other = math.e / (math.e + 5), 1 / (math.e + 5)
    # Number of draws that point to the true text, to each of the others, or nowhere by position.
    expected, draws = 0.0, 2 * together
    for a, b, c in itertools.product(range(draws + 1), repeat=3):
        rest = draws - a - b - c
        if rest >= 0:
            ways = math.factorial(draws) / math.prod(map(math.factorial, (a, b, c, rest)))
            best = max(a, b, c)
            p = ways * keep**a * other ** (draws - a) * 3**rest
            expected += p * (a == best) / sum(each == best for each in (a, b, c))
    hits = (places == 1).mean()
    assert abs(hits - expected) < 6.2 * math.sqrt(expected * (1 - expected) / m)  # 1e-9
    wrong = (ranks(-ordered(emissions, candidates, noisings), truth, key) == 1).mean()
    assert abs(wrong - expected) > 6.2 * math.sqrt(expected * (1 - expected) / m)


@pytest.mark.parametrize("block", [3, 40, 200])
def test_blocks_and_ties(block):
    """Few different scores, so most are tied: the earlier input comes first, however many pass."""
    drawn = streams(200 * 17).integers("scores", 6)
    scores = drawn.reshape(200, 17).astype(np.float64)
    found = Likeliest(np.arange(17), 5, np.float64)
    for at in range(0, 200, block):
        ids = np.arange(at, min(at + block, 200))
        found.add(ids, scores[ids])
    order = np.argsort(-scores, axis=0, kind="stable")[:5]
    assert found.inputs.tolist() == order.T.tolist()
    assert found.scores.tolist() == np.take_along_axis(scores, order, axis=0).T.tolist()
    assert found.guesses().tolist() == order[0].tolist()


def test_too_few_inputs():
    found = Likeliest(np.arange(2), 3, np.float32)
    found.add(np.array([7]), np.array([[-1.0, -np.inf]]))
    assert found.inputs.tolist() == [[7, -1, -1], [-1, -1, -1]]


@pytest.mark.parametrize("name", ["exponential", "knn-response", "zipf-response", "laplace"])
def test_candidates_of_all_threads_are_those_of_one_matrix(name):
    space = MetricSpace(make_embeddings(n=300, d=4))
    emissions = Emissions(MECHANISMS[name].build(2.0, {}), space)
    seen, prior = np.arange(0, 300, 7), np.log(space.frequencies)
    (found,) = emissions.candidates(seen, [prior], 3)
    scores = (emissions.log(np.arange(300), seen) + prior[:, None]).astype(np.float32)
    assert found.inputs.tolist() == np.argsort(-scores, axis=0, kind="stable")[:3].T.tolist()


SPACE = MetricSpace(make_embeddings(200, 4))
KEY = randomness.seeded_key("linked words")


def shares(epsilon, longest, **given):
    mechanism = MECHANISMS["krr"].build(epsilon, {})
    found = linked_by_words(mechanism, SPACE, longest=longest, key=KEY, **given)
    return [each.value for each in found]


def test_no_noise_links_all_and_noise_alone_links_nobody():
    assert shares(40.0, 8)[-1] > 0.95
    # 250 guesses among 1,000: more than 8 are right once in 10^9 runs; the key is fixed anyway.
    assert max(shares(1e-6, 4)) <= 8 / 250
    growing = shares(4.0, 40)
    assert growing[1] < 0.5 < growing[-1]


def test_half_of_the_texts():
    found = half_linked(MECHANISMS["krr"].build(6.0, {}), SPACE)
    again = half_linked(MECHANISMS["krr"].build(6.0, {}), MetricSpace(make_embeddings(200, 4)))
    assert found is not None
    assert found == again
    assert 2 <= found.words <= 8
    assert shares(6.0, 20)[found.words + 2] > 0.4
    assert half_linked(MECHANISMS["krr"].build(0.01, {}), SPACE) == HalfLinked(None)
    assert "by more than 64 words" in HalfLinked(None).sentence
    assert "by their first 1 word," in HalfLinked(1).sentence
    assert HalfLinked(1).of(1) == HalfLinked(1).sentence
    assert HalfLinked(1).of(2).endswith("from one of the copies alone")
    assert half_linked(MECHANISMS["laplace"].build(1.0, {}), SPACE) is None


def test_a_run_its_audit_and_report_say_it(dpsan, tmp_path):
    (tmp_path / "v.txt").write_text("".join(f"w{i} {i % 7} {i // 7}\n" for i in range(60)))
    given = ("-m", "krr", "-e", "6", "-E", "v.txt")
    base = {"stdin": b"w1 w2\n", "cwd": tmp_path}
    said = dpsan("rewrite", "-v", *given, "-a", "a.jsonl", **base).stderr.decode()
    (line,) = (each for each in said.splitlines() if "whole texts: " in each)
    sentence = line.partition("whole texts: ")[2]
    assert sentence.startswith("a reader who holds 1,000 candidates links half of the texts")
    assert "whole texts" not in dpsan("rewrite", *given, **base).stderr.decode()
    told = dpsan("report", "a.jsonl", cwd=tmp_path).stdout.decode()
    assert sentence in " ".join(told.split())  # lines are wrapped


# E-processes: mean 1 under the stated distribution, by enumeration; they see weak tilts.


LAW = np.array([[0.55, 0.3, 0.1, 0.05]])
WORD = np.array([1])


@pytest.mark.parametrize("draws", [2, 5])
def test_no_bound_is_too_small(draws):
    """Against every outcome of so many draws: the mean stake is 1, and P(log_tail <= x) <= e^x."""
    exact, bounds, stakes = [], [], []
    for outcome in itertools.product(range(4), repeat=draws):
        bets = EProcess()
        bets.add(LAW, WORD, np.array(outcome)[None])
        exact.append(LAW[0][list(outcome)].prod())
        bounds.append(bets.log_tail())
        stakes.append(np.exp(bets._log))
    exact, bounds = np.array(exact), np.array(bounds)
    mean = np.einsum("i,i...->...", exact, np.array(stakes))
    assert (np.abs(mean - 1) < 1e-4).all()
    assert (mean < 1).all()  # what rounding may do is taken off
    assert bounds.min() < math.log(0.1)
    for bound in np.unique(bounds):
        assert exact[bounds <= bound].sum() <= math.exp(bound) * (1 + 1e-9)


def test_an_input_may_be_chosen_by_earlier_draws():
    """Two draws, the input of the second chosen by the first: still no bound is too small."""
    laws = np.array([[0.9, 0.1], [0.2, 0.8]])
    bounds, exact = [], []
    for first, second in itertools.product(range(2), repeat=2):
        bets = EProcess()
        _, sign = bets.add(laws[:1], np.array([5]), np.array([[first]]))
        other = 1 - first
        bets.add(laws[other][None], np.array([5]), np.array([[second]]), sign)
        bounds.append(bets.log_tail())
        exact.append(laws[0][first] * laws[other][second])
    bounds, exact = np.array(bounds), np.array(exact)
    for bound in bounds:
        assert exact[bounds <= bound].sum() <= math.exp(bound) * (1 + 1e-9)


def drawn(law, inputs, few, seed):
    generator = np.random.default_rng(seed)
    return np.array([generator.choice(law.shape[1], few, p=law[i]) for i in range(len(inputs))])


def test_weak_signs_of_one_kind_add_up_and_the_right_distribution_has_none():
    """40 inputs, 2,500 draws each, p^1.12 for p: some 100 nats; copies of 1 %."""
    scores = np.random.default_rng(3).uniform(0, 1.5, (40, 30))
    law = np.exp(-scores) / np.exp(-scores).sum(axis=1, keepdims=True)
    inputs = np.arange(40) % 30
    tilted = law**1.12 / (law**1.12).sum(axis=1, keepdims=True)
    copied = 0.99 * law
    copied[np.arange(40), inputs] += 0.01
    for real, found in ((law, False), (tilted, True), (copied, True)):
        bets = EProcess()
        bets.add(law, inputs, drawn(real, inputs, 2500, 11))
        assert (bets.log_tail() < math.log(1e-9)) is found


def test_signs_join_what_deviates_in_two_directions():
    """Half of the inputs have p^1.2, half p^.8: only products with the right signs grow."""
    scores = np.random.default_rng(4).uniform(0, 1.5, (40, 30))
    law = np.exp(-scores) / np.exp(-scores).sum(axis=1, keepdims=True)
    sign = np.where(np.arange(40) % 2 == 0, 1, -1)
    real = law ** (1 + 0.2 * sign[:, None])
    real /= real.sum(axis=1, keepdims=True)
    came, none = drawn(real, sign, 1000, 12), np.full(40, 30)
    together, apart = EProcess(), EProcess()
    together.add(law, none, came, sign)
    gains, own = apart.add(law, none, came)
    assert together.log_tail() < math.log(1e-9)
    assert apart.log_tail() > math.log(1e-3)
    assert (own == sign).mean() > 0.9
    assert gains.mean() > 3  # nats of each alone
    same = EProcess()
    same.add(law, none, drawn(law, sign, 1000, 13), sign)
    assert same.log_tail() > math.log(1e-3)
