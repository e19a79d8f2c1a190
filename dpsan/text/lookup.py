"""From strings to inputs: which row number, or which rule, every word of a text stands for.

Knows tokenizers, row numbers and the keep-list.  Must not know vectors or mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.text.tokens import INVISIBLE, lookup_keys, subwords
from dpsan.text.whole_tokens import amount

KEPT: Final = -1
"""On the keep-list."""
MASKED: Final = -2
"""Unknown, and masked."""
PASSED: Final = -3
"""Unknown, and written unchanged."""
OUTSIDE: Final = -4
"""Outside the spans that are drawn, and written unchanged."""
_COMPOUND: Final = -5
"""Not a word by itself: it stands for its pieces."""
_CACHE_TOKENS: Final = 200_000


class Lookup:
    """Splits texts into words and finds a code for each: a row number, or a negative rule.

    Args:
        split: line -> alternating list, gaps at even places and words at odd ones.
        rows: row number of each known word.
        keep: words passed through, in any case.
        unknown: the code of unknown words.
        number: the code of numbers, where they have one of their own.
    """

    def __init__(
        self,
        split: Callable[[str], list[str]],
        rows: Mapping[str, int],
        keep: Iterable[str],
        unknown: int,
        number: int | None = None,
    ) -> None:
        self.split = split
        self._codes = _Codes(_Rules(rows, keep, unknown, number).resolve)

    def texts(self, texts: Sequence[str]) -> tuple[list[list[str]], list[str], NDArray[np.int64]]:
        """Split texts.

        Returns:
            The alternating pieces of each text, all words of all texts, and their codes.
        """
        return self.coded(list(map(self.split, texts)))

    def coded(
        self, split: list[list[str]], inside: NDArray[np.bool_] | None = None
    ) -> tuple[list[list[str]], list[str], NDArray[np.int64]]:
        """The same of texts that are split already.

        Args:
            split: the alternating pieces of each.
            inside: which of their words are looked up, (words,); default all.
        """
        words = _words(split)
        if inside is None:
            codes = self._coded(words)
        else:
            codes = np.full(len(words), OUTSIDE, dtype=np.int64)
            places = np.flatnonzero(inside)
            codes[places] = self._coded([words[place] for place in places.tolist()])
        compounds = np.flatnonzero(codes == _COMPOUND)
        if not len(compounds):
            return split, words, codes
        inner = [self._codes.pieces(words[place]) for place in compounds.tolist()]
        ends = np.cumsum(np.fromiter(map(len, split), dtype=np.int64, count=len(split)) // 2)
        texts = np.searchsorted(ends, compounds, side="right")
        places = compounds - np.concatenate([[0], ends])[texts]
        split = split.copy()
        compound = zip(texts.tolist(), places.tolist(), inner, strict=True)
        for text, group in groupby(compound, key=itemgetter(0)):
            split[text] = _opened(split[text], group)
        counts = np.ones_like(codes)
        counts[compounds] = [len(pieces) // 2 for pieces in inner]
        codes = np.repeat(codes, counts)
        codes[codes == _COMPOUND] = self._coded(_words(inner))
        return split, _words(split), codes

    def _coded(self, words: list[str]) -> NDArray[np.int64]:
        return np.fromiter(map(self._codes.__getitem__, words), dtype=np.int64, count=len(words))


def _words(split: list[list[str]]) -> list[str]:
    return list(chain.from_iterable([pieces[1::2] for pieces in split]))


def _opened(pieces: list[str], compounds: Iterable[tuple[int, int, list[str]]]) -> list[str]:
    """The pieces of a text with those of its compounds in their places.

    Args:
        pieces: of the text, gaps and words in turn.
        compounds: of each the text, its place among the words of the text, and its pieces.
    """
    out: list[str] = []
    done = 0
    for _, place, inner in compounds:
        out += pieces[done : 2 * place + 1]
        out[-1] += inner[0]
        out += inner[1:]
        done = 2 * place + 3
        out[-1] += pieces[done - 1]
    return out + pieces[done:]


class _Rules:
    """What a token stands for.  Apart from :class:`Lookup`, so that nothing refers to itself.

    A vocabulary in a reference cycle would stay in memory until the garbage collector runs.
    """

    def __init__(
        self, rows: Mapping[str, int], keep: Iterable[str], unknown: int, number: int | None
    ) -> None:
        self._rows = rows
        self._number = number
        self._keep = {key for word in keep for key in lookup_keys(word)}
        self._unknown = unknown

    def resolve(self, token: str) -> int | list[str]:
        """The code of a token, or the pieces it must be split into."""
        row: int | None = None
        unseen = INVISIBLE.search(token)
        for key in lookup_keys(token):
            # What is invisible passes within a word only as the list has it.
            if key in self._keep and (not unseen or INVISIBLE.search(key)):
                return KEPT
            if row is None:
                row = self._rows.get(key)
        if self._number is not None:
            from dpsan.text.number_forms import formed_number  # patterns that take time

            if formed_number(token):
                return self._number
        if row is None and (number := amount(token)):
            row = self._rows.get(number)  # $5 is read as 5, whatever the currency
        if row is not None:
            return row
        pieces = subwords(token)
        if pieces is None or not self._useful(pieces):
            return self._unknown
        return pieces

    def _useful(self, pieces: list[str]) -> bool:
        """Contractions are split only into known words; everything else is split always."""
        if len(pieces) == 5 and pieces[2] == "":
            return all(isinstance(self.resolve(p), int) and self._known(p) for p in pieces[1::2])
        return True

    def _known(self, token: str) -> bool:
        return any(key in self._rows or key in self._keep for key in lookup_keys(token))


class _Codes(dict[str, int]):
    """The codes of the tokens seen lately; compounds have one too.

    Args:
        resolve: gives the code of a token or the pieces of a compound.
    """

    def __init__(self, resolve: Callable[[str], int | list[str]]) -> None:
        super().__init__()
        self._resolve = resolve
        self._pieces: dict[str, list[str]] = {}

    def __missing__(self, token: str) -> int:
        if len(self) >= _CACHE_TOKENS:
            self.clear()
            self._pieces.clear()
        found = self._resolve(token)
        if not isinstance(found, int):
            compounds = [
                (0, place, self.pieces(piece))
                for place, piece in enumerate(found[1::2])
                if self[piece] == _COMPOUND
            ]
            self._pieces[token] = _opened(found, compounds)
            found = _COMPOUND
        self[token] = found
        return found

    def pieces(self, compound: str) -> list[str]:
        """The alternating pieces of a compound, none of them a compound."""
        if compound not in self._pieces:  # forgotten meanwhile
            self.clear()
            assert self[compound] == _COMPOUND  # noqa: S101 - what a token is never changes
        return self._pieces[compound]
