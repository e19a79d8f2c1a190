"""A batch is what its texts are one by one; pieces are cut where no token is, and found again."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import write_gaps

from dpsan.text import batch as module
from dpsan.text.batch import BETWEEN, CHUNK, EMPTY, MARK, Codes, cut
from dpsan.text.lookup import Lookup
from dpsan.text.tokens import TOKENIZERS

_WORDS = """the Maria don't state-of-the-art 5bn 3.5 $5 U.S. x@y.com http://a.b/c naïve “quoted” — …
    ! ? Anna's Anna'S (see below) [1] -- 12 345 020 7946 0958 @me _x_ 日本 word, word?" no.The £5
    can't cannot\u200b \u200b co\u00adop + 1 2 ( ) :// . a,b "a" слово, слово नमस्ते, ١٢ ９ (020
    7) ... no. no: no) state). don't, 5bn; Maria! abcdefghijklmnopqrstuvwx
    abcdefghijklmnopqrstuvwxy, cannot """
_OTHERS = ["", " ", "\t", "\r\n", "\x00", "\x1f", "\u00a0", "x" * 70]
_OTHERS += ["GB12 EXMP 3M56 12", "é\u200bB1\x012 abcé 0123 4567 8", "xB12 EXMP ٣123 ٣4 ٣12"]
PIECES = st.sampled_from([*_WORDS.split(), *_OTHERS])
TEXTS = st.lists(st.lists(st.tuples(PIECES, st.sampled_from(["", " ", "  "])), max_size=8))
_KNOWN = "the слово abcdefghijklmnopqrstuvwx maria no state of art 5 do n't can't a"
ROWS = {word: row for row, word in enumerate(_KNOWN.split())}


def looked_up(name="unicode", keep=()):
    return Lookup(TOKENIZERS[name], ROWS, keep, len(ROWS))


@pytest.mark.parametrize("name", TOKENIZERS)
@given(texts=TEXTS, in_pieces=st.booleans())
@example(texts=[[("the", " "), (each, " ")] for each in _OTHERS[-3:]], in_pieces=True)
def test_a_batch_is_its_texts(name, texts, in_pieces):
    texts = ["".join(word + gap for word, gap in text) for text in texts]
    lookup = looked_up(name, ["Maria"])
    if in_pieces:
        texts = [text.replace("\0", "") for text in texts] or [""]
    split, words, codes = lookup.texts(texts)
    batch = lookup.of_pieces(texts) if in_pieces else lookup.batch(texts)
    if in_pieces:
        some = np.arange(len(words))[::-2]
        assert batch.words.some(some) == [words[at] for at in some.tolist()]
    assert ([*batch.words], batch.codes.tolist()) == (words, codes.tolist())
    read = [len(gap) for pieces in split for gap in pieces[:-1:2]]
    assert batch.invisible == sum(write_gaps(pieces) for pieces in split)
    assert batch.lines(words) == ["".join(pieces) for pieces in split]
    assert batch.sizes.tolist() == [len(pieces) // 2 for pieces in split]
    written, before = batch.gap_lengths()
    assert written.tolist() == [len(gap) for pieces in split for gap in pieces[:-1:2]]
    assert before.tolist() == read
    usual = {*range(len(batch.gaps))} - {*batch.odd.tolist()}
    assert all(batch.gaps[place] == " " for place in usual)
    assert all(one < other for one, other in pairwise(batch.odd.tolist()))


def test_a_word_that_holds_what_stands_between_texts_is_refused():
    """A word of the texts cannot: the seam has more marks than they have together."""
    batch = looked_up().batch(["the no", "", "art!"])
    with pytest.raises(ValueError, match="has NUL in it"):
        batch.lines(["a", f"b{batch.seam}c", "d"])
    texts = ["5\0 \0 5 5", "\0"]
    batch = looked_up().batch(texts)
    assert len(batch.lines([*batch.words])) == 2


def test_many_texts_are_one_batch():
    """Texts without words are one gap: were it made piece by piece, this would take hours."""
    texts = [f"the Maria, no{'.' * (number % 3)}" for number in range(600)]
    batch = looked_up().batch(texts)
    assert batch.lines([*batch.words]) == texts
    assert batch.codes.tolist() == [ROWS["the"], ROWS["maria"], ROWS["no"]] * 600
    for text in ("  ;  " * 40, "", "\0"):
        assert looked_up().batch([text] * 1000).lines([]) == [text.strip("\0")] * 1000


def test_memory_does_not_grow_with_long_strings():
    """Issue 39: caches were bounded by count, so that long strings took hundreds of megabytes."""
    lookup = looked_up()
    lookup.batch(["the first text"])
    tracemalloc.start()
    for number in range(200):
        lookup.batch([f"{number}{'x' * 20_000} the"])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000


IBANS = st.from_regex(r"[aé\u200b]{2,3}[0１]{2}\x01?( [a0é１\u200b]{4}){3,9}", fullmatch=True)
ANY = st.text(st.characters(exclude_characters=MARK)) | st.text("0１９ ()+-.,:a ")
ANY_TEXTS = st.lists(ANY | IBANS, min_size=1)


@settings(max_examples=50)
@given(texts=ANY_TEXTS, last=st.booleans(), tails=st.booleans())
def test_nothing_is_lost_between_spaces(texts, last, tails):
    found = cut(texts, last=last, tails=tails)
    joined = f" {MARK} ".join(texts) + f" {MARK}" * (not last)
    assert " ".join(found.strings(slice(None), tails=True)) == joined
    behind = found.trailing(np.arange(len(found) - 1))
    assert all(each.endswith(" ") and not each.strip(module.TRAILING + " ") for each in behind)
    if not tails:
        assert not found.tails.any()


@settings(max_examples=50)
@given(texts=ANY_TEXTS)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_token_goes_on_behind_a_piece(name, texts):
    split = TOKENIZERS[name]
    found = cut(texts[:1], last=True, tails=False).strings(slice(None))
    joined = [*split(found[0])]
    for piece in found[1:]:
        first, *rest = split(piece)
        joined[-1] += " " + first
        joined += rest
    assert joined == split(texts[0])


def test_digits_of_all_scripts_may_be_in_a_token_with_a_space():
    digits = [chr(code) for code in range(0x110000) if chr(code).isdecimal()]
    assert len(digits) > 600
    for digit in digits:
        assert len(cut([f"{digit} {digit}", f") {digit}"], last=True, tails=True)) == 3
    assert len(cut(["so to 5 or (5) of слово слово"], last=True, tails=True)) == 8


def code_of(piece):
    return CHUNK if piece.startswith("a") else len(piece) + 1000 * ord(piece[0])


def stated(texts, tails):
    """The codes, piece by piece."""
    pieces = cut(texts, last=True, tails=tails)

    def code(piece, tail):
        if piece == MARK or not (piece or tail):
            return BETWEEN if piece else EMPTY
        return code_of(piece) if 0 < len(piece.encode("utf-8", "surrogatepass")) <= 24 else CHUNK

    strings = pieces.strings(slice(None))
    return pieces, [code(*each) for each in zip(strings, pieces.tails, strict=True)]


@settings(max_examples=25)
@given(many=st.lists(ANY_TEXTS, max_size=4), tails=st.booleans(), alike=st.booleans())
def test_a_code_is_that_of_all_bytes(many, tails, alike):
    with pytest.MonkeyPatch.context() as patched:
        if alike:  # every piece wants the same place
            patched.setattr(module, "_FACTORS", (0, 0, 0))
        patched.setattr(module, "_FIRST", 4)
        codes = Codes(code_of)
        for texts in [*many, *many]:
            pieces, expected = stated(texts, tails)
            assert codes(pieces).tolist() == expected


@pytest.mark.parametrize("shared", [0, 7, 8, 16, 23])
def test_pieces_that_begin_alike_have_codes_of_their_own(monkeypatch, shared):
    monkeypatch.setattr(module, "_FACTORS", (0, 0, 0))  # and want the same place
    numbers = {"x" * shared + letter: place for place, letter in enumerate("abcde")}
    codes = Codes(numbers.__getitem__)
    for word, number in numbers.items():  # one after the other: each is found among the others
        assert codes(cut([word], last=True, tails=True)).tolist() == [number]
    assert codes(cut([*numbers], last=True, tails=True))[::2].tolist() == [*numbers.values()]


def test_threads_share_codes():
    codes = Codes(code_of)
    pieces, expected = stated([" ".join(f"{n % 977:x}y{n}" for n in range(40_000))], tails=True)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: codes(pieces), range(12)):
            assert found.tolist() == expected
