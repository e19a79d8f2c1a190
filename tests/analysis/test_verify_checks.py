"""verify compares files and blocks, and tries the integers that words are drawn from."""

from dataclasses import replace
from functools import partialmethod
from unittest import mock

import numpy as np
import pytest
from planted import many_words, response
from support import make_embeddings, some_mutants

from dpsan import Sanitizer
from dpsan.analysis.verify.independence import independence
from dpsan.analysis.verify.integers import _Chosen, integer_draws
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Status
from dpsan.run import stream
from dpsan.sanitize import rewriting

KEY = b"k" * 32
ROWS = np.arange(0, 2000, 50)


def shared(sanitizer):
    return independence(sanitizer, sanitizer.mechanism.prepare(sanitizer.space), key=KEY)


def tried(sanitizer, rows=ROWS):
    stated = sanitizer.mechanism.prepare(sanitizer.space)
    return integer_draws(sanitizer, stated, rows, key=KEY)


def optimal(epsilon=8):
    return Sanitizer(epsilon=epsilon, embeddings=many_words())


def assert_refuted(check, told):
    assert check.held is False, check.sentence
    assert told in check.sentence, check.sentence


LATE = [f"{part} {first}" for part in ("file", "copy") for first in (2, 4)]


@pytest.mark.parametrize(
    "which", some_mutants([*LATE, "block 4", "block 62"], *LATE[1::2], "block 62")
)
def test_what_shares_late_is_violated(monkeypatch, which):
    """The first, second ... have keys or streams of their own, all others one together."""
    part, first = which.split()[0], int(which.split()[1])
    own, blocks = randomness.derive_key, randomness.streams_for

    def derived(key, *path):
        parts = zip((None, *path), path, strict=False)
        return own(key, *(min(each, first) if name == part else each for name, each in parts))

    def made(*given, **more):
        found = blocks(*given, **more)
        return replace(found, blocks=tuple((r, min(b, first), w) for r, b, w in found.blocks))

    if part == "block":
        monkeypatch.setattr(rewriting.randomness, "streams_for", made)
    else:
        monkeypatch.setattr(stream.randomness, "derive_key", derived)
    told = {"file": "two files", "copy": "two copies", "block": "two blocks of a line"}[part]
    assert_refuted(shared(response(8.0, many_words())), told)


class Changed(Sampler):
    """Outputs that are changed afterwards."""

    def __init__(self, sanitizer, change):
        self.inner, self.change = sanitizer.sampler, change
        sanitizer._rewriter.sampler = self

    def sample(self, ids, streams):
        return self.change(ids, self.inner.sample(ids, streams))


@pytest.mark.parametrize(
    "name", [name for name, kind in MECHANISMS.items() if kind.status is Status.PROVED]
)
@pytest.mark.parametrize("epsilon", [0.05, 8.0])
def test_sound_integers_are_never_refuted(name, epsilon):
    """A mechanism without a sparse table, or not drawn from one integer, is not judged."""
    given = {"delta": 1e-6} if "delta" in MECHANISMS[name].parameters() else {}
    epsilon = min(epsilon, 0.9) if given else epsilon
    one = Sanitizer(name, epsilon=epsilon, embeddings=make_embeddings(n=300, d=4), parameters=given)
    found = tried(one, np.arange(0, 300, 7))
    assert found is None or found.held, found
    whole = {"krr", "uniform", "knn-response", "optimal-response"}
    assert (name not in whole) or found is not None


def test_other_integers_are_violated(monkeypatch):
    """Each is one number in a million, or shows in no single draw; sound ones are kept."""
    one = optimal()
    base, scale = one.sampler.base, one.sampler.scale
    assert tried(one).held
    own = _Chosen.integers

    def shorter(self, label, bounds, known):
        short = (bounds != base.total) == known
        return own(self, label, bounds - np.uint64(scale if known else 1) * short.astype(np.uint64))

    for known in (True, False):  # the last unit of words of the vocabulary, or of an unknown word
        with mock.patch.object(_Chosen, "integers", partialmethod(shorter, known=known)):
            assert_refuted(tried(one), "certified")

    def integers(self, label, bounds):
        return self.bits(label)[:, 0] % np.asarray(bounds, dtype=np.uint64)

    # Without rejection: the totals are near 2^62, a share of the integers is a quarter likelier.
    with mock.patch.object(randomness.Streams, "integers", integers):
        assert_refuted(tried(one), "equally likely")
    one = optimal(2)
    one._rewriter.sampler = replace(one.mechanism, epsilon=2.04).prepare(one.space)
    assert_refuted(tried(one), "certified")


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
    assert tried(one).held is False


@pytest.mark.parametrize(
    ("rows", "told", "change"),
    [
        (ROWS, "", lambda ids, out: np.where(ids == 50, 0, out)),
        (ROWS, "", lambda ids, out: np.where((out == 7) & (ids < 2000), 8, out)),
        (ROWS, "", lambda ids, out: np.where(ids == 2000, np.maximum(out, 1), out)),
        # A word that is not tried at first copies itself, or gives another one.
        (np.arange(5), "word1234", lambda ids, out: np.where(ids == 1234, 1234, out)),
        (np.arange(5), "word1234", lambda ids, out: np.where(ids == 1234, 77, out)),
    ],
)
def test_outputs_that_are_changed_afterwards_are_violated(rows, told, change):
    one = response(8.0, many_words())
    assert "2,000 of 2,000 words were screened" in tried(one, rows).sentence
    Changed(one, change)
    assert_refuted(tried(one, rows), told)


def test_no_word_of_an_input_is_in_a_sentence():
    one = response(8.0, many_words())
    found = shared(one), tried(one)
    assert all(each.held for each in found)
    told = " ".join(each.sentence for each in found)
    for what in ("71 blocks of a line", "64 lines of a file", "64 copies of a line"):
        assert what in told
    assert "10 files of up to 10,000 and 2 runs" in told
    assert not any(f" {word} " in told for word in one.embeddings.index_to_key)


def test_numbers_by_value_are_kept():
    """They were always VIOLATED, mutant or not; what the guarantee leaves out is stated."""
    found = verify(response(8.0, many_words(), numbers="value"), words=12, draws=10_000)
    assert all(each.held for each in found.checks)
    assert found.exposures[0].stated
    assert found.verdict is Verdict.KEPT
