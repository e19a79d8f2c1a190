"""The records of an input with the spans that another tool has found in them.

Knows records and the file of spans.  Must not know how words are drawn.  Whatever does not fit
ends the input: spans of other records would let personal data pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from dpsan.errors import InputError
from dpsan.formats.base import Record
from dpsan.formats.spans import SpanFile


def with_spans(records: Iterator[Record | None], path: Path) -> Iterator[Record | None]:
    """The same records; each that has a text knows its spans.

    Args:
        records: of one input, one text each at most.
        path: the file of spans, read in step.

    Raises:
        InputError: it cannot be read, its spans are not those of these records, or a record has
            several texts.
    """
    with closing(SpanFile(path)) as file:
        for record in records:
            if record is not None and record.texts:
                if len(record.texts) > 1:
                    where = f"the record in line {record.line} has several texts"
                    raise InputError(path, where, "spans are for one --field with one text")
                found = file.of(record.line, record.texts[0])
                record.spans = [(span.start, span.end) for span in found]
            yield record
        file.end()
