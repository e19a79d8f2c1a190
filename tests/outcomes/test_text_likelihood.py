"""The likelihood of a whole text under each candidate, against products taken one by one."""

import math

import numpy as np
import pytest
from support import make_embeddings

from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes import text_likelihood
from dpsan.outcomes.distributions import draw
from dpsan.outcomes.emissions import Emissions
from dpsan.outcomes.intervals import median
from dpsan.outcomes.text_likelihood import Texts, bag, ordered, ranks
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
    monkeypatch.setattr(text_likelihood, "_BLOCK", block)
    known = law(emissions)

    def expected(words, versions):
        if len(words) != len(versions[0]) or not len(words):
            return None
        pairs = [pair for each in versions for pair in zip(words, each, strict=True)]
        return sum(math.log(known[w, u]) for w, u in pairs if u >= 0)

    check(ordered(emissions, CANDIDATES, NOISINGS), expected)


@pytest.mark.parametrize("cells", [1, 1 << 22])
def test_in_any_order_each_output_is_of_a_random_word(emissions, monkeypatch, cells):
    monkeypatch.setattr(text_likelihood, "_CELLS", cells)
    known = law(emissions)

    def expected(words, versions):
        outputs = np.concatenate(versions)
        mean = known[words].mean(axis=0) if len(words) else None
        return None if mean is None else np.log(mean[outputs[outputs >= 0]]).sum()

    check(bag(emissions, CANDIDATES, NOISINGS), expected)


def test_beginnings_leave_out_shorter_texts():
    short = CANDIDATES.beginnings(3)
    assert short.sizes.tolist() == [3, 3, 0, 3, 0, 3]
    assert short.ids.tolist() == [1, 2, 3, 3, 2, 1, 7, 7, 7, 2, 1, 3]
    assert CANDIDATES.beginnings(None) is CANDIDATES


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
    noisings = [
        Texts(draw(sampler, words.ids, randomness.derive_key(key, i)), words.starts)
        for i in range(together)
    ]
    places = ranks(ordered(emissions, candidates, noisings), truth, key)
    keep, other = math.e / (math.e + 5), 1 / (math.e + 5)
    # Number of draws that point to the true text, to each of the others, or nowhere by position.
    expected, draws = 0.0, 2 * together
    for a in range(draws + 1):
        for b in range(draws + 1 - a):
            for c in range(draws + 1 - a - b):
                ways = math.factorial(draws) / (
                    math.factorial(a) * math.factorial(b) * math.factorial(c)
                    * math.factorial(draws - a - b - c)
                )  # fmt: skip
                p = ways * keep**a * other ** (draws - a) * 3 ** (draws - a - b - c)
                best = max(a, b, c)
                expected += p * (a == best) / ((a == best) + (b == best) + (c == best))
    hits = (places == 1).mean()
    assert abs(hits - expected) < 6.2 * math.sqrt(expected * (1 - expected) / m)  # 1e-9
    wrong = (ranks(-ordered(emissions, candidates, noisings), truth, key) == 1).mean()
    assert abs(wrong - expected) > 6.2 * math.sqrt(expected * (1 - expected) / m)


def test_the_interval_of_a_median_covers_it():
    """Exact for every m: the binomial distribution of the number of values below the median."""
    for m in (1, 5, 6, 17, 100):
        found = median(np.arange(m))
        assert found.value == (m - 1) / 2
        below, above = int(found.low), m - 1 - int(found.high)
        assert below == above
        outside = 2 * sum(math.comb(m, i) for i in range(below + 1)) / 2**m
        # One rank further in it would be wrong too often; six values are needed for any limit.
        assert outside <= 0.05 or below == 0
        assert outside + 2 * math.comb(m, below + 1) / 2**m > 0.05
