"""Numbers drawn by value: which words they are, and with which random numbers each is drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.word_lists import DATES, NUMBERS
from dpsan.errors import Hint, UsageError
from dpsan.privacy.guarantee import Guarantee
from dpsan.privacy.randomness import Streams, derive_key, streams_by_word, string_positions
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.result import Forms
from dpsan.text.batch import BoundedCache
from dpsan.text.tokens import folded

if TYPE_CHECKING:
    from dpsan.mechanisms.samplers.number_response import GridResponse
    from dpsan.only.alone import Kind
    from dpsan.text.number_forms import FormedNumber

FORMS: Final = (
    "which words are numbers, and their form (how many digits and letters there are and where, and "
    "every other character: separators, spaces, the sign of a currency)"
)
"""Facts that are not protected where numbers are drawn by value."""


_STRING: Final = 1 << 63
"""Bit of a stream that belongs to a string."""


class NumberPolicy(StrEnum):
    """Policy for numbers."""

    WORD = "word"
    """A word of the vocabulary, as all other words do."""
    VALUE = "value"
    """A number of the same form, mostly near in value."""


def check_numbers(policy: str, guarantee: Guarantee) -> None:
    """Refuse what no number could be drawn with.

    Raises:
        UsageError: the mechanism has no finite LDP epsilon for a word, or has a better guarantee
            for neighbours, which numbers do not have.
    """
    if policy == NumberPolicy.WORD:
        return
    if guarantee.metric is not None or guarantee.epsilon_ldp == np.inf:
        raise UsageError(
            "numbers by value need a mechanism whose guarantee is an LDP epsilon for each word",
            Hint("such as mechanism='optimal-response'", "such as -m optimal-response"),
        )


def kind_or_number(token: str, *, by_value: bool) -> Kind | FormedNumber | None:
    """Return what a token is drawn as: a string of its kind, or a number by value; None: a word.

    Args:
        by_value: whether dates and numbers are drawn by value where their form has an order.
    """
    from dpsan.only.alone import alone  # patterns that take time

    kind = alone().kind(token)
    if kind is not None and by_value and kind.word_class in (DATES, NUMBERS):
        from dpsan.text.number_forms import formed_number

        return formed_number(token) or kind
    return kind


class _Drawn(NamedTuple):
    """How a number or string is drawn."""

    write: Callable[[Sequence[int]], str]
    """Return the string of some numbers, each below its bound."""
    sizes: list[int]
    """Bounds of these numbers."""
    response: tuple[GridResponse, int]
    """Distribution of the first number, and the value of the string."""
    same: float
    """Probability that nothing changes."""


class Numbers:
    """Draws numbers by value.

    Args:
        epsilon: LDP epsilon of each number by value; None: none is drawn by value.
        unit: within what equal ones have the same draw.
        strings: also strings of a kind, which are drawn uniformly.
    """

    def __init__(self, epsilon: float | None, unit: Unit | None, *, strings: bool = False) -> None:
        self._epsilon, self._unit, self._strings = epsilon, unit, strings
        self._kinds = BoundedCache(self._kind_of, 1 << 14)

    def _kind_of(self, word: str) -> _Drawn:
        """Return how a number or string is drawn."""
        from dpsan.mechanisms.samplers.number_response import grid_response, uniform
        from dpsan.text.number_forms import FormedNumber, formed_number  # patterns that take time

        by_value = self._epsilon is not None
        number = kind_or_number(word, by_value=by_value) if self._strings else formed_number(word)
        assert number is not None  # noqa: S101 - the look-up found a kind
        if not isinstance(number, FormedNumber):
            sizes = number.sizes
            return _Drawn(number.write, sizes, (uniform(sizes[0]), 0), 1 / prod(sizes))
        grid = grid_response(self._epsilon or 0.0, number.size, number.widest)
        same, write = min(1.0, number.widest * grid.inside / grid.total), number.written
        return _Drawn(lambda bits: write(bits[0]), [number.size], (grid, number.value), same)

    def forms(self, words: Sequence[str]) -> Forms:
        """Return the smallest form of strings, and how many may stay unchanged by chance."""
        kinds = [self._kinds[word] for word in words]
        return Forms(min(prod(kind.sizes) for kind in kinds), sum(kind.same for kind in kinds))

    def drawn(
        self, words: Sequence[str], indices: NDArray[np.int64], streams: Streams
    ) -> list[str]:
        """Return another number for each, from the streams of a batch.

        Args:
            words: the numbers.
            indices: index of each number among the drawn words of the batch, ascending.
            streams: one for each drawn word of the batch.
        """
        from dpsan.mechanisms.samplers.number_response import respond
        from dpsan.only.draws import draw_further

        kinds = [self._kinds[word] for word in words]
        drawn = [[value] for value in respond([kind.response for kind in kinds], indices, streams)]
        draw_further(drawn, [kind.sizes for kind in kinds], indices.tolist(), streams)
        return [kind.write(bits) for kind, bits in zip(kinds, drawn, strict=True)]

    def drawn_once(
        self,
        words: Sequence[str],
        records: NDArray[np.int64],
        key: bytes,
        by_word: dict[str, int] | None = None,
    ) -> list[str]:
        """Return the same where each has a stream of its own, and equal ones of a unit the same.

        Without a unit each mention is drawn anew.  In a record, streams are numbered in the order
        in which numbers appear, so that no draw depends on how a number is spelt.

        Args:
            words: the numbers.
            records: the number of the record of each, (words,).
            key: of the batch.
            by_word: where the words are parts of one record, numbers of its earlier parts; grows.
        """
        subkey, by_record = derive_key(key, "numbers"), self._unit in (None, Unit.RECORD)
        units = records.tolist() if by_record else [0] * len(words)
        names = [folded(word) for word in words]
        if self._unit is None:
            names = [str(len(by_word or ()) + at) for at in range(len(words))]
        in_unit = list(zip(units, names, words, strict=True))
        orders: defaultdict[int, dict[str, int]] = defaultdict(dict)
        drawn_as: dict[tuple[int, str], int] = {}
        positions: list[tuple[int, int]] = []
        spellings = dict.fromkeys(in_unit, 0)
        for unit, string, word in spellings:
            if (unit, string) not in drawn_as:
                order = orders[unit] if by_word is None else by_word
                drawn_as[unit, string] = len(drawn_as)
                positions.append((unit, order.setdefault(string, len(order)) | _STRING))
            spellings[unit, string, word] = drawn_as[unit, string]
        if not by_record:
            positions = string_positions(subkey, [string for _, string in drawn_as])
        # Spellings of one string have the same form and value, and so the same digits.
        order_of_draws = sorted(spellings, key=spellings.__getitem__)
        indices = np.array([spellings[pair] for pair in order_of_draws])
        streams = streams_by_word(subkey, [], positions)
        values = self.drawn([word for *_, word in order_of_draws], indices, streams)
        written = dict(zip(order_of_draws, values, strict=True))
        return [written[pair] for pair in in_unit]
