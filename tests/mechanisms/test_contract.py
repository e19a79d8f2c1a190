"""One suite over every registered mechanism."""

import dataclasses
import pickle

import numpy as np
import pytest
from line_laws import counts, losses, off
from support import at_first_epsilon, fits, make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms import DEFAULT_MECHANISM, MECHANISMS
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.sanitize import settings
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=40, d=4))


@pytest.fixture(params=list(MECHANISMS))
def mechanism(request):
    """With the examples of its required parameters, at an epsilon in its domain."""

    def built(name, epsilon, parameters):
        made = MECHANISMS[name].build(epsilon, parameters)
        made.guarantee(SPACE)
        return made

    return at_first_epsilon(request.param, built)


def test_registry(mechanism):
    assert settings.DEFAULT_MECHANISM == DEFAULT_MECHANISM in MECHANISMS
    assert MECHANISMS[mechanism.name] is type(mechanism)
    assert mechanism.family in ("point", "table", "tensor")
    assert mechanism.epsilon_unit in ("1/distance", "nats")
    assert all((mechanism.summary, mechanism.source, isinstance(mechanism.status, Status)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 3.0


def test_parameters_are_documented_and_have_a_domain(mechanism):
    for name, about in mechanism.parameters().items():
        assert all((about.help, about.domain())), name
        step = 1 if about.convert is int else 0.001
        limits = [about.low - step, about.high + step, about.above]
        for bad in (*(each for each in limits if np.isfinite(each)), float("nan"), True):
            with pytest.raises(UsageError, match=f"{name} must be"):
                dataclasses.replace(mechanism, **{name: bad})
        with pytest.raises(UsageError, match=name):
            dataclasses.replace(mechanism, **{name: "no such word"}).prepare(SPACE)
    with pytest.raises(UsageError):
        type(mechanism).build(1.0, {"no_such_parameter": "1"})


def test_bad_epsilon(mechanism):
    """Only uniform, whose true epsilon is 0, takes 0."""
    for bad in (*[0] * (mechanism.name != "uniform"), -1, float("nan"), float("inf"), True, "3"):
        with pytest.raises(UsageError, match="epsilon must be"):
            dataclasses.replace(mechanism, epsilon=bad)


def test_guarantee(mechanism):
    guarantee = mechanism.guarantee(SPACE)
    assert isinstance(guarantee, Guarantee)
    assert guarantee.status == mechanism.status
    assert all((guarantee.why, guarantee.source))
    values = [guarantee.epsilon(distance) for distance in (0, 0.0, 0.1, 1.0, 2.0, 10.0, np.inf)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0, guarantee.epsilon_ldp)
    assert 0 <= guarantee.delta <= 1
    assert 0 <= guarantee.infinite_loss_mass <= 1
    if guarantee.status is Status.PROVED:
        assert np.isfinite(guarantee.epsilon_ldp)
        assert guarantee.infinite_loss_mass <= guarantee.delta
        assert guarantee.metric or guarantee.epsilon_metric is None


def test_shapes_and_range(mechanism):
    sampler = mechanism.prepare(SPACE)
    ids = np.arange(SPACE.n + 1)  # every word and ⊥
    out = sampler.sample(ids, streams(len(ids)))
    assert (out.shape, out.dtype) == (ids.shape, np.int64)
    assert ((out >= 0) & (out < SPACE.n)).all()
    assert sampler.sample(ids[:0], streams(0)).shape == (0,)


def test_same_streams_same_output(mechanism):
    """From a new sampler, from a pickled one, and for each record of ten words alone."""
    ids = np.tile(np.arange(SPACE.n + 1), 5)[:200]
    sampler = mechanism.prepare(SPACE)
    first = sampler.sample(ids, streams(200))
    again, copy = pickle.loads(pickle.dumps((mechanism, sampler)))
    assert again == mechanism
    assert (first == again.prepare(SPACE).sample(ids, streams(200))).all()
    assert (first == copy.sample(ids, streams(200))).all()
    parts = [(ids[at : at + 10], streams(10, first=at // 10)) for at in range(0, 200, 10)]
    assert (first == np.concatenate([sampler.sample(*part) for part in parts])).all()
    if mechanism.name not in ("custext", "santext-plus"):  # small sets: may agree
        assert (first != sampler.sample(ids, streams(200, key=b"j" * 32))).any()


def test_samples_follow_the_law(mechanism):
    """And not one that is 30 % off: test files of single mechanisms have those without a law."""
    words = np.array([0, 7, SPACE.n])
    law = mechanism.prepare(SPACE).probabilities(words)
    if law is None:
        pytest.skip(f"{mechanism.name} has no exact law here")
    assert law.shape == (3, SPACE.n)
    assert law.sum(axis=1) == pytest.approx(1, abs=1e-9)
    for word, row in zip(words.tolist(), law, strict=True):
        observed = counts(mechanism, SPACE, word)
        assert fits(observed, row)
        if (row > 0).sum() > 1 and row.max() < 0.9:
            assert not fits(observed, off(row))


def test_law_keeps_the_guarantee(mechanism):
    """Every pair of inputs, ⊥ included, on the exact law."""
    guarantee = mechanism.guarantee(SPACE)
    law = mechanism.prepare(SPACE).probabilities(np.arange(SPACE.n + 1))
    if law is None or guarantee.status is not Status.PROVED or guarantee.delta > 0:
        pytest.skip(f"{mechanism.name} has no exact law or no pure guarantee")
    positive = law[:, (law > 0).any(axis=0)]
    assert (positive > 0).all(), "supports differ"
    loss = losses(law)
    assert loss.max() <= guarantee.epsilon_ldp + 1e-9
    if guarantee.metric == "euclidean":
        points = SPACE.points(np.arange(SPACE.n))
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)
        bound = guarantee.epsilon_metric * distances + guarantee.slack
        assert (loss[:-1, :-1] <= bound + 1e-9).all()
