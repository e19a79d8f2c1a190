"""The originals of a map or memo put back: replacements found as whole tokens."""

import re
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from dpsan.errors import UsageError
from dpsan.files.atomic_files import Sink
from dpsan.formats.base import Record
from dpsan.restore.map_file import Row
from dpsan.text.shape import compiled

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
_BARE: Final = compiled(rf"(?<=[sS])['’](?!{_WORD})")
"""The possessive of a replacement, or the end of a quotation."""
_QUOTES: Final = compiled(rf"(?<!{_WORD})(['‘])(?=[^\W\d_])|['’](?!{_WORD})|\n")
"""Single quotation marks, and line breaks, behind which none is open."""
_LETTERS: Final = compiled(r"[^\W\d_]++")
_FEWEST: Final = 3
"""Letters of a word that is known in other capitals."""
_BESIDE: Final = compiled(r" [^\W\d_]{2}")
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_DATE: Final = compiled(
    rf"(?<!\w)(?:\d{{4}}[ -])?(?:{_DAY}(?: of)?[ -])?(?P<month>[^\W\d_]{{3,}}+)\.?"
    rf"(?:[ -]{_DAY}(?![\w:]))?(?:,?[ -]\d{{4}}(?!\w))?"
)
"""A date with a month in letters, or a word alone, which may be one."""
_REST: Final = len(" September 2001,")
"""Most characters behind the first blank of a date, with the one that ends it."""

Span: TypeAlias = tuple[int, int]


class Originals:
    """The originals of a unit, or of a whole map.

    In memory a replacement takes 250 to 600 bytes.

    Args:
        rows: of the map.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._exact: dict[str, str | None] = {}
        """By replacement its original; None where there are several."""
        self._folded: dict[str, str | None] = {}
        """The same in lower case; spellings of one original are one."""
        self._sizes: dict[str, list[Span]] = {}
        """By the first word of replacements that are more than a word, in lower case: how many
        characters they have, as a negative number, and how many of them stand before that word."""
        self.occurred: set[str] = set()
        """Replacements that a text had, in lower case."""
        unit, several = None, False
        for row in rows:
            unit, several = row.unit, several or unit not in (None, row.unit)
            _note(self._exact, row, spelt="@" in row.replacement)
            _note(self._folded, row._replace(replacement=row.replacement.lower()), spelt=True)
            first = _RUN.search(row.replacement)
            if first is not None and first[0] != row.replacement:
                sizes = self._sizes.setdefault(first[0].lower(), [])
                size = -len(row.replacement), first.start()
                if size not in sizes:
                    insort(sizes, size)
        if several:  # AGNES of a unit may be Agnes of another
            self._exact |= {word: None for word in self._exact if not self._folded[word.lower()]}

    def __len__(self) -> int:
        """Return the number of replacements."""
        return len(self._folded)

    @property
    def longest(self) -> int:
        """Return the characters of the longest replacement."""
        return max(map(len, self._exact), default=0)

    def restore(self, text: str, counts: Counter[str] | None = None, quote: str = "") -> str:
        """Return a text with its originals.

        Args:
            counts: gets how many tokens were ``restored``, are ``undecided``, or too ``short``, or
                look like a replacement in other ``capitals``, and how many ``dates`` stay, as not
                all of their parts could be put back.
            quote: the single quotation mark that is open where the text begins.
        """
        counts = Counter() if counts is None else counts
        out: list[str] = []
        done = at = 0
        dates = self._torn_dates(text) if self._exact else {}
        while self._exact and (match := _TOKEN.search(text, at)):
            start, at = match.span()
            if start in dates:
                at = dates[start]
                counts["dates"] += 1
                continue
            spans = [(start, at)]
            if match.lastgroup is None:
                word = match[0].lower()
                if word.isalpha() and word not in self._folded and word not in self._sizes:
                    continue
                number = _NUMBER.match(text, start)
                last = number.end() if number else at
                spans = self._whole(text, start, last, done)
                looks = not spans and len(word) >= _FEWEST and word in self._folded
                if looks and _END.match(text, at):
                    counts["capitals"] += 1
                at = max([at, last, *(end for _, end in spans)])
            for begin, end in spans:
                if match.lastgroup == "address":
                    original = self._address(text[begin:end], counts)
                else:
                    original = self._original(text, begin, end, counts)
                out += text[done:begin], original
                self.occurred |= {text[begin:end].lower()} & self._folded.keys()
                quote = [quote, *_QUOTES.findall(text, done, begin + 1)][-1]
                done = end
                whole = quote or match.lastgroup or original[-1] in "sS"
                if not whole and _BARE.match(text, end):
                    out += text[end], "S" if text[begin:end].isupper() else "s"
                    done += 1
        return "".join([*out, text[done:]])

    def _torn_dates(self, text: str) -> dict[int, int]:
        """Return where dates begin and end of which a part alone would be put back."""
        from dpsan.only.keys import is_month

        torn, at = dict[int, int](), 0
        while match := _DATE.search(text, at):
            begin, at = match.span()
            if len(match[0]) <= len(match["month"]) + 1:
                continue  # a word alone
            done, parts = begin, set[bool]()
            for word in _RUN.finditer(text, begin, at):
                if word.start() >= done and word[0] != "of":
                    span, counts = self._longest(text, word.start(), done), Counter[str]()
                    if span:
                        self._original(text, *span, counts)
                    parts.add(counts["restored"] > 0)
                    done = span[1] if span else word.end()
            if len(parts) > 1 and is_month(match["month"].lower()):
                torn[begin] = at
            else:
                at = match.end("month")
        return torn

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
            if begin < done or end > len(text) or not self._has(text[begin:end]):
                continue
            joined = before > 0 < begin and text[begin - 1].isalnum()
            if not joined and (not text[end - 1].isalnum() or _END.match(text, end)):
                return begin, end
        return None

    def _original(self, text: str, begin: int, end: int, counts: Counter[str]) -> str:
        """Return what a token becomes, which may be itself."""
        written = text[begin:end]
        if not self._has(written):
            return written
        original = self._exact.get(written, self._folded[written.lower()])
        initial = len(written) == 1 and text[end : end + 1] == "."
        if _is_short(written) and not initial:
            counts["short"] += 1
            return written
        if written not in self._exact:
            return _settled(written, original, counts)
        counts["undecided" if original is None else "restored"] += 1
        return written if original is None else original

    def _has(self, written: str) -> bool:
        """Return whether a token is a replacement, or clearly one in other capitals."""
        if written in self._exact or self._folded.get(written.lower()) is None:
            return written in self._exact
        from dpsan.only.keys import is_ordinary  # numpy comes with it

        words = _LETTERS.findall(written)
        return len(words) > 1 or (len(words[0]) >= _FEWEST and not is_ordinary(words[0].lower()))

    def _address(self, written: str, counts: Counter[str]) -> str:
        """Return the original of an address or a handle, or put names inside of it back."""
        if written in self._exact:
            return self._original(written, 0, len(written), counts)
        if written.lower() in self._folded:
            return _settled(written, self._folded[written.lower()], counts)
        return _LETTERS.sub(lambda match: self._piece(match[0], counts), written)

    def _piece(self, written: str, counts: Counter[str]) -> str:
        """Return the original of a piece of an address, whose capitals tell nothing."""
        if len(written) == 1 or written.lower() not in self._folded:
            return written
        return _settled(written, self._folded[written.lower()], counts)


class Chunks:
    """Restores a text that comes in chunks, which may cut a replacement anywhere.

    Args:
        originals: of its unit.
    """

    def __init__(self, originals: Originals) -> None:
        self._originals, self._longest = originals, max(originals.longest, _REST)
        self._held = self._quote = ""

    def add(self, chunk: str) -> str:
        """Return what can be written after a chunk: all that no later one may change."""
        self._held += chunk
        restore, text, quote = self._originals.restore, self._held, self._quote
        # No token has white space but for replacements, which are whole before the end.
        last = len(text) - self._longest
        ends = [end for end in range(last, 0, -1) if text[end : end + 1].isspace()]
        whole = restore(text, None, quote) if ends else ""
        for end in ends:
            before = restore(text[:end], None, quote)
            later = [quote, *_QUOTES.findall(text, 0, end + 1)][-1]
            if before + restore(text[end:], None, later) == whole:
                self._held, self._quote = text[end:], later
                return before
        return ""

    def end(self) -> str:
        """Return the rest."""
        rest, self._held = self._originals.restore(self._held, None, self._quote), ""
        return rest


def _note(originals: dict[str, str | None], row: Row, *, spelt: bool) -> None:
    """Take in a row; two originals leave none, but for spellings of one if ``spelt``."""
    first = originals.setdefault(row.replacement, row.original)
    if first is None or first == row.original:
        return
    if not spelt or first.lower() != row.original.lower():
        originals[row.replacement] = None


def _is_short(replacement: str) -> bool:
    """Return whether a letter or a number is too short to be known again.

    One beside a word is none: 3 February.
    """
    digits = sum(map(str.isdigit, replacement))
    begins = replacement[0].isalpha() or "@" in replacement or _BESIDE.search(replacement)
    return len(replacement) == 1 or (0 < digits < 4 and not begins)


def _settled(written: str, original: str | None, counts: Counter[str]) -> str:
    """Return an original in the capitals of a token; the token if there are several."""
    counts["undecided" if original is None else "restored"] += 1
    if original is None:
        return written
    if written.islower():
        return original.lower()
    title = written.istitle() and original.islower() and "@" not in written
    return original.upper() if written.isupper() else original.title() if title else original


_HELD: Final = 1 << 20
"""Output bytes that are collected before they are written."""


class Restoring:
    """Puts originals back into records.

    Args:
        rows: of all records; None where each record has those of its unit.
        rows_of: returns those of a unit, when they are needed, or raises KeyError or UsageError.
    """

    def __init__(self, rows: Iterable[Row] | None, rows_of: Callable[[str], Iterable[Row]]) -> None:
        self._by_unit, self._rows_of = rows is None, rows_of
        self._unit: str | None = None
        self._stranger = False
        self._originals = Originals(rows or ())
        self.empty = not self._by_unit and not self._originals
        """True if no record has a replacement."""
        self.counts: Counter[str] = Counter()
        """See :meth:`Originals.restore`; also ``strangers``, records of units without a row, and
        ``invalid``, byte sequences that were replaced."""
        self.noted: Counter[str] = Counter()
        """See :class:`~dpsan.formats.passing.Passing`."""

    @property
    def few(self) -> str:
        """Return how few replacements of a map occurred, for a message; nothing if a tenth did."""
        met, every = len(self._originals.occurred), len(self._originals)
        return f"{met} of {every}" if not self._by_unit and 0 < 10 * met < every else ""

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
        self.noted.update(record.noted or {})
        if self._by_unit and record.texts:
            if record.unit != self._unit:
                try:
                    self._unit, rows = record.unit, self._rows_of(record.unit)
                except (KeyError, UsageError):
                    rows = None
                self._stranger, self._originals = rows is None, Originals(rows or ())
            self.counts["strangers"] += self._stranger
        texts = [self._originals.restore(text, self.counts) for text in record.texts]
        if texts != record.texts:
            self.counts["invalid"] += record.invalid
        if piece := record.render(texts):
            output += sink.owed + piece
            sink.owed = record.owes
