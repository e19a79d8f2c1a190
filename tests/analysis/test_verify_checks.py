"""verify compares many files, copies and blocks, tries the integers, and strings of every kind."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from planted import many_words, response
from support import make_embeddings

from dpsan import Sanitizer
from dpsan.analysis.verify import strings as strings_module
from dpsan.analysis.verify.independence import independence
from dpsan.analysis.verify.integers import _Chosen, integer_draws
from dpsan.analysis.verify.strings import strings
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.samplers.subset_response import SubsetResponseSampler
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Status
from dpsan.run import stream
from dpsan.sanitize import rewriting
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.rewriting import Rewriter

KEY = b"k" * 32
ROWS = np.arange(0, 2000, 50)


def shared(sanitizer):
    return independence(sanitizer, sanitizer.mechanism.prepare(sanitizer.space), key=KEY)


def tried(sanitizer, rows=ROWS):
    stated = sanitizer.mechanism.prepare(sanitizer.space)
    return integer_draws(sanitizer, stated, rows, key=KEY)


def optimal(**more):
    return Sanitizer(epsilon=8, embeddings=many_words(), **more)


def test_the_check_names_what_it_compared():
    found = shared(response(8.0, many_words()))
    assert found.held
    for what in ("64 blocks of a line", "64 lines of a file", "64 copies of a line"):
        assert what in found.sentence, found.sentence
    assert "10 files of up to 10,000 and 2 runs" in found.sentence


@pytest.mark.parametrize(("part", "told"), [("file", "two files"), ("copy", "two copies")])
@pytest.mark.parametrize("first", [2, 4])
def test_files_or_copies_that_share_late_are_violated(monkeypatch, part, told, first):
    """The first, second ... have keys of their own, all others one together."""
    own = randomness.derive_key

    def derived(key, *path):
        parts = zip((None, *path), path, strict=False)
        return own(key, *(min(each, first) if name == part else each for name, each in parts))

    monkeypatch.setattr(stream.randomness, "derive_key", derived)
    found = shared(response(8.0, many_words()))
    assert found.held is False
    assert told in found.sentence, found.sentence


@pytest.mark.parametrize("first", [4, 62])
def test_blocks_that_share_late_are_violated(monkeypatch, first):
    own = randomness.streams_for

    def made(*given, **more):
        found = own(*given, **more)
        return replace(found, blocks=tuple((r, min(b, first), w) for r, b, w in found.blocks))

    monkeypatch.setattr(rewriting.randomness, "streams_for", made)
    found = shared(response(8.0, many_words()))
    assert found.held is False
    assert "two blocks of a line" in found.sentence, found.sentence


class Changed(Sampler):
    """Outputs that are changed afterwards."""

    def __init__(self, inner, change):
        self.inner, self.change = inner, change

    def sample(self, ids, streams):
        return self.change(ids, self.inner.sample(ids, streams))


@pytest.mark.parametrize(
    "name", [name for name, kind in MECHANISMS.items() if kind.status is Status.PROVED]
)
@pytest.mark.parametrize("epsilon", [0.05, 8.0])
def test_sound_integers_are_never_refuted(name, epsilon):
    """A mechanism that is not drawn from one integer is not judged."""
    given = {"delta": 1e-6} if "delta" in MECHANISMS[name].parameters() else {}
    epsilon = min(epsilon, 0.9) if given else epsilon
    one = Sanitizer(name, epsilon=epsilon, embeddings=make_embeddings(n=300, d=4), parameters=given)
    found = tried(one, np.arange(0, 300, 7))
    assert found is None or found.held, found
    whole = {"krr", "uniform", "knn-response", "optimal-response", "zipf-response"}
    assert (name not in whole) or found is not None


def test_outputs_that_never_come_are_violated(monkeypatch):
    """Three outputs of each word never come: infinite loss, and 1 draw in 3,000."""

    def outside(self, ids, rank):
        members = np.sort(self.sets(ids), axis=1).astype(np.int64)
        return rank + (members - np.arange(self.k) < rank[:, None]).sum(axis=1)

    one = response(8.0, many_words())
    assert tried(one).held
    monkeypatch.setattr(SubsetResponseSampler, "_outside", outside)
    found = tried(one)
    assert found.held is False
    assert "give one output for 0 of" in found.sentence


@pytest.mark.parametrize("known", [True, False])
def test_the_last_unit_of_the_base_that_never_comes_is_violated(monkeypatch, known):
    """One number in a million of an unknown word, or of the words of the vocabulary."""
    one, own = optimal(), _Chosen.integers
    base, scale = one.sampler.base, one.sampler.scale

    def integers(self, label, bounds):
        short = (bounds != base.total) == known
        return own(self, label, bounds - np.uint64(scale if known else 1) * short.astype(np.uint64))

    assert tried(one).held
    monkeypatch.setattr(_Chosen, "integers", integers)
    found = tried(one)
    assert found.held is False, found
    assert "certified" in found.sentence


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

    assert tried(one).held
    one._rewriter.sampler = Ends()
    assert tried(one).held is False


@pytest.mark.parametrize(
    "change",
    [
        lambda ids, out: np.where(ids == 50, 0, out),
        lambda ids, out: np.where((out == 7) & (ids < 2000), 8, out),
        lambda ids, out: np.where(ids == 2000, np.maximum(out, 1), out),
    ],
)
def test_outputs_that_are_changed_afterwards_are_violated(change):
    one = response(8.0, many_words())
    one._rewriter.sampler = Changed(one.sampler, change)
    assert tried(one).held is False


@pytest.mark.parametrize("output", [1234, 77])
def test_one_word_that_always_gives_one_output_is_violated(output):
    """It copies itself, or gives another word; it is not among the words that are tried at first.

    Draws of many words see no copy: the word itself is the likeliest output of most.
    """
    one = response(8.0, many_words())
    assert "2,000 of 2,000 words were screened" in tried(one, np.arange(5)).sentence
    one._rewriter.sampler = Changed(
        one.sampler, lambda ids, out: np.where(ids == 1234, output, out)
    )
    found = tried(one, np.arange(5))
    assert found.held is False
    assert "word1234" in found.sentence


def test_integers_without_rejection_are_violated(monkeypatch):
    """The totals are near 2^62: a share of the integers is a quarter more likely."""
    assert tried(optimal()).held

    def integers(self, label, bounds):
        return self.bits(label)[:, 0] % np.asarray(bounds, dtype=np.uint64)

    monkeypatch.setattr(randomness.Streams, "integers", integers)
    found = tried(optimal())
    assert found.held is False
    assert "equally likely" in found.sentence


def test_a_slightly_larger_epsilon_is_violated():
    """2 % at epsilon 2: no draws would show it."""
    one = Sanitizer(epsilon=2, embeddings=many_words())
    one._rewriter.sampler = replace(one.mechanism, epsilon=2.04).prepare(one.space)
    found = tried(one)
    assert found.held is False
    assert "certified" in found.sentence


OPTIONS = {
    "nothing": {},
    "public": {"public": ["word1", "word5"]},
    "keep": {"keep": ["word1", "word2"]},
    "case": {"case": "vocabulary"},
    "input": {"case": "input"},
    "mask": {"unknown": "mask"},
    "copied": {"unknown": "keep"},
    "record": {"consistent": "record"},
    "run": {"consistent": "run"},
    "ptb": {"tokenizer": "ptb"},
    "whitespace": {"tokenizer": "whitespace"},
    "value": {"numbers": "value"},
}


@pytest.mark.parametrize("options", OPTIONS)
def test_sound_strings_are_never_refuted(options):
    found = strings(response(8.0, many_words(), **OPTIONS[options]), key=KEY)
    assert found.held, found.sentence
    assert found.figures["strings"] > 40
    assert found.figures["characters"] > 1 << 20


COPIED = {
    "e-mail address": lambda word: "@" in word,
    "long string": lambda word: len(word) > 24,
    "string of another script": lambda word: not word.isascii(),
    "number": lambda word: word.isdigit(),
}


@pytest.mark.parametrize("kind", COPIED)
@pytest.mark.parametrize("options", ["nothing", "run", "keep"])
def test_strings_of_one_kind_that_are_copied_are_violated(monkeypatch, kind, options):
    own, copied = Rewriter._outputs, COPIED[kind]

    def outputs(self, words, codes, *more):
        found = own(self, words, codes, *more)
        return [
            word if copied(word) and code == self._built.space.n else output
            for word, code, output in zip(words, codes, found, strict=True)
        ]

    monkeypatch.setattr(Rewriter, "_outputs", outputs)
    found = strings(response(8.0, many_words(), **OPTIONS[options]), key=KEY)
    assert found.held is False
    assert "have different outputs" in found.sentence


def test_capitals_that_show_are_violated(monkeypatch):
    own = Rewriter._outputs

    def outputs(self, words, *more):
        found = own(self, words, *more)
        return [
            out.upper() if word.isupper() else out for word, out in zip(words, found, strict=True)
        ]

    monkeypatch.setattr(Rewriter, "_outputs", outputs)
    found = strings(Sanitizer(epsilon=8, vocab_size=500), key=KEY)
    assert found.held is False
    assert "capitals" in found.sentence


def test_a_string_that_passes_by_no_option_is_violated(monkeypatch):
    one = response(8.0, many_words())
    own = one.inputs_of
    monkeypatch.setattr(
        one, "inputs_of", lambda text: [(w, -3 if "@" in w else c) for w, c in own(text)]
    )
    found = strings(one, key=KEY)
    assert found.held is False
    assert "not drawn: e-mail address" in found.sentence


def test_a_long_line_with_draws_of_its_own_is_violated(monkeypatch):
    own = Rewriter._drawn

    def drawn(self, batch, key, numbers, *, before=0, held=None):
        return own(self, batch, key, numbers)

    monkeypatch.setattr(Rewriter, "_drawn", drawn)
    found = strings(response(8.0, many_words()), key=KEY)
    assert found.held is False
    assert "above 1 MiB" in found.sentence


@pytest.mark.parametrize("what", ["draws", "largest_record"])
def test_draws_that_are_not_counted_are_violated(monkeypatch, what):
    own = Accountant.merge

    def merge(self, other):
        own(self, other)
        setattr(self, what, getattr(self, what) - 1)

    monkeypatch.setattr(Accountant, "merge", merge)
    found = strings(response(8.0, many_words()), key=KEY)
    assert found.held is False
    assert "are counted" in found.sentence


def test_no_word_of_an_input_is_in_a_sentence():
    one = response(8.0, many_words())
    told = " ".join(each.sentence for each in (shared(one), tried(one), strings(one, key=KEY)))
    every = itertools.chain.from_iterable(strings_module._KINDS.values())
    assert not [each for each in every if each in told]
