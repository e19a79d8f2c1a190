"""``case="natural"``: the default; free, and what it does to sanitizers, audits and pairs."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import written_at

from dpsan.embeddings.base import Embeddings
from dpsan.privacy import randomness
from dpsan.sanitize import rewriting
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text import tokens
from dpsan.text.letter_case import LetterCase
from dpsan.text.tokens import TOKENIZERS, segments

WORDS = ["the", "a", "an", "hour", "paris", "iphone", "house", "mcdonald", "5", "o'clock"]
SPELLINGS = ["the", "a", "an", "hour", "Paris", "iPhone", "house", "McDonald", "5", "o'clock"]
KEY = b"k" * randomness.KEY_BYTES


def small(spellings=SPELLINGS, **options):
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)
    embeddings = Embeddings(WORDS, vectors, "small", "small", spellings=spellings)
    return Sanitizer("krr", epsilon=2.0, embeddings=embeddings, **options)


def words_of(line):
    return TOKENIZERS["unicode"].split(line)[1::2]


def test_it_is_the_default():
    assert small().spec.case == LetterCase.NATURAL
    out = small().rewrite(["paris the hour house. " * 200])[0]
    found = set(words_of(out))
    assert {"Paris", "iPhone", "McDonald", "The", "House", "the", "house"} <= found
    assert not {"paris", "mcdonald", "iphone", "IPhone"} & found


def test_words_without_spellings_are_as_the_file_has_them():
    """Only sentences get capitals, and no word is an English article."""
    out = small(spellings=None).rewrite(["paris the hour house an a. " * 200])[0]
    assert {"paris", "Paris", "mcdonald", "Iphone"} <= set(words_of(out))
    assert "a hour" in out


def test_the_same_words_as_in_the_vocabulary():
    """Golden words stay: letter case and articles are all that differs under one key."""
    texts = ["paris the hour. house an a zyx, McDonald's"] * 50
    plain = small(case="vocabulary").sanitize(texts, KEY, audit=True).records
    written = small().sanitize(texts, KEY, audit=True).records
    assert [r.output_id for r in written] == [r.output_id for r in plain]
    for one, other in zip(written, plain, strict=True):
        folded = {one.output.lower(), other.output}
        assert len(folded) == 1 or folded == {"a", "an"}


def test_audit_records_what_is_written():
    texts = ["paris the hour. house an a zyx, McDonald's", "paris"] * 20
    done = small(keep=["McDonald"]).sanitize(texts, KEY, audit=True)
    starts = written_at(done.records).tolist()
    lines = np.repeat(np.arange(len(texts)), done.records.sizes).tolist()
    for line, start, output in zip(lines, starts, done.records.outputs, strict=True):
        assert done.lines[line][start : start + len(output)] == output
    assert done.lines[1::2] == [each for each in done.lines[1::2] if each in SPELLINGS]


def test_words_that_pass_stay():
    kept = small(keep=["zyx", "A"]).sanitize(["zyx a hour. A HOUR, zyx's. zyx"], KEY, audit=True)
    outputs = [each.output for each in kept.records if each.action is Action.KEPT]
    assert outputs == ["zyx", "a", "A", "zyx", "zyx"]
    assert kept.lines[0].startswith("zyx a ")
    masked = small(unknown="mask").rewrite(["zyx hour. zyx hour"])[0]
    assert masked.startswith("<unk> ")
    assert ". <unk> " in masked
    passed = small(unknown="keep").rewrite(["zyx hour. zyx's"])[0]
    assert passed.startswith("zyx ")
    assert passed.endswith(". zyx's")


UNITS = st.lists(st.sampled_from([*WORDS, "ZYX", "Paris's", "a-b", "."]), min_size=1, max_size=8)


@given(
    units=UNITS, gaps=st.lists(st.sampled_from([" ", ". ", '?" ', "\n"]), min_size=8, max_size=8)
)
@pytest.mark.parametrize("at", [0, 2])
def test_no_input_word_decides_how_another_is_written(units, gaps, at):
    """The whole program, one input word replaced by another under the same key."""
    sanitizer = small()
    place = at % len(units)

    def outputs(word):
        text = [word if n == place else unit for n, unit in enumerate(units)]
        joined = "".join(a + b for a, b in zip(text, gaps, strict=False))
        records = sanitizer.sanitize([joined], KEY, audit=True).records
        where = [r.start for r in records].index(len("".join(
            a + b for a, b in zip(text[:place], gaps, strict=False)
        )))  # fmt: skip
        return [r.output for r in records], where

    one, where = outputs("paris")
    other, _ = outputs("HOUSE")
    for number, (a, b) in enumerate(zip(one, other, strict=True)):
        article = number == where - 1 and {a.lower(), b.lower()} <= {"a", "an"}
        assert a == b or number == where or article


def test_no_capital_of_the_input_is_copied():
    texts = ["paris the hour. an iphone, zyx's house a-b", "mcdonald"] * 20
    sanitizer = small()
    lines = sanitizer.sanitize(texts, KEY).lines
    for change in (str.upper, str.title, str.swapcase):
        other = [change(text).replace("'S", "'s") for text in texts]
        assert sanitizer.sanitize(other, KEY).lines == lines


@given(
    text=st.lists(st.sampled_from(["a ", "an ", "hour ", "the. ", "b.a. ", "x ", "\n", "5\n"])).map(
        "".join
    )
)
def test_stretches_of_a_long_text_are_written_as_the_whole(text):
    sanitizer = small()
    (whole,) = sanitizer.sanitize([text], KEY).lines
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "SEGMENT", 12)
        patch.setattr(tokens, "AHEAD", 5)
        patch.setattr(rewriting, "LONG", 4)
        (cut,) = sanitizer.sanitize([text], KEY).lines
        assert len(text) < 40 or len(list(segments(text, TOKENIZERS["unicode"].split))) > 1
    assert cut == whole


def test_batches_copies_and_pickles_write_the_same():
    texts = ["the hour. a", "", "a", "hour", ". the a", "an!"] * 10
    sanitizer = small()
    together = sanitizer.sanitize(texts, KEY).lines
    assert [sanitizer.sanitize([t], KEY, [n]).lines[0] for n, t in enumerate(texts)] == together
    assert pickle.loads(pickle.dumps(sanitizer)).sanitize(texts, KEY).lines == together


def test_rows_of_written_words():
    sanitizer = small()
    assert [sanitizer.row_of(word) for word in ("Paris", "paris", "The", "house")] == [
        4, None, None, 6,
    ]  # fmt: skip
    assert small(case="vocabulary").row_of("paris") == 4


@pytest.mark.parametrize("case", ["vocabulary", "input"])
def test_other_cases_add_nothing(case):
    out = small(case=case).rewrite(["a hour. the house"] * 100)
    assert all(line == line.lower() for line in out)
    assert any("a hour" in line for line in out)
