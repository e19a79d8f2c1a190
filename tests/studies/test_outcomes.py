"""Figures of many words against those of whole matrices of distributions."""

import numpy as np
import pytest
from common import outcomes
from common.outcomes import from_pmfs
from support import make_embeddings

from dpsan.mechanisms import MECHANISMS
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=300, d=5))
KEY = randomness.seeded_key("study tests")
TABLES = ["exponential", "krr", "knn-response", "zipf-response", "geodesic", "tem", "custext"]


def at(name, epsilon=3.0, space=SPACE, **values):
    return MECHANISMS[name].build(epsilon, values).prepare(space)


@pytest.mark.parametrize("threads", [1, 3])
def test_all_figures_from_whole_matrices(monkeypatch, threads):
    """Blocks of 32 words and 1 or 3 threads against one matrix, ranks by a sort of distances."""
    monkeypatch.setattr(outcomes, "_CELLS", 32 * SPACE.n)
    monkeypatch.setattr(outcomes, "THREADS", threads)
    samplers = [at(name, 2.0 + i) for i, name in enumerate([*TABLES, "zipf-response"])]
    progress = []
    every = np.arange(SPACE.n)
    found = from_pmfs(SPACE, every, samplers, similar=True, progress=progress.append)
    assert progress == sorted(progress)
    assert progress[-1] == 1
    assert len(progress) == -(-SPACE.n // 32)
    vectors = SPACE.vectors.astype(np.float64)
    unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    np.fill_diagonal(apart, -1)
    ranks = np.argsort(np.argsort(apart, axis=1, kind="stable"), axis=1)
    for sampler, out in zip(samplers, found, strict=True):
        law = sampler.probabilities(every)
        assert np.allclose(out.unchanged, np.diag(law), rtol=1e-9)
        close = np.where((ranks >= 1) & (ranks <= 100), law, 0).sum(axis=1)
        assert np.allclose(out.close, close, rtol=1e-9, atol=1e-12)
        assert np.allclose(out.cosine, (law * (unit @ unit.T)).sum(axis=1), atol=1e-5)
        assert np.allclose(out.best, law.max(axis=0), rtol=1e-9)


def test_some_words_only():
    ids = np.array([5, 17, 299])
    some, every = (
        from_pmfs(SPACE, each, [at("exponential")], similar=True)[0]
        for each in (ids, np.arange(SPACE.n))
    )
    assert np.allclose(some.close, every.close[ids])
    assert (some.best <= every.best + 1e-15).all()
    assert some.best.sum() < every.best.sum()


def test_interrupt():
    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_pmfs(SPACE, np.arange(SPACE.n), [at("krr"), at("exponential")], progress=stop)
