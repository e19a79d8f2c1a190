"""Lines looked up in a vocabulary: which input of a mechanism every word of a line is.

Knows tokenizers and the vocabulary's words.  Must not know vectors, mechanisms or privacy.  What
sanitizes, judges or learns from text splits it here, so that all mean the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dpsan.text import TOKENIZERS, lookup_keys, subwords

__all__ = ["KEPT", "Lookup"]

KEPT: Final = -1
_CACHE_TOKENS: Final = 200_000


class Lookup:
    """A tokenizer over a vocabulary.

    Args:
        rows: row number of each word.
        tokenizer: its name.
        unknown: the code of every string that the vocabulary lacks.
        keep: words with the code :data:`KEPT`, in any case.
    """

    def __init__(
        self, rows: Mapping[str, int], tokenizer: str, unknown: int, keep: Iterable[str] = ()
    ) -> None:
        self._split = TOKENIZERS[tokenizer].split
        self._row = rows
        self._unknown = unknown
        self._keep = {key for word in keep for key in lookup_keys(word)}
        self._codes: dict[str, int | list[str]] = {}

    def split(self, line: str) -> tuple[list[str], list[int]]:
        """Split a line: alternating pieces, and a code for each word.

        Returns:
            Gaps at even positions and words at odd ones, which concatenate to the line; for each
            word a row number, ``unknown`` or :data:`KEPT`.
        """
        pieces = self._split(line)
        get, code = self._codes.get, self._code
        codes = [found if (found := get(word)) is not None else code(word) for word in pieces[1::2]]
        if any(type(each) is list for each in codes):
            return self._expand(pieces)
        return pieces, codes  # type: ignore[return-value]

    def row(self, word: str) -> int | None:
        """The row number of a word in the best of its spellings, or None."""
        for key in lookup_keys(word):
            if (row := self._row.get(key)) is not None:
                return row
        return None

    def _code(self, token: str) -> int | list[str]:
        """Row number of a token, another code, or the pieces it must be split into."""
        if len(self._codes) >= _CACHE_TOKENS:
            self._codes.clear()
        code = self._resolve(token)
        self._codes[token] = code
        return code

    def _resolve(self, token: str) -> int | list[str]:
        row: int | None = None
        for key in lookup_keys(token):
            if key in self._keep:
                return KEPT
            if row is None:
                row = self._row.get(key)
        if row is not None:
            return row
        pieces = subwords(token)
        if pieces is None or not self._useful(pieces):
            return self._unknown
        return pieces

    def _useful(self, pieces: list[str]) -> bool:
        """Contractions are split only into known words; everything else is split always."""
        if len(pieces) == 5 and pieces[2] == "":
            return all(isinstance(self._resolve(p), int) and self._known(p) for p in pieces[1::2])
        return True

    def _known(self, token: str) -> bool:
        return any(key in self._row or key in self._keep for key in lookup_keys(token))

    def _expand(self, pieces: list[str]) -> tuple[list[str], list[int]]:
        """Put the pieces of unknown compounds in place, until every word has a code."""
        out, codes = [pieces[0]], []
        for at in range(1, len(pieces), 2):
            code = self._codes.get(pieces[at])
            if code is None:
                code = self._code(pieces[at])
            if isinstance(code, int):
                out += (pieces[at], pieces[at + 1])
                codes.append(code)
            else:
                inner, found = self._expand(code)
                out[-1] += inner[0]
                out += inner[1:]
                out[-1] += pieces[at + 1]
                codes += found
        return out, codes
