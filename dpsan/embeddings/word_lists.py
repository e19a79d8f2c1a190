"""Public lists of words from a file: a number for each word, weight or count.

Listed words that the vocabulary lacks are left out.

A line is a word, a tab and a number, in UTF-8; blank lines do not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dpsan.errors import InputError
from dpsan.text.out_of_vocabulary import read_utf8
from dpsan.text.tokens import lookup_keys


class WordLists:
    """Reads lists of words for one vocabulary.

    Args:
        rows: gives the row number of each word; called when a list is read, as it takes time.
    """

    def __init__(self, rows: Callable[[], Mapping[str, int]]) -> None:
        self._rows = rows

    def weights(self, path: Path | str) -> tuple[float, ...]:
        """Weights of all n words; words that are not listed have 0.

        Two spellings of one word give the larger weight.

        Raises:
            InputError: missing, not UTF-8, or a line that is not "word TAB weight in [0, 1)"; names
                file and line only.
        """
        rows = self._rows()
        out = [0.0] * len(rows)
        for number, row, value in _entries(Path(path), "weight", rows):
            try:
                weight = float(value)
            except ValueError:
                weight = math.nan
            if not 0 <= weight < 1:
                raise InputError(path, "the weight must be a number >= 0 and < 1", line=number)
            if row is not None:
                out[row] = max(out[row], weight)
        return tuple(out)

    def counts(self, path: Path | str) -> tuple[int, ...]:
        """Counts of all n words; words that are not listed have 0, spellings of one word add up.

        Raises:
            InputError: missing, not UTF-8, or a line that is not "word TAB count"; names file and
                line only.
        """
        rows = self._rows()
        out = [0] * len(rows)
        for number, row, value in _entries(Path(path), "count", rows):
            digits = value.strip()
            if not (digits.isascii() and digits.isdigit()):
                raise InputError(path, "needs a word, a tab and a count", line=number)
            if len(digits) > 15:
                raise InputError(path, "the count must be below 10^15", line=number)
            if row is not None:
                out[row] += int(digits)
        return tuple(out)


def _entries(
    path: Path, what: str, rows: Mapping[str, int]
) -> Iterator[tuple[int, int | None, str]]:
    """Line number, row of the word if it has one, and number of each line."""
    for number, line in enumerate(read_utf8(path, "utf-8-sig").split("\n"), 1):
        if line.strip():
            word, tab, value = line.rstrip("\r").rpartition("\t")
            if not tab or not word.strip():
                raise InputError(path, f"needs a word, a tab and a {what}", line=number)
            yield number, row_of(rows, word.strip()), value


def row_of(rows: Mapping[str, int], word: str) -> int | None:
    """Return the row of a word in the best of its spellings, or None."""
    if (row := rows.get(word)) is not None:  # as most often, and sooner
        return row
    return next((rows[key] for key in lookup_keys(word) if key in rows), None)
