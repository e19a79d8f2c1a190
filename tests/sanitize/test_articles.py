"""*a* and *an* before a drawn word are written from the output, whichever stood in the input."""

import re
from dataclasses import fields, replace
from inspect import signature
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import audit_rows, cases, cut_long, embed, written_at

from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.batch import Layout
from dpsan.text.letter_case import LetterCase, NaturalCase, agree, article_for
from dpsan.text.tokens import TOKENIZERS, segments

KEY = b"k" * 32


def only(classes, **options):
    """A sanitizer that draws words of some classes alone."""
    return Sanitizer(only=classes, **options)


@pytest.fixture(scope="module")
def sensitive():
    return only("sensitive")


CONTEXTS = ["{} {} loan", "so {} \u201c{}\u201d", "so {} ({})", "so {} [{}] and", "so {}\u2014{}"]
CONTEXTS += ["so {} \u2013 {}", "so {}\u00a0{}", "so {} '{}'", "so {} **{}**", "It Was {} {} Loan"]
CONTEXTS += ["He Met {} {} Yesterday", "IT WAS {} {} LOAN"]
PAIRS = [("an", "$8,000", "a", "$9,000"), ("an", "\u20ac8", "a", "\u20ac7")]
PAIRS += [("an", "\u00a318", "a", "\u00a317"), ("an", "@adam_x", "a", "@maria_g")]
PAIRS += [("An", "Oslo", "A", "Boston"), ("AN", "ITALIAN", "A", "GERMAN"), ("An", "80", "A", "70")]


def article_and_output(line, context):
    """Return what is written for both places of a context."""
    before, gap, after = context.split("{}")
    return line[len(before) : len(line) - len(after)].split(gap, 1)


@pytest.mark.parametrize("context", CONTEXTS)
def test_an_article_does_not_tell_how_the_drawn_word_began(sensitive, context):
    """The two articles of the input give one and the same text."""
    for an, first, a, second in PAIRS:
        for word in (first, second):
            texts = [[context.format(article, word)] * 40 for article in (an, a)]
            one, other = (sensitive.sanitize(some, KEY).lines for some in texts)
            assert one == other
            for line in one:
                article, output = article_and_output(line, context)
                assert article.lower() == article_for(output)
                assert article[0] == an[0]
                loud = an[0] == "A" and word.isupper() and word.isalpha()
                assert article.isupper() == (loud or article == "A")


def test_an_article_before_a_number_by_value_fits_the_number_that_is_written():
    sanitizer = only("numbers", numbers="value", epsilon=4.0)
    texts = [f"{a} ${number},000 loan" for a in ("a", "an") for number in (7, 8)]
    lines = sanitizer.sanitize(texts * 60, KEY).lines
    assert {line.split()[0] for line in lines} == {"a", "an"}
    assert [line for line in lines if line.split()[0] != article_for(line.split()[1])] == []


NO_ARTICLES = ["A. Oslo", "A: Oslo", "A) Oslo", "(a) Oslo", "a. Oslo", "at 7 a.m. Oslo"]
NO_ARTICLES += ["Type A 80", "group A Oslo", "vitamin A, Oslo", "mark: A\nOslo", "a = 80", "a/80"]


@cases("text", *NO_ARTICLES, "an old man")
def test_an_a_that_is_no_article_stays(sensitive, text):
    pieces = TOKENIZERS["unicode"](text)
    where = next(at for at, piece in enumerate(pieces) if piece.lower() in ("a", "an"))
    for line in sensitive.sanitize([text] * 100, KEY).lines:
        assert TOKENIZERS["unicode"](line)[where] == pieces[where]


def test_articles_that_are_kept_stay():
    # The keep list says that they stay; one of them on it keeps both.
    done = only("places", keep=["An"]).sanitize(["a Oslo train"] * 40, KEY).lines
    assert {line.split(" ")[0] for line in done} == {"a"}


def test_an_article_before_a_span_or_a_mask_follows_the_output():
    words = ["hour", "house", "a", "an", "old", "ice", "tree"]
    embeddings = replace(embed(words, seed=0, spellings=words), english=True)
    krr = Sanitizer("krr", epsilon=2.0, embeddings=embeddings)
    spans = [[(3, 6)]] * 60
    done = [krr.sanitize([f"{a}ice"] * 60, KEY, spans=spans).lines for a in ("a  ", "an ")]
    one, other = ([line.split() for line in lines] for lines in done)
    assert one == other
    assert {tuple(line) for line in one} >= {("an", "hour"), ("a", "house")}
    masking = Sanitizer("krr", epsilon=2.0, embeddings=embeddings, unknown="mask", keep=["old"])
    texts = [[f"old {a} zyx"] * 40 for a in ("a", "an")]
    for lines in (
        masking.sanitize(some, KEY, spans=[[(0, 3), (6, 9)]] * 40).lines for some in texts
    ):
        assert set(lines) == {"old an <unk>"}


def test_a_wrapped_line_may_end_with_an_article(sensitive):
    lines = sensitive.sanitize(["so an\nOslo"] * 100, KEY).lines
    assert {line.split()[1] for line in lines} == {"a", "an"}


def test_articles_are_written_alike_with_and_without_an_audit(sensitive):
    """Without one, words that pass are written in runs."""
    text = "THEY HIT A GERMAN MAN AND AN OSLO MAN. It was A German man, an <b>80</b> a Oslo. " * 40
    done = [sensitive.sanitize([text], KEY, audit=audit).lines for audit in (True, False)]
    assert done[0] == done[1]


def test_articles_agree_across_stretches(monkeypatch):
    made = only("names,places")
    texts = ["an Oslo a Paris " * 60, "a x an Maria, " * 70, "MET AN OSLO MAN, a <b>Paris</b> " * 9]
    whole = made.sanitize(texts, KEY, [7, 8, 9])
    for stretch in (300, 302, 303, 305, 307, 311):
        with monkeypatch.context() as patch:
            cut_long(patch, stretch, 40, stretch + 1)
            assert made.sanitize(texts, KEY, [7, 8, 9]).lines == whole.lines


def test_an_article_outside_a_span_agrees_with_the_output_where_a_line_begins():
    """In a broken program "An" at the start of a line stayed."""
    one = Sanitizer(epsilon=2.0, vocab_size=3000)
    lines = one.sanitize(["An idea"] * 60, KEY, spans=[[(3, 7)]] * 60).lines
    articles = [line.split(" ", 1) for line in lines]
    assert all(article.lower() == article_for(word) for article, word in articles)
    assert {article for article, _ in articles} == {"A", "An"}


@cases(
    "text stays",
    ("Bitte schreiben Sie an Frau Albrecht oder an j.albrecht@example.de.", ["an", "an"]),
    ("Il y a Pauline, et il a 42 ans.", ["a", "a"]),
    ("He wrote to an Italian, and to a Dane.", None),
)
def test_a_text_of_another_language_has_no_articles(sensitive, text, stays):
    """The German *an* became *a* before a drawn address; in English it is chosen anew."""
    for line in sensitive.rewrite([text] * 40):
        found = re.findall(r"(?<!\S)an?(?= )", line)
        pairs = re.findall(r"\b(an?) (\w+)", line)
        assert found == (stays or [article_for(word) for _, word in pairs])


# ``case="natural"``: the default; free, and what it does to sanitizers, audits and pairs.


WORDS = ["the", "a", "an", "hour", "paris", "iphone", "house", "mcdonald", "5", "o'clock"]
SPELLINGS = ["the", "a", "an", "hour", "Paris", "iPhone", "house", "McDonald", "5", "o'clock"]


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


def test_the_bundled_vocabulary_knows_names_of_several_words():
    """Whatever capitals the input has: its words stay themselves at this epsilon."""
    sanitizer = Sanitizer("laplace", epsilon=2000.0)
    text = "judge hope met sara young. the us war began in new york, and the who knew it."
    said = "Judge Hope met Sara Young. The US war began in New York, and the WHO knew it."
    assert [sanitizer.rewrite(each) for each in (text, text.upper(), text.title())] == [said] * 3
    assert Sanitizer("laplace", epsilon=2000.0, case="vocabulary").rewrite(text) == text
