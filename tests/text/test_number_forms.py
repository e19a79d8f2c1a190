"""Numbers as places on a public grid: the same form, a valid value; and numbers for people."""

import datetime
import math
from collections import Counter

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from support import tables

from dpsan.errors import number as numeral
from dpsan.errors import percent
from dpsan.text.number_forms import MOST_DIGITS, formed_number
from dpsan.text.tokens import TOKENIZERS

FORMS = {word: ends for word, *ends in tables("text/cases")["forms"]}
# 5bn has the shape of 5km; initials are no currency, and what surrounds the digits is written.
WORDS = ["", "F-16", "10th", "5km", "5bn", "10:30x", "10:30Z", "covid-19", "a", "JIM$5", "Ж5€"]
WORDS += ["1" * (MOST_DIGITS + 1), "1/" + "1" * 5000, "1:" * 40 + "1"]


def test_the_grid_of_a_form():
    for word, ends in FORMS.items():
        number = formed_number(word)
        assert (number.written(0), number.written(number.size - 1)) == tuple(ends)
        assert 0 <= number.value < number.size
        for again in map(formed_number, ends):  # they are of the same form, at its ends
            if again.pieces == number.pieces and again.fields == number.fields:
                assert again.value in (0, number.size - 1)
    assert [formed_number(word) for word in WORDS] == [None] * len(WORDS)
    # Else a reader would see that a number was written in another script.
    for other in ("٢٠٢٤", "２０２４", "20\u200b24"):
        assert formed_number(other) == formed_number("2024")


def shape(word):
    """A token with its digits and letters all alike, and one sign for all time zones."""
    word = regex.sub(r"\p{L}", "a", regex.sub("[0-9]", "0", word))
    return regex.sub("(?<=:00)[+−-](?=00)", "+", word)


def of_the_same_shape(word, chosen):
    rest = iter(chosen)
    return regex.sub(r"[0-9]|\p{L}", lambda sign: next(rest)["0" <= sign[0] <= "9"], word)


PAIRS = st.tuples(st.sampled_from("apmbnAPMSUTZzß"), st.sampled_from("0123456789"))
CHOSEN = st.lists(PAIRS, min_size=30, max_size=30)


@given(word=st.sampled_from(sorted(FORMS)), chosen=CHOSEN, share=st.floats(0, 1, exclude_max=True))
def test_no_digit_and_no_letter_shows_in_the_form(word, chosen, share):
    """Years, zeros in front, am and pm, time zones, currencies and units were seen in outputs.

    Two numbers of one shape have one grid, so each output of one may be that of the other.
    """
    number, other = formed_number(word), formed_number(of_the_same_shape(word, chosen))
    assert (number.size, number.pieces, number.fields) == (other.size, other.pieces, other.fields)
    out = number.written(int(share * number.size))
    assert out == other.written(int(share * number.size))
    assert shape(out) == shape(word)
    again = formed_number(out)  # a number of the form, and the tokenizer cuts it in no other places
    assert (again.fields, again.size) == (number.fields, number.size)
    assert abs(again.value - int(share * number.size)) < number.widest
    assert again.written(again.value) == out
    assert TOKENIZERS["unicode"](out)[::2] == TOKENIZERS["unicode"](word)[::2]


@given(digits=st.text("0123456789", min_size=1, max_size=15), mark=st.sampled_from(["", ",", "."]))
def test_every_number_of_digits_has_a_place_of_its_own(digits, mark):
    """None is moved to another: what is drawn is near the number itself."""
    word = f"{digits[:-2]}{mark}{digits[-2:]}" if mark and len(digits) > 2 else digits
    number = formed_number(word)
    assert number.written(number.value) == word


NEIGHBOURS = "11:59am-12:00pm 12:59pm-01:00pm 9:59am-1:00pm 99-00 0.99-1.00 1999-2000 1899-1900"


def test_neighbours():
    for pair in [*NEIGHBOURS.split(), "2099-2100"]:
        number, after = map(formed_number, pair.split("-"))
        assert after.value - number.value in range(1, number.widest + 1)


def test_a_year_is_mostly_a_near_year():
    """Four digits alone: a year has 50 places, each other number one."""
    number = formed_number("2004")
    written = Counter(map(number.written, range(number.size)))
    years = {str(year) for year in range(1900, 2100)}
    assert {word for word, count in written.items() if count == 50} == years
    assert len(written) == 10_000
    assert sum(written.values()) == number.size == 200 * 50 + 9800
    assert formed_number("$2004").size == formed_number("20.04").size == 10_000


@given(share=st.floats(0, 1, exclude_max=True))
def test_dates_and_times_are_valid(share):
    for word in ("2023-03-05", "2023-03-05T10:30:00+01:00", "2023-03-05T10:30:00.123Z"):
        number = formed_number(word)
        datetime.datetime.fromisoformat(number.written(int(share * number.size)))
    number = formed_number("31/12/2023")
    first, second, year = map(int, number.written(int(share * number.size)).split("/"))
    datetime.date(year, first, second)
    datetime.date(year, second, first)
    number = formed_number("10:30pm")
    datetime.datetime.strptime(number.written(int(share * number.size)), "%I:%M%p")


WRITTEN = {
    **{1284105: "1,284,105", 1.02728e7: "10.3 million", 7.999999999999999: "8", 8.0: "8", 0: "0"},
    **{12727.9: "12,728", 123456.7: "123,457", 999999.7: "1 million", 999.6e6: "1 billion"},
    **{2.5e12: "2.5 trillion", 1e15: "1e15", 1.5e-6: "1.5e-6", 0.0012345678: "0.0012346"},
    **{-3.5: "-3.5", None: "infinite", math.inf: "infinite"},
}
SHARES = {0.0: "under 1 %", 0.144: "14 %", 0.99: "99 %", 0.996: "over 99 %", 1: "over 99 %"}


def test_numbers_and_shares_for_people():
    assert {value: numeral(value) for value in WRITTEN} == WRITTEN
    assert {share: percent(share) for share in SHARES} == SHARES


@given(st.floats(-1e14, 1e14))
def test_what_is_read_is_what_was_meant(value):
    text = numeral(value)
    names = {"million": 1e6, "billion": 1e9, "trillion": 1e12}
    figure, _, name = text.replace(",", "").partition(" ")
    assert "e+" not in text
    assert float(figure) * names.get(name, 1) == pytest.approx(value, rel=5e-3)
