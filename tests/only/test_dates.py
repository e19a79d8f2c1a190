"""Dates and sizes of numbers with ``--only``: what is equal, near and in order."""

import re
from collections import Counter
from datetime import date
from itertools import pairwise, product

import pytest

from dpsan import Sanitizer
from dpsan.only.permutations import Calendar, Walk

SEEDS = range(40)


def drawn(text, seed):
    return Sanitizer(only="sensitive", seed=seed).rewrite(text)


def days(text):
    return [date(int(y), int(m), int(d)) for y, m, d in re.findall(r"(\d{4})-(\d\d)-(\d\d)", text)]


def test_equal_years_and_days_stay_equal():
    for seed in SEEDS:
        out = drawn("From 2023-10-28 to 2023-11-05; in 2023 and on 2021-10-28.", seed)
        first, second, third = days(out)
        assert first.year == second.year == int(re.search(r"in (\d{4})", out)[1])
        assert (first.month, first.day) == (third.month, third.day) != (second.month, second.day)
        assert first.year != third.year


def test_dates_follow_each_other_by_some_days():
    """But for the turn of a year, which the walk does not know."""
    turns = 0
    for seed in SEEDS:
        out = days(drawn("Admitted 2023-10-28, seen 2023-11-01, left 2023-11-05.", seed))
        gaps = [(later - earlier).days for earlier, later in pairwise(out)]
        turns += min(gaps) < 0
        assert all(0 < gap < 20 or gap < -300 for gap in gaps)
    assert turns < len(SEEDS) / 4


@pytest.mark.parametrize(
    ("text", "first"),
    [("Born 14/03/1966, seen 02/05/2023.", 0), ("Born 03/14/1966, seen 05/02/2023.", 1)],
    ids=["day first", "month first"],
)
def test_one_date_tells_which_number_is_the_day_of_all(text, first):
    pairs = [re.findall(r"(\d\d)/(\d\d)/", drawn(text, seed)) for seed in SEEDS]
    assert all(int(pair[1 - first]) <= 12 for found in pairs for pair in found)
    assert any(int(found[1][first]) > 12 for found in pairs)


def test_days_are_written_without_zeros_where_one_date_has_none():
    for seed in SEEDS:
        out = drawn("On 10/28/2023 and 1/5/2023, he said.", seed)
        assert not re.search(r"(?<!\d)0", out)


def test_a_number_keeps_its_size():
    for seed in SEEDS:
        out = drawn("Lengths of 142, 12, 44, 97 and 980, he said.", seed)
        a, b, c, d, e = map(int, re.findall(r"\d+", out))
        assert 100 <= a < 250
        assert 10 <= b < 25
        assert 25 <= c < 50
        assert 50 <= d < 100
        assert 500 <= e < 1000


def test_each_number_of_a_walk_is_uniform():
    """All draws of four dates of two pools of 7: what the first is, each is."""
    size = 7
    counts = [Counter(), Counter(), Counter(), Counter()]
    bounds = [2, 1, 2]
    for first, *steps in product(range(size), *map(range, bounds)):
        calendar = Calendar()
        one, two = Walk(size, calendar=calendar), Walk(size, calendar=calendar)
        walks = (one, one, two, one)
        numbers = [walk.take(value) for walk, value in zip(walks, (first, *steps), strict=True)]
        assert len({numbers[0], numbers[1], numbers[3]}) == 3
        for count, number in zip(counts, numbers, strict=True):
            count[number] += 1
    assert all(set(count.values()) == {4} and len(count) == size for count in counts)
