"""Public words: the distribution, its integers, the certificate, and mutants that it must see."""

import itertools
import math
from fractions import Fraction
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from support import Held, cases, fits, largest_ratio, make_embeddings, share_of_event, streams

from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.randomized_response import KnnResponse
from dpsan.mechanisms.tables import near_sets
from dpsan.mechanisms.tables import sparse as base_response
from dpsan.mechanisms.tables.near_sets import Base
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.outcomes.distributions import Emissions
from dpsan.privacy.certificate import Certificate
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

N = 40
EMBEDDINGS = make_embeddings(n=N, d=4)
SPACE = MetricSpace(EMBEDDINGS)
PUBLIC = (0, 1, 5, 17)
WORDS = [f"word{row}" for row in PUBLIC]
OTHERS = [x for x in range(N + 1) if x not in PUBLIC]
MECHANISMS_WITH = [*map(OptimalResponse, (3.0, 0.7, 9.0)), OptimalResponse(3.0, mass=0.3)]
MECHANISMS_WITH += [KnnResponse(3.0, k=3, outputs=9), KnnResponse(1.0, k=5, outputs="all")]
MECHANISMS_WITH += [KnnResponse(6.0), KnnResponse(12.0, k=1, outputs=20)]


def sampled(mechanism):
    return mechanism.with_public(PUBLIC).prepare(SPACE)


@pytest.mark.parametrize("mechanism", MECHANISMS_WITH, ids=repr)
def test_every_ratio_of_protected_words_is_below_the_guarantee(mechanism):
    """On the integers that are sampled, and the certificate is the largest of them, to the bit.

    Public words stay with probability 1 - 1/Z: any more, and some ratio would be above it.
    """
    public, inputs = mechanism.with_public(PUBLIC), np.arange(N + 1)
    sampler, found = public.prepare(SPACE), certify(public, SPACE)
    weights, law = sampler.weights(inputs), sampler.probabilities(inputs)
    best = largest_ratio(weights, OTHERS)
    first, second = law[np.ix_(found.pair, law[found.pair[0]] > 0)]
    assert np.log(first / second).max() == pytest.approx(found.epsilon_ldp, abs=1e-9)
    stated = public.guarantee(SPACE).epsilon_ldp
    assert found.epsilon_ldp == pytest.approx(math.log(best), rel=1e-12)
    assert math.log(best) <= stated * (1 + 1e-15) <= mechanism.epsilon * (1 + 1e-14)
    assert stated >= mechanism.epsilon * (1 - 1e-4)
    # Public words are not protected: nobody else gives them.
    assert largest_ratio(weights, PUBLIC) is None
    assert not weights[np.ix_(OTHERS, PUBLIC)].any()
    z = 1 + math.expm1(mechanism.epsilon) * sampler.base.mass / sampler.base.total
    for word in PUBLIC:
        assert law[word, word] == pytest.approx(1 - 1 / z, rel=1e-4)
        rest = np.delete(law[word], word)
        assert rest / rest.sum() == pytest.approx(np.delete(law[N], word))
    weights[PUBLIC[0], PUBLIC[0]] += 1 + weights[PUBLIC[0]].sum() // 1000
    if best == Fraction(sampler.scale + sampler.increment, sampler.scale):
        assert largest_ratio(weights, OTHERS) > best


@pytest.mark.parametrize("word", [0, 3, N])
@pytest.mark.parametrize("mechanism", [MECHANISMS_WITH[0], MECHANISMS_WITH[4]], ids=repr)
def test_draws_agree_with_probabilities(mechanism, word):
    sampler = sampled(mechanism)
    drawn = sampler.sample(np.full(20_000, word), streams(20_000))
    assert fits(np.bincount(drawn, minlength=N), sampler.probabilities(np.array([word]))[0])


def test_sets_of_knn_response_are_the_nearest_protected_outputs():
    sampler = sampled(KnnResponse(3.0, k=3, outputs=9))
    outputs = [w for w in range(N) if w not in PUBLIC][:9]
    assert sampler.base.words.tolist() == outputs
    distances = SPACE.distances(np.arange(N))
    for word in (2, 8, 30):
        order = sorted(outputs, key=lambda u: (u != word, distances[word, u], u))
        assert sampler.near.row(word)[0].tolist() == order[:3]
    auto = KnnResponse(6.0).with_public(PUBLIC).resolved(SPACE)
    assert isinstance(auto.k, int)
    assert auto.outputs <= N - len(PUBLIC)


def test_the_base_keeps_its_proportions():
    whole, part = OptimalResponse(3.0).base(SPACE), sampled(OptimalResponse(3.0)).base
    left = ~np.isin(whole.words, PUBLIC)
    assert part.words.tolist() == whole.words[left].tolist()
    assert part.weights.tolist() == whole.weights[left].tolist()
    assert part.mass / part.total == pytest.approx(whole.mass / whole.total, rel=1e-3)


def test_tables_do_not_mix():
    """With one base, other public words or another distance make other sets."""
    cache, found = Held(), set()
    space = MetricSpace(EMBEDDINGS, cache)
    base = Base(np.arange(10, 30, dtype=np.int32), np.ones(20, dtype=np.int64), 3)
    for public, euclidean in itertools.product(((), (2, 3), (2, 4)), (False, True)):
        given = {"public": public, "euclidean": euclidean}
        made = [SparseTable(each, base, 3.0, **given) for each in (space, SPACE)]
        kept, fresh = (each.weights(np.arange(N + 1)).tobytes() for each in made)
        assert kept == fresh
        found.add(kept)
    assert len(found) == cache.many("near-sets") == 6


def test_emissions_use_the_distribution_with_public_words():
    mechanism = OptimalResponse(3.0).with_public(PUBLIC)
    # An output among public words says what the input was.
    assert Emissions(mechanism, SPACE).log(np.array([2]), np.array([5]))[0, 0] < -600


def test_no_public_words_or_no_output_left():
    able = "'krr' has no public words .optimal-response and knn-response have"
    with pytest.raises(UsageError, match=able):
        Sanitizer("krr", epsilon=1.0, embeddings=EMBEDDINGS, public=["word1"])
    for kind, told in ((OptimalResponse, "no output is left"), (KnnResponse, "outputs")):
        with pytest.raises(UsageError, match=told):
            kind(3.0).with_public(tuple(range(N))).guarantee(SPACE)


def verified(epsilon=3.0, name="optimal-response"):
    given = {"embeddings": EMBEDDINGS, "public": WORDS}
    with TemporaryDirectory() as cache:  # a mutant's tables are nobody else's
        return verify(Sanitizer(name, epsilon=epsilon, cache=cache, **given), words=8, draws=20_000)


@cases("name", "optimal-response", pytest.param("knn-response", marks=pytest.mark.slow))
def test_kept_for_protected_words(name):
    found = verified(name=name)
    assert (found.verdict, found.public_words) == (Verdict.KEPT, len(PUBLIC))
    assert "of protected words against all" in found.method
    (stated,) = found.configuration
    assert (stated.option, stated.stated) == ("public", True)
    assert not any(word in stated.event.split() for word in WORDS)
    with TemporaryDirectory() as cache:
        made = Sanitizer(name, epsilon=3.0, embeddings=EMBEDDINGS, public=WORDS, cache=cache)
        event = (WORDS[0], "unlisted", lambda output: output.lower() == WORDS[0])
        assert share_of_event(made, *event) > 0.3


@pytest.mark.slow
def test_sets_of_unequal_mass_among_protected_words_are_violated(monkeypatch):
    fill = near_sets.fill

    def shorter(inputs, outputs, base, classes):
        rows = fill(inputs, outputs, base, classes)
        last = np.cumsum(rows["sizes"]) - 1
        rows["ends"][last[::2]] += base.mass
        return rows

    monkeypatch.setattr(near_sets, "fill", shorter)
    assert verified().verdict is Verdict.VIOLATED


@cases("times least", (2, 3.3), pytest.param(40, 5, marks=pytest.mark.slow))
def test_public_words_that_keep_themselves_too_often_are_violated(monkeypatch, times, least):
    """By the certificate, and by draws where it is not looked at."""
    single = near_sets._themselves
    monkeypatch.setattr(base_response, "_BITS", 50)  # room for the mutant's integers
    monkeypatch.setattr(near_sets, "_themselves", lambda words, mass: single(words, times * mass))
    found = verified()
    assert (found.verdict, found.certified > least) == (Verdict.VIOLATED, True)
    if times == 40:
        certificate = Certificate(method="a mutant", epsilon_ldp=1.0, pair=(2, 3), slack=0.0)
        monkeypatch.setattr(SparseTable, "certificate", lambda self, key="": certificate)
        found = verified(1.0)
        assert (found.verdict, found.certified) == (Verdict.VIOLATED, 1.0)
        assert found.empirical.violated


def test_a_loss_against_public_words_counts(monkeypatch):
    """The certificate would not see a public word that is no second input."""
    monkeypatch.setattr(base_response, "_BITS", 50)
    sampler = sampled(OptimalResponse(3.0))
    sampler.near.ends[sampler.near.starts[PUBLIC[0]]] *= 3
    assert sampler.certificate().epsilon_ldp > 3.3
    assert sampler.certificate().pair[1] == PUBLIC[0]
