"""Numbers drawn by value: which words they are, and with which random numbers each is drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import Hint, UsageError
from dpsan.privacy.guarantee import Guarantee
from dpsan.privacy.randomness import Streams, derive_key, streams_by_word, string_positions
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.result import Forms
from dpsan.text.bounded_cache import BoundedCache
from dpsan.text.tokens import folded

if TYPE_CHECKING:
    from dpsan.mechanisms.samplers.number_response import GridResponse

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


class StringPolicy(StrEnum):
    """Policy for strings of a recognized kind, such as e-mail addresses."""

    WORD = "word"
    """A word of the vocabulary, as all OOV words do."""
    KIND = "kind"
    """A made-up string of the same kind."""


def check_numbers(policy: str, guarantee: Guarantee) -> None:
    """Refuse what no number could be drawn with.

    Raises:
        UsageError: the mechanism has no finite LDP epsilon for a word, or has a better guarantee
            for neighbours, which numbers do not have.
    """
    if policy == NumberPolicy.WORD:
        return
    if guarantee.per_line or guarantee.metric is not None or guarantee.epsilon_ldp == np.inf:
        raise UsageError(
            "numbers by value need a mechanism whose guarantee is an LDP epsilon for each word",
            Hint("such as mechanism='optimal-response'", "such as -m optimal-response"),
        )


class Numbers:
    """Draws numbers by value.

    Args:
        epsilon: LDP epsilon of each; 0: drawn uniformly among the numbers of its form.
        unit: within what equal ones have the same draw.
        strings: also made-up strings, which are drawn uniformly.
    """

    def __init__(self, epsilon: float, unit: Unit | None, *, strings: bool = False) -> None:
        self._epsilon, self._unit, self._strings = epsilon, unit, strings
        self._kinds = BoundedCache(self._kind_of, 1 << 14)

    def _kind_of(self, word: str) -> tuple[Callable[[int], str], tuple[GridResponse, int], float]:
        """Return what writes an output of a word, the distribution of outputs and the value, and
        the probability that nothing changes.
        """
        from dpsan.mechanisms.samplers.number_response import grid_response, uniform
        from dpsan.text.made_up import MadeUp, recognized  # patterns that take time
        from dpsan.text.number_forms import formed_number

        kind = recognized(word) if self._strings else formed_number(word)
        assert kind is not None  # noqa: S101 - the look-up found a kind
        if isinstance(kind, MadeUp):
            return kind.write, (uniform(kind.size), 0), 0.0 if kind.contact else 1 / kind.size
        grid = uniform(kind.size)
        if self._epsilon:
            grid = grid_response(self._epsilon, kind.size, kind.widest)
        same = min(1.0, kind.widest * grid.inside / grid.total)
        return kind.writer, (grid, kind.value), same

    def forms(self, words: Sequence[str]) -> Forms:
        """Return the smallest form of strings, and how many are expected to stay unchanged.

        A contact never does: none of the made-up ones can belong to anybody.
        """
        kinds = [self._kinds[word] for word in words]
        sizes = [grid.size for _, (grid, _), _ in kinds]
        return Forms(min(sizes), sum(share for *_, share in kinds))

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

        kinds = [self._kinds[word] for word in words]
        values = respond([response for _, response, _ in kinds], indices, streams)
        return [write(value) for (write, *_), value in zip(kinds, values, strict=True)]

    def drawn_once(
        self,
        words: Sequence[str],
        records: NDArray[np.int64],
        key: bytes,
        held: dict[str, int] | None = None,
    ) -> list[str]:
        """Return the same where each has a stream of its own, and equal ones of a unit the same.

        Without a unit each mention is drawn anew.  In a record, streams are numbered in the order
        in which numbers appear, so that no draw depends on how a number is spelt.

        Args:
            words: the numbers.
            records: the number of the record of each, (words,).
            key: of the batch.
            held: where the words are parts of one record, the numbers of its earlier parts; grows.
        """
        own, by_record = derive_key(key, "numbers"), self._unit in (None, Unit.RECORD)
        units = records.tolist() if by_record else [0] * len(words)
        names = [folded(word) for word in words]
        if self._unit is None:
            names = [str(len(held or ()) + at) for at in range(len(words))]
        in_unit = list(zip(units, names, words, strict=True))
        orders: defaultdict[int, dict[str, int]] = defaultdict(dict)
        drawn_as: dict[tuple[int, str], int] = {}
        positions: list[tuple[int, int]] = []
        spellings = dict.fromkeys(in_unit, 0)
        for unit, string, word in spellings:
            if (unit, string) not in drawn_as:
                order = orders[unit] if held is None else held
                drawn_as[unit, string] = len(drawn_as)
                positions.append((unit, order.setdefault(string, len(order)) | _STRING))
            spellings[unit, string, word] = drawn_as[unit, string]
        if not by_record:
            positions = string_positions(own, [string for _, string in drawn_as])
        # Spellings of one string have the same form and value, and so the same digits.
        order_of_draws = sorted(spellings, key=spellings.__getitem__)
        indices = np.array([spellings[pair] for pair in order_of_draws])
        streams = streams_by_word(own, [], positions)
        values = self.drawn([word for *_, word in order_of_draws], indices, streams)
        written = dict(zip(order_of_draws, values, strict=True))
        return [written[pair] for pair in in_unit]
