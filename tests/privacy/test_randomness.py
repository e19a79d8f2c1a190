import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaincinv, ndtri
from support import cases, fits, make_embeddings, streams

from dpsan.embeddings.words import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy import randomness, rounding
from dpsan.privacy.guarantee import Arithmetic, Guarantee, Loss, Status, compose_basic
from dpsan.privacy.noise_formulas import truncated_laplace_std
from dpsan.space.diameters import smallest_distance
from dpsan.space.metric_space import MetricSpace

KEY = b"k" * randomness.KEY_BYTES


def test_bits_do_not_depend_on_the_batch():
    whole = randomness.streams_for(KEY, [3, 4, 5], [2, 600, 1])
    bits = whole.bits("x", 3)
    assert bits.shape == (603, 3)
    for part, (at, end) in zip(([3], [4], [5]), ((0, 2), (2, 602), (602, 603)), strict=True):
        words = [end - at]
        alone = randomness.streams_for(KEY, part, words)
        assert (alone.bits("x", 3) == bits[at:end]).all()
    pieces = np.concatenate([piece.bits("x", 3) for piece in whole.chunks(256)])
    assert (pieces == bits).all()


def test_chunks_and_lengths():
    whole = randomness.streams_for(KEY, [0, 1, 2], [300, 300, 300])
    assert all(len(piece) <= randomness.BLOCK for piece in whole.chunks(10))
    for count in (0, 1, 255, 256, 257, 1000):
        assert len(randomness.streams_for(KEY, [0], [count])) == count


def test_many_streams_differ():
    """Every record, block, label and key has bits of its own; records of one number share them."""
    many = randomness.streams_for(KEY, range(200_000), [1] * 200_000)
    assert len(np.unique(many.bits("x"))) == 200_000
    some = randomness.streams_for(KEY, range(1000), [2] * 1000)
    other_key = randomness.Streams(b"j" * 32, some.blocks)
    drawn = np.concatenate([some.bits("x"), some.bits("y"), other_key.bits("x")])
    assert len(np.unique(drawn)) == 6000
    same = randomness.streams_for(KEY, [0] * 1000, [1] * 1000)
    assert len(np.unique(same.bits("x"))) == 1


def test_no_third_of_the_numbers_comes_more_often():
    """With bound 3·2^61 the first 2^62 numbers would come 3/2 as often without rejection."""
    drawn = streams(20_000).integers("x", 3 << 61)
    thirds = np.bincount((drawn // np.uint64(1 << 61)).astype(int), minlength=3)
    assert fits(thirds, np.full(3, 1 / 3))
    assert not fits(thirds, np.array([3, 3, 2]) / 8)


def test_every_block_of_a_long_record_has_numbers_of_its_own():
    words = 70 * randomness.BLOCK
    bits = randomness.streams_for(KEY, [5], [words]).bits("x")
    assert len(np.unique(bits)) == words


def test_uniform_is_open_at_both_ends():
    class Extreme(randomness.Streams):
        def bits(self, label, width=1):
            return np.array([[0], [2**64 - 1]], dtype=np.uint64)

    low, high = Extreme(b"", ((0, 0, 2),)).uniform("x")[:, 0]
    assert 0 < low < high < 1
    assert np.isfinite(Extreme(b"", ((0, 0, 2),)).normal("x", 1)).all()


def test_normal_law():
    drawn = streams(30_000).normal("x", 1)[:, 0]
    assert stats.kstest(drawn, "norm").pvalue > 1e-9
    assert stats.kstest(drawn * 1.3, "norm").pvalue < 1e-9


def test_keys():
    assert randomness.new_key() != randomness.new_key()
    assert randomness.seeded_key("1") == randomness.seeded_key("1") != randomness.seeded_key("2")
    assert randomness.derive_key(b"k", "a", 1) != randomness.derive_key(b"k", "a1")
    assert "kkk" not in repr(streams(3))
    assert randomness.derive_key(b"k", "a", "1") != randomness.derive_key(b"k", "a", 1)


@pytest.mark.parametrize("skip", [0, 5, 300])
def test_some_words_have_the_integers_that_they_have_among_all(skip):
    """Blocks without a requested word are left out; its integers stay, drawn again or not."""
    counts = [7, 0, 130, 1, 600] * 8
    drawn_from = randomness.streams_for(KEY, range(40), counts, before=skip)
    generator = np.random.default_rng(3)
    bounds = generator.integers(2, 1 << 62, len(drawn_from)).astype(np.uint64)
    bounds[::3] = 3 << 61  # rejected often
    every = drawn_from.integers("some", bounds)
    for share in (0.5, 0.02, 0.001, 0):
        at = np.flatnonzero(generator.random(len(drawn_from)) < share)
        at = np.sort(np.append(at, at[::7]))  # a word may be named twice
        assert (drawn_from.integers("some", bounds[at], at) == every[at]).all()
    first = drawn_from.integers("some", 1 << 40)[0]
    assert drawn_from.integers("some", 1 << 40, np.array([0])) == first


# The bound on what float64 changes, against rounding made visible on purpose.


def noise_of(kind, m, d, generator):
    match kind:
        case rounding.GaussianCoordinates(sigma):
            return generator.normal(0, sigma, (m, d))
        case rounding.LaplaceCoordinates(scale):
            return generator.laplace(0, scale, (m, d))
        case rounding.SphericalLaplace(epsilon):
            direction = generator.normal(size=(m, d))
            direction /= np.linalg.norm(direction, axis=1, keepdims=True)
            return direction * generator.gamma(d, 1 / epsilon, (m, 1))


@cases(
    "kind",
    rounding.GaussianCoordinates(0.8),
    rounding.LaplaceCoordinates(0.5),
    rounding.SphericalLaplace(3.0),
)
@pytest.mark.parametrize(("d", "offset"), [(1, 0.0), (5, 0.0), (2, 0.4)])
def test_rounding_made_a_billion_times_larger_stays_below_the_bound(kind, d, offset, monkeypatch):
    """Every coordinate errs by a relative 2^-20: some words change, and no more than the bound."""
    error, m = 2.0**-20, 50_000
    monkeypatch.setattr(rounding, "LIBRARY_ERROR", error)
    generator = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(*[np.arange(3.0)] * min(d, 2)), -1).reshape(-1, min(d, 2))
    words = np.pad(grid, ((0, 0), (0, d - grid.shape[1])))
    start = words[0] + offset
    near = float(np.linalg.norm(words - start, axis=1).min())
    gap = rounding.float64_gap(kind, d, float(np.linalg.norm(words, axis=1).max()), 1.0, near)
    noise = noise_of(kind, m, d, generator)

    def changed(factor):
        moved = noise * (1 + factor * error * generator.choice([-1, 1], noise.shape))
        nearest = [((start + each)[:, None] - words) ** 2 for each in (noise, moved)]
        return np.not_equal(*[each.sum(axis=2).argmin(axis=1) for each in nearest]).mean()

    assert changed(1) <= gap
    # The twin: with 300 times the error that the bound is told of, it is passed.
    assert changed(2.0**8 * 300) > gap


def test_the_library_is_better_than_the_bound_grants():
    mp = pytest.importorskip("mpmath")
    mp.mp.dps = 40
    cells = np.array([0, 1, 5, 1000, 10**9, 2**50, 2**51, 2**52 - 10**9, 2**52 - 2, 2**52 - 1])
    for u in ((cells + 0.5) * 2.0**-52).tolist():
        x, small = mp.mpf(float(ndtri(u))), u < 0.5
        tail = mp.mpf(u) if small else 1 - mp.mpf(u)
        wrong = mp.erfc(abs(x) / mp.sqrt(2)) / 2 - tail
        assert abs(wrong / mp.npdf(x) / x) < rounding.LIBRARY_ERROR / 10
        for d in (1, 2, 100):
            x = mp.mpf(float(gammaincinv(float(d), u)))
            ends = (0, x) if small else (x, mp.inf)
            wrong = mp.gammainc(d, *ends, regularized=True) - tail
            density = mp.exp(-x + (d - 1) * mp.log(x) - mp.loggamma(d))
            assert abs(wrong / density / x) < rounding.LIBRARY_ERROR / 10


def test_what_has_no_bound_has_none():
    assert rounding.float64_gap(rounding.TruncatedLaplaceCoordinates(1.0, 3.0), 3, 1.0, 1.0) is None
    assert rounding.float64_gap(rounding.SphericalLaplace(1.0, np.eye(3)), 3, 1.0, 1.0) is None
    assert (
        rounding.float64_gap(rounding.SphericalLaplace(1.0), 100, 1.0, 1e-13) is None
    )  # not below 1
    small, large = (
        rounding.float64_gap(rounding.SphericalLaplace(8.0), 100, 10.0, each) for each in (0.5, 0.1)
    )
    assert 0 < small < large < 1
    # And the delta that the program has with it.
    assert rounding.float64_delta(0.0, 1e-6, 1e-9) == pytest.approx(1e-6 + 2e-9, rel=1e-6)
    assert rounding.float64_delta(8.0, 0.0, 1e-9) == pytest.approx((1 + math.e**8) * 1e-9, rel=1e-6)
    assert rounding.float64_delta(1e4, 0.0, 1e-9) == 1.0


def test_smallest_distance_is_that_of_different_points():
    vectors = np.array([[0, 0], [-0.0, 0], [3, 4], [3, 4], [3, 4.5]], dtype=np.float32)
    space = MetricSpace(Embeddings(list("abcde"), vectors, "few", "few"))
    assert smallest_distance(space) == pytest.approx(0.5, rel=1e-8)
    assert smallest_distance(space) <= 0.5
    same = MetricSpace(Embeddings(list("ab"), vectors[:2], "one", "one"))
    assert smallest_distance(same) is None


def test_every_proved_mechanism_says_in_which_numbers():
    space = MetricSpace(make_embeddings(n=30, d=3))
    for kind in MECHANISMS.values():
        if kind.status is not Status.PROVED:
            continue
        given = {"delta": 1e-6} if "delta" in kind.parameters() else {}
        try:
            mechanism = kind.build(0.5, given)
            guarantee = mechanism.guarantee(space)
        except UsageError:
            continue
        assert guarantee.arithmetic is kind.arithmetic
        assert guarantee.grade == f"PROVED {kind.arithmetic}"
        gap = mechanism.float64_gap(space)
        if kind.arithmetic is Arithmetic.INTEGERS:
            assert gap == 0
            # No noise, and (but for levels that are mixed) every integer can be listed.
            assert mechanism.noise_distribution(space) is None
        else:
            assert gap is None if kind.arithmetic is Arithmetic.REALS else 0 < gap < 1e-6


# What draws cost together; an epsilon is shown with the delta that belongs to it.


def guarantee(epsilon, delta=0.0):
    return Guarantee(Status.PROVED, epsilon, delta, why="test", source="test")


def test_basic():
    composed = compose_basic(guarantee(2.0, 1e-6), 10)
    assert (composed.epsilon, composed.delta) == (20.0, pytest.approx(1e-5))
    assert compose_basic(guarantee(math.inf), 0).epsilon == 0


def test_the_pair_at_an_epsilon():
    plain = Guarantee(Status.PROVED, 2.0, 1e-6)
    assert plain.at(2.0) == Loss(2.0, 1e-6)
    assert plain.at(3.0) == Loss(3.0, 1e-6)  # weaker, and true
    assert plain.at(1.0) == Loss(2.0, 1e-6)  # nothing is known at 1
    both = Guarantee(Status.REFUTED, 300.0, 1e-129, at_claim=Loss(1.0, 0.9))
    assert both.at(1.0) == Loss(1.0, 0.9)
    assert both.at(299.0) == Loss(299.0, 0.9)
    assert both.at(300.0) == Loss(300.0, 1e-129)
    assert both.at(0.5) == Loss(300.0, 1e-129)
    assert Guarantee(Status.NONE, math.inf, 1.0).at(5.0) == Loss(math.inf, 1.0)


@pytest.mark.parametrize("name", [n for n in MECHANISMS if n.startswith("tldp-paper")])
def test_the_delta_of_a_claim_is_that_of_its_epsilon(name):
    space = MetricSpace(make_embeddings(60, 40))
    own = MECHANISMS[name].build(1.0, {}).guarantee(space)
    assert own.at_claim.epsilon == 1.0
    assert own.at(1.0).delta == own.at_claim.delta > 0.5


# The noise laws of point mechanisms, with the usual mistakes as twins.


M = 30_000


@pytest.mark.parametrize("kind", [rounding.LaplaceCoordinates, rounding.GaussianCoordinates])
def test_independent_coordinates(kind):
    """The distribution of each coordinate is tested with that of every mechanism."""
    drawn = kind(1.5)(streams(M), 2)
    assert drawn.shape == (M, 2)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.04
    assert drawn.std() == pytest.approx(kind(1.5).std(2), rel=0.03)


@pytest.mark.parametrize("reach", [9.99e-4, 1.01e-3, 5.0, 699.0, 701.0])
def test_truncated_std_is_continuous(reach):
    x = np.linspace(-1, 1, 200_001)
    density = np.exp(-np.abs(x) * reach)
    exact = np.sqrt((x**2 * density).sum() / density.sum())
    if reach > 100:
        exact = np.sqrt(2) / reach
    assert truncated_laplace_std(reach, 1.0) == pytest.approx(exact, rel=1e-5)
