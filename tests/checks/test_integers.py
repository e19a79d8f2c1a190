"""The integers that words are drawn from: sound ones pass, others are found."""

from dataclasses import replace
from functools import partialmethod
from unittest import mock

import numpy as np
import pytest
from broken_programs import after
from planted import many_words, response
from support import cases, make_embeddings

from checks.integers import Chosen, integers
from dpsan import Sanitizer
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Status

ROWS = np.arange(0, 2000, 50)


def optimal(epsilon=8):
    return Sanitizer(epsilon=epsilon, embeddings=many_words())


def assert_found(fault, told):
    assert told in fault, fault


@pytest.mark.parametrize(
    "name", [name for name, kind in MECHANISMS.items() if kind.status is Status.PROVED]
)
@pytest.mark.parametrize("epsilon", [0.05, 8.0])
def test_sound_integers_are_never_refuted(name, epsilon):
    """A mechanism without a sparse table, or not drawn from one integer, is not judged."""
    given = {"delta": 1e-6} if "delta" in MECHANISMS[name].parameters() else {}
    epsilon = min(epsilon, 0.9) if given else epsilon
    one = Sanitizer(name, epsilon=epsilon, embeddings=make_embeddings(n=300, d=4), parameters=given)
    assert integers(one, np.arange(0, 300, 7)) == ""


def test_other_integers_are_violated(monkeypatch):
    """Each is one number in a million, or shows in no single draw; sound ones are kept."""
    one = optimal()
    base, scale = one.sampler.base, one.sampler.scale
    assert integers(one, ROWS) == ""
    own = Chosen.integers

    def shorter(self, label, bounds, known):
        short = (bounds != base.total) == known
        return own(self, label, bounds - np.uint64(scale if known else 1) * short.astype(np.uint64))

    for known in (True, False):  # the last unit of words of the vocabulary, or of an unknown word
        with mock.patch.object(Chosen, "integers", partialmethod(shorter, known=known)):
            assert_found(integers(one, ROWS), "certified")

    def unrejected(self, label, bounds):
        return self.bits(label)[:, 0] % np.asarray(bounds, dtype=np.uint64)

    # Without rejection: the totals are near 2^62, a share of the integers is a quarter likelier.
    with mock.patch.object(randomness.Streams, "integers", unrejected):
        assert_found(integers(one, ROWS), "equally likely")
    one = optimal(2)
    one._rewriter.sampler = replace(one.mechanism, epsilon=2.04).prepare(one.space)
    assert_found(integers(one, ROWS), "certified")


def test_the_first_and_last_integers_are_tried_densely():
    """The last unit is given to the output before: one number in three million."""
    one = optimal()
    words = one.sampler.base.words
    last, before = int(words[-1]), int(words[-2])
    inner = one.sampler

    class Ends(Sampler):
        def sample(self, ids, streams):
            out = inner.sample(ids, streams)
            numbers = getattr(streams, "numbers", None)
            if numbers is None or int(ids[0]) == one.space.n:
                return out
            known = inner.near.masses(ids) * inner.increment
            total = inner.scale * inner.base.total + known
            end = numbers.astype(np.int64) >= total - inner.base.weights[-1] * inner.scale
            return np.where(end & (out == last), before, out)

    one._rewriter.sampler = Ends()
    assert integers(one, ROWS)


@cases(
    "rows told change",
    (ROWS, "", lambda ids, out: np.where(ids == 50, 0, out)),
    (ROWS, "", lambda ids, out: np.where((out == 7) & (ids < 2000), 8, out)),
    (ROWS, "", lambda ids, out: np.where(ids == 2000, np.maximum(out, 1), out)),
    # A word that is not tried at first copies itself, or gives another one.
    (np.arange(5), "word1234", lambda ids, out: np.where(ids == 1234, 1234, out)),
    (np.arange(5), "word1234", lambda ids, out: np.where(ids == 1234, 77, out)),
)
def test_outputs_that_are_changed_afterwards_are_violated(rows, told, change):
    one = response(8.0, many_words())
    assert integers(one, rows) == ""
    after(lambda _, out, ids, streams: change(ids, out))(one)
    assert_found(integers(one, rows), told or "integers")
