"""Lines of a text as contexts: what a rule of ``--only`` may look at.

A context ends at an empty line, or where it would become longer than 64 KiB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from dpsan.formats.base import Record
from dpsan.sanitize.result import AuditTable
from dpsan.text.contexts import CONTEXT


class Lines:
    """Lines that are one context; renders them.

    Args:
        records: the lines, in order.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records
        self._breaks = [text.count("\n") for record in records for text in record.texts]

    def __call__(self, texts: list[str]) -> bytes:
        """Return the bytes of the lines, from the text of their context."""
        parts = texts[0].split("\n")
        out, at = [], 0
        for record, breaks in zip(self._records, self._breaks, strict=True):
            end = at + breaks + 1
            out.append(record.render(["\n".join(parts[at:end])]))
            if record is not self._records[-1]:
                out.append(record.owes)
            at = end
        assert at == len(parts)  # noqa: S101 - each line of the input has one of the output
        return b"".join(out)


def contexts(records: Iterator[Record | None], *, line_buffered: bool) -> Iterator[Record | None]:
    """Yield the lines of a text by context; what is no line as it is.

    Args:
        records: of a format whose records are the lines of one text.
        line_buffered: each line is a context of its own, as somebody waits for it.
    """
    held: list[Record] = []
    size = 0
    for record in records:
        line = record is not None and record.part == "record" and len(record.texts) == 1
        if record is None or not line:
            if record is not None and held:
                yield context(held)
                held, size = [], 0
            yield record
            continue
        length = len(record.texts[0]) + 1
        if held and size + length > CONTEXT:
            yield context(held)
            held, size = [], 0
        held.append(record)
        size += length
        if line_buffered or not record.texts[0].strip():
            yield context(held)
            held, size = [], 0
    if held:
        yield context(held)


def context(records: list[Record]) -> Record:
    """Return some lines as one record."""
    first, noted = records[0], Counter[str]()
    for record in records:
        noted.update(record.noted or {})
    spans: list[tuple[int, int, *tuple[str, ...]]] = []
    at = 0
    for record in records:
        spans += [(start + at, end + at, *kind) for start, end, *kind in record.spans or ()]
        at += len(record.texts[0]) + 1
    return Record(
        first.line,
        ["\n".join(record.texts[0] for record in records)],
        Lines(records),
        invalid=sum(record.invalid for record in records),
        owes=records[-1].owes,
        size=sum(record.size for record in records),
        spans=None if first.spans is None else spans,
        noted=noted or None,
        fields=first.fields,
        lines=[record.line for record in records],
        unmarked=sum(record.spans is not None and not record.spans for record in records),
    )


def lines_and_rows(
    table: AuditTable, outputs: Sequence[str], batch: Sequence[Record]
) -> tuple[list[int], AuditTable]:
    """Return the line of each text of a batch, and its audit; of contexts those of their lines."""
    counts = [len(record.lines) or 1 for record in batch for _ in record.texts]
    lines = [line for record in batch for line in record.lines or [record.line] * len(record.texts)]
    return lines, table if max(counts, default=1) == 1 else _by_line(table, outputs, counts)


def _by_line(table: AuditTable, outputs: Sequence[str], counts: Sequence[int]) -> AuditTable:
    """Return an audit of contexts as one of their lines.

    Args:
        table: of the contexts.
        outputs: the text of each.
        counts: how many lines each has.
    """
    lengths = np.fromiter(map(len, table.outputs), np.int64, len(table.outputs))
    starts, gaps, read = table.output_starts(lengths), table.gaps.copy(), table.read.copy()
    sizes: list[int] = []
    at = 0
    for text, size, count in zip(outputs, table.sizes.tolist(), counts, strict=True):
        of_text, at = slice(at, at + size), at + size
        if count == 1:
            sizes.append(size)
            continue
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        breaks = np.append(-1, np.flatnonzero(points == ord("\n")))
        line = np.searchsorted(breaks, starts[of_text]) - 1
        sizes += np.bincount(line, minlength=count).tolist()
        first = of_text.start + np.flatnonzero(np.diff(line, prepend=-1) != 0)
        since = starts[first] - breaks[line[first - of_text.start]] - 1
        read[first] += since - gaps[first]
        gaps[first] = since
    return replace(table, sizes=np.array(sizes, np.int64), gaps=gaps, read=read)
