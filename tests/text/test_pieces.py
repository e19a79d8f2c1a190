"""Pieces are cut where no token is, and found by all of their bytes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsan.text import pieces as module
from dpsan.text.batch import BETWEEN, CHUNK, EMPTY, MARK
from dpsan.text.pieces import Codes, cut
from dpsan.text.tokens import TOKENIZERS

TEXTS = st.lists(
    st.text(st.characters(exclude_characters=MARK)) | st.text("0١９ ()+-.,:a "), min_size=1
)


@given(texts=TEXTS, last=st.booleans(), tails=st.booleans())
def test_nothing_is_lost_between_spaces(texts, last, tails):
    found = cut(texts, last=last, tails=tails)
    joined = f" {MARK} ".join(texts) + f" {MARK}" * (not last)
    assert " ".join(found.strings(slice(None), tails=True)) == joined
    behind = found.trailing(np.arange(len(found) - 1))
    assert all(each.endswith(" ") and not each.strip(module.TRAILING + " ") for each in behind)
    if not tails:
        assert not found.tails.any()


@given(texts=TEXTS)
@pytest.mark.parametrize("name", TOKENIZERS)
def test_no_token_goes_on_behind_a_piece(name, texts):
    split = TOKENIZERS[name].split
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
    strings = pieces.strings(slice(None))
    return pieces, [
        BETWEEN
        if each == MARK
        else EMPTY
        if not each and not tail
        else CHUNK
        if not 0 < len(each.encode("utf-8", "surrogatepass")) <= 24
        else code_of(each)
        for each, tail in zip(strings, pieces.tails, strict=True)
    ]


@given(many=st.lists(TEXTS), tails=st.booleans(), alike=st.booleans())
def test_a_code_is_that_of_all_bytes(many, tails, alike):
    with pytest.MonkeyPatch.context() as patched:
        if alike:  # every piece wants the same place
            patched.setattr(module, "_FACTORS", (0, 0, 0))
        patched.setattr(module, "_FIRST", 4)
        codes = Codes(code_of)
        for texts in [*many, *many]:
            pieces, expected = stated(texts, tails)
            assert codes(pieces).tolist() == expected


@pytest.mark.parametrize("shared", [0, 7, 8, 15, 16, 23])
def test_pieces_that_begin_alike_have_codes_of_their_own(monkeypatch, shared):
    monkeypatch.setattr(module, "_FACTORS", (0, 0, 0))  # and want the same place
    numbers = {"x" * shared + letter: place for place, letter in enumerate("abcde")}
    codes = Codes(numbers.__getitem__)
    for word, number in numbers.items():  # one after the other: each is found among the others
        assert codes(cut([word], last=True, tails=True)).tolist() == [number]
    assert codes(cut([*numbers], last=True, tails=True))[::2].tolist() == [*numbers.values()]


def test_a_piece_is_asked_for_once():
    asked = []
    codes = Codes(lambda piece: asked.append(piece) or 7)
    words = [f"{letter}{number}" for letter in "abcdefgh" for number in range(3000)]
    words += ["x" * size for size in range(1, 25)]
    for texts in ([" ".join(words)], words[::-1]):
        assert set(codes(cut(texts, last=True, tails=True)).tolist()) <= {7, BETWEEN}
    assert sorted(set(asked)) == sorted(words)
    assert len(asked) < 1.02 * len(words)  # some find no place
    assert not codes.full
    for start in range(0, 200_000, 10_000):
        codes(cut([f"w{start + number}" for number in range(10_000)], last=True, tails=True))
    assert codes.full


def test_threads_share_codes():
    codes = Codes(code_of)
    pieces, expected = stated([" ".join(f"{n % 977:x}y{n}" for n in range(40_000))], tails=True)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: codes(pieces), range(12)):
            assert found.tolist() == expected
