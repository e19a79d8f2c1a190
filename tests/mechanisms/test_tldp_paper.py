"""The published forms of TLDP: to the letter, and what is wrong with them."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats
from support import make_embeddings, streams

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.word_lists import WordLists
from dpsan.errors import InputError, UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.keep_or_noise import (
    GAUSSIAN,
    LAPLACE,
    atoms,
    keep_probability,
    true_delta,
)
from dpsan.mechanisms.tables.word_weights import frequency, resolve
from dpsan.mechanisms.tldp_paper import TLDPPaperG, TLDPPaperL, TLDPPaperLWeighted
from dpsan.privacy import randomness
from dpsan.privacy.grid import laplace_delta
from dpsan.privacy.guarantee import Status
from dpsan.space.metric_space import MetricSpace

FORMS = [f"tldp-paper-{letter}{rest}" for letter in "lg" for rest in ("", "-weighted")]
ALPHA = 1e-9


@pytest.fixture(scope="module")
def line_space():
    """One coordinate, range 1."""
    points = np.linspace(0, 1, 11, dtype=np.float32)[:, None]
    return MetricSpace(Embeddings([f"w{i}" for i in range(11)], points - 0.5, "made-up", "line-11"))


@pytest.mark.parametrize(
    ("coordinates", "epsilon", "delta"),
    [(1, 1, 0.333), (10, 0.1, 0.253), (300, 0.01, 0.132), (300, 0.1, 0.586), (300, 1, 1.0)],
)
def test_true_delta_golden(coordinates, epsilon, delta):
    """Golden numbers for Delta = 1."""
    kept = keep_probability(LAPLACE, epsilon, 1.0, coordinates)
    assert true_delta(LAPLACE, epsilon, kept, coordinates) == pytest.approx(delta, abs=5e-4)


def test_keep_probability_by_hand():
    e = math.exp(0.5 * (1 - 4))
    assert keep_probability(LAPLACE, 0.5, 2.0, 4) == pytest.approx(e / (8 + e))
    sigma = math.sqrt(4 / (2 * 0.5))
    expected = e / (sigma * math.sqrt(2 * math.pi) + e)
    assert keep_probability(GAUSSIAN, 0.5, 2.0, 4) == pytest.approx(expected)
    assert keep_probability(LAPLACE, 8, 1.0, 300) == 0  # e^-2392: never in practice
    assert atoms(1.0, 3) == 1


def test_composed_laplace_delta():
    # One noise never exceeds its own epsilon; two have a closed form by quadrature.
    assert laplace_delta(1.0, 1.0, 1) == 0
    assert laplace_delta(0.4, 1.0, 1) == pytest.approx(1 - math.exp(-0.3), abs=1e-6)
    x = np.linspace(-40, 41, 8101)
    density = stats.laplace.pdf(x)
    moved = stats.laplace.pdf(x - 1)
    two = np.maximum(np.outer(density, density) - math.e * np.outer(moved, moved), 0).sum() * 1e-4
    assert laplace_delta(1.0, 1.0, 2) == pytest.approx(two, abs=1e-3)
    # A finer grid changes nothing that is printed, and only lowers it (pessimistic).
    coarse, fine = (laplace_delta(0.1, 0.1, 300, cells) for cells in (1 << 17, 1 << 20))
    assert 0 <= coarse - fine < 1e-6


def test_t_is_zero_in_the_papers_own_line():
    """At y = x the densities of I noises differ by e^(I epsilon), not by e^epsilon."""
    epsilon, coordinates = 0.7, 5
    scale = LAPLACE.scale(1.0, epsilon)
    ratio = (stats.laplace.pdf(0, scale=scale) / stats.laplace.pdf(1, scale=scale)) ** coordinates
    assert math.log(ratio) == pytest.approx(coordinates * epsilon)


def test_the_unit_of_the_data_changes_p():
    guarantees = []
    for factor in (1, 10):
        made = make_embeddings()
        vectors = made.vectors * np.float32(factor)
        space = MetricSpace(Embeddings(made.index_to_key, vectors, "", f"x{factor}"))
        guarantees.append(TLDPPaperL(0.5).guarantee(space))
    assert guarantees[0].infinite_loss_mass > 5 * guarantees[1].infinite_loss_mass


@pytest.mark.parametrize("name", FORMS)
def test_truth(name, space):
    mechanism = MECHANISMS[name].build(0.5, {})
    guarantee = mechanism.guarantee(space)
    assert guarantee.status is Status.REFUTED
    assert guarantee.claimed.epsilon == 0.5
    assert guarantee.claimed.delta == 0
    p = keep_probability(mechanism.noise, 0.5, mechanism.coordinate_range(space), space.d)
    assert guarantee.infinite_loss_mass == pytest.approx(1 - (1 - p) ** space.d)
    if "-l" in name:
        assert guarantee.epsilon_ldp == pytest.approx(space.d * 0.5)
        assert guarantee.delta == pytest.approx(1 - (1 - p) ** space.d)
    else:
        assert guarantee.epsilon_ldp == 0.5
        assert guarantee.delta > guarantee.infinite_loss_mass
    assert f"{true_delta(mechanism.noise, 0.5, p, space.d):.4f}" in guarantee.why


def test_range_domain(space):
    exact = TLDPPaperL(1.0).coordinate_range(space)
    spread = space.vectors.max(axis=0).astype(float) - space.vectors.min(axis=0)
    assert exact == pytest.approx(spread.max())
    assert exact >= spread.max()
    assert TLDPPaperL(1.0, range=100.0).coordinate_range(space) == 100
    with pytest.raises(UsageError, match=f"range must be >= {exact:.6g}"):
        TLDPPaperL(1.0, range=0.5).guarantee(space)
    assert TLDPPaperL(1.0, range=float(f"{exact:.6g}")).coordinate_range(space) >= spread.max()
    with pytest.raises(UsageError, match="tensor must be 'word' or 'line'"):
        TLDPPaperL.build(1.0, {"tensor": "page"})


@pytest.mark.parametrize("kind", [TLDPPaperL, TLDPPaperG])
def test_kept_coordinates_are_atoms(kind, line_space):
    """Seen in samples with the exact share, and impossible from any other input."""
    mechanism = kind(1.0)
    sampler = mechanism.prepare(line_space)
    m = 20_000
    ids = np.full(m, 3)
    released = sampler.release(ids, np.ones_like(ids), streams(m))[:, 0]
    own, other = line_space.points(np.array([3, 8]))[:, 0]
    kept = int((released == own).sum())
    p = keep_probability(mechanism.noise, 1.0, 1.0, 1)
    assert stats.binomtest(kept, m, p).pvalue > ALPHA
    assert stats.binomtest(kept, m, 0.7 * p).pvalue < ALPHA
    assert (released == other).sum() == 0
    noise = released[released != own] - own
    law = stats.laplace(scale=1.0) if kind is TLDPPaperL else stats.norm(scale=math.sqrt(0.5))
    assert stats.kstest(noise, law.cdf).pvalue > ALPHA
    assert stats.kstest(noise * 1.3, law.cdf).pvalue < ALPHA


def test_weights_lower_the_share_kept(line_space):
    mechanism = TLDPPaperLWeighted(1.0)
    weights = mechanism.word_weights(line_space)
    assert weights[0] == 0
    assert weights[-2] == weights[-1] == pytest.approx(0.9)  # the rarest word and ⊥
    assert (np.diff(weights) >= 0).all()
    m = 40_000
    sampler = mechanism.prepare(line_space)
    rarest = np.full(m, 10)
    released = sampler.release(rarest, np.ones_like(rarest), streams(m))
    kept = int((released == line_space.points(rarest)).sum())
    p = keep_probability(LAPLACE, 1.0, 1.0, 1) * 0.1
    assert stats.binomtest(kept, m, p).pvalue > ALPHA
    assert stats.binomtest(kept, m, 1.3 * p).pvalue < ALPHA


def test_words_of_different_weight_keep_the_stated_truth():
    """1 - ∫min(A f, e^eps A' g) at e^(I epsilon) is at most 1 - (1-q_max)^I for all weights."""
    x = np.linspace(-30, 31, 60_001)
    step = x[1] - x[0]
    p = keep_probability(LAPLACE, 1.0, 1.0, 1)
    for w in (0.0, 0.5, 0.9):
        for other in (0.0, 0.5, 0.9):
            f = (1 - p * (1 - w)) * stats.laplace.pdf(x)
            g = (1 - p * (1 - other)) * stats.laplace.pdf(x - 1)
            delta = 1 - np.minimum(f, math.e * g).sum() * step
            assert delta <= p + 1e-3
            claimed = true_delta(LAPLACE, 1.0, p, 1)
            assert delta <= claimed + 1e-3


@pytest.mark.parametrize("name", [*FORMS, "tldp"])
def test_lines_do_not_depend_on_the_batch(name, space):
    """Lines of 1 to 700 words, together, in pieces, and each alone."""
    lengths = [3, 1, 700, 0, 12, 5, 1]
    ids = np.arange(sum(lengths)) % (space.n + 1)
    sampler = MECHANISMS[name].build(0.05, {"tensor": "line"}).prepare(space)
    assert sampler.whole_records
    whole = randomness.streams_for(b"k" * 32, range(len(lengths)), lengths)
    together = sampler.sample(ids, whole)
    at, parts = 0, []
    for part in whole.chunks(5, whole_records=True):
        parts.append(sampler.sample(ids[at : at + len(part)], part))
        at += len(part)
    assert (np.concatenate(parts) == together).all()
    copy = pickle.loads(pickle.dumps(sampler))
    assert (copy.sample(ids, whole) == together).all()


def test_a_line_is_one_tensor(line_space):
    """A coordinate of a line of l words is kept with the p of I = l·d."""
    sampler = TLDPPaperL(0.1, tensor="line").prepare(line_space)
    assert sampler.kept(20) == pytest.approx(keep_probability(LAPLACE, 0.1, 1.0, 20))
    m = 60_000
    ids = np.full(m, 4)
    released = sampler.release(ids, np.full(m, 20), streams(m))
    kept = int((released == line_space.points(ids)).sum())
    assert stats.binomtest(kept, m, sampler.kept(20)).pvalue > ALPHA
    assert stats.binomtest(kept, m, sampler.kept(1)).pvalue < ALPHA
    why = TLDPPaperL(0.1, tensor="line", words=20).guarantee(line_space).why
    assert f"{true_delta(LAPLACE, 0.1, sampler.kept(20), 20):.4f}, or epsilon 2 " in why


def test_weights_file(tmp_path, embeddings, space):
    path = tmp_path / "weights.tsv"
    path.write_text("word3\t0.5\r\n\nWORD4\t0.25\nsomeone\t0.9\nword3\t.3\n", encoding="utf-8")
    found = WordLists(lambda: embeddings.key_to_index).weights(path)
    assert found[3] == 0.5
    assert found[4] == 0.25
    assert sum(found) == 0.75
    mechanism = TLDPPaperLWeighted.build(1.0, {"weights": str(path)})
    with pytest.raises(UsageError, match="need the vocabulary"):
        mechanism.guarantee(space)
    ready = mechanism.with_vocabulary(WordLists(lambda: embeddings.key_to_index))
    assert pickle.loads(pickle.dumps(ready)) == ready
    weights = ready.word_weights(space)
    assert weights[3] == weights[space.n] == 0.5
    assert ready.guarantee(space).delta > 0


@pytest.mark.parametrize(
    "bad",
    ["secretname 0.5", "secretname\t1", "secretname\t-0.1", "\t0.5", "secretname\tnan", "x\ty"],
)
def test_weights_file_errors_name_file_and_line_only(tmp_path, embeddings, bad):
    path = tmp_path / "weights.tsv"
    path.write_text(f"word1\t0.5\n\n{bad}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        WordLists(lambda: embeddings.key_to_index).weights(path)
    assert f"{path}:3: " in str(caught.value)
    assert "secretname" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_weights_file_that_cannot_be_read(tmp_path, embeddings):
    with pytest.raises(InputError, match="no such file"):
        WordLists(lambda: embeddings.key_to_index).weights(tmp_path / "none.tsv")
    path = tmp_path / "latin.tsv"
    path.write_bytes(b"caf\xe9\t0.5\n")
    with pytest.raises(InputError, match="not UTF-8"):
        WordLists(lambda: embeddings.key_to_index).weights(path)


def test_frequency_weights():
    counts = np.array([1000, 100, 10, 1, 0])
    assert frequency(counts, 5) == pytest.approx([0, 0.3, 0.6, 0.9, 0.9])
    zipf = frequency(None, 100)
    assert zipf[0] == 0
    assert zipf[9] == pytest.approx(0.9 * np.log(11.7 / 2.7) / np.log(101.7 / 2.7))
    assert zipf[99] == pytest.approx(0.9)
    assert (frequency(np.ones(3, dtype=np.int64), 3) == 0).all()
    assert (resolve("none", None, counts, 5) == np.zeros(6)).all()


def test_the_sanitizer_reads_the_file(tmp_path, embeddings, cache):
    from dpsan.sanitize.sanitizer import Sanitizer

    path = tmp_path / "weights.tsv"
    path.write_text("word1\t0.5\n", encoding="utf-8")
    sanitizer = Sanitizer(
        "tldp", epsilon=2.0, embeddings=embeddings, parameters={"weights": str(path)}, cache=cache
    )
    assert sanitizer.mechanism.listed[1] == 0.5
    assert len(sanitizer.rewrite(["word1 word2", "word3"])) == 2
