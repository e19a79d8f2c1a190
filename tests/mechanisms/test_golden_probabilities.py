"""The probabilities of every table mechanism, as they were before tables held them.

`python tests/mechanisms/test_golden_probabilities.py` writes golden_probabilities.npz anew: only
where the definition of a mechanism changes.
"""

from pathlib import Path

import numpy as np
import pytest
from rantext_law import law as by_quadrature
from support import make_embeddings, marked

from dpsan.embeddings.store import Store
from dpsan.mechanisms import MECHANISMS
from dpsan.space.cached_index import open_space
from dpsan.space.metric_space import MetricSpace

MANY = ["geodesic", "knn-response", "zipf-response", "clusant", "bucket-exponential", "custext"]
MANY += ["char-response", "santext-plus", "exponential", "tem"]
"""Mechanisms whose rows of the bundled vocabulary take more than a second."""
GOLDEN = Path(__file__).with_name("golden_probabilities.npz")
EPSILONS = {"nats": (0.5, 3.0, 8.0), "1/distance": (0.2, 2.0, 12.0)}
SMALL = ((9, 2), (14, 3))
"""Words and dimensions of the small vocabularies."""
INPUTS = 200
"""Inputs of the bundled vocabulary."""
SLOW = {"diffractor", "diffractor-paper"}
"""Mechanisms whose public order of the bundled vocabulary takes long to make."""
TABLES = [name for name, kind in MECHANISMS.items() if kind.family == "table"]


def settings(name, space):
    """Mechanisms to look at: three values of epsilon, above the least one."""
    kind = MECHANISMS[name]
    least = kind.least_epsilon(space)
    for epsilon in EPSILONS[kind.epsilon_unit]:
        yield kind.build(least + epsilon, {}).resolved(space)


def small_rows(name):
    """Rows of all inputs of the small vocabularies, one after the other."""
    rows = []
    for n, d in SMALL:
        space = MetricSpace(make_embeddings(n=n, d=d, seed=n))
        for mechanism in settings(name, space):
            sampler = mechanism.prepare(space)
            integrals = name == "rantext-paper"
            law = by_quadrature(sampler) if integrals else sampler.probabilities(np.arange(n + 1))
            assert law is not None
            rows.append(law.ravel())
    return np.concatenate(rows)


def bundled_figures(name, space):
    """Two figures of each row: its sum with signs, and the probability of the word itself."""
    inputs = np.unique(np.linspace(0, space.n, INPUTS).astype(np.int64))
    signs = np.random.default_rng(5).integers(0, 2, size=space.n) * 2.0 - 1
    figures = []
    for mechanism in settings(name, space):
        sampler = mechanism.prepare(space)
        for at in range(0, len(inputs), 20):
            ids = inputs[at : at + 20]
            law = sampler.probabilities(ids)
            itself = law[np.arange(len(ids)), np.minimum(ids, space.n - 1)]
            figures += [law @ signs, itself]
    return np.concatenate(figures)


def on_bundled(name):
    """Whether a mechanism knows its probabilities on 32,879 words."""
    return name not in SLOW and name not in ("rantext-paper", "tgumbel-paper")


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as arrays:
        return dict(arrays)


@pytest.mark.parametrize("name", TABLES)
def test_probabilities_of_small_vocabularies_are_the_golden_ones(name, golden):
    assert np.abs(small_rows(name) - golden[name]).max() <= 1e-12


@pytest.mark.parametrize("name", marked("slow", filter(on_bundled, TABLES), *MANY))
def test_probabilities_of_the_bundled_vocabulary_are_the_golden_ones(name, golden, bundled):
    assert np.abs(bundled_figures(name, bundled) - golden[f"{name}-bundled"]).max() <= 1e-12


@pytest.fixture(scope="module")
def bundled():
    return open_space(None, None, Store(None))[1]


def main():
    """Write the golden figures."""
    space = open_space(None, None, Store(None))[1]
    arrays = {name: small_rows(name) for name in TABLES}
    for name in filter(on_bundled, TABLES):
        arrays[f"{name}-bundled"] = bundled_figures(name, space)
    np.savez_compressed(GOLDEN, **arrays)


if __name__ == "__main__":
    main()
