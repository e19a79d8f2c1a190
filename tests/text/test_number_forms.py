"""Numbers as places on a public grid: the same form, a valid value, nothing of the value in it."""

import datetime

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from dpsan.text.number_forms import MOST_DIGITS, formed_number
from dpsan.text.tokens import TOKENIZERS

# Written, the least and the largest number of its form.
FORMS = {
    "5": ("0", "9"),
    "42": ("10", "99"),
    "1234": ("1000", "9999"),
    "2023": ("1900", "2099"),
    "007": ("000", "099"),
    "1,284,105": ("1,000,000", "9,999,999"),
    "3.14": ("1.00", "9.99"),
    "0.50": ("0.00", "0.99"),
    "$1,000.50": ("$1,000.00", "$9,999.99"),
    "US$5": ("US$0", "US$9"),
    "1.000,50€": ("1.000,00€", "9.999,99€"),
    "$1.5bn": ("$1.0bn", "$9.9bn"),
    "10:30": ("00:00", "23:59"),
    "9:05": ("0:00", "9:59"),
    "10:30pm": ("01:00pm", "12:59pm"),
    "10:30:15,123": ("00:00:00,000", "23:59:59,999"),
    "2023-03-05": ("1900-01-01", "2099-12-28"),
    "2023-13-45": ("1900-01-01", "2099-12-28"),
    "03/05/2023": ("01/01/1900", "12/12/2099"),
    "5.3.2023": ("1.1.1900", "9.9.2099"),
    "2023-03-05T10:30:00+01:00": ("1900-01-01T00:00:00+00:00", "2099-12-28T23:59:59+12:00"),
    "2023-03-05T10:30:00.1Z": ("1900-01-01T00:00:00.0Z", "2099-12-28T23:59:59.9Z"),
    "2023-03-05 10:30": ("1900-01-01 00:00", "2099-12-28 23:59"),
    "192.168.1.1": ("100.100.0.0", "255.255.9.9"),
    "1/2": ("1/1", "9/9"),
    "2:1": ("1:1", "9:9"),
    "(408) 555-0123": ("(100) 000-0000", "(999) 999-9999"),
    "+1 408 555 0123": ("+1 000 000 0000", "+9 999 999 9999"),
    "555-0199": ("100-0000", "999-9999"),
}
WORDS = [
    "F-16",
    "10th",
    "5km",
    "covid-19",
    "a",
    "",
    "٣",
    "１２",
    "1" * (MOST_DIGITS + 1),
    "1\u200b2",
    "JIM$5",  # initials are no currency, and what surrounds the digits is written
    "Ж5€",
    "1/" + "1" * 5000,
    "1:" * 40 + "1",
]


@pytest.mark.parametrize("word", FORMS)
def test_the_grid_of_a_form(word):
    number = formed_number(word)
    least, largest = FORMS[word]
    assert number.written(0) == least
    assert number.written(number.size - 1) == largest
    assert 0 <= number.value < number.size
    for each in (least, largest):  # they are of the same form, at its ends
        again = formed_number(each)
        if again.pieces == number.pieces and again.fields == number.fields:
            assert again.value in (0, number.size - 1)


def test_what_is_no_number():
    assert [formed_number(word) for word in WORDS] == [None] * len(WORDS)


@given(
    word=st.sampled_from(sorted(FORMS)),
    digits=st.lists(st.integers(0, 9), min_size=20, max_size=20),
    share=st.floats(0, 1, exclude_max=True),
)
def test_a_number_becomes_one_of_its_form(word, digits, share):
    """Whatever the digits: as many, and as the tokenizer sees it one token and a number again."""
    rest = iter(digits)
    given_ = regex.sub("[0-9]", lambda _: str(next(rest)), word)
    number = formed_number(given_)
    out = number.written(int(share * number.size))
    assert regex.sub("[0-9]", "0", out) == regex.sub("[0-9]", "0", word)
    again = formed_number(out)
    assert (again.fields, again.size) == (number.fields, number.size)
    assert again.value == int(share * number.size)
    assert TOKENIZERS["unicode"].split(out)[1::2] == TOKENIZERS["unicode"].split(given_)[1::2] or (
        TOKENIZERS["unicode"].split(out) == ["", out, ""]
    )


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
    assert 1 <= int(number.written(int(share * number.size))[:2]) <= 12
