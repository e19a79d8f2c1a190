"""The map of ``rewrite --map``, and its originals put back: replacements found as whole tokens.

A map has lines of JSON, UTF-8, as sensitive as the input::

    {"type": "map", "schema": 1, "dpsan": VERSION, "run": KEY-ID}
    {"unit": ..., "original": ..., "replacement": ..., "class": ...}     any number

All values of a row are strings, words without their possessive ending.  Rows of a unit may stand
anywhere and more than once.  No message quotes a row.
"""

from __future__ import annotations

import json
import re
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from dpsan import __version__
from dpsan.errors import InputError
from dpsan.files.atomic_files import PrivateFile, Sink
from dpsan.files.source import FileSource, opened_input
from dpsan.formats.base import Record
from dpsan.formats.text import json_header, raw_records
from dpsan.text.shape import compiled

SCHEMA: Final = 1
_LONGEST: Final = 64 << 20
"""Bytes of the longest row."""
_HELD_ROWS: Final = 1 << 18
"""Bytes of rows that are collected before they are written."""
_FIELDS: Final = ("unit", "original", "replacement", "class")


class Row(NamedTuple):
    """Meaning of a replacement."""

    unit: str
    original: str
    replacement: str


class MapWriter(PrivateFile):
    """Writes a map; a context manager.

    Rows reach the disk at :meth:`sync`, which must come before an output with their replacements
    gets its name.  Equal rows of a unit are written once, as long as its calls follow each other:
    the distinct words of one unit are held in memory.

    Args:
        path: created with mode 0600 under every umask.
        run: identifies the key of the run.
        force: replace an existing file, at the first :meth:`sync`.

    Raises:
        OutputError: the file exists or cannot be written.
    """

    def __init__(self, path: Path, run: str, *, force: bool = False) -> None:
        super().__init__(path, force=force)
        self._held = bytearray()
        self._synced = True
        self._unit, self._written = "", set[tuple[str, str, str]]()
        self._hold({"type": "map", "schema": SCHEMA, "dpsan": __version__, "run": run})

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.sync()
        finally:
            self.close()

    def add(self, unit: str, rows: Iterable[tuple[str, str, str]]) -> None:
        """Add original, replacement and class of the drawn words of a unit.  Raises OutputError."""
        if unit != self._unit:
            self._unit, self._written = unit, set()
        for row in rows:
            if row not in self._written:
                self._written.add(row)
                self._hold(dict(zip(_FIELDS, (unit, *row), strict=True)))
        if len(self._held) >= _HELD_ROWS:
            self._flush()

    def sync(self) -> None:
        """Wait until all rows are on the disk, under the name of the map.  Raises OutputError."""
        if not self._synced:
            self._flush()
            self.to_disk()
            self._synced = True

    def _hold(self, row: dict[str, Any]) -> None:
        self._synced = False
        self._held += json.dumps(row).encode() + b"\n"

    def _flush(self) -> None:
        self.send(bytes(self._held))
        self._held.clear()


def read_map(path: Path) -> Iterator[Row]:
    """Yield all rows.

    Raises:
        InputError: it cannot be read, is not a map, or a row is damaged or torn.
    """
    with opened_input(path, hints=False) as source:
        rows = filter(None, raw_records(source, _LONGEST))
        _, raw, ending = next(rows, (1, b"", b""))
        json_header(source.name, raw if ending else b"", "map", SCHEMA, "a map")
        for line, raw, ending in rows:
            if not ending:
                hint = "its run was stopped before it wrote an output of it: delete the line"
                raise InputError(source.name, "torn row of a map", hint, line=line)
            yield _row(source, line, raw)


def rows_by_unit(path: Path) -> dict[str, list[Row]]:
    """Return the rows of each unit.  Raises as :func:`read_map`."""
    rows: dict[str, list[Row]] = {}
    for row in read_map(path):
        rows.setdefault(row.unit, []).append(row)
    return rows


def _row(source: FileSource, line: int, raw: bytes) -> Row:
    try:
        fields = json.loads(raw)
        row = Row(*(fields[name] for name in _FIELDS[:3]))
    except (LookupError, TypeError, ValueError, RecursionError):
        row = Row("", "", "")
    if not all(isinstance(value, str) for value in row) or not row.original or not row.replacement:
        raise InputError(source.name, "damaged row of a map", line=line)
    return row


_MARKS: Final = ".,:/'’-"
"""Characters that join digits to one number."""
_WORD: Final = r"[^\W_]"
# An address or a handle; a link; a word that no letter, apostrophe or mark joins to one before it.
_TOKEN: Final = compiled(
    r"(?P<address>(?<![\w.%+-])[\w.%+-]*+@[\w-]++(?:\.[\w-]++)*+)"
    r"|(?P<link>\b(?:[a-z]++://|www\.)[^\s<>\"'()]*[^\s<>\"'().,;:!?*_`\]}])"
    rf"|(?<!{_WORD})(?<!{_WORD}[_'’])(?:(?<!\d[{_MARKS}])(?=\d)|(?!\d)){_WORD}++"
)
_RUN: Final = compiled(rf"{_WORD}++")
_NUMBER: Final = compiled(rf"\d++(?:[{_MARKS}]\d++)*+")
_END: Final = compiled(
    rf"(?!{_WORD}|_+{_WORD}|[\u0300-\u036f]|['’](?!(?:s|d|m|ll|re|ve)\b){_WORD})", re.IGNORECASE
)
"""The end of a word: a possessive, another clitic or an emphasis may follow."""
_LETTERS: Final = compiled(r"[^\W\d_]++")
_BESIDE: Final = compiled(r" [^\W\d_]{2}")

Span: TypeAlias = tuple[int, int]


class Originals:
    """The originals of a unit, or of a whole map.

    In memory a replacement takes 150 to 300 bytes.

    Args:
        rows: of the map.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._exact: dict[str, str | None] = {}
        """By replacement its original; None where there are several."""
        self._folded: dict[str, str | None] = {}
        """The same for addresses and handles in lower case."""
        self._sizes: dict[str, list[Span]] = {}
        """By the first word of replacements that are more than a word, in lower case: how many
        characters they have, as a negative number, and how many of them stand before that word."""
        for row in rows:
            _note(self._exact, row.replacement, row.original)
            if "@" in row.replacement:
                _note(self._folded, row.replacement.lower(), row.original)
            first = _RUN.search(row.replacement)
            if first is not None and first[0] != row.replacement:
                sizes = self._sizes.setdefault(first[0].lower(), [])
                size = -len(row.replacement), first.start()
                if size not in sizes:
                    insort(sizes, size)

    @property
    def empty(self) -> bool:
        """Return whether there is no replacement."""
        return not self._exact

    @property
    def longest(self) -> int:
        """Return the characters of the longest replacement."""
        return max(map(len, self._exact), default=0)

    def restore(self, text: str, counts: Counter[str] | None = None) -> str:
        """Return a text with its originals.

        Args:
            counts: gets how many tokens were ``restored``, are ``undecided``, or too ``short``.
        """
        counts = Counter() if counts is None else counts
        out: list[str] = []
        done = at = 0
        while self._exact and (match := _TOKEN.search(text, at)):
            start, at = match.span()
            spans = [(start, at)]
            if match.lastgroup is None:
                word = match[0]
                if word.isalpha() and word not in self._exact and word.lower() not in self._sizes:
                    continue
                number = _NUMBER.match(text, start)
                last = number.end() if number else at
                spans = self._whole(text, start, last, done)
                at = max([at, last, *(end for _, end in spans)])
            for begin, end in spans:
                if match.lastgroup == "address":
                    original = self._address(text[begin:end], counts)
                else:
                    original = self._original(text, begin, end, counts)
                out += text[done:begin], original
                done = end
        return "".join([*out, text[done:]])

    def _whole(self, text: str, start: int, last: int, done: int) -> list[Span]:
        """Return the replacements that a word or a joined number consists of.

        There are none if something else is in it, too.

        Args:
            start, last: the word or number.
            done: end of the replacement before.
        """
        spans: list[Span] = []
        while start < last:
            span = self._longest(text, start, done)
            if span is None:
                return []
            spans.append(span)
            done = span[1]
            start = done + 1  # after the mark that joins two numbers
        return spans

    def _longest(self, text: str, start: int, done: int) -> Span | None:
        """Return the longest replacement whose first word begins here."""
        word = _RUN.match(text, start)
        if word is None:
            return None
        for size, before in (*self._sizes.get(word[0].lower(), ()), (-len(word[0]), 0)):
            begin = start - before
            end = begin - size
            if begin < done or end > len(text) or text[begin:end] not in self._exact:
                continue
            joined = before > 0 < begin and text[begin - 1].isalnum()
            if not joined and (not text[end - 1].isalnum() or _END.match(text, end)):
                return begin, end
        return None

    def _original(self, text: str, begin: int, end: int, counts: Counter[str]) -> str:
        """Return what a token becomes, which may be itself."""
        written = text[begin:end]
        if written not in self._exact:
            return written
        original = self._exact[written]
        initial = len(written) == 1 and text[end : end + 1] == "."
        if _is_short(written) and not initial:
            counts["short"] += 1
            return written
        counts["undecided" if original is None else "restored"] += 1
        return written if original is None else original

    def _address(self, written: str, counts: Counter[str]) -> str:
        """Return the original of an address or a handle, or put names inside of it back."""
        if written in self._exact:
            return self._original(written, 0, len(written), counts)
        if written.lower() in self._folded:
            return _settled(written, [self._folded[written.lower()]], counts)
        return _LETTERS.sub(lambda match: self._piece(match[0], counts), written)

    def _piece(self, written: str, counts: Counter[str]) -> str:
        """Return the original of a piece of an address, whose capitals tell nothing."""
        forms = {written, written.lower(), written.upper(), written.capitalize()}
        originals = [self._exact[form] for form in sorted(forms) if form in self._exact]
        return _settled(written, originals, counts) if len(written) > 1 else written


class Chunks:
    """Restores a text that comes in chunks, which may cut a replacement anywhere.

    Args:
        originals: of its unit.
    """

    def __init__(self, originals: Originals) -> None:
        self._originals, self._longest, self._held = originals, originals.longest, ""

    def add(self, chunk: str) -> str:
        """Return what can be written after a chunk: all that no later one may change."""
        self._held += chunk
        restore, text = self._originals.restore, self._held
        # No token has white space but for replacements, which are whole before the end.
        last = len(text) - self._longest
        ends = [end for end in range(last, 0, -1) if text[end : end + 1].isspace()]
        whole = restore(text) if ends else ""
        for end in ends:
            if (before := restore(text[:end])) + restore(text[end:]) == whole:
                self._held = text[end:]
                return before
        return ""

    def end(self) -> str:
        """Return the rest."""
        rest, self._held = self._originals.restore(self._held), ""
        return rest


def _note(originals: dict[str, str | None], replacement: str, original: str) -> None:
    """Take in a row; two originals that are no spellings of one address leave none."""
    first = originals.setdefault(replacement, original)
    if first is None or first == original:
        return
    if "@" not in replacement or first.lower() != original.lower():
        originals[replacement] = None


def _is_short(replacement: str) -> bool:
    """Return whether a letter or a number is too short to be known again.

    One beside a word is none: 3 February.
    """
    digits = sum(map(str.isdigit, replacement))
    begins = replacement[0].isalpha() or "@" in replacement or _BESIDE.search(replacement)
    return len(replacement) == 1 or (0 < digits < 4 and not begins)


def _settled(written: str, candidates: list[str | None], counts: Counter[str]) -> str:
    """Return the one original of a token in the capitals of the token, or the token."""
    if not candidates:
        return written
    originals = {original and original.lower() for original in candidates}
    first = candidates[0]
    if first is None or len(originals) > 1:
        counts["undecided"] += 1
        return written
    counts["restored"] += 1
    if written.islower():
        return first.lower()
    return first.upper() if written.isupper() else first


_HELD: Final = 1 << 20
"""Output bytes that are collected before they are written."""


class Restoring:
    """Puts originals back into records.

    Args:
        rows: of all records; None where each record has those of its unit.
        rows_of: returns those of a unit, when they are needed.
    """

    def __init__(self, rows: Iterable[Row] | None, rows_of: Callable[[str], Iterable[Row]]) -> None:
        self._by_unit, self._rows_of = rows is None, rows_of
        self._unit: str | None = None
        self._originals = Originals(rows or ())
        self.empty = not self._by_unit and self._originals.empty
        """True if no record has a replacement."""
        self.counts: Counter[str] = Counter()
        """See :meth:`Originals.restore`; also ``strangers``, records of units without a row, and
        ``invalid``, byte sequences that were replaced."""

    def write(self, records: Iterator[Record | None], sink: Sink) -> None:
        """Restore and write records.  Raises InputError, OutputError."""
        output = bytearray()
        try:
            for record in records:
                if record is not None:
                    self._restore(record, output, sink)
                if record is None or len(output) >= _HELD:
                    sink.write(bytes(output))
                    output.clear()
        finally:  # records before an error are written
            sink.write(bytes(output))

    def _restore(self, record: Record, output: bytearray, sink: Sink) -> None:
        """Append a record to the output that is held."""
        if self._by_unit and record.texts:
            if record.unit != self._unit:
                self._unit, self._originals = record.unit, Originals(self._rows_of(record.unit))
            self.counts["strangers"] += self._originals.empty
        texts = [self._originals.restore(text, self.counts) for text in record.texts]
        if texts != record.texts:
            self.counts["invalid"] += record.invalid
        if piece := record.render(texts):
            output += sink.owed + piece
            sink.owed = record.owes
