"""The expected share of words that stay: from the vocabulary alone, cheap, and true."""

import numpy as np
import pytest
from support import make_embeddings

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.distributions import expected_unchanged
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

EMBEDDINGS = make_embeddings(n=60, d=5)
SPACE = MetricSpace(EMBEDDINGS)
SHARES = np.maximum(EMBEDDINGS.counts, 1) / EMBEDDINGS.counts.sum()
KNOWN = [
    *(("knn-response", epsilon) for epsilon in (0.5, 4.0, 30.0)),
    *(("zipf-response", epsilon) for epsilon in (2.0, 12.0)),
    *(("krr", epsilon) for epsilon in (2.0, 9.0)),
    *((name, 4.0) for name in ("exponential", "geodesic", "tem", "uniform")),
]


@pytest.mark.parametrize(("name", "epsilon"), KNOWN)
def test_is_the_mean_of_the_law_by_frequency(name, epsilon):
    sampler = MECHANISMS[name].build(epsilon, {}).prepare(SPACE)
    every = np.arange(SPACE.n)
    law = sampler.probabilities(every)
    assert sampler.unchanged(every) == pytest.approx(law[every, every])
    exact = float(np.diag(law) @ SHARES)
    # 400 quantiles of the frequencies stand for 60 words.
    assert expected_unchanged(sampler, SPACE) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_sampler_that_tells_it_tells_the_law(name):
    kind = MECHANISMS[name]
    values = {key: about.example for key, about in kind.parameters().items() if about.required}
    for epsilon in (2.0, 0.9, 8.0, 60.0, 3000.0):
        try:
            sampler = kind.build(epsilon, values).prepare(SPACE)
        except UsageError:
            continue
        ids = np.array([7, 0, 59, 7])
        told, law = sampler.unchanged(ids), sampler.probabilities(ids)
        assert (told is None) or told == pytest.approx(law[np.arange(4), ids])
        assert 0 <= expected_unchanged(sampler, SPACE) <= 1
        return
    raise AssertionError(f"no epsilon found for {name}")


@pytest.mark.parametrize("name", ["laplace", "tldp"])
@pytest.mark.parametrize("epsilon", [1.0, 10.0, 100.0])
def test_draws_agree_with_what_comes_out(name, epsilon):
    sanitizer = Sanitizer(name, epsilon=epsilon, embeddings=EMBEDDINGS)
    ids = np.searchsorted(np.cumsum(SHARES), (np.arange(20_000) + 0.5) / 20_000)
    streams = randomness.streams_for(b"k" * 32, range(len(ids)), [1] * len(ids))
    stayed = float((sanitizer.mechanism.prepare(SPACE).sample(ids, streams) == ids).mean())
    # Five standard errors of 400 draws.
    assert sanitizer.expected_unchanged == pytest.approx(stayed, abs=0.125)


def test_does_not_depend_on_the_text_or_the_run():
    first = Sanitizer("laplace", epsilon=5, embeddings=EMBEDDINGS)
    before = first.expected_unchanged
    first.rewrite(["word3 word4"])
    assert first.expected_unchanged == before
    assert Sanitizer("laplace", epsilon=5, embeddings=EMBEDDINGS).expected_unchanged == before


def test_the_default_needs_no_vector():
    """Start-up and a short text must not wait for the number."""
    sampler = MECHANISMS["knn-response"].build(8, {}).prepare(SPACE)
    assert sampler.unchanged(np.zeros(3, dtype=np.int64)) is not None
    sampler.space = None
    expected_unchanged(sampler, SPACE)
