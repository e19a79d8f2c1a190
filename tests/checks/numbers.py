"""Test whether numbers by value keep their form and have the distribution of the proof.

The guarantee is for two numbers of one form.  The form is a function of the shape of a token: the
positions of digits and letters, and all other characters (docs/proofs.md, 4.4).  There are four
tests:

1. Other digits and letters in the same positions have the same form, and so has each output
   (exact).
2. On each grid no output is more than e^epsilon times as likely for one value as for another, and
   the first and the last integer of an output give that output.  The test is exact: for all outputs
   of small grids, and for those at the ends of others.
3. Numbers of each form are drawn, and their outputs counted in cells by distance and by last digit
   (errors at most 1e-9 in a run).
4. Equal numbers of a line have random numbers of their own.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import regex

from checks import KEY
from dpsan.mechanisms.tables.sparse import GridResponse, grid_response, uniform
from dpsan.outcomes.intervals import log_tail_of_cells
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Floats, Ids
from dpsan.text.number_forms import FormedNumber, formed_number

_SHAPES = (
    *("7", "42", "007", "2004", "4711", "123456", "3.14", "0.50", "1,284,105", "483105772316"),
    *("$19.50", "A$19.50", "US$5", "$3m", "$1.5bn", "5€", "1.000,50€"),
    *("9:05", "10:30", "10:30:15", "10:30pm", "9:30am", "2023-03-05", "03/05/2023"),
    *("2023-03-05T10:30", "2023-03-05T10:30:00Z", "2023-03-05T10:30:00+01:00"),
    *("192.168.1.1", "1/2", "555-0199", "(408) 555-0123", "+1 408 555 0123"),
)
"""Numbers of the tested shapes, where the tokenizer takes them for one token."""
_OTHERS = 40
"""Number of numbers of each shape whose forms are compared."""
_DRAWN = 3
"""Number of these that are drawn often."""
_SMALL = 20_000
"""Size of the largest grid of which all positions are tested."""
_ENDS = 12
"""Positions that are tested at each end of the near interval of larger grids."""
_LETTERS = "apmbnkuscztxqw"
_CHANGEABLE = regex.compile(r"[0-9]|\p{L}")
_LONG = "40000000.0"
"""Number of a grid so large that two draws agree with probability below 1e-6 at epsilon 8."""
_LINE, _AGREE = 40, 4
_ERROR = 1e-9
_CELLS = 18
"""Cells by distance: four quarters of the near positions, those before, those after, and the number
itself.  Cells by last digit: ten for near positions, and one for the others."""


def number_epsilon(sanitizer: Sanitizer) -> float | None:
    """Return the LDP epsilon between two numbers of one form; None: none is drawn by value."""
    if sanitizer.replacing:
        return 0.0
    return sanitizer.guarantee.epsilon_ldp if sanitizer.spec.numbers == "value" else None


def numbers_by_value(sanitizer: Sanitizer, draws: int = 10_000, key: bytes = KEY) -> str:
    """Draw numbers of many shapes and compare forms, losses and frequencies with the proof."""
    if number_epsilon(sanitizer) is None:
        return ""
    single, n, epsilon = sanitizer.by_text(), sanitizer.space.n, number_epsilon(sanitizer)
    shapes = [shape for shape in _SHAPES if single.input_of(shape) == n + 1]
    few, tails = max(200, draws // (_DRAWN * len(shapes) + 1)), []
    for shape in shapes:
        words = _same_shape(single, shape, derive_key(key, "shape", shape))
        if any(single.input_of(word) != n + 1 or not _alike(shape, word) for word in words):
            return "the form of a number depends on its digits"
        for at, word in enumerate(words[:_DRAWN]):
            grid, number = _grid(single, word)
            loss = math.log(Fraction(grid.inside, grid.outside))
            if loss > epsilon * (1 + 1e-12):
                return f"two numbers have a loss of {loss:.6f}, above the {epsilon:.6f} of a word"
            if not _maps(grid, number.value):
                return "some outputs of a number do not have the probability of the proof"
            outputs = single.sanitize([word] * few, derive_key(key, "drawn", shape, at)).lines
            if not all(_alike(word, output) for output in set(outputs)):
                return "an output does not have the form of its number"
            tails.append(_tail(grid, number, outputs))
    if min(tails) + math.log(len(tails)) <= math.log(_ERROR):
        return "draws of a number do not have the distribution of the proof"
    if sanitizer.spec.consistent is None:
        (line,) = single.sanitize([" ".join([_LONG] * _LINE)], derive_key(key, "line")).lines
        if len(set(line.split())) < _LINE - _AGREE:
            return "numbers of a line share random numbers"
    return ""


def _grid(sanitizer: Sanitizer, word: str) -> tuple[GridResponse, FormedNumber]:
    number = formed_number(word)
    assert number is not None
    if not number_epsilon(sanitizer):
        return uniform(number.size), number
    return grid_response(number_epsilon(sanitizer), number.size, number.widest), number


def _same_shape(sanitizer: Sanitizer, shape: str, key: bytes) -> list[str]:
    """Return the number itself and others with other digits and letters in the same positions.

    Numbers that the tokenizer cuts or the keep list contains are left out: they are no input.
    """
    bits = streams_for(key, range(_OTHERS), [1] * _OTHERS).bits("characters", len(shape)).tolist()

    def other(row: list[int]) -> str:
        rest = iter(row)

        def instead(found: regex.Match[str]) -> str:
            letters = "0123456789" if found[0].isdecimal() else _LETTERS
            return letters[next(rest) % len(letters)]

        return _CHANGEABLE.sub(instead, shape)

    years = ["1066", "1950", "2099", "2100", "0999"] if shape == "2004" else []
    some = [shape, *years, *map(other, bits)][:_OTHERS]
    return [word for word in some if (sanitizer.input_of(word) or 0) > 0]


def _alike(one: str, other: str) -> bool:
    """Return whether two numbers have the same form."""
    first, second = formed_number(one), formed_number(other)
    if first is None or second is None or _plain(one) != _plain(other):
        return False
    return (first.size, first.fields) == (second.size, second.fields)


def _plain(word: str) -> str:
    """Return the shape of a number; the sign of a time zone is drawn, as digits and letters are."""
    shape = _CHANGEABLE.sub(lambda found: "0" if found[0].isdecimal() else "a", word)
    return regex.sub("(?<=:00)[+−-](?=00)", "+", shape)


def _maps(grid: GridResponse, value: int) -> bool:
    """Return whether the first and the last integer of outputs give them."""
    first, after = grid.first(value), grid.first(value) + grid.near
    if not 0 <= first <= value < after <= grid.size or grid.outside < 1:
        return False
    near, far = _around(first, after), [*_around(0, first), *_around(after, grid.size)]
    if grid.size <= _SMALL:
        near, far = range(first, after), [*range(first), *range(after, grid.size)]
    inside, outside = np.array(near, dtype=np.int64), np.array(far, dtype=np.int64)
    ranks = np.where(outside < first, outside, outside - grid.near)
    far_begins = grid.near * grid.inside + ranks * grid.outside
    begins = np.append((inside - first) * grid.inside, far_begins)
    weights = np.repeat([grid.inside, grid.outside], [len(inside), len(outside)])
    ends = np.stack([begins, begins + weights - 1])
    return bool((grid.chosen(np.array(value), ends) == np.append(inside, outside)).all())


def _around(begin: int, end: int) -> Sequence[int]:
    """Return the integers at both ends of a range."""
    middle = min(end, begin + _ENDS)
    return [*range(begin, middle), *range(max(middle, end - _ENDS), end)]


@lru_cache(maxsize=64)
def _positions(number: FormedNumber) -> Ids:
    """Return, for each position of a small grid, the position of the number that is written."""
    written = map(number.written, range(number.size))
    known: dict[str, int] = {}
    return np.array([known.setdefault(each, _value(each)) for each in written])


def _value(word: str) -> int:
    number = formed_number(word)
    assert number is not None
    return number.value


def _tail(grid: GridResponse, number: FormedNumber, outputs: Sequence[str]) -> float:
    """Return a bound on ln P(outputs that deviate so much from their distribution)."""
    cells = _cells(grid, number.value, np.array([*map(_value, outputs)]))
    counts = np.stack([np.bincount(row, minlength=_CELLS) for row in cells])
    return float(log_tail_of_cells(counts, _probabilities(grid, number)).min()) + math.log(2)


def _cells(grid: GridResponse, value: int, outputs: Ids) -> tuple[Ids, Ids]:
    """Return the cell of each output by its distance, and that by its last digit."""
    ranks = outputs - grid.first(value)
    near = (ranks >= 0) & (ranks < grid.near)
    quarters = np.where(outputs == value, 6, 4 * ranks // grid.near)
    return np.where(near, quarters, 4 + (ranks > 0)), np.where(near, ranks % 10, 10)


def _probabilities(grid: GridResponse, number: FormedNumber) -> Floats:
    """Return the probabilities of the cells, a row for each kind."""
    value, first = number.value, grid.first(number.value)
    mass = np.zeros((2, _CELLS))
    if grid.size <= _SMALL:
        ranks = np.arange(grid.size) - first
        weights = np.where((ranks >= 0) & (ranks < grid.near), grid.inside, grid.outside)
        written = _positions(FormedNumber(number.size, 0, number.pieces, number.fields))
        for row, cells in enumerate(_cells(grid, value, written)):
            mass[row] = np.bincount(cells, weights, _CELLS)
    else:
        edges = [-(-quarter * grid.near // 4) for quarter in range(5)]
        mass[0, :4] = np.diff(edges) * float(grid.inside)
        mass[0, 4 * (value - first) // grid.near] -= grid.inside
        mass[0, 4] = first * grid.outside
        mass[0, 5] = (grid.size - grid.near - first) * grid.outside
        mass[0, 6] = grid.inside
        mass[1, :10] = [(grid.near - digit + 9) // 10 * grid.inside for digit in range(10)]
        mass[1, 10] = (grid.size - grid.near) * grid.outside
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))
