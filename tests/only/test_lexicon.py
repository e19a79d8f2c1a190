"""The public lists of --only: labels of words and phrases, and words that no list has."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import cases, tables

from dpsan.errors import EmbeddingError
from dpsan.only.hashes import Hashes, Table, hash_of, near_hashes
from dpsan.only.lexicon import Lexicon
from dpsan.only.view import LOWER, MIXED, TITLE, UPPER

CASES = tables("only/cases")

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)


def points(text):
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


@given(st.lists(WORDS, min_size=1, max_size=8))
def test_a_word_has_one_hash_wherever_it_stands(words):
    hashes = Hashes(points(" ".join(words)))
    ends = np.cumsum([len(word) + 1 for word in words]) - 1
    starts = ends - [len(word) for word in words]
    assert hashes.of(starts, ends).tolist() == [hash_of(word) for word in words]
    assert Hashes.of_words(words).tolist() == [hash_of(word) for word in words]


@given(WORDS)
def test_one_letter_less_is_hashed_without_making_the_string(word):
    shorter = [hash_of(word[:i] + word[i + 1 :]) for i in range(len(word))]
    assert near_hashes(word) == [hash_of(word), *shorter]
    assert Hashes(points(word)).shortened(np.array([0]), np.array([len(word)])).tolist() == shorter


@given(st.sets(WORDS, min_size=1), st.sets(WORDS))
def test_a_table_has_the_words_that_were_put_in_and_no_others(listed, others):
    words = sorted(listed)
    order, table = Table.order(Hashes.of_words(words), bits=3)
    stored = [words[i] for i in order]
    assert table.rows(Hashes.of_words(stored)).tolist() == list(range(len(words)))
    assert [table.row(word) for word in stored] == list(range(len(words)))
    absent = sorted(others - listed)
    assert (table.rows(Hashes.of_words(absent)) == -1).all()
    assert Table(table.tags, table.counts).rows(Hashes.of_words(words)).min() >= 0


def test_two_words_that_cannot_be_told_apart_are_refused():
    with pytest.raises(ValueError, match="one hash"):
        Table.order(Hashes.of_words(["maria", "maria"]), bits=3)


def test_labels_depend_on_capitals(lexicon):
    assert lexicon.label("monday", 1) == "day"
    assert [lexicon.label("young", column) for column in range(3)] == ["surname?"] * 3
    assert lexicon.label("us", 0) == "plain"
    assert lexicon.label("us", 2) == "countryabbr"
    assert lexicon.label("qendrim", 1) is None


def test_phrases_begin_with_words_that_open_phrases(lexicon):
    phrases = lexicon.lines("phrases.txt")
    assert (lexicon.phrases.rows(Hashes.of_words(phrases)) >= 0).all()
    first = lexicon.table.rows(
        Hashes.of_words([phrase.split()[0].removesuffix("'s") for phrase in phrases])
    )
    assert lexicon.opens_phrase[first].all()
    assert not lexicon.opens_phrase[lexicon.table.row("ibuprofen")]


def test_every_listed_word_is_in_the_table(lexicon):
    words = lexicon.lines("words.txt")
    rows = lexicon.table.rows(Hashes.of_words(words))
    assert sorted(rows.tolist()) == list(range(len(lexicon.codes)))


def test_capitals_fold_and_accents_are_letters(lexicon):
    assert chr(lexicon.fold[ord("É")]) == "é"
    assert chr(lexicon.fold[ord("’")]) == "'"
    letters = lexicon.bits[[ord(char) for char in "aZéßЖ中"]]
    assert (letters & 1).all()
    assert (lexicon.bits[[ord(char) for char in "0 .\n@"]] & 1 == 0).all()


@cases("word label", *CASES["unlisted"])
def test_words_that_no_list_has(lexicon, word, label):
    capitals = (LOWER, TITLE, UPPER)[word[0].isupper() + word.isupper()]
    assert lexicon.unlisted(word.lower(), capitals) == label


def test_a_name_of_ordinary_parts_passes(lexicon):
    assert lexicon.unlisted("filenotfound", MIXED, ("file", "not", "found")) == "plain"
    assert lexicon.unlisted("filenotfound", TITLE, ("file", "not", "found")) == "camel"
    assert lexicon.unlisted("qendrimerror", MIXED, ("qendrim", "error")) == "plain"
    assert lexicon.unlisted("filenotqendrim", MIXED, ("file", "not", "qendrim")) == "unknown"


def test_a_misspelt_name_does_not_pass(lexicon):
    assert lexicon.near("jessicca", lexicon.near_names)
    assert lexicon.unlisted("jessicca", LOWER) == "unknown"


def test_damaged_lists_are_refused(lexicon, tmp_path):
    folder = shutil.copytree(lexicon.folder, tmp_path / "lists")
    (folder / "arrays.bin").write_bytes(b"short")
    with pytest.raises(EmbeddingError, match="the lists are damaged"):
        Lexicon(folder)


def test_the_manifest_vouches_for_the_files(lexicon):
    import hashlib

    manifest = json.loads((lexicon.folder / "manifest.json").read_bytes())
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((lexicon.folder / name).read_bytes()).hexdigest() == digest
