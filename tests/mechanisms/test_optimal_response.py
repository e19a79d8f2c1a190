"""optimal-response: the law, its integers, the solver and the bound."""

import math
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal

import numpy as np
import pytest
from common import cosine_bound
from scipy.optimize import linprog
from support import cases, largest_ratio, make_embeddings, streams

from dpsan import Sanitizer
from dpsan.embeddings import load
from dpsan.embeddings import loading as bundled
from dpsan.embeddings.store import Store
from dpsan.embeddings.words import Embeddings
from dpsan.errors import EmbeddingError, UsageError
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.randomized_response import KnnResponse
from dpsan.mechanisms.tables import public_base
from dpsan.mechanisms.tables.near_sets import Base
from dpsan.mechanisms.tables.public_base import favours, softened, solved_base
from dpsan.mechanisms.tables.solver import Problem, solve
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import UNIT, cosine_unit, directions, ranking, unit_rows
from dpsan.space.cached_index import open_space
from dpsan.space.metric_space import MetricSpace, diameter_bound

SPACE = MetricSpace(make_embeddings(n=40, d=4))
TINY = Base(np.array([1, 4, 9], dtype=np.int32), np.array([6, 5, 7]), 9)


def test_law_by_hand():
    """Weights D·b + a·x: the nearest outputs whole, the last one in part."""
    sampler = SparseTable(SPACE, TINY, 2.0)
    rows = directions(SPACE.vectors).astype(np.int64)
    laws = sampler.probabilities(np.arange(SPACE.n + 1))[:, TINY.words]
    for word, law in enumerate(laws[:-1]):
        left, x = 9, np.zeros(3)
        for place in np.argsort(-(rows[TINY.words] @ rows[word]), kind="stable").tolist():
            x[place] = min(left, TINY.weights[place])
            left -= x[place]
        wanted = TINY.weights + math.expm1(2.0) * x
        assert law == pytest.approx(wanted / wanted.sum(), rel=1e-9)
    assert laws[-1] == pytest.approx(TINY.weights / 18)


@dataclass(frozen=True)
class Chosen(Streams):
    """Streams whose integers are those that were chosen."""

    numbers: tuple[int, ...] = ()
    totals: list[int] = field(default_factory=list)

    def integers(self, label, bounds, at=None):
        self.totals.extend(np.unique(bounds).tolist())
        return np.array(self.numbers, dtype=np.uint64)


def outputs_of(sampler, row, numbers):
    chosen = Chosen(bytes(32), ((0, 0, len(numbers)),), 0, tuple(numbers))
    out = sampler.sample(np.full(len(numbers), row), chosen)
    return np.bincount(out, minlength=SPACE.n), chosen.totals


def test_every_unit_of_the_base_can_be_drawn():
    """All integers of an unknown word; of known ones a number of each unit, also of the last."""
    sampler = SparseTable(SPACE, TINY, 2.0)
    near = 9 * sampler.increment
    known = [near + sampler.scale * unit - 1 for unit in range(1, 19)]
    asked = [(word, known, near + 18 * sampler.scale) for word in range(SPACE.n)]
    for word, numbers, total in [(SPACE.n, range(18), 18), *asked]:
        counts, totals = outputs_of(sampler, word, numbers)
        assert (totals, counts[[1, 4, 9]].tolist()) == ([total], [6, 5, 7])
    for word in range(SPACE.n):
        inside, _ = outputs_of(sampler, word, [sampler.increment * mass for mass in range(9)])
        words, masses = sampler.near.row(word)
        assert (masses == inside[words]).all()


def test_no_word_of_the_bundled_vocabulary_is_always_itself():
    """A word that copies itself would be one of 32,900: each is drawn 24 times at epsilon 1."""
    sanitizer = Sanitizer(epsilon=1, case="vocabulary")
    keys = sanitizer.embeddings.index_to_key
    ids = [row for row, key in enumerate(keys) if sanitizer.input_of(key) == row]
    assert len(ids) > 30_000
    for _ in range(24):
        written = sanitizer.rewrite([keys[row] for row in ids])
        ids = [row for row, other in zip(ids, written, strict=True) if keys[row] == other]
    for row in ids:  # a word that may stay so often by chance
        assert sanitizer.sampler.probabilities(np.array([row]))[0, row] ** 24 > 1e-12


def test_sets_made_on_demand_are_those_of_the_table(space, monkeypatch):
    mechanism = OptimalResponse(3.0)
    ids = np.tile(np.arange(space.n + 1), 4)
    eager = mechanism.prepare(space).sample(ids, streams(len(ids)))
    monkeypatch.setattr(type(space), "eager", lambda *_: False)
    lazy = mechanism.table(space)
    assert not len(lazy.near.words)
    halves = [lazy.sample(ids[:120], streams(120)), lazy.sample(ids[120:], streams(124, first=12))]
    assert (eager == np.concatenate(halves)).all()


class Unequal(SparseTable):
    """The last output of a set counts whole: masses differ."""

    def __init__(self, space, base, epsilon):
        super().__init__(space, base, epsilon)
        near, last = self.near, self.near.starts + self.near.sizes - 1
        before = np.where(near.sizes > 1, near.ends[last - 1], 0)
        near.ends = near.ends.copy()  # the table is the space's
        near.ends[last] = before + base.weights[np.searchsorted(base.words, near.words[last])]


class Mutant(OptimalResponse):
    def prepare(self, space):
        return Unequal(space, self.base(space), self.epsilon)


def test_a_mutant_with_unequal_masses_is_caught():
    found, inputs = certify(Mutant(3.0), SPACE).epsilon_ldp, np.arange(SPACE.n + 1)
    exact = largest_ratio(Mutant(3.0).prepare(SPACE).weights(inputs), inputs)
    assert 3.01 < found == pytest.approx(math.log(exact), abs=1e-9)
    assert certify(OptimalResponse(3.0), SPACE).epsilon_ldp <= 3.0


@pytest.mark.parametrize("block", [1 << 22, 40])
def test_ranking_breaks_ties_by_place(block, monkeypatch):
    """Also in many blocks side by side."""
    monkeypatch.setattr(f"{ranking.__module__}._PRODUCTS", block)
    rows = directions(np.repeat(make_embeddings(n=9, d=3).vectors, 3, axis=0))
    for width in (1, 4, 27):
        places, products = ranking(rows, rows, width)
        exact = rows @ rows.T
        order = np.argsort(-exact, axis=1, kind="stable")[:, :width]
        assert (order == places.T).all()
        assert (np.take_along_axis(exact, order, axis=1) == products.T).all()


SMALL = MetricSpace(make_embeddings(n=18, d=3))
"""Small enough for scipy to solve the linear programme."""
ROWS, SHARES = directions(SMALL.vectors), SMALL.counts / SMALL.counts.sum()
COSINES = ROWS.astype(np.float64) @ ROWS.T / cosine_unit(3)


def linear_programme(epsilon):
    """The largest mean similarity of any law: m(u), and x(w, u) <= (e^epsilon - 1)·m(u)."""
    one = np.eye(18)
    gain = np.concatenate([SHARES @ COSINES, (SHARES[:, None] * COSINES).ravel()])
    upper = np.hstack([np.tile(-math.expm1(epsilon) * one, (18, 1)), np.eye(18 * 18)])
    equal = np.hstack([np.ones((18, 18)), np.kron(one, np.ones(18))])
    return -linprog(-gain, upper, np.zeros(18 * 18), equal, np.ones(18)).fun


def mean_similarity(mechanism):
    law = mechanism.prepare(SMALL).probabilities(np.arange(18))
    return float(SHARES @ (law * COSINES).sum(axis=1))


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_solver_and_bound_enclose_the_optimum(epsilon):
    """Bad thresholds still give a bound."""
    best, growth = linear_programme(epsilon), math.expm1(epsilon)
    achieved = mean_similarity(OptimalResponse(epsilon, prior="1", similarity=1))
    assert best - 0.02 <= achieved <= best + 1e-6
    assert achieved > mean_similarity(KnnResponse(epsilon))

    def bounded(cuts, times=1):
        counts = SMALL.counts * times
        return cosine_bound.similarity_bound(ROWS, counts, ROWS, epsilon, cuts, cosine_unit(3))

    found = solve(Problem(ROWS, SHARES, ROWS, cosine_unit(3), growth), np.sqrt(SHARES), 0.1)
    bound, tau = bounded(found.thresholds)
    assert best - 1e-9 <= bound <= best + 0.05
    # The twin: lowered by little, the thresholds certify nothing.
    for lowered, certified in ((0, True), (0.05, False)):
        apart = COSINES - tau[:, None] + lowered
        most = (SHARES @ (apart + growth * np.maximum(apart, 0))).max()
        assert most <= 1e-9 if certified else most > 0
    assert min(bounded(np.full(18, guess))[0] for guess in (-1.0, 0.3, 1.0)) >= best - 1e-9
    with pytest.raises(ValueError, match="2\\^27"):
        bounded(np.zeros(18), 1000)


@pytest.mark.parametrize("listed", [60, 12])
def test_optimum(listed, monkeypatch):
    """Also where rare words are not looked at."""
    monkeypatch.setattr(cosine_bound, "_INPUTS", listed)
    space = MetricSpace(make_embeddings(n=18, d=3))
    bound = cosine_bound.certified(space, 2.0)
    assert mean_similarity(OptimalResponse(2.0)) <= bound
    best = linear_programme(2.0)
    assert best - 1e-6 <= bound <= best + 0.05 + SHARES[listed:].sum()
    for epsilon in (29.0, 40.0, 710.0):
        bound = cosine_bound.certified(SMALL, epsilon)
        # Directions are rounded to integers: the cosine of a word with itself is 1 up to that.
        assert 0.99 < min(mean_similarity(OptimalResponse(epsilon)), 1) <= bound <= 1


SOLVE = """if True:
    import hashlib
    import numpy as np
    from dpsan.embeddings.words import Embeddings
    from dpsan.mechanisms.tables.public_base import BaseTask, base_table
    from dpsan.space.metric_space import MetricSpace, diameter_bound
    data = hashlib.shake_256(b"vectors").digest(500 * 24)
    vectors = np.frombuffer(data, np.int8).reshape(500, 24).astype(np.float32)
    counts = 10**6 // np.arange(1, 501)
    space = MetricSpace(Embeddings([str(row) for row in range(500)], vectors, "", "", counts))
    found = base_table(space, BaseTask(5.0, 0.75, 1), rounds=20)
    data = b"".join(found[name].tobytes() for name in ("words", "base", "mass"))
    print(hashlib.sha256(data).hexdigest())
"""
GOLDEN = "6fe34e546481d6eac3e97eef56e5b7e736e9d84a1ace75d5d1dbd5879d287294"


@cases(
    "variables",
    {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Prescott"},
    {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"},
)
def test_the_base_is_the_same_to_the_last_integer(variables, monkeypatch):
    """Whatever the number of threads, the BLAS kernel and the vector instructions."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(__file__).rsplit("/", 2)[0])
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SOLVE], capture_output=True)
    assert done.stdout.decode().strip() == GOLDEN, done.stderr


def test_parameters_change_the_base():
    asked = [("1", 1), ("1", 2), ("0.5", 1), ("0.5", 2)]
    bases = [OptimalResponse(4.0, prior=p, similarity=power).base(SPACE) for p, power in asked]
    assert len({(*base.words, *base.weights) for base in bases}) == 4
    assert OptimalResponse(3.0, mass=0.25).base(SPACE).mass == pytest.approx(2.0**18, rel=1e-3)
    resolved = OptimalResponse(3.0).resolved(SPACE)
    assert 0 < resolved.mass < 1
    assert resolved.base(SPACE).mass == OptimalResponse(3.0).base(SPACE).mass
    for bad in ({"mass": 0.0}, {"mass": 1.5}, {"mass": "x"}, {"prior": "5"}, {"similarity": "l"}):
        with pytest.raises(UsageError):
            OptimalResponse(3.0, **bad)
    with pytest.raises(UsageError, match="a number from 0 to 4"):
        OptimalResponse(3.0, prior="counts.tsv")


@pytest.mark.slow
def test_the_bundled_vocabulary_waits_for_no_solver(monkeypatch, tmp_path):
    """Its bases are good: the best mean cosine at epsilon 8 is .739, knn-response has .60.

    Its diameter is that of its words: each guarantee of a noise mechanism is a multiple of it.
    """
    monkeypatch.setattr(public_base, "base_table", lambda *_, **__: pytest.fail("solved"))
    _, space = open_space(None, None, Store(tmp_path))
    for base in (OptimalResponse(point).base(space) for point in public_base.GRID):
        assert 0 < base.mass < base.total
        assert abs(base.total - public_base.TOTAL) < 4000
        assert (np.diff(base.words) > 0).all()
    ids, units = np.arange(0, 4000, 20), unit_rows(space.vectors)
    law = OptimalResponse(8.0).prepare(space).probabilities(ids)
    cosines = np.einsum("md,md->m", law @ units, units[ids])
    assert np.average(cosines, weights=space.counts[ids]) > 0.7
    table = bundled.bundled_table("diameter")
    assert (table["bound"][0], table["exact"][0]) == diameter_bound(space.vectors)


def test_a_damaged_table_is_refused(tmp_path):
    folder = tmp_path / "bundled"
    shutil.copytree(bundled.directory(), folder, copy_function=os.symlink)
    name = OptimalResponse(8.0).task(SPACE).name
    assert bundled.bundled_table(name, folder=folder) is not None
    assert bundled.bundled_table("base-of-nothing", folder=folder) is None
    table = folder / "tables" / f"{name}.npz"
    data = bytearray(table.read_bytes())
    data[100] ^= 1
    table.unlink()
    for write in (lambda: None, lambda: table.write_bytes(data)):
        write()
        with pytest.raises(EmbeddingError, match="damaged"):
            bundled.bundled_table(name, folder=folder)


# frequency, spread and even of optimal-response: usual outputs first, more of them.


N = 400
FREQUENCIES = (0.01, 0.03, 0.05)


@pytest.fixture(scope="module")
def counted():
    """Words in a few dimensions, whose counts fall as in a text and have ties."""
    vectors = np.random.default_rng(4).normal(size=(N, 6)).astype(np.float32)
    counts = np.maximum(10**9 // (np.arange(N) + 1) ** 2, 1)
    return MetricSpace(Embeddings([f"w{i}" for i in range(N)], vectors, "some", "some", counts))


def mechanism(frequency, epsilon=5.0):
    return OptimalResponse(epsilon, similarity=2, spread=1.5, frequency=frequency)


def mean_count(space, frequency):
    """Of the outputs, as a logarithm, inputs being as frequent as in public."""
    law = mechanism(frequency).prepare(space).probabilities(np.arange(N))
    return float(space.counts / space.counts.sum() @ law @ np.log(space.counts))


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_near_sets_hold_what_is_nearest_with_the_favour(counted, frequency):
    sampler, differ = mechanism(frequency).prepare(counted), 0
    outputs = sampler.base.words
    unit = counted.vectors / np.linalg.norm(counted.vectors, axis=1, keepdims=True)
    favour = frequency * np.log(counted.counts[outputs] / counted.counts[0])
    for word in range(0, N, 11):
        plain = unit[outputs] @ unit[word]
        score = dict(zip(outputs.tolist(), plain + favour, strict=True))
        inside = set(sampler.near.row(word)[0].tolist())
        outside = set(score) - inside
        # Directions are rounded to integers.
        assert min(score[u] for u in inside) >= max(score[u] for u in outside) - 0.01
        differ += set(outputs[np.argsort(-plain)][: len(inside)].tolist()) != inside
    assert differ > 5
    law = sampler.probabilities(np.arange(N + 1))[:, outputs]
    loss = float(np.log(law.max(axis=0) / law.min(axis=0)).max())
    assert loss <= mechanism(frequency).guarantee(counted).epsilon_ldp + 1e-9 <= 5 + 1e-9


def test_the_larger_it_is_the_more_usual_the_outputs(counted):
    found = [mean_count(counted, each) for each in (0.0, *FREQUENCIES)]
    assert found == sorted(found)
    assert found[-1] > found[0] + 0.1


def test_favours_are_integers_that_keep_products_exact():
    counts = np.array([10**12, 10**6, 10**5, 10**5, 1])
    added, shift = favours(counts, 5, 5, 0.05, float(UNIT))
    tied = round(-0.05 * np.log(1e7) * UNIT)
    assert added[[0, 2, 3, 4]].tolist() == [0, tied, tied, round(-0.9 * UNIT)]
    assert (added == np.rint(added)).all()
    assert shift == pytest.approx(0.9)
    assert favours(counts, 5, 5, 0.0, float(UNIT)) == (None, 0.0)


def test_favours_are_rounded_as_if_logarithms_were_exact(monkeypatch):
    """Also where the C library's logarithm is off: 60 digits say which integer is nearest."""
    counts = np.sort(np.exp(np.random.default_rng(3).uniform(0, 27, 3000)).astype(int))[::-1]
    context = Context(prec=60)
    most = context.ln(int(counts[0]))
    exact = [Decimal("0.0125") * UNIT * (context.ln(int(each)) - most) for each in counts]
    wanted = np.array([float(each.to_integral_value()) for each in exact])
    log, caught = np.log, 0
    for off in (-3e-11, 3e-11):
        monkeypatch.setattr(public_base.np, "log", lambda values, off=off: log(values) * (1 + off))
        added, _ = favours(counts, len(counts), len(counts), 0.0125, float(UNIT))
        assert (added == wanted).all()
        # The twin: what the library alone would give.
        caught += (np.rint(0.0125 * np.log(counts / counts[0]) * UNIT) != wanted).sum()
    assert caught


def test_without_public_counts_the_rank_serves():
    space = MetricSpace(replace(make_embeddings(50, 4), counts=None))
    assert mechanism(0.02).prepare(space).probabilities(np.arange(50)).sum() == pytest.approx(50)


def test_sets_of_another_frequency_are_others(counted):
    keys = {mechanism(each).prepare(counted).key for each in (0.0, *FREQUENCIES)}
    names = {mechanism(each).task(counted).name for each in (0.0, *FREQUENCIES, 0.0300000001)}
    assert (len(keys), len(names)) == (4, 5)
    base = mechanism(0.03).prepare(counted).base
    bases = base, base._replace(favours=None)
    assert len({SparseTable(counted, each, 5.0).key for each in bases}) == 2


SPARED, USUAL = 100, 3000
WITHOUT = {"spread": 1, "even": 0}


@pytest.fixture(scope="module")
def bundled_space():
    """The bundled words without classes: those of groups are tested in test_word_classes.py."""
    words = replace(load(None), classes=None)
    return MetricSpace(words, bundled=True)


def weights(space, base):
    """Shares of all words."""
    shares = np.zeros(space.n)
    shares[base.words] = base.weights / base.weights.sum()
    return shares


def bases(space, **parameters):
    kinds = WITHOUT, {**WITHOUT, **parameters}
    both = [OptimalResponse(8.0, **each).base(space) for each in kinds]
    return *both, *(weights(space, base) for base in both)


def test_without_either_it_is_the_solved_base(bundled_space):
    plain = OptimalResponse(8.0, **WITHOUT)
    solved, base = solved_base(bundled_space, plain.task(bundled_space)), plain.base(bundled_space)
    assert base.words.tolist() == solved["words"].tolist()
    assert base.weights.tolist() == solved["base"].tolist()
    assert base.mass == solved["mass"][0]


@pytest.mark.parametrize("spread", [1.5, 4.0])
def test_spread_makes_rarer_outputs_lighter_and_near_sets_larger(bundled_space, spread):
    plain, base, before, after = bases(bundled_space, spread=spread)
    scale = after[:SPARED].sum() / before[:SPARED].sum()
    assert after[:SPARED] == pytest.approx(before[:SPARED] * scale, abs=3e-6)
    assert after[SPARED:] == pytest.approx(before[SPARED:] * scale / spread, abs=3e-6)
    # The same near mass, in units of the words that are spared.
    assert base.mass / base.total == pytest.approx(scale * plain.mass / plain.total, rel=1e-3)


@pytest.mark.parametrize("even", [0.1, 0.6])
def test_even_share_goes_to_frequent_words_by_the_root_of_their_counts(bundled_space, even):
    plain, base, before, after = bases(bundled_space, even=even)
    assert after[:SPARED] == pytest.approx(before[:SPARED], abs=3e-6)
    added = after[SPARED:] - (1 - even) * before[SPARED:]
    assert np.abs(added[USUAL - SPARED :]).max() < 3e-6
    roots = np.sqrt(bundled_space.counts[SPARED:USUAL])
    wanted = even * before[SPARED:].sum() * roots / roots.sum()
    assert added[: USUAL - SPARED] == pytest.approx(wanted, abs=3e-6)
    assert set(range(USUAL)) <= set(base.words.tolist())
    assert base.mass / base.total == pytest.approx(plain.mass / plain.total, rel=1e-3)


def test_a_vocabulary_of_spared_words_and_none_with_counts(bundled_space):
    """Fewer words than are spared change nothing; without counts the order of the file serves."""
    base, mass = np.array([1 << 19, 1 << 18, 1 << 18], dtype=np.uint32), np.array([1 << 15])
    solved = {"words": np.array([0, 2, 3], dtype=np.int32), "base": base, "mass": mass}
    words, base, mass = softened(solved, None, 4, 3.0, 0.5)
    assert (words.tolist(), mass) == ([0, 2, 3], 1 << 15)
    assert base.tolist() == solved["base"].tolist()
    words, base, _ = softened(solved, None, 5000, 3.0, 1.0)
    assert words.tolist() == [0, 2, 3]
    # At small epsilons few are left: twice as many words as were solved for share the even part.
    solved["words"] = np.array([*range(60), 4000], dtype=np.int32)
    solved["base"] = np.full(61, 1 << 14, dtype=np.uint32)
    words, base, _ = softened(solved, None, 5000, 3.0, 1.0)
    assert words.tolist() == [*range(60), *range(SPARED, 2 * 61)]
    assert (np.diff(base[60:]) <= 0).all()
    assert base[60] > base[-1]
