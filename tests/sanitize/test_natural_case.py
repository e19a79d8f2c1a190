"""``case="natural"``: the default; free, and what it does to sanitizers, audits and pairs."""

from dataclasses import fields, replace
from inspect import signature
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import audit_rows, cut_long, embed, written_at

from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.batch import Layout
from dpsan.text.letter_case import LetterCase, NaturalCase, agree
from dpsan.text.tokens import TOKENIZERS, segments

WORDS = ["the", "a", "an", "hour", "paris", "iphone", "house", "mcdonald", "5", "o'clock"]
SPELLINGS = ["the", "a", "an", "hour", "Paris", "iPhone", "house", "McDonald", "5", "o'clock"]
KEY = b"k" * 32


def small(spellings=SPELLINGS, **options):
    embeddings = embed(WORDS, seed=0, spellings=spellings)
    return Sanitizer("krr", epsilon=2.0, embeddings=embeddings, **options)


def words_of(line):
    return set(TOKENIZERS["unicode"](line)[1::2])


def test_it_is_the_default():
    assert small().spec.case == LetterCase.NATURAL
    found = words_of(small().rewrite("paris the hour house. " * 200))
    assert {"Paris", "iPhone", "McDonald", "The", "House", "the", "house"} <= found
    assert not {"paris", "mcdonald", "iphone", "IPhone"} & found
    rows = [small().row_of(word) for word in ("Paris", "paris", "The", "house")]
    assert rows == [4, None, None, 6]
    assert small(case="vocabulary").row_of("paris") == 4
    # Without spellings only sentences get capitals, and no word is an English article.
    out = small(spellings=None).rewrite("paris the hour house an a. " * 200)
    assert {"paris", "Paris", "mcdonald", "Iphone"} <= words_of(out)
    assert "a hour" in out
    out = small(case="vocabulary").rewrite("a hour. the house " * 100)
    assert out == out.lower()
    assert "a hour" in out


def test_letter_case_and_articles_are_all_that_differs_under_one_key():
    texts = ["paris the hour. house an a zyx, McDonald's", "paris"] * 50
    plain = audit_rows(small(case="vocabulary").sanitize(texts, KEY, audit=True).records)
    done = small().sanitize(texts, KEY, audit=True)
    table, written = done.records, audit_rows(done.records)
    assert [r.output_id for r in written] == [r.output_id for r in plain]
    for one, other in zip(written, plain, strict=True):
        folded = {one.output.lower(), other.output}
        assert len(folded) == 1 or folded == {"a", "an"}
    # The audit records what is written.
    starts = written_at(table).tolist()
    lines = np.repeat(np.arange(len(texts)), table.sizes).tolist()
    for line, start, output in zip(lines, starts, table.outputs, strict=True):
        assert done.lines[line][start : start + len(output)] == output
    assert done.lines[1::2] == [each for each in done.lines[1::2] if each in SPELLINGS]


def test_words_that_pass_stay():
    kept = small(keep=["zyx", "A"]).sanitize(["zyx a hour. A HOUR, zyx's. zyx"], KEY, audit=True)
    outputs = [each.output for each in audit_rows(kept.records) if each.action is Action.KEPT]
    assert outputs == ["zyx", "a", "A", "zyx", "zyx"]
    assert kept.lines[0].startswith("zyx a ")
    masked = small(unknown="mask").rewrite("zyx hour. zyx hour")
    assert masked.startswith("<unk> ")
    assert ". <unk> " in masked


UNITS = st.lists(st.sampled_from([*WORDS, "ZYX", "Paris's", "a-b", "."]), min_size=1, max_size=8)
GAPS = st.lists(st.sampled_from([" ", ". ", '?" ', "\n"]), min_size=8, max_size=8)


@given(units=UNITS, gaps=GAPS, at=st.integers(0, 7))
def test_no_input_word_decides_how_another_is_written(units, gaps, at):
    """The whole program, one input word replaced: only the a or an before it may change."""
    sanitizer, place = small(), at % len(units)
    before = sum(map(len, units[:place])) + sum(map(len, gaps[:place]))

    def outputs(word):
        words = [*units[:place], word, *units[place + 1 :]]
        joined = "".join(a + b for a, b in zip(words, gaps, strict=False))
        records = audit_rows(sanitizer.sanitize([joined], KEY, audit=True).records)
        return [r.output for r in records], [r.start for r in records].index(before)

    one, where = outputs("paris")
    other, _ = outputs("HOUSE")
    for number, (a, b) in enumerate(zip(one, other, strict=True)):
        article = number == where - 1 and {a.lower(), b.lower()} <= {"a", "an"}
        assert a == b or number == where or article


def test_what_is_written_sees_no_input():
    """Outputs, their rows, and the gaps between them: its signatures have nothing else."""
    assert [field.name for field in fields(Layout)] == ["gaps", "sizes", "odd", "seam"]
    takes = ["self", "layout", "outputs", "rows", "continued"]
    assert [*signature(NaturalCase.write).parameters] == takes
    assert get_type_hints(NaturalCase.write)["layout"] is Layout
    assert [*signature(agree).parameters] == ["outputs", "gaps", "drawn", "at"]


PIECES = st.sampled_from(["a ", "an ", "hour ", "the. ", "b.a. ", "x ", "\n", "5\n"])


@given(text=st.lists(PIECES).map("".join))
def test_stretches_of_a_long_text_are_written_as_the_whole(text):
    sanitizer = small()
    (whole,) = sanitizer.sanitize([text], KEY).lines
    with pytest.MonkeyPatch.context() as patch:
        cut_long(patch, 12, 5, 4)
        (cut,) = sanitizer.sanitize([text], KEY).lines
        parts = len(list(segments(text, TOKENIZERS["unicode"])))
    assert len(text) < 40 or words_of(text) & {"a", "an"} or parts > 1
    assert cut == whole


def test_articles_before_the_seams_of_a_long_text_agree_where_sentences_end():
    embeddings = replace(embed(WORDS, seed=0, spellings=SPELLINGS), english=True)
    sanitizer = Sanitizer("krr", epsilon=2.0, embeddings=embeddings)
    text = "hour x paris x house the. " * 200
    (whole,) = sanitizer.sanitize([text], KEY).lines
    assert " an hour" in whole
    assert " a hour" not in whole
    for stretch in range(60, 70):
        with pytest.MonkeyPatch.context() as patch:
            cut_long(patch, stretch, 5, 4)
            assert len(list(segments(text, TOKENIZERS["unicode"]))) > 50
            assert sanitizer.sanitize([text], KEY).lines == [whole]


def test_the_bundled_vocabulary_knows_names_of_several_words():
    """Whatever capitals the input has: its words stay themselves at this epsilon."""
    sanitizer = Sanitizer("laplace", epsilon=2000.0)
    text = "judge hope met sara young. the us war began in new york, and the who knew it."
    said = "Judge Hope met Sara Young. The US war began in New York, and the WHO knew it."
    assert [sanitizer.rewrite(each) for each in (text, text.upper(), text.title())] == [said] * 3
    assert Sanitizer("laplace", epsilon=2000.0, case="vocabulary").rewrite(text) == text
