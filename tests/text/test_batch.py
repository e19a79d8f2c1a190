"""A batch of texts in one row of words is what its texts are one by one."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsan.text.lookup import Lookup
from dpsan.text.tokens import TOKENIZERS, write_gaps

_WORDS = """the Maria don't state-of-the-art 5bn 3.5 $5 U.S. x@y.com http://a.b/c naïve “quoted” — …
    ! ? Anna's Anna'S (see below) [1] -- 12 345 020 7946 0958 @me _x_ 日本 word, word?" no.The £5
    can't cannot\u200b \u200b co\u00adop + 1 2 ( ) :// . a,b "a" слово, слово नमस्ते, ١٢ ９ (020
    7) ... no. no: no) state). don't, 5bn; Maria! abcdefghijklmnopqrstuvwx
    abcdefghijklmnopqrstuvwxy, """
_OTHERS = ["", " ", "\t", "\r\n", "\x00", "\x1f", "\u00a0", "x" * 70]
PIECES = st.sampled_from([*_WORDS.split(), *_OTHERS])
TEXTS = st.lists(st.lists(st.tuples(PIECES, st.sampled_from(["", " ", "  "])), max_size=8))
_KNOWN = "the слово abcdefghijklmnopqrstuvwx maria no state of art 5 do n't can't a"
ROWS = {word: row for row, word in enumerate(_KNOWN.split())}


@pytest.mark.parametrize("name", TOKENIZERS)
@given(texts=TEXTS, in_pieces=st.booleans())
def test_a_batch_is_its_texts(name, texts, in_pieces):
    texts = ["".join(word + gap for word, gap in text) for text in texts]
    lookup = Lookup(TOKENIZERS[name].split, ROWS, ["Maria"], len(ROWS))
    if in_pieces:
        texts = [text.replace("\0", "") for text in texts] or [""]
    split, words, codes = lookup.texts(texts)
    batch = lookup.of_pieces(texts) if in_pieces else lookup.batch(texts)
    if in_pieces:
        some = np.arange(len(words))[::-2]
        assert batch.words.some(some) == [words[at] for at in some.tolist()]
    assert ([*batch.words], batch.codes.tolist()) == (words, codes.tolist())
    read = [len(gap) for pieces in split for gap in pieces[:-1:2]]
    dropped = sum(write_gaps(pieces)[1] for pieces in split)
    assert batch.invisible == dropped
    assert batch.lines(words) == ["".join(pieces) for pieces in split]
    assert batch.sizes.tolist() == [len(pieces) // 2 for pieces in split]
    written, before = batch.gap_lengths()
    assert written.tolist() == [len(gap) for pieces in split for gap in pieces[:-1:2]]
    assert before.tolist() == read
    usual = {*range(len(batch.gaps))} - {*batch.odd.tolist()}
    assert all(batch.gaps[place] == " " for place in usual)
    assert all(one < other for one, other in pairwise(batch.odd.tolist()))


def test_a_word_may_hold_what_stands_between_texts():
    batch = Lookup(TOKENIZERS["unicode"].split, ROWS, (), len(ROWS)).batch(["the no", "", "art!"])
    assert batch.lines(["a", f"b{batch.seam}c", "d"]) == [f"a b{batch.seam}c", "", "d!"]


def test_many_texts_are_one_batch():
    texts = [f"the Maria, no{'.' * (number % 3)}" for number in range(2500)]
    lookup = Lookup(TOKENIZERS["unicode"].split, ROWS, (), len(ROWS))
    batch = lookup.batch(texts)
    assert batch.lines([*batch.words]) == texts
    assert batch.codes.tolist() == [ROWS["the"], ROWS["maria"], ROWS["no"]] * 2500
    assert len(lookup.batch(texts[:1024]).sizes) == 1024


def test_texts_without_words_are_one_gap():
    """Were it made longer piece by piece, this would take hours."""
    lookup = Lookup(TOKENIZERS["unicode"].split, ROWS, (), len(ROWS))
    for text in ("  ;  " * 40, "", "\0"):
        batch = lookup.batch([text] * 5_000)
        assert batch.lines([]) == [text.strip("\0")] * 5_000


def test_memory_does_not_grow_with_long_strings():
    """Issue 39: caches were bounded by count, so that long strings took hundreds of megabytes."""
    lookup = Lookup(TOKENIZERS["unicode"].split, ROWS, (), len(ROWS))
    lookup.batch(["the first text"])
    tracemalloc.start()
    for number in range(200):
        lookup.batch([f"{number}{'x' * 20_000} the"])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000
