"""Dates and sizes of numbers with ``--only``: what is equal, near and in order."""

import re
from calendar import month_name
from collections import Counter
from datetime import date
from itertools import pairwise, product

import pytest
from support import cases
from support import drawn_often as drawn

from dpsan.only.permutations import Walk


def days(text):
    return [date(int(y), int(m), int(d)) for y, m, d in re.findall(r"(\d{4})-(\d\d)-(\d\d)", text)]


def test_equal_years_and_days_stay_equal():
    for out in drawn("From 2023-10-28 to 2023-11-05; in 2023 and on 2021-10-28."):
        first, second, third = days(out)
        assert first.year == second.year == int(re.search(r"in (\d{4})", out)[1])
        assert (first.month, first.day) == (third.month, third.day) != (second.month, second.day)
        assert first.year != third.year


def test_a_weekday_without_a_year_is_that_of_the_year_of_its_letter():
    names = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    letter = "21 November 2023\nShe, born 30 May 1987, a secondary teacher at a school of this town"
    for out in drawn(letter + " by the sea, comes on Tuesday 28 November."):
        year = int(re.search(r"\d{4}", out)[0])
        weekday, day, month = re.search(r"(\w+day) (\d+) (\w+)", out).groups()
        drawn_day = date(year, [*month_name].index(month), int(day))
        assert weekday == names[drawn_day.weekday()]


def test_dates_follow_each_other_by_some_days():
    for out in drawn("Admitted 2023-10-28, seen 2023-11-01, left 2023-11-05."):
        assert all(0 < (later - earlier).days < 20 for earlier, later in pairwise(days(out)))


def test_dates_keep_their_order_wherever_they_stand():
    text = "Left 2023-11-05, came 2023-10-28; 10:15 am and 2:30 pm, after 9:05 am. May, then March."
    for out in drawn(text):
        left, came = days(out)
        times = re.findall(r"(\d+):(\d+) ([ap])m", out)
        morning, evening, early = [(half, int(hour), int(rest)) for hour, rest, half in times]
        names = [*map([*month_name].index, re.findall("[A-Z][a-z]+", out)[-2:])]
        assert came < left
        assert early < morning < evening
        assert names[1] < names[0]


@cases(
    "text first",
    ("Born 14/03/1966, seen 02/05/2023.", 0),
    ("Born 03/14/1966, seen 05/02/2023.", 1),
    ids=["day first", "month first"],
)
def test_one_date_tells_which_number_is_the_day_of_all(text, first):
    pairs = [re.findall(r"(\d\d)/(\d\d)/", out) for out in drawn(text)]
    assert all(int(pair[1 - first]) <= 12 for found in pairs for pair in found)
    assert any(int(found[1][first]) > 12 for found in pairs)


def test_a_pulse_stays_one():
    pulses = {int(re.search(r"\d+", out)[0]) for out in drawn("pulse 100, he said")}
    assert pulses <= {*range(100, 110)}
    assert pulses - {100}


def test_no_number_of_a_walk_is_likelier_than_its_start():
    """All draws of four dates of two pools of 9, which begin at one of 5 or 9 numbers."""
    size = 9
    for room, start in ((0.0, 9), (3 / 7, 5)):
        counts = [Counter(), Counter(), Counter(), Counter()]
        assert Walk(size).plan_start(room) == start
        for first, *steps in product(range(start), *map(range, (2, 1, 2))):
            one = Walk(size)
            one.begin(first)
            two = Walk(size, calendar=one.calendar)
            walks = (one, one, two, one)
            numbers = [walk.take(value) for walk, value in zip(walks, (0, *steps), strict=True)]
            assert len({numbers[0], numbers[1], numbers[3]}) == 3
            for count, number in zip(counts, numbers, strict=True):
                count[number] += 1
        assert all(max(count.values()) <= 4 for count in counts)
        assert len(counts[0]) == start


def test_times_with_and_without_seconds_keep_their_order():
    text = "[08:00:01.250] up [08:00:02] on [08:01] off [08:01:30.001] up [09:15:00] down"
    for out in drawn(text):
        times = re.findall(r"\[([\d:.]+)\]", out)
        assert times == sorted(times)


def test_dates_of_one_text_leave_room_for_each_other():
    """Fifteen days ascend without a turn of the year."""
    text = "; ".join(f"2023-{month:02}-{day:02}" for month in (2, 5, 8) for day in range(10, 15))
    for out in drawn(text):
        assert days(out) == sorted(days(out))


def test_numbers_of_a_form_keep_their_order_where_there_are_many():
    for text in drawn("From 74 to 61, then 73; $421 and $655; 12.5% of 98.5%; 3, 2 and 4."):
        first, second, third, low, high, *rest = map(float, re.findall(r"\d+(?:\.\d+)?", text))
        assert (second < third < first, low < high) == (True, True)
        assert rest[0] != rest[1]
    few = [out.split(", ") for out in drawn("3, 2", 200)]
    # Of eight numbers: their order would tell much.
    assert {low < high for low, high in few} == {True, False}
    assert all(low != high for low, high in few)


def test_no_number_in_order_is_likelier_than_its_share():
    """The smaller of two among n numbers is one of them in less than 2 / n of the draws."""
    counts = Counter(out.split()[2] for out in drawn("74 or 61", 2000))
    assert max(counts.values()) < 2000 * 2 / 50 + 5 * (2000 * 2 / 50) ** 0.5
    assert len(counts) > 40


def test_long_numbers_that_begin_alike_stay_different():
    numbers = [str(100_003 + 7919 * at) for at in range(100)]
    for out in drawn(" and ".join(numbers), 5):
        assert len({*out.split(" and ")}) == len(numbers)


def test_a_time_with_a_dot_stays_one():
    for out in drawn("Come at 7.30, or on Friday at 10.43.", 20):
        hour, five, other, minute = re.findall(r"\d+", out)
        assert (int(five) % 5, int(minute) % 5 > 0, int(five) < 60) == (0, True, True)
        assert int(hour) in range(7, 10)
        assert int(other) in range(10, 19)


@cases(
    "text",
    "Logged at 10:40am, it began at 9.30, was mended at 10:52 and tried at 10:55.",
    "Found about 7.15am, hoisted back at 7.25, his daughter rung at 8.05.",
    "Come by 8:45 a.m., be back by 2:30 p.m.; it closes at 17:10.",
)
def test_times_of_all_forms_keep_one_order(text):
    """Some have a colon, some a dot, some are before noon; each is written as it was."""
    for out in [text, *drawn(text, 20)]:
        found = re.findall(r"(\d+)[:.](\d\d)(?: ?([ap])\.?m)?", out)
        times = [(int(h) % 12 + 12 * (p == "p") if p else int(h), int(m)) for h, m, p in found]
        if text == out:
            order = sorted(range(len(times)), key=times.__getitem__)
        assert [times[at] for at in order] == sorted({*times})


def test_a_year_of_two_digits_is_that_of_four():
    for out in drawn("Called on 4/12/25; he walked with us in 2011 and in 2025."):
        called, walked, again = (int(run) for run in re.findall(r"\d+$|\d\d(?=;)|20\d\d", out[:-1]))
        assert 2000 + called == again > walked


def test_equal_days_of_two_forms_stay_equal():
    for out in drawn("A visit on 22/01/2026, then 2026-01-22 and 2026-01-27."):
        day, month, _, _, *parts = map(int, re.findall(r"\d+", out)[:6])
        assert parts == [month, day]


def test_a_school_year_is_one_year():
    spans = {re.search(r"(\d{4})-(\d\d)", out).groups() for out in drawn("In 2026-27 and 2019-22.")}
    assert all((int(first) + 1) % 100 == int(last) for first, last in spans)
    assert len(spans) > 3


def test_the_offset_of_a_zone_stays_and_the_end_of_a_range_does_not():
    text = "2025-07-28T21:45:12+05:30 2025-07-28 21:45:20.125-0800 2025-07-28 10:30-11:45"
    outs = drawn(text)
    assert all(re.search(r"\+05:30 .*-0800 ", out) for out in outs)
    assert any(not out.endswith("-11:45") for out in outs)


def test_a_time_without_colons_stays_one_and_keeps_its_order():
    outs = drawn("20190714T063012Z up, 20190714T094512Z down, 20191102T1830+0100 up, Q3 FY19.")
    for out in outs:
        found = re.fullmatch(
            r"(\d{8})T(\d{6})Z up, (\d{8})T(\d{6})Z down, (\d{8})T\d{4}\+0100 up, Q[1-4] FY\d\d\.",
            out,
        )
        first, clock, second, later, third = found.groups()
        assert first == second
        assert clock < later
        assert date.fromisoformat(first) < date.fromisoformat(third)
        assert all(
            int(at[:2]) < 24 and int(at[2:4]) < 60 and int(at[4:]) < 60 for at in (clock, later)
        )
    assert len({*outs}) > 30


@pytest.mark.parametrize(("born", "begins"), [("2001", "2026"), ("01", "26")])
def test_the_year_of_birth_is_that_of_the_age(born, begins):
    """Until now the age followed from two drawn years: 2 years, of somebody who seeks work."""
    ages = set()
    for out in drawn(f"I am 24 years old, was born on 09/05/{born}, and begin on 28/04/{begins}."):
        age, *parts = map(int, re.findall(r"\d+", out))
        (day, month, year), (today, this_month, now) = parts[:3], parts[3:]
        assert re.search(rf"/\d{{{len(born)}}}, and", out)
        assert age == (now - year) % 100 - ((this_month, today) < (month, day))
        ages.add(age)
    assert min(ages) > 15
    assert len(ages) > 2
