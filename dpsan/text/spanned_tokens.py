"""Find the tokens that spans touch: parts of a text that another tool found.

A token that a span touches anywhere is inside with all its characters: of two ways to read half a
word, this one passes less.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from operator import index, itemgetter
from typing import Any, Final, TypeAlias

import regex

from dpsan.errors import UsageError, refuse
from dpsan.text.shape import INVISIBLE, visible

Spans: TypeAlias = Sequence[tuple[int, int, *tuple[str, ...]]]
"""First code point of each and the one after its last, and perhaps its type, in any order; they may
overlap."""
UNKNOWN_TYPE: Final = "a span has a type that no class has"
KNOWN_TYPES: Final = "docs/formats.md lists the types; without one, a span is drawn as well"
_HINT: Final = "start < end, in code points of the text"


def checked_spans(spans: Iterable[Sequence[Any]], size: int) -> Spans:
    """Return the spans of a text of ``size`` code points, with a type behind them if they have one.

    Raises:
        UsageError: one that is not a pair of whole numbers, is empty, or is not in the text.
    """
    out: list[tuple[int, int, *tuple[str, ...]]] = []
    refuse(not isinstance(spans, Iterable), "the spans of a text must be a list of pairs", _HINT)
    for span in spans:
        try:
            start, end = map(index, span[:2])
            if len(span) > 3 or not all(isinstance(kind, str) for kind in span[2:]):
                raise TypeError
        except (TypeError, ValueError):
            raise UsageError("a span must be a pair of whole numbers", _HINT) from None
        if not 0 <= start < end <= size:
            raise UsageError("a span is empty or not in its text", _HINT)
        out.append((start, end, *span[2:]))
    return out


def in_spans(pieces: list[str], spans: Spans) -> tuple[list[bool], list[str], int]:
    """Return which words of a text spans touch, and what is written between its words.

    Inside of spans, and of the words that they touch, gaps are written as
    :func:`dpsan.text.tokens.gaps_to_write` does; elsewhere they stay as they are.

    Args:
        pieces: of the text, gaps and words in turn.
        spans: in the text.

    Returns:
        For each word whether it is drawn, the gaps, and how many characters of these are dropped.
    """
    ends = [*accumulate(map(len, pieces))]
    touched = bytearray(ends[-1])
    for start, end, *_ in spans:
        touched[start:end] = b"\1" * (end - start)
    drawn = [any(touched[ends[at - 1] : ends[at]]) for at in range(1, len(pieces), 2)]
    beside = [False, *drawn, False]
    gaps, dropped = pieces[::2], 0
    for number, gap in enumerate(gaps):
        here = touched[ends[2 * number] - len(gap) : ends[2 * number]]
        if any(here):
            letters = [
                c if not within else "" if INVISIBLE.match(c) else "s" if c == "S" else c
                for c, within in zip(gap, here, strict=True)
            ]
            gaps[number] = "".join(letters)
            dropped += len(gap) - len(gaps[number])
        inner = 0 < number < len(gaps) - 1
        if inner and not gaps[number] and (gap or beside[number] or beside[number + 1]):
            gaps[number] = " "  # nobody could tell the two words apart
    return drawn, gaps, dropped


def clipped(spans: Spans, start: int, end: int) -> Spans:
    """Return the parts of spans in a part of a text, counted from the start of that part."""
    return [
        (max(low, start) - start, min(high, end) - start, *kind)
        for low, high, *kind in spans
        if low < end and start < high
    ]


def spans_of(texts: Sequence[str | None], spans: Sequence[Any]) -> list[Spans]:
    """Return the spans of each text that is there.  Raises UsageError."""
    refuse(len(spans) != len(texts), f"spans of {len(spans)} texts, but there are {len(texts)}")
    return [
        checked_spans(marked, len(text))
        for text, marked in zip(texts, spans, strict=True)
        if text is not None
    ]


def strings_of(texts: Iterable[object]) -> list[str | None]:
    """Return the texts of an iterable.

    Raises:
        TypeError: anything else than strings and None; a dict or a table.
    """
    if isinstance(texts, bytes | bytearray):
        raise TypeError("texts must be strings (got bytes: decode them first)")
    if hasattr(texts, "read") or hasattr(texts, "__fspath__"):
        # Each line would be a text of its own, and one name several names.
        what = f"texts must be strings (got a {type(texts).__name__}: rewrite(file.read()), or"
        raise TypeError(f"{what} on the command line dpsan rewrite FILE)")
    if isinstance(texts, Mapping) or hasattr(texts, "columns"):
        # They iterate over their keys, which would be rewritten, and the texts be left out.
        kind = type(texts).__name__
        what = f"got a {kind}: choose one of its columns, or rewrite_object(VALUE) for a dict"
        raise TypeError(f"texts must be strings ({what})")
    if not isinstance(texts, Iterable):
        raise TypeError(f"texts must be a string or strings (got {type(texts).__name__})")
    every: list[str | None] = []
    for text in texts:
        if text is not None and not isinstance(text, str):
            what = f"got {type(text).__name__} as item {len(every) + 1}"
            raise TypeError(f"texts must be strings, None if missing ({what})")
        every.append(text)
    return every


CONTEXT: Final = 1 << 16
"""Most characters of a context."""
_DROPPED: Final = regex.compile(rf"(?!\x1b\[)(?:{INVISIBLE.pattern})", regex.V1)
"""Invisible characters, but for those that begin the colours of a terminal."""
_AT_ONCE: Final = 1 << 20
"""Characters of which arrays are made at once."""
_ALONE: Final = _AT_ONCE
"""Size of a record that stands alone."""


def batches(texts: Sequence[str], numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of texts that are rewritten at once, whole records.

    A record with a text of several contexts stands alone.
    """
    starts = [at for at in range(len(texts)) if not at or numbers[at] != numbers[at - 1]]
    bounds = [*starts, len(texts)]
    sizes = []
    for first, last in pairwise(bounds):
        lengths = [len(text) for text in texts[first:last]]
        sizes.append(_ALONE if max(lengths) > CONTEXT else sum(lengths))
    for begin, end in _runs(sizes):
        yield bounds[begin], bounds[end]


def blocks(texts: Sequence[str], numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of texts of which arrays are made at once, mostly whole contexts.

    Args:
        numbers: of the context of each text.
    """
    bounds, sizes = [0], list[int]()
    for _, context in groupby(zip(numbers, map(len, texts), strict=True), itemgetter(0)):
        lengths = [length for _, length in context]
        parts = [lengths] if sum(lengths) <= _AT_ONCE else [[length] for length in lengths]
        sizes += map(sum, parts)
        bounds += accumulate(map(len, parts), initial=bounds.pop())
    for begin, end in _runs(sizes):
        yield bounds[begin], bounds[end]


def _runs(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of what is worked on at once, by its characters."""
    begin = size = 0
    for at, length in enumerate(sizes):
        if at > begin and (size + length > _AT_ONCE or length == _ALONE):
            yield begin, at
            begin, size = at, 0
        size += length
    if begin < len(sizes):
        yield begin, len(sizes)


def pieces(text: str, spans: Spans | None) -> list[tuple[str, Spans]]:
    """Return the contexts of a text with the spans in each."""
    if len(text) <= CONTEXT:
        return [(text, spans or ())]
    out, at = [], 0
    for piece in contexts(text):
        out.append((piece, clipped(spans or (), at, at + len(piece))))
        at += len(piece)
    return out


def contexts(text: str) -> Iterator[str]:
    """Yield the contexts of a text: cut at an empty line, a line's end, or white space."""
    at = 0
    while len(text) - at > CONTEXT:
        window = text[at : at + CONTEXT]
        cuts = (window.rfind(mark) + len(mark) for mark in ("\n\n", "\n", " "))
        size = next((cut for cut in cuts if cut > CONTEXT // 2), CONTEXT)
        yield window[:size]
        at += size
    yield text[at:]


def context_numbers(records: Sequence[int], counts: Sequence[int]) -> list[int]:
    """Return the number of the context of each piece.

    Args:
        records: number of the record of each text.
        counts: how many pieces it has; those of a text with several are contexts each.
    """
    numbers: list[int] = []
    number, last = -1, -1
    for record, count in zip(records, counts, strict=True):
        if count > 1 or record != last:
            number += 1
        numbers += range(number, number + count)
        number += count - 1
        last = record if count == 1 else -1
    return numbers


def without_invisible(
    texts: Sequence[str], spans: Sequence[Spans] | None
) -> tuple[list[str], Sequence[Spans] | None, int]:
    """Return texts without invisible characters, spans of these, and how many were dropped."""
    clean = [text if visible(text) else _DROPPED.sub("", text) for text in texts]
    dropped = sum(map(len, texts)) - sum(map(len, clean))
    if spans is None or not dropped:
        return clean, spans, dropped
    moved: list[Spans] = []
    for text, of_text in zip(texts, spans, strict=True):
        at = {match.start() for match in _DROPPED.finditer(text)}
        before = [0, *accumulate(place in at for place in range(len(text)))]
        moved.append([(a - before[a], b - before[b], *kind) for a, b, *kind in of_text])
    return clean, moved, dropped
