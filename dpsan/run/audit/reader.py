"""Reads audits: rows of the grammar, in order, or one error that names the line.

No message quotes a row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from dpsan.errors import InputError
from dpsan.files.compression import open_decompressed
from dpsan.files.source import Source
from dpsan.formats.lines import raw_records
from dpsan.run.audit.schema import SCHEMA, DamagedError, Row, checked, word_fields
from dpsan.sanitize.result import DRAWN, Action

_ROW: Final = 16 << 20
_ACTIONS: Final = frozenset(map(str, Action))


def damaged(path: str | Path, line: int, what: str = "") -> InputError:
    """Return the error of a damaged row."""
    return InputError(path, f"damaged audit row{': ' if what else ''}{what}", line=line)


def read_header(path: Path) -> Row:
    """Return the first row of an audit.

    Raises:
        InputError: it cannot be read or is not an audit.
    """
    with open_decompressed(path) as source:
        return next(_checked(source))[1]


def read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Yield all rows of an audit with their lines, the header first; read once, one at a time.

    Raises:
        InputError: it cannot be read, or a row is damaged.
    """
    with open_decompressed(path) as source:
        yield from _checked(source)


def _checked(source: Source) -> Iterator[tuple[int, Row]]:
    grammar: _Grammar | None = None
    for item in raw_records(source, _ROW):
        if item is None:
            continue
        number, raw, _ = item
        try:
            if grammar is None:
                row = _header(source.name, raw)
                grammar = _Grammar(row)
            else:
                row = orjson.loads(raw)
                grammar.check(row)
        except (orjson.JSONDecodeError, DamagedError) as error:
            what = str(error) if isinstance(error, DamagedError) else "not JSON"
            raise damaged(source.name, number, what) from None
        yield number, row
    if grammar is None:
        raise InputError(source.name, "not an audit: empty")
    # A run that was killed may have left a text without its last words: that is no damage.


def _header(name: str, raw: bytes) -> Row:
    try:
        row = orjson.loads(raw)
    except orjson.JSONDecodeError:
        row = None
    if type(row) is not dict or row.get("type") != "header":
        raise InputError(name, "not an audit of dpsan", "see rewrite --audit", line=1)
    if row.get("schema") != SCHEMA:
        what = f"an audit of another schema than {SCHEMA}, which this version reads"
        raise InputError(name, what, "use the dpsan that wrote it", line=1)
    return checked(row)


class _Grammar:
    """Rules for the rows that follow a header."""

    def __init__(self, header: Row) -> None:
        self._epsilon = float(header["epsilon"])
        self._consistent = header["consistent"] is not None
        self._record: tuple[int, ...] | None = None
        self._per_line = header["guarantee"]["per_line"]
        self._public = header["public"] is not None
        self._spans = header["spans"]
        self._only = header["only"] is not None
        self._classes = self._only or header["classes"] is not None
        self._word = word_fields(
            copies=header["copies"] > 1,
            originals=header["originals"],
            classes=header["classes"] is not None,
            only=self._only,
            fluent=header["fluent"] is not None,
        )
        self._text: tuple[int, ...] | None = None
        self._shares: list[float] = []
        self._ended = False

    def check(self, row: Any) -> None:
        """Raise DamagedError if a row is not one that may come next."""
        if self._ended:
            raise DamagedError("a row behind the totals")
        if type(row) is dict and row.get("type") == "word":
            self._check_word(checked(row, self._word))
        else:
            self.end_text()
            kind = checked(row)["type"]
            if kind == "header":
                raise DamagedError("a second header")
            if kind == "remembered" and row["epsilon"]:
                raise DamagedError("an epsilon where nothing was drawn, or none where it was")
            self._ended = kind == "totals"

    def _check_word(self, row: Row) -> None:
        action, epsilon = row["action"], row["epsilon"]
        if action not in _ACTIONS or action == Action.REMEMBERED:
            raise DamagedError("unknown action")
        if action == Action.OUTSIDE and not self._spans:
            raise DamagedError("a word outside spans where there are none")
        plain = action == Action.PLAIN and not self._only
        if plain or (action == Action.STRING and not self._classes):
            raise DamagedError("a class where there are none")
        free = self._public and action == Action.DRAWN  # of public words
        if (action in DRAWN) != (epsilon is not None) and not free:
            raise DamagedError("an epsilon where nothing was drawn, or none where it was")
        text = row["file"], row.get("copy", 1), row["line"], row["text"]
        if text != self._text:
            self.end_text()
            self._text = text
        if self._per_line and epsilon is not None:
            self._shares.append(epsilon)
        elif self._only:
            if epsilon not in (None, 0) and (action, epsilon) != (Action.NUMBER, self._epsilon):
                raise DamagedError("an epsilon of a word that is drawn in its group")
        elif epsilon not in (None, self._epsilon) and not self._repeated(text[:3], epsilon):
            raise DamagedError("another epsilon than the header's")
        if action in DRAWN:  # of a public word without an epsilon
            self._record = text[:3]

    def _repeated(self, record: tuple[int, ...], epsilon: float) -> bool:
        """Return True if a word may share the draw of an equal word before it in its record."""
        return self._consistent and epsilon == 0 and record == self._record

    def end_text(self) -> None:
        """Raise DamagedError if the shares of a text's words are not the header's epsilon."""
        shares, self._shares, self._text = self._shares, [], None
        if shares and not math.isclose(math.fsum(shares), self._epsilon, rel_tol=1e-9):
            raise DamagedError("another epsilon than the header's")
