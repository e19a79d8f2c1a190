"""Sums, steps and weekdays of an output with ``--only``: what followed from others still does."""

import re
from calendar import day_name, month_name
from datetime import date
from itertools import pairwise

import pytest
from support import drawn_often as drawn

from dpsan.only.decision import decide
from dpsan.only.numerals import minute, read
from dpsan.only.results import follow
from dpsan.only.sums import BELOW, INSIDE, TOTAL
from dpsan.sanitize.sanitizer import Sanitizer

INVOICE = """3 x Oak shelf at £12.50 = £37.50
2 x Bracket set at £8.00 = £16.00
Subtotal £53.50
VAT 20% £10.70
Total £64.20"""


def numbers(text):
    return [float(run.replace(",", "")) for run in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def test_an_invoice_adds_up():
    for out in drawn(INVOICE):
        count, price, first, more, other, second, subtotal, percent, tax, total = numbers(out)
        assert first == pytest.approx(count * price)
        assert second == pytest.approx(more * other)
        assert subtotal == pytest.approx(first + second)
        assert tax == pytest.approx(subtotal * percent / 100, abs=0.006)
        assert total == pytest.approx(subtotal + tax)
    assert len(set(drawn(INVOICE))) > 1


def test_what_is_left_of_a_sum_whose_parts_follow_it():
    left = []
    for out in drawn(
        "It was $1,850: bed $620, lamp $430, rug $800. They paid $70, I claim $1,780."
    ):
        whole, bed, lamp, rug, paid, claimed = numbers(out)
        assert bed + lamp + rug == whole
        left += [claimed == whole - paid] if paid < whole else []
    assert left
    assert all(left)


def test_columns_of_a_table_add_up():
    table = "Rent\t412.00\t300.50\nFood\t251.25\t120.00\nFuel\t88.10\t61.40\nAll\t751.35\t481.90"
    for out in drawn(table):
        left, right = numbers(out)[::2], numbers(out)[1::2]
        assert left[-1] == pytest.approx(sum(left[:-1]))
        assert right[-1] == pytest.approx(sum(right[:-1]))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("Opened at 1,204.55, rent -750.00: 454.55.", lambda a, b, c: a == pytest.approx(b + c)),
        ("Of 120 members 78 voted for it and 42 against.", lambda a, b, c: a == b + c),
        ("He paid $15,000 and $10,000, together $25,000.", lambda a, b, c: c == a + b),
        ("It rises from £420 to £483 (15%).", lambda a, b, p: b == round(a * (100 + p) / 100)),
        ("They want £6,900, up from £5,750, 20% more.", lambda a, b, p: (
            abs(a - b * (100 + p) / 100) <= 0.5
        )),
        ("It rises by 8% and costs €5.40 instead of €5.00.", lambda p, a, b: (
            a == pytest.approx(b * (100 + p) / 100, abs=0.006)
        )),
        ("From 2003 to 2017 he had 3 ill days in 14 years.", lambda a, b, _, n: n == b - a > 1),
        ("My plan is 32.00 a month, and you took £32.00.", lambda a, b: a == b),
        ("They agreed on 15% (€117 of €780).", lambda p, a, b: a == round(b * p / 100)),
        ("On 9 April £229.00, £31.80, less £26.08, all £234.72.", lambda _, a, b, c, d: (
            d == pytest.approx(a + b - c)
        )),
        ("LDL 4.1 (1.8-3.0) HIGH.", lambda value, low, high: value > high > low),
        ("He pays £18,400 plus 20% VAT, £22,080.", lambda a, p, b: b == round(a * (100 + p) / 100)),
        ("They spent 40% on staff, 35% on rooms, 25% on travel.", lambda *p: sum(p) == 100),
        ("Last year 84 of 96 families (88%) came.", lambda a, b, p: abs(100 * a / b - p) <= 0.5),
        ("You owe $1,200.00 in 4 parts of $300.00.", lambda a, n, b: a == pytest.approx(n * b)),
        ("Price 375.49, less 10% -37.55.", lambda a, p, b: abs(a * p / 100 - b) < 0.006),
        ("A fee of $80.00 on $455.20, so $80.", lambda a, _, b: abs(a - b) <= 0.5),
        ("Price 375.49, less 37.55, post 12.00, all 349.94.", lambda a, b, c, d: (
            d == pytest.approx(a - b + c)
        )),
    ],
)  # fmt: skip
def test_numbers_that_follow_from_others_still_do(text, holds):
    outs = drawn(text)
    assert all(holds(*numbers(out)) for out in outs)
    assert len(set(outs)) > len(outs) / 2


def test_ages_that_add_up_by_chance_are_ages():
    for out in drawn("At 12 came Ann Case, 59, at 13 Grace Young, 84, who knew 45 people.", 12):
        ages = re.findall(r", (\d+),", out)
        assert [int(age) for age in ages] == [pytest.approx(70, abs=20)] * 2


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("System design 4/5, coding 3/5 (a hint), communication 5/5.", r"[1-5]/5"),
        ("Vocabulary tests 12/20, 9/20, 14/20.", r"\d+/20"),
        ("ibuprofen 400 mg for gout, pain 8/10 to 4/10 now.", r"\d/10"),
    ],
)
def test_scores_keep_their_whole(text, pattern):
    for out in drawn(text):
        assert all(re.fullmatch(pattern, pair) for pair in re.findall(r"\d+/\d+", out))
    assert len(set(drawn(text))) > 1


def test_a_scale_from_3_to_15_stays_within_it():
    for out in drawn("GCS 13, rising to 15 by noon; ibuprofen 400 mg for gout."):
        first, second = numbers(out)[:2]
        assert 3 <= first < second <= 15


def test_thousands_are_written_as_beside_it():
    for out in drawn("Rs 2,50,000 and Rs 1,50,000 are Rs 4,00,000."):
        assert re.fullmatch(r"\d{1,2},\d\d,\d{3}", re.findall(r"[\d,]+\d", out)[2])
    for out in drawn("Er zahlt 1.450,00 € und 2.150,50 €, also 3.600,50 €."):
        assert re.fullmatch(r"\d{1,2}\.\d{3},\d\d", re.findall(r"[\d.,]+\d", out)[2])


def test_times_keep_equal_steps():
    for out in drawn("The bus leaves at 08:15, 08:45, 09:15 and 09:45."):
        times = [minute(time) for time in re.findall(r"\d\d:\d\d", out)]
        assert len({(b - a) % 1440 for a, b in pairwise(times)}) == 1


def test_days_years_and_hours_between_dates_and_times_are_as_many_as_it_says():
    for out in drawn("Admitted on 3 May 2021, discharged on 9 May 2021 after 6 days."):
        first, _, last, _, days = numbers(out)
        assert days == max(last - first, 2)
    for out in drawn("He was born in 1948 and died in 2019, aged 71."):
        born, died, age = numbers(out)
        assert age == died - born
    for out in drawn("She works 06:00-14:00, which are 8 hours."):
        first, second = (minute(time) for time in re.findall(r"\d\d:\d\d", out))
        assert numbers(out)[-1] == (2 * ((second - first) % 1440) + 60) // 120


def test_days_of_all_forms_are_in_one_order():
    text = "Opened: 14/09/2025. Visit on Tuesday 16th, bill of 30 September, paid 3 October, 3 Oct."
    months = [name[:3] for name in month_name]
    for out in drawn(text):
        day, month, year, later, end, paid, again = numbers(out)
        assert day < later < end
        assert paid < day
        assert paid == again
        assert (
            re.findall(r"(\w+day)", out)[0]
            == day_name[date(int(year), int(month), int(later)).weekday()]
        )
        named = [months.index(name[:3]) for name in re.findall(r" \d+ (\w{3})", out)]
        assert named[0] == month < named[1] == named[2]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("From 18 July 2025 to 21 July 2025, 3 nights.", lambda a, _, b, *more: b == a + 3),
        ("Pick-up 12 June 2025, return 15 June 2025 (4 days).", lambda a, _, b, *more: b == a + 3),
        ("He died in 2021, 4 years ago, says the note of 2025.", lambda a, _, b: b == a + 4),
        ("It is Rs 465 each, so Rs 930.", lambda a, b: b == 2 * a),
        ("They pay €20 a month (€240 a year).", lambda a, b: b == 12 * a),
        ("Of 11.5 days he takes 3, so 8.5 are left.", lambda a, n, b: b == pytest.approx(a - n)),
        ("It is 41.20 an hour x 8, so 329 and change.", lambda a, n, b: abs(a * n - b) < 1),
        ("It is 420 kg x R19.50 = R8 190.", lambda a, b, t, c: abs(a * b - 1000 * t - c) < 1),
    ],
)  # fmt: skip
def test_what_follows_from_a_count_that_passes_still_does(text, holds):
    outs = drawn(text)
    assert all(holds(*numbers(out)) for out in outs)
    assert len(set(outs)) > 2


def test_weekdays_are_those_of_their_dates():
    months = [*month_name]
    for out in drawn("From Tuesday, 14 March 2023 to Friday 17 March 2023, he said."):
        for name, day, month, year in re.findall(r"(\w+day),? (\d+) (\w+) (\d+)", out):
            assert day_name[date(int(year), months.index(month), int(day)).weekday()] == name
    for out in drawn("Lunch on Monday 12 June or Monday 19 June, he said."):
        (first, early), (second, late) = re.findall(r"(\w+day) (\d+)", out)
        assert first == second
        assert (int(late) - int(early)) % 7 == 0


def test_both_weekdays_of_a_span_are_those_of_its_month():
    text = "Due on 22 March 2025, away from Monday 8 to Friday 19 December 2025."
    for out in drawn(text):
        first, day, last, end, month, year = re.search(
            r"from (\w+) (\d+) to (\w+) (\d+) (\w+) (\d+)", out
        ).groups()
        number = [*month_name].index(month)
        for name, at in ((first, day), (last, end)):
            assert day_name[date(int(year), number, int(at)).weekday()] == name


def test_a_value_stays_on_its_side_of_a_range():
    text = "Urea 5.1 (2.5-7.8), iron 9 (13-150) L, calcium 9.9 (2.2-2.6) H."
    for out in drawn(text):
        values = numbers(out)
        triples = zip(values[::3], values[1::3], values[2::3], strict=True)
        (urea, low, high), (iron, least, _), (calcium, _, most) = triples
        assert low <= urea <= high
        assert iron < least
        assert calcium > most


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (INVOICE, INVOICE.translate(str.maketrans("", "")).replace("12.50", "11.70").replace(
            "37.50", "35.10").replace("53.50", "51.10").replace("10.70", "10.22").replace(
            "64.20", "61.32")),
        ("The bus leaves at 08:15, 08:45 and 09:15.", "The bus leaves at 07:30, 08:15 and 09:00."),
        ("Born in 1958, seen in 2011, aged 53.", "Born in 1961, seen in 2023, aged 62."),
        ("On Tuesday 14 March or Friday 17 March.", "On Tuesday 11 March or Friday 21 March."),
    ],
)  # fmt: skip
def test_texts_whose_numbers_follow_from_each_other_alike_have_one_output(first, other):
    """Which number follows from which is public, and no number is."""
    one = Sanitizer(only="sensitive")
    assert first != other
    for key in range(8):
        outs = [one.sanitize([text], key.to_bytes(32, "big")).lines[0] for text in (first, other)]
        assert outs[0] == outs[1]


def test_numbers_that_pass_are_no_part_of_a_sum():
    rewriter = Sanitizer(only="names").by_text().replacing
    view, _ = rewriter.viewer.view([INVOICE])
    assert view.sums
    assert not decide(view, rewriter.rules).sums


def test_what_cannot_follow_stays_as_it_was_drawn():
    assert follow(TOTAL, "£5", ["£30"], "£20") == "£5"
    assert follow(BELOW, "3", ["2", "4"]) < follow(INSIDE, "3", ["2", "4"]) == "3"
    assert read("0.125") == (0, 0)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The order says 16 to 28 weeks.", lambda low, high: low < high),
        ("Back in 13-25 days.", lambda low, high: low < high),
        ("INR to be seen in 13-15 days.", lambda low, high: low < high),
        ("He asked for 10 to 12 weeks.", lambda low, high: low < high),
    ],
)  # fmt: skip
def test_a_range_runs_upwards(text, holds):
    outs = drawn(text, 40)
    assert all(holds(*numbers(out)) for out in outs)
    assert len(set(outs)) > 3


def test_a_year_behind_another_one_is_the_next_one():
    for out in drawn("Dated 12 December 2025, to begin on Monday 2 February 2026."):
        (_, year), (day, begins) = re.findall(r"(\d+) \w+ (\d{4})", out)
        assert int(begins) == int(year) + 1
        month = re.findall(r"[A-Z]\w+", out)[-1]
        weekday = date(int(begins), [*month_name].index(month), int(day)).weekday()
        assert day_name[weekday] in out


def test_a_weekday_is_that_of_the_date_before_it_and_not_of_a_year_of_birth():
    for out in drawn("Date: 21.11.2025 (Friday), next on Monday 24.11."):
        day, month, year = map(int, re.findall(r"\d+", out)[:3])
        assert day_name[date(year, month, day).weekday()] in out.split("(")[1][:10]
    text = "Born 05/30/1946. Admitted 02/09/2026 to us, and she will come to our ward and be seen"
    for out in drawn(f"{text} by all of us, in the room at the end, on Thursday 02/19."):
        year, last = int(re.findall(r"\d{4}", out)[1]), out.split()[-1].strip(".")
        month, day = map(int, last.split("/"))
        assert out.split()[-2] == day_name[date(year, month, day).weekday()]
    for out in drawn(
        "12 May 2025\nShe is to begin her work at our office on 2 May 2026 if you sign "
        "this page and return the copy of it to us all by Friday 19 May."
    ):
        year, weekday, day, month = re.search(r"(\d{4})\n.* (\w+day) (\d+) (\w+)\.", out).groups()
        told = date(int(year), [*month_name].index(month), int(day)).weekday()
        assert day_name[told] == weekday
