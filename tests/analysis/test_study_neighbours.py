"""``neighbours`` against a direct computation, synthetic and on the real files."""

import numpy as np
import pytest
from support import make_embeddings

from dpsan.analysis.study import study
from dpsan.analysis.study.dot_product import noisy_tail
from dpsan.analysis.study.neighbours import gaps
from dpsan.analysis.study.sample import random_words
from dpsan.embeddings.base import Embeddings
from dpsan.space.cached_index import open_space
from dpsan.space.metric_space import MetricSpace

NAMES = ("half_nearest", "gap_1_2", "gap_1_101")


def direct(vectors, words):
    """Means over words from rows of the matrix of distances."""
    points = vectors.astype(np.float64)
    squares = (points**2).sum(axis=1)
    apart = np.maximum(squares[words, None] + squares - 2 * points[words] @ points.T, 0)
    apart[np.arange(len(words)), words] = np.inf
    order = np.argpartition(apart, (0, 1, 100), axis=1)[:, [0, 1, 100]]
    d_x, d_y, d_z = np.take_along_axis(apart, order, axis=1).T
    x, y, z = (points[order[:, column]] for column in range(3))
    return [
        (np.sqrt(d_x) / 2).mean(),
        ((d_y - d_x) / (2 * np.linalg.norm(x - y, axis=1))).mean(),
        ((d_z - d_x) / (2 * np.linalg.norm(x - z, axis=1))).mean(),
    ]


def test_synthetic():
    made = make_embeddings(400, 6)
    found = study("neighbours", MetricSpace(made), words=0).summary
    assert found["words"] == 400
    exact = direct(made.vectors, np.arange(400))
    assert [found[name] for name in NAMES] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    "file", ["glove6B_50d_merged.w2v.txt.gz", "glove840B_300d_10k_int8.w2v.txt.gz"]
)
def test_real_files(file, shared, store):
    """Every tenth word against the direct computation; a random sample agrees with them."""
    embeddings, space = open_space(shared / "embeddings" / file, None, store)
    words = np.arange(0, space.n, 10)
    exact = direct(embeddings.vectors, words)
    found = gaps(space, words)
    assert [found[name].mean() for name in NAMES] == pytest.approx(exact, rel=1e-6)
    sample = study("neighbours", space, words=1000)
    for row, name in zip(sample.rows[:3], NAMES, strict=True):
        error = np.hypot(row["standard_error"], found[name].std() / len(words) ** 0.5)
        assert error < 0.05 * row["mean"]
        assert abs(row["mean"] - found[name].mean()) < 6 * error


def test_three_words_by_hand():
    vectors = np.array([[0, 0], [1, 0], [0, 3]], dtype=np.float32)
    space = MetricSpace(Embeddings(["a", "b", "c"], vectors, "", "three"))
    result = study("neighbours", space)
    assert result.summary["half_nearest"] == pytest.approx((0.5 + 0.5 + 1.5) / 3)
    gaps = [(9 - 1) / (2 * 10**0.5), (10 - 1) / 6, (10 - 9) / 2]
    assert result.summary["gap_1_2"] == pytest.approx(sum(gaps) / 3)
    assert result.summary["gap_1_101"] is None
    assert "102" in result.notes[0]
    assert all(row["standard_error"] in (0, None) for row in result.rows)


def test_noise_along_a_direction():
    """Figure 6 is the distribution of that noise at the mean lengths, and grows with epsilon."""
    vectors = np.array([[0, 0], [1, 0], [0, 3]], dtype=np.float32)
    space = MetricSpace(Embeddings(["a", "b", "c"], vectors, "", "three"))
    result = study("neighbours", space, epsilons=(1.0, 4.0))
    found = {row["quantity"]: row["mean"] for row in result.rows}
    for name in ("half_nearest", "gap_1_2"):
        for epsilon in (1.0, 4.0):
            length = np.array([epsilon * result.summary[name]])
            expected = 1 - float(noisy_tail(length, 2)[0])
            assert found[f"P(Z <= {name}), epsilon {epsilon:g}"] == pytest.approx(expected)
    lines = result.panels[1].series
    assert [each.y[0] < each.y[-1] for each in lines] == [True, True]
    assert min(min(each.y) for each in lines) > 0.5


def test_words_at_one_point_have_no_gap():
    vectors = np.array([[0, 0], [1, 0], [1, 0], [5, 0]], dtype=np.float32)
    space = MetricSpace(Embeddings(list("abcd"), vectors, "", "four"))
    result = study("neighbours", space)
    assert any("2 words left out" in note for note in result.notes)
    assert np.isfinite(result.summary["gap_1_2"])


def test_the_sample_is_random_and_repeatable():
    first, again, other = (random_words(1000, 100, seed * 32) for seed in (b"1", b"1", b"2"))
    assert (first == again).all()
    assert len(set(first.tolist())) == 100
    assert len(set(first.tolist()) & set(other.tolist())) < 40
    assert (random_words(50, 50, b"1" * 32) == np.arange(50)).all()
    # Every word is as likely as any other: 400 samples of 100 of 1000.
    counts = np.zeros(1000)
    for seed in range(400):
        counts[random_words(1000, 100, seed.to_bytes(32))] += 1
    assert abs(counts - 40).max() < 6.5 * (400 * 0.1 * 0.9) ** 0.5
