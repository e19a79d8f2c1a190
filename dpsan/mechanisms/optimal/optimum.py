"""Frequency-weighted mean cosine of input and output of a base, and a stored bound for every base.

docs/studies/common/cosine_bound.py computes the bound (docs/proofs.md 2.9.4); that of the bundled
vocabulary comes with it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dpsan.mechanisms.optimal.public_base import public_inputs
from dpsan.mechanisms.tables.directions import cosine_unit, directions
from dpsan.mechanisms.tables.sparse import SparseTable

_ENTRIES: Final = 1 << 16
CERTAIN: Final = 30.0
"""Epsilon from which nothing is looked for: the bound is 1, which no cosine exceeds."""
COSINE: Final = "cosine"
"""The one array of the tables."""


class Optimum(NamedTuple):
    """Frequency-weighted mean cosines of input and output, over all words as inputs."""

    achieved: float
    bound: float
    """No epsilon-LDP distribution has a larger mean."""


def mean_cosine(sampler: SparseTable) -> float:
    """Return the mean cosine of input and output of what is sampled, weighted by public counts."""
    space, base = sampler.space, sampler.base
    _, shares = public_inputs(space.counts, space.n, space.n, 0, 1.0)
    rows = directions(space.vectors)
    mean_input = shares @ rows.astype(np.float64)
    outside = float(base.weights @ (rows[base.words] @ mean_input)) * sampler.scale
    owners, outputs, masses = sampler.entries()
    weights = shares[owners] * masses
    inside = 0.0
    for at in range(0, len(owners), _ENTRIES):
        part = slice(at, at + _ENTRIES)
        left, right = rows[owners[part]], rows[outputs[part]]
        inside += float(weights[part] @ np.einsum("ed,ed->e", left, right))
    # A public word's near set is the word itself.
    inside += float(shares[sampler.public].sum()) * base.mass * cosine_unit(space.d)
    total = sampler.scale * base.total + sampler.increment * base.mass
    return (outside + sampler.increment * inside) / total / cosine_unit(space.d)


def bound_name(epsilon: float) -> str:
    """Return the name of the table that stores a bound."""
    return f"cosine-bound-1-{epsilon!r}"


def optimum(sampler: SparseTable, epsilon: float) -> Optimum | None:
    """Return the mean cosine of a base and its certified bound; None where no bound is stored.

    Args:
        sampler: with near sets of equal mass.
        epsilon: nats.
    """
    space = sampler.space
    bound = {COSINE: np.ones(1)} if epsilon >= CERTAIN else space.find_table(bound_name(epsilon))
    if bound is None:
        return None
    name = f"mean-cosine-1-{epsilon!r}-{sampler.key}"
    mean = space.table(name, lambda: {COSINE: np.array([mean_cosine(sampler)])}, of_mechanism=True)
    # Directions are rounded to integers: the cosine of a word with itself may exceed 1 by a little.
    return Optimum(*(min(float(table[COSINE][0]), 1.0) for table in (mean, bound)))
