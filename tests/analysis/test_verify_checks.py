"""verify compares files and copies, a test in a clone blocks of a line."""

from dataclasses import replace

import pytest
from checks.sharing import sharing
from planted import many_words, response
from support import marked, some_mutants

from dpsan.analysis.verify.independence import independence
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.privacy import randomness
from dpsan.run import stream
from dpsan.sanitize import rewriting

KEY = b"k" * 32


def shared(sanitizer):
    return independence(sanitizer, sanitizer.mechanism.prepare(sanitizer.space), key=KEY)


def assert_refuted(check, told):
    assert check.held is False, check.sentence
    assert told in check.sentence, check.sentence


LATE = [f"{part} {first}" for part in ("file", "copy") for first in (2, 4)]


SOME = some_mutants([*LATE, "block 4", "block 62"], *LATE[1::2], "block 62")


@pytest.mark.parametrize("which", marked("slow", SOME, "file 4"))
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

    sanitizer = response(8.0, many_words())
    if part == "block":
        monkeypatch.setattr(rewriting.randomness, "streams_for", made)
        assert sharing(sanitizer).startswith("two blocks of a line share")
        return
    monkeypatch.setattr(stream.randomness, "derive_key", derived)
    told = {"file": "two files", "copy": "two copies"}[part]
    assert_refuted(shared(sanitizer), told)


def test_no_word_of_an_input_is_in_a_sentence():
    one = response(8.0, many_words())
    found = shared(one)
    assert found.held
    told = found.sentence
    for what in ("64 lines of a file", "64 copies of a line"):
        assert what in told
    assert "10 files of up to 10,000 and 2 runs" in told
    assert not any(f" {word} " in told for word in one.embeddings.index_to_key)


@pytest.mark.slow
def test_numbers_by_value_are_kept():
    """They were always VIOLATED, mutant or not; what the guarantee leaves out is stated."""
    found = verify(response(8.0, many_words(), numbers="value"), words=12, draws=10_000)
    assert all(each.held for each in found.checks)
    assert found.configuration[0].stated
    assert found.verdict is Verdict.KEPT
