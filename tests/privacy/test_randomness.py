import numpy as np
import pytest
from scipy import stats
from support import fits, streams

from dpsan.privacy import randomness

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
    assert (
        drawn_from.integers("some", 1 << 40, np.array([0]))
        == drawn_from.integers("some", 1 << 40)[0]
    )
