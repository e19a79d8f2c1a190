import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsan.text.numerals import number, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1284105, "1,284,105"),
        (1.02728e7, "10.3 million"),
        (7.999999999999999, "8"),
        (8.0, "8"),
        (0.0, "0"),
        (0, "0"),
        (12727.9, "12,728"),
        (123456.7, "123,457"),
        (999999.7, "1 million"),
        (999.6e6, "1 billion"),
        (2.5e12, "2.5 trillion"),
        (1e15, "1e15"),
        (1.5e-6, "1.5e-6"),
        (0.0012345678, "0.0012346"),
        (-3.5, "-3.5"),
        (None, "infinite"),
        (math.inf, "infinite"),
    ],
)
def test_numbers_for_people(value, text):
    assert number(value) == text


@given(st.floats(-1e14, 1e14))
def test_what_is_read_is_what_was_meant(value):
    text = number(value)
    names = {"million": 1e6, "billion": 1e9, "trillion": 1e12}
    figure, _, name = text.replace(",", "").partition(" ")
    assert "e+" not in text
    assert float(figure) * names.get(name, 1) == pytest.approx(value, rel=5e-3)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "under 1 %"), (0.144, "14 %"), (0.99, "99 %"), (0.996, "over 99 %"), (1, "over 99 %")],
)
def test_shares(share, text):
    assert percent(share) == text
