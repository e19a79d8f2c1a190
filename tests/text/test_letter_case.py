"""Natural case: where sentences begin, a or an, all of it read from the output alone."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsan.cli.sanitizing import Sanitizing
from dpsan.text.batch import Chunk, joined
from dpsan.text.letter_case import (
    LetterCase,
    NaturalCase,
    article_for,
    begins_sentence,
    capitalised,
    recased,
)
from dpsan.text.tokens import TOKENIZERS, write_gaps


def test_the_command_line_knows_the_same_cases():
    option = {each.name: each for each in fields(Sanitizing)}["case"].metadata["parser"]
    assert list(LetterCase) == option.metavar.split("|")


BEGIN = [
    *(
        ". ",
        "! ",
        "? ",
        "… ",
        "... ",
        ".  ",
        ".\t",
        '." ',
        ".) ",
        ".” ",
        '. "',
        ". (",
        ". “",
        "! ¿",
    ),
    *('.\n"', "\n", "\r\n", ",\n", "\u2028", "?! ", " . ", ' . "', " ? ", '? "', ". - ", ".\u00a0"),
]
CONTINUE = [
    *(" ", "", ", ", "; ", ": ", ".", "?", "!", "-", " - ", ' "', " (", ".,", "., ", '?" ', "!” "),
    *('." , ', "?), ", ' ? " ', " ! '' ", "...", "’s ", ". , "),
]


def test_where_a_sentence_begins():
    assert [gap for gap in BEGIN if not begins_sentence(gap)] == []
    assert [gap for gap in CONTINUE if begins_sentence(gap)] == []


@pytest.mark.parametrize("unit", [". ", ".", '."', '." ', "! ", "!   ", ".)", ", ", ".,", "? ''"])
def test_long_gaps_are_read_once(unit):
    """A regular expression that goes back would take hours for a gap of a megabyte."""
    begins_sentence(unit * 200_000 + ",")
    begins_sentence(unit * 200_000 + "x")


def test_capitals():
    words = ["the", "iPhone", "I'm", "8th", "o'clock", "élan", "ǆ", ""]
    written = ["The", "iPhone", "I'm", "8th", "O'clock", "Élan", "ǅ", ""]
    assert list(map(capitalised, words)) == written
    assert [recased(word, "paris") for word in ("MARIA", "Maria", "I", "maria", "5")] == [
        *("PARIS", "Paris", "Paris", "paris", "paris"),
    ]


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
    assert {article_for(word) for word in ("<unk>", "Ж", "東京", "", "٣")} == {None}


ROWS = {"the": 0, "a": 1, "an": 2, "hour": 3, "Paris": 4, "iPhone": 5, "house": 6}


def natural(text, english=True):
    """A text whose words were all drawn, as they stand there; kept: what the vocabulary lacks."""
    pieces = TOKENIZERS["unicode"].split(text)
    outputs = pieces[1::2]
    write_gaps(pieces)
    batch = joined([Chunk(pieces[::2], outputs, [0] * len(outputs))])
    rows = np.array([ROWS.get(word, -1) for word in outputs], dtype=np.int64)
    NaturalCase(ROWS, english=english).write(batch, outputs, rows)
    (line,) = batch.lines(outputs)
    return line


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("the house. the house", "The house. The house"),
        ('"the house?" the house. "the house."', '"The house?" the house. "The house."'),
        ("the a.a. house", "The a.a. house"),
        ("house", "house"),
        (" house ", " house "),
        ("house!", "House!"),
        ("house ...", "House ..."),
        ("iPhone the. iPhone", "iPhone the. iPhone"),
        ("kept the. kept the", "kept the. kept the"),
        ("a hour, an house", "An hour, a house"),
        ("the a hour an Paris", "The an hour a Paris"),
        ("the a, hour an\thour a", "The a, hour an\thour a"),
        ("the a apple", "The an apple"),
        ("the\nhouse", "The\nHouse"),
        ("a an house", "An a house"),
        ("", ""),
        ("...", "..."),
    ],
)
def test_written(text, written):
    assert natural(text) == written


def test_a_is_no_article_elsewhere():
    """*an* is *on* in German: a vocabulary of another language keeps its words."""
    assert natural("the an house", english=False) == "The an house"


TEXT = st.lists(
    st.tuples(
        st.sampled_from([*ROWS, "kept", "Owl", "8"]),
        st.sampled_from([" ", " ", " ", ". ", ".", '?" ', '." ', ", ", "\n", "'s ", ""]),
    ),
    min_size=1,
    max_size=12,
)


@given(pairs=TEXT, at=st.integers(0, 11), word=st.sampled_from(list(ROWS)))
def test_another_word_changes_nothing_else_but_the_article_before(pairs, at, word):
    """One word replaced: every other byte is the same, but for the a or an right before it."""
    at %= len(pairs)

    def written(words):
        pieces = ["", *[piece for pair in zip(words, gaps, strict=True) for piece in pair]]
        write_gaps(pieces)
        rows = np.array([ROWS.get(each, -1) for each in words], dtype=np.int64)
        outputs = list(words)
        batch = joined([Chunk(pieces[::2], outputs, [0] * len(outputs))])
        NaturalCase(ROWS, english=True).write(batch, outputs, rows)
        return outputs

    words, gaps = map(list, zip(*pairs, strict=True))
    one = written(words)
    words[at] = word
    other = written(words)
    for place, (a, b) in enumerate(zip(one, other, strict=True)):
        if place == at:
            continue
        articles = {a.lower(), b.lower()} <= {"a", "an"}
        assert a == b or (place == at - 1 and articles)
