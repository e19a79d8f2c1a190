"""Numbers by value: the distribution, its loss, and that a run, a worker and a stretch agree."""

import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from support import audit_rows, cut_long, make_embeddings, share_of_event

from dpsan.analysis.verify.checks import exposures
from dpsan.errors import UsageError
from dpsan.mechanisms.tables.sparse import FEWEST, grid_response
from dpsan.privacy.randomness import new_key
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.number_forms import formed_number

EMBEDDINGS = make_embeddings(n=40, d=3)
TEXT = "Word1 paid $1,000.50 on 2023-03-05 at 10:30, (408) 555-0123, 7 of 42 unknownword"
KEY = b"k" * 32


def made(**more):
    given_ = {"mechanism": "krr", "epsilon": 8.0, "numbers": "value", "embeddings": EMBEDDINGS}
    return Sanitizer(**given_ | more)


def distribution(grid, value):
    """The exact distribution: what each of the integers below the total gives."""
    weights = np.full(grid.size, grid.outside, dtype=object)
    first = grid.first(value)
    weights[first : first + grid.near] = grid.inside
    return weights


@given(epsilon=st.floats(0.05, 40), size=st.integers(2, 60))
def test_no_two_numbers_lose_more_than_epsilon(epsilon, size):
    """Exact, over all pairs and outputs; and what is sampled is this distribution."""
    grid = grid_response(epsilon, size)
    rows = [distribution(grid, value) for value in range(size)]
    assert all(sum(row) == grid.total for row in rows)
    for column in zip(*rows, strict=True):
        assert math.log(Fraction(max(column), min(column))) <= epsilon
    assert all(row[value] == grid.inside for value, row in enumerate(rows))


@pytest.mark.parametrize("size", [2, 5, 9, 10, 90])
def test_every_integer_gives_its_output(size):
    """The map from integers to outputs has exactly the weights: each end of each run of it."""
    grid = grid_response(2.0, size)
    for value in {0, 1, size // 2, size - 1}:
        at, ends = 0, []
        first = grid.first(value)
        near = list(range(first, first + grid.near))
        far = [each for each in range(size) if each not in near]
        for each, weight in [*((e, grid.inside) for e in near), *((e, grid.outside) for e in far)]:
            ends += [(at, each), (at + weight - 1, each)]
            at += weight
        assert at == grid.total
        drawn, outputs = np.array(ends).T
        assert (grid.chosen(np.array(value), drawn) == outputs).all()


def test_the_window_serves_the_value():
    """Five values at least share the weight, and the expected error stays small."""
    assert (grid_response(8.0, 10).near, grid_response(0.1, 3).near) == (FEWEST, 3)
    for epsilon, size in ((4.0, 9000), (8.0, 9000), (8.0, 10**15)):
        grid = grid_response(epsilon, size)
        kept = grid.near * grid.inside / grid.total
        assert grid.total < 1 << 62
        far = kept * grid.near / size / 4 + (1 - kept) / 3
        assert far < 1.3 * math.sqrt(1 / 3 * math.exp(-epsilon))


def test_numbers_come_out_as_numbers_and_are_counted():
    done = made().sanitize([TEXT], new_key(), audit=True)
    assert regex.fullmatch(
        r"\w+ \w+ \$\d,\d{3}\.\d\d \w+ (?:19|20)\d\d-\d\d-\d\d \w+ \d\d:\d\d, "
        r"\(\d{3}\) \d{3}-\d{4}, \d \w+ \d\d \w+",
        done.lines[0],
    )
    assert (done.counts[Action.NUMBER], done.drawn) == (6, [12])
    rows = [row for row in audit_rows(done.records) if row.action is Action.NUMBER]
    assert {(row.input_id, row.output_id) for row in rows} == {(41, -1)}
    for row in rows:
        assert formed_number(row.output).fields == formed_number(row.original).fields


def test_a_number_depends_on_its_place_and_key_alone(monkeypatch):
    sanitizer = made()
    texts = [TEXT, "7 8 9 2023", " ".join([TEXT] * 40), "no number at all"]
    whole = sanitizer.sanitize(texts, KEY, [3, 4, 5, 6])
    apart = [sanitizer.sanitize([text], KEY, [at]).lines[0] for at, text in enumerate(texts, 3)]
    assert apart == whole.lines
    again = pickle.loads(pickle.dumps(sanitizer)).sanitize(texts, KEY, [3, 4, 5, 6])
    assert again.lines == whole.lines
    cut_long(monkeypatch, 500, 400, 501)
    assert sanitizer.sanitize(texts, KEY, [3, 4, 5, 6]).lines == whole.lines
    assert len(set(sanitizer.sanitize(["4711"] * 20, KEY).lines)) > 1


@pytest.mark.parametrize("unit", ["record", "run"])
def test_equal_numbers_have_one_draw(monkeypatch, unit):
    sanitizer = made(epsilon=2.0, consistent=unit)
    text = " ".join(["471100 10:30PM 10:30pm 555-0199"] * 30)
    done = sanitizer.sanitize([text, text], KEY)
    first, second = (Counter(line.lower().split()) for line in done.lines)
    assert sorted(first.values()) == sorted(second.values()) == [30, 30, 60]
    assert (first == second, done.drawn) == (unit == "run", [3, 3])
    cut_long(monkeypatch, 500, 400, 501)
    if unit == "record":
        assert sanitizer.sanitize([text, text], KEY).lines == done.lines


def test_numbers_that_are_kept_or_of_other_forms():
    text = "42, 42, 42, 42, 42, 42, 42"
    assert made(keep=["42"]).rewrite(text) == text
    done = made().sanitize(["1234567890123456 F-16 ١٢٣"], KEY)
    assert done.counts[Action.NUMBER] == 2  # 16, and digits of another script
    assert done.counts[Action.UNKNOWN] == 2


def test_mechanisms_that_cannot():
    with pytest.raises(UsageError, match="numbers by value need"):
        made(mechanism="laplace")
    with pytest.raises(UsageError, match="policy for numbers"):
        made(numbers="values")


def test_what_the_guarantee_leaves_out_is_shown_by_draws():
    sanitizer = made(mechanism="krr", epsilon=1.0)
    (found,) = exposures(sanitizer)
    assert (found.option, found.value, found.stated) == ("numbers", "value", True)
    assert found.left_out == "a number against a word, or a number of another form"

    def occurs(output):
        return [*map(len, output.split("-"))] != [3, 3, 4]

    assert share_of_event(sanitizer, "word1", "408-555-0123", occurs) > 0.9


@pytest.mark.slow
@given(epsilon=st.floats(0.5, 12), years=st.tuples(*[st.integers(0, 9999)] * 2))
@settings(max_examples=30)
def test_four_digits_alone_lose_no_more_than_epsilon(epsilon, years):
    """A year has 50 places of the grid: what is written is a function of the place."""
    numbers = [formed_number(f"{year:04}") for year in years]
    grid = grid_response(epsilon, numbers[0].size, numbers[0].widest)
    assert grid.near >= FEWEST * numbers[0].widest
    written = list(map(numbers[0].written, range(grid.size)))
    mass = [Counter(), Counter()]
    for number, weights in zip(numbers, mass, strict=True):
        for word, weight in zip(written, distribution(grid, number.value), strict=True):
            weights[word] += int(weight)
    assert len(mass[0]) == len(mass[1]) == 10_000
    for one, other in {(weight, mass[1][word]) for word, weight in mass[0].items()}:
        assert abs(math.log(Fraction(one, other))) <= epsilon


def test_the_command_says_so(folder, dpsan):
    """Statement, audit and report; two processes write what one does."""
    (folder / "in.txt").write_text(f"{TEXT}\nno number\n{TEXT}\n")
    command = ["rewrite", "-e", "8", "--numbers", "value", "--seed", "1", "-E", "two.txt", "in.txt"]
    one = dpsan(*command, "-a", "a.jsonl", cwd=folder)
    two = dpsan(*command, "-j", "2", cwd=folder)
    assert one.stdout == two.stdout
    assert one.stdout.count(b"$") == 2
    assert b"12 numbers by form" in one.stderr
    assert b"numbers drawn by form: which words are numbers" in one.stderr
    report = dpsan("report", "--json", "a.jsonl", cwd=folder, status=0)
    assert b'"number"' in report.stdout
