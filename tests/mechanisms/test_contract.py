"""One suite over every registered mechanism."""

import dataclasses
import pickle

import numpy as np
import pytest
from support import fits, make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=40, d=4))


def build(name, epsilon=None, **values):
    """A mechanism with the examples of its required parameters."""
    kind = MECHANISMS[name]
    for parameter, about in kind.parameters().items():
        if about.required:
            values.setdefault(parameter, about.example)
    if epsilon is not None:
        return kind.build(epsilon, values)
    for epsilon in (2.0, 0.9, 8.0, 60.0, 300.0):  # some have a narrow domain
        mechanism = kind.build(epsilon, values)
        try:
            mechanism.guarantee(SPACE)
        except UsageError:
            continue
        return mechanism
    raise AssertionError(f"no epsilon found for {name}")


@pytest.fixture(params=list(MECHANISMS))
def mechanism(request):
    return build(request.param)


def test_registry(mechanism):
    assert MECHANISMS[mechanism.name] is type(mechanism)
    module = type(mechanism).__module__.removeprefix("dpsan.mechanisms.")
    own = mechanism.name.replace("-", "_")
    assert module == ("tldp_paper" if own.startswith("tldp_paper_") else own)
    assert mechanism.family in ("point", "table", "tensor")
    assert mechanism.epsilon_unit in ("1/distance", "nats")
    assert mechanism.summary
    assert mechanism.source
    assert isinstance(mechanism.status, Status)


def test_frozen(mechanism):
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 3.0


def test_parameters_are_documented(mechanism):
    for name, about in mechanism.parameters().items():
        assert about.help, name
        assert about.domain(), name


def test_bad_epsilon(mechanism):
    if mechanism.name == "uniform":
        pytest.skip("uniform has true epsilon 0 whatever it is given")
    for bad in (0, -1, float("nan"), float("inf"), True, "3"):
        with pytest.raises(UsageError):
            dataclasses.replace(mechanism, epsilon=bad)


def test_unknown_parameter(mechanism):
    with pytest.raises(UsageError):
        type(mechanism).build(1.0, {"no_such_parameter": "1"})


def test_guarantee(mechanism):
    guarantee = mechanism.guarantee(SPACE)
    assert isinstance(guarantee, Guarantee)
    assert guarantee.status == mechanism.status
    assert guarantee.why
    assert guarantee.source
    assert guarantee.epsilon(0) == 0
    values = [guarantee.epsilon(distance) for distance in (0.0, 0.1, 1.0, 2.0, 10.0, np.inf)]
    assert values == sorted(values)
    assert values[-1] == guarantee.epsilon_ldp
    assert 0 <= guarantee.delta <= 1
    assert 0 <= guarantee.infinite_loss_mass <= 1
    if guarantee.status is Status.PROVED:
        assert np.isfinite(guarantee.epsilon_ldp)
        assert guarantee.infinite_loss_mass <= guarantee.delta
        if guarantee.epsilon_metric is not None:
            assert guarantee.metric


def test_shapes_and_range(mechanism):
    sampler = mechanism.prepare(SPACE)
    ids = np.arange(SPACE.n + 1)  # every word and ⊥
    out = sampler.sample(ids, streams(len(ids)))
    assert out.shape == ids.shape
    assert out.dtype == np.int64
    assert ((out >= 0) & (out < SPACE.n)).all()
    none = sampler.sample(ids[:0], streams(0))
    assert none.shape == (0,)


def test_same_streams_same_output(mechanism):
    ids = np.tile(np.arange(SPACE.n + 1), 5)[:200]
    first = mechanism.prepare(SPACE).sample(ids, streams(200))
    again = mechanism.prepare(SPACE).sample(ids, streams(200))
    other = mechanism.prepare(SPACE).sample(ids, streams(200, key=b"j" * 32))
    assert (first == again).all()
    if mechanism.name not in ("custext", "santext-plus"):  # small sets: may agree
        assert (first != other).any()


def test_output_does_not_depend_on_the_batch(mechanism):
    """Records of ten words: together, and each alone."""
    ids = np.tile(np.arange(SPACE.n + 1), 5)[:200]
    sampler = mechanism.prepare(SPACE)
    together = sampler.sample(ids, streams(200))
    alone = [
        sampler.sample(ids[at : at + 10], streams(10, first=at // 10)) for at in range(0, 200, 10)
    ]
    assert (together == np.concatenate(alone)).all()


def test_pickles(mechanism):
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    sampler = mechanism.prepare(SPACE)
    copy = pickle.loads(pickle.dumps(sampler))
    ids = np.arange(20)
    assert (copy.sample(ids, streams(20)) == sampler.sample(ids, streams(20))).all()


@pytest.mark.parametrize("word", [0, 7, SPACE.n])
def test_samples_follow_the_law(mechanism, word):
    sampler = mechanism.prepare(SPACE)
    law = sampler.probabilities(np.array([word]))
    if law is None:
        pytest.skip(f"{mechanism.name} has no exact law here")
    law = law[0]
    assert law.shape == (SPACE.n,)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    m = 40_000
    drawn = sampler.sample(np.full(m, word), streams(m))
    observed = np.bincount(drawn, minlength=SPACE.n)
    assert fits(observed, law)
    # The twin: the same draws do not fit a law that is off by 30 % on half of the words.
    wrong = law * np.where(np.arange(SPACE.n) % 2, 1.3, 0.7)
    if (law > 0).sum() > 1 and law.max() < 0.9:
        assert not fits(observed, wrong / wrong.sum())


def test_law_keeps_the_guarantee(mechanism):
    """Every pair of inputs, ⊥ included, on the exact law."""
    guarantee = mechanism.guarantee(SPACE)
    law = mechanism.prepare(SPACE).probabilities(np.arange(SPACE.n + 1))
    if law is None or guarantee.status is not Status.PROVED or guarantee.delta > 0:
        pytest.skip(f"{mechanism.name} has no exact law or no pure guarantee")
    positive = law[:, (law > 0).any(axis=0)]
    assert (positive > 0).all(), "supports differ"
    logs = np.log(positive)
    loss = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
    assert loss.max() <= guarantee.epsilon_ldp + 1e-9
    if guarantee.metric == "euclidean":
        points = SPACE.points(np.arange(SPACE.n))
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)
        words = loss[:-1, :-1]
        bound = guarantee.epsilon_metric * distances + guarantee.slack
        assert (words <= bound + 1e-9).all()
