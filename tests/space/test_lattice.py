"""Distances that do not depend on what computes them, against Python's integers."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsan.space import arrays as module
from dpsan.space.arrays import Lattice


def make(n, d, seed=1, scale=1.0):
    generator = np.random.default_rng(seed)
    vectors = (generator.normal(size=(n, d)) * scale).astype(np.float32)
    return vectors, Lattice(vectors, centre(vectors))


def centre(vectors):
    return vectors.mean(axis=0, dtype=np.float64)


def integers(lattice, vectors, centroid):
    """Where the points are, in steps of the lattice."""
    return np.rint((vectors - centroid) * lattice.scale).astype(object).astype(int).tolist()


def exact(one, other):
    return sum((x - y) ** 2 for x, y in zip(one, other, strict=True))


@settings(max_examples=40)
@given(
    n=st.integers(1, 12),
    d=st.integers(1, 40),
    seed=st.integers(0, 1000),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 300.0, 1e15]),
)
def test_squared_distances_are_exact(n, d, seed, scale):
    vectors, lattice = make(n, d, seed, scale)
    rows = [*integers(lattice, vectors, centre(vectors)), [0] * d]
    out = np.empty((n + 1, n))
    lattice.squares(np.arange(n + 1), out)
    assert [[int(x) for x in row] for row in out.tolist()] == [
        [exact(one, other) for other in rows[:n]] for one in rows
    ]
    if n > 1:
        largest = max(exact(row, [0] * d) for row in rows)
        assert 2**48 < largest <= 2**51


@pytest.mark.parametrize("d", [1, 3, 300])
def test_the_farthest_pair_needs_all_53_bits(d):
    """x and -x of the largest norm that the lattice admits: 4x² is still exact."""
    x = np.linspace(1, 2, d).astype(np.float32)
    x *= np.float32((2**25.5 - d**0.5) / np.linalg.norm(x.astype(np.float64)) * (1 - 1e-6))
    lattice = Lattice(np.stack([x, -x]), np.zeros(d))
    assert lattice.unit == 1
    row = integers(lattice, np.stack([x]), 0.0)[0]
    out = np.empty((1, 2))
    lattice.squares(np.array([0]), out)
    assert 0.999 * 2**53 < out[0, 1] <= 2**53
    assert int(out[0, 1]) == sum((2 * each) ** 2 for each in row)


def pieces(left, right):
    """The same product in other shapes and orders of summation."""
    yield left @ right
    yield np.asfortranarray(left) @ right.T.copy().T
    yield np.concatenate([row[None] @ right for row in left])
    yield np.concatenate([left @ right[:, at : at + 7] for at in range(0, right.shape[1], 7)], 1)
    yield left[:, ::-1] @ right[::-1]
    yield np.einsum("mk,kn->mn", left, right)


def test_no_shape_or_order_changes_a_bit():
    vectors, lattice = make(500, 100)
    left, right = lattice.left(np.arange(60)), lattice.right(0, 500)
    out = np.empty((60, 500))
    lattice.squares(np.arange(60), out)
    assert all((each == out).all() for each in pieces(left, right))
    assert (lattice.distances(np.arange(60)) == np.sqrt(out) * lattice.unit).all()
    # The twin: the same products of the vectors themselves are not all alike.
    plain = np.concatenate([vectors.astype(np.float64), np.ones((500, 2))], axis=1)
    first, *others = pieces(plain[:60], plain.T)
    assert any((each != first).any() for each in others)


@pytest.mark.parametrize("m", [1, 7, 64, 400])
@pytest.mark.parametrize("n", [1, 60, 1009])
@pytest.mark.parametrize("held", [True, False])
def test_squares_to_every_word(monkeypatch, m, n, held):
    """In pieces of any shape, with a rest or without."""
    if not held:
        monkeypatch.setattr(module, "_HELD_BYTES", 0)
    monkeypatch.setattr(module, "_STEP", 100)
    monkeypatch.setattr(module, "_PART", 90)
    _, lattice = make(n, 30)
    ids = np.random.default_rng(m).integers(0, n + 1, m)
    out = np.full((m, n), np.nan)
    lattice.squares(ids, out)
    assert (out == lattice.left(ids) @ lattice.right(0, n)).all()
    assert (lattice.distances(ids) == np.sqrt(out) * lattice.unit).all()


@pytest.mark.parametrize("d", [1, 2, 30])
def test_right_factors_held_or_made_again(monkeypatch, d):
    vectors, held = make(300, d)
    rows = held.distances(np.arange(300))
    assert (rows == rows.T).all()
    assert (np.diag(rows) == 0).all()
    monkeypatch.setattr(module, "_HELD_BYTES", 0)
    monkeypatch.setattr(module, "_STEP", 128)
    again = Lattice(vectors, centre(vectors))
    ids = np.array([0, 299, 300])
    assert (held.right(100, 290) == again.right(100, 290)).all()
    assert (held.distances(ids) == again.distances(ids)).all()


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e10])
def test_error_bound(scale):
    """Against rational arithmetic; the bound is not far from what happens."""
    vectors, lattice = make(16, 60, scale=scale)
    centroid = [Fraction(x) for x in centre(vectors).tolist()]
    rows = [[Fraction(x) for x in row] for row in vectors.tolist()]
    found = lattice.distances(np.arange(17))
    worst = 0.0
    for i, one in enumerate([*rows, centroid]):
        for j, other in enumerate(rows):
            square = exact(one, other) / Fraction(lattice.unit) ** 2
            true = Fraction(isqrt(int(square * 4**40)), 2**40) * Fraction(lattice.unit)
            worst = max(worst, abs(float(Fraction(float(found[i, j])) - true)))
    assert lattice.error / 50 < worst <= lattice.error
    assert lattice.error < 1e-6 * np.linalg.norm(vectors, axis=1).max()


@pytest.mark.parametrize("value", [0.0, 3.25])
def test_one_point_many_times(value):
    vectors = np.full((5, 3), value, dtype=np.float32)
    lattice = Lattice(vectors, vectors.mean(axis=0, dtype=np.float64))
    assert (lattice.distances(np.arange(6)) == 0).all()
