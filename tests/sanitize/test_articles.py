"""*a* and *an* before a drawn word are written from the output, whichever stood in the input."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from scipy.stats import fisher_exact
from support import cases, cut_long, embed

from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.letter_case import article_for
from dpsan.text.tokens import TOKENIZERS

KEY = b"k" * 32


def only(classes, **options):
    """A sanitizer that draws words of some classes alone."""
    return Sanitizer(only=classes, **options)


@pytest.fixture(scope="module")
def sensitive():
    return only("sensitive")


CONTEXTS = [
    "{} {} loan",
    "so {} \u201c{}\u201d",
    "so {} ({})",
    "so {} [{}] and",
    "so {}\u2014{}",
    "so {} \u2013 {}",
    "so {}\u00a0{}",
    "so {} '{}'",
    "so {} **{}**",
    "It Was {} {} Loan",
    "He Met {} {} Yesterday",
    "IT WAS {} {} LOAN",
]
PAIRS = [
    ("an", "$8,000", "a", "$9,000"),
    ("an", "\u20ac8", "a", "\u20ac7"),
    ("an", "\u00a318", "a", "\u00a317"),
    ("an", "@adam_x", "a", "@maria_g"),
    ("An", "Oslo", "A", "Boston"),
    ("AN", "ITALIAN", "A", "GERMAN"),
    ("An", "80", "A", "70"),
]


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


def test_articles_of_two_inputs_have_one_distribution():
    """Fisher's exact test between *an $8,000 loan* and *a $9,000 loan*."""
    sanitizer = only("numbers")
    counts = []
    for text in ("an $8,000 loan", "a $9,000 loan"):
        lines = sanitizer.sanitize([text] * 400, KEY).lines
        assert all(line.split()[0] == article_for(line.split()[1]) for line in lines)
        counts.append(Counter(line.split()[0] for line in lines))
    table = [[found["a"], found["an"]] for found in counts]
    assert fisher_exact(table).pvalue > 1e-6
    assert min(min(row) for row in table) > 0


def test_an_article_before_a_number_by_value_fits_the_number_that_is_written():
    sanitizer = only("numbers", numbers="value", epsilon=4.0)
    texts = [f"{a} ${number},000 loan" for a in ("a", "an") for number in (7, 8)]
    lines = sanitizer.sanitize(texts * 60, KEY).lines
    assert {line.split()[0] for line in lines} == {"a", "an"}
    assert [line for line in lines if line.split()[0] != article_for(line.split()[1])] == []


@cases(
    "text",
    "A. Oslo",
    "A: Oslo",
    "A) Oslo",
    "(a) Oslo",
    "a. Oslo",
    "at 7 a.m. Oslo",
    "Type A 80",
    "group A Oslo",
    "vitamin A, Oslo",
    "mark: A\nOslo",
    "a = 80",
    "a/80",
    "an old man",
)
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
    texts = [
        "an Oslo a Paris " * 60,
        "a x an Maria, " * 70,
        "MET AN OSLO MAN, a <b>Paris</b> " * 60,
    ]
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
