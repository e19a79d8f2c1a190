"""Natural case: where sentences begin, a or an, all of it read from the output alone."""

from dataclasses import fields

import numpy as np
import pytest

from dpsan.cli.options import Sanitizing
from dpsan.text.batch import Chunk
from dpsan.text.batch_of_pieces import joined
from dpsan.text.letter_case import (
    LetterCase,
    NaturalCase,
    agree,
    article_for,
    begins_sentence,
    capitalised,
)
from dpsan.text.tokens import TOKENIZERS, write_gaps


def test_the_command_line_knows_the_same_cases():
    option = {each.name: each for each in fields(Sanitizing)}["case"].metadata["parser"]
    assert list(LetterCase) == option.metavar.split("|")


BEGIN = """. |! |? |… |... |.  |.\t|." |.) |.” |. "|. (|. “|! ¿|?! | . | ' . "| ? |? "|. - """
CONTINUE = """ ||, |; |: |.|?|!|-| - | "| (|.,|., |?" |!” |." , |?), | ? " | ! '' |...|’s |. , """


def test_where_a_sentence_begins():
    lines = [".\u00a0", '.\n"', "\n", "\r\n", ",\n", "\u2028"]
    assert [gap for gap in BEGIN.split("|") + lines if not begins_sentence(gap)] == []
    assert [gap for gap in CONTINUE.split("|") if begins_sentence(gap)] == []
    for unit in (". ", ".", '."', '." ', "! ", "!   ", ".)", ", ", ".,", "? ''"):
        # A regular expression that goes back would take hours for a gap of a megabyte.
        begins_sentence(unit * 200_000 + ",")
        begins_sentence(unit * 200_000 + "x")


def test_capitals():
    words = ["the", "iPhone", "I'm", "8th", "o'clock", "élan", "ǆ", ""]
    written = ["The", "iPhone", "I'm", "8th", "O'clock", "Élan", "ǅ", ""]
    assert list(map(capitalised, words)) == written


AN = (
    "apple hour honest honor honours heir umbrella unidentified uncle unimportant urgent urn ugly"
    " us usher ultimate utter onerous oneida FBI MP NBA EU F X-ray e-mail I élan Ångström yttrium 8"
    " 8th 80 800 11 18 11th 18th 1850s 11,000 18,500 8,000,000 IRA SMS SUV HTML"
)
A = (
    "word house hotel history honolulu university unit united European euro eulogy ewe user useful"
    " usual uranium Ukraine Uganda Utah utility UK US UN UNESCO UFO one one-way once oneself ouija"
    " year yes NASA NATO BBC PhD U-turn t-shirt 1 7 100 118 1,800 110 1,100 180,000 118,000 Roman"
)


def test_articles():
    assert [word for word in AN.split() if article_for(word) != "an"] == []
    assert [word for word in A.split() if article_for(word) != "a"] == []
    assert {article_for(word) for word in ("Ж", "東京", "", "٣", "$", "(€9)")} == {"a"}
    assert {article_for(word) for word in ("$8,000", "@adam", "(€8)", "<unk>", "-11")} == {"an"}


ROWS = {"the": 0, "a": 1, "an": 2, "hour": 3, "Paris": 4, "iPhone": 5, "house": 6}
WRITTEN = {
    "the house. the house": "The house. The house",
    '"the house?" the house. "the house."': '"The house?" the house. "The house."',
    "the a.a. house": "The a.a. house",
    "house": "house",
    " house ": " house ",
    "house!": "House!",
    "house ...": "House ...",
    "iPhone the. iPhone": "iPhone the. iPhone",
    "kept the. kept the": "kept the. kept the",
    "a hour, an house": "An hour, a house",
    "the a hour an Paris": "The an hour a Paris",
    "the a, hour an\thour an\u2014Paris a": "The an, hour an\thour a\u2014Paris a",
    "the a apple": "The an apple",
    "the\nhouse": "The\nHouse",
    "a an house": "An a house",
    "": "",
    "...": "...",
}


@pytest.mark.parametrize("english", [True, False])
def test_written(english):
    """Words that were drawn, as they stand there; *an* is *on* in German, and no article."""
    own = WRITTEN if english else {"the an house": "The an house"}
    for text, written in own.items():
        pieces = TOKENIZERS["unicode"](text)
        outputs = pieces[1::2]
        write_gaps(pieces)
        batch = joined([Chunk(pieces[::2], outputs, [0] * len(outputs))])
        rows = np.array([ROWS.get(word, -1) for word in outputs], dtype=np.int64)
        natural = NaturalCase(ROWS, english=english)
        articles = np.flatnonzero(np.isin(rows, natural.articles)).tolist()
        agree(outputs, batch.gaps, rows >= 0, articles)
        natural.write(batch, outputs, rows)
        assert batch.lines(outputs) == [written]


SPELLINGS = "the judge hope us war royal navy new York I IBM university in"
USUAL = SPELLINGS.split()
NAMES = {word.lower(): row for row, word in enumerate(USUAL)}
CAPITALS = [
    ("hope", "Hope", "abm"),
    ("judge", "Judge", "bs"),
    ("us", "US", "t"),
    ("war", "War", "a"),
    ("royal", "Royal", "o"),
    ("navy", "Navy", "a"),
    ("new", "New", "bm"),
    ("university", "University", "a"),
    ("absent", "Absent", "a"),
]
SAID = {
    "the us war": "The US war",
    "in us. in war": "In us. In war",
    "judge hope": "Judge Hope",
    "in judge hope. judge hope": "In judge hope. Judge Hope",
    "in judge york": "In Judge York",
    "in new york university": "In New York University",
    "in new york, university": "In New York, university",
    "in new  york": "In new  York",
    "in york new york": "In York New York",
    "the royal navy": "The Royal Navy",
    "the royal hope": "The Royal Hope",
    "the royal in": "The royal in",
    "i hope": "I hope",
    "ibm university": "IBM university",
    "in passed university": "In passed university",
}


def test_names_of_several_words_have_capitals():
    """Words that were drawn, single spaces and public data decide; what passed has no say."""
    for text, written in SAID.items():
        pieces = TOKENIZERS["unicode"](text)
        rows = np.array([NAMES.get(word, -1) for word in pieces[1::2]], dtype=np.int64)
        drawn = zip(pieces[1::2], rows.tolist(), strict=True)
        outputs = [word if row < 0 else USUAL[row] for word, row in drawn]
        batch = joined([Chunk(pieces[::2], outputs, [0] * len(outputs))])
        natural = NaturalCase(NAMES, USUAL, english=True, capitals=CAPITALS)
        changed = natural.write(batch, outputs, rows)
        assert batch.lines(outputs) == [written]
        plain = [word if row < 0 else USUAL[row] for word, row in zip(outputs, rows, strict=True)]
        assert {at for at, word in enumerate(outputs) if word != plain[at]} <= {*changed.tolist()}
