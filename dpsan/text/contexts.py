"""Contexts: the pieces of texts of which decisions are made.

A context is a text, or a piece of at most 64 KiB of a longer one, cut at an empty line, a line's
end or white space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

import regex

from dpsan.text.shape import INVISIBLE, visible
from dpsan.text.spanned_tokens import Spans, clipped

CONTEXT: Final = 1 << 16
"""Most characters of a context."""
_DROPPED: Final = regex.compile(rf"(?!\x1b\[)(?:{INVISIBLE.pattern})", regex.V1)
"""Invisible characters, but for those that begin the colours of a terminal."""
_AT_ONCE: Final = 1 << 20
"""Characters of which arrays are made at once."""


def batches(texts: Sequence[str], numbers: Sequence[int]) -> Iterator[tuple[int, int, bool]]:
    """Yield first and last of texts that are rewritten at once, whole records.

    The third is True for a record with a text of several contexts, which stands alone.
    """
    starts = [at for at in range(len(texts)) if not at or numbers[at] != numbers[at - 1]]
    begin = size = 0
    for first, last in zip(starts, [*starts[1:], len(texts)], strict=True):
        lengths = [len(text) for text in texts[first:last]]
        long = max(lengths) > CONTEXT
        if first > begin and (long or size + sum(lengths) > _AT_ONCE):
            yield begin, first, False
            begin, size = first, 0
        size += sum(lengths)
        if long:
            yield first, last, True
            begin, size = last, 0
    if begin < len(texts):
        yield begin, len(texts), False


def blocks(contexts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield first and last of contexts of which arrays are made at once."""
    begin = size = 0
    for at, context in enumerate(contexts):
        if at > begin and size + len(context) > _AT_ONCE:
            yield begin, at
            begin, size = at, 0
        size += len(context)
    if begin < len(contexts):
        yield begin, len(contexts)


def pieces(text: str, spans: Spans | None) -> Iterator[tuple[str, Spans]]:
    """Yield the contexts of a text with the spans in each."""
    at = 0
    for piece in contexts(text):
        end = at + len(piece)
        yield piece, clipped(spans or (), at, end)
        at = end


def contexts(text: str) -> Iterator[str]:
    """Yield the contexts of a text: cut at an empty line, a line's end, or white space."""
    at = 0
    while len(text) - at > CONTEXT:
        window = text[at : at + CONTEXT]
        found = (window.rfind(mark) + len(mark) for mark in ("\n\n", "\n", " "))
        size = next((cut for cut in found if cut > CONTEXT // 2), CONTEXT)
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
