"""Spans of personal data: how much of each can be read back.

Knows spans and words that were read.  Must not know mechanisms.

File: a JSON list, or JSON lines, of one value for each record in order: either a list of spans or
an object with a list ``spans``.  A span is an object with ``start`` and ``end`` (or
``start_position`` and ``end_position``) in code points of the original text, and perhaps ``type``
(or ``entity_type``); everything else in it is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.errors import InputError, file_reason

ANY: Final = ""
"""The type of spans without one."""


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of a record."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Recovery:
    """How many spans were read back by one way of reading."""

    fully: int
    partly: int
    none: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.fully + self.partly + self.none


@dataclass
class SpanTable:
    """The words of each span that could be judged."""

    kinds: list[str]
    """Of each span."""
    first: NDArray[np.int64] = field(repr=False)
    """First word of each span."""
    behind: NDArray[np.int64] = field(repr=False)
    """The word behind its last one."""
    left_out: int
    """Spans in lines that could not be aligned, and spans without words."""


def read_spans(path: Path, max_records: int | None = None) -> list[tuple[int, list[Span]]]:
    """The spans of each record, with the line of the file that they stand in.

    Raises:
        InputError: naming file and line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(path, file_reason(error)) from None
    rows: list[tuple[int, Any]] = []
    try:
        whole = orjson.loads(data)
    except orjson.JSONDecodeError:
        whole = None
    if isinstance(whole, list) and not _is_record(whole):
        rows = [(0, each) for each in whole]
    else:
        for line, raw in enumerate(data.split(b"\n"), start=1):
            if not raw.strip():
                continue
            try:
                rows.append((line, orjson.loads(raw)))
            except orjson.JSONDecodeError:
                raise InputError(
                    path, "not JSON", "a JSON list, or one JSON value a line", line=line
                ) from None
    out = []
    for number, (line, row) in enumerate(rows[:max_records], start=1):
        spans = row.get("spans") if isinstance(row, dict) else row
        try:
            if not isinstance(spans, list):
                raise TypeError
            out.append((line, [_span(each) for each in spans]))
        except (KeyError, TypeError, ValueError):
            raise InputError(
                path, f"record {number}: not a list of spans", _HINT, line=line or None
            ) from None
    return out


_HINT: Final = 'such as {"spans": [{"start": 0, "end": 5, "type": "NAME"}]}'


def _is_record(value: list[Any]) -> bool:
    """Whether a list is the spans of one record and not a list of records."""
    return bool(value) and isinstance(value[0], dict) and "spans" not in value[0]


def _span(value: dict[str, Any]) -> Span:
    start = value["start"] if "start" in value else value["start_position"]
    end = value["end"] if "end" in value else value["end_position"]
    kind = value.get("type", value.get("entity_type")) or ANY
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise ValueError
    return Span(start, end, str(kind))


def locate(path: Path, spans: Sequence[tuple[int, list[Span]]], pairs: Pairs) -> SpanTable:
    """Which words each span covers: those that overlap it.

    Raises:
        InputError: another number of records, or a span that ends behind its text.
    """
    if len(spans) != len(pairs.original):
        raise InputError(
            path,
            f"spans of {len(spans)} records, but there are {len(pairs.original)} texts",
            "one value for each record, and one --field",
        )
    bounds = np.searchsorted(pairs.text, np.arange(len(pairs.original) + 1))
    kinds: list[str] = []
    first, behind = [], []
    left_out = 0
    for number, (line, each) in enumerate(spans):
        a, b = int(bounds[number]), int(bounds[number + 1])
        starts, ends = pairs.spans[a:b, 0], pairs.spans[a:b, 1]
        for span in each:
            if span.end > len(pairs.original[number]):
                raise InputError(
                    path,
                    f"record {number + 1}: a span ends behind its text",
                    "start and end count code points of the original",
                    line=line or None,
                )
            low = int(np.searchsorted(ends, span.start, side="right"))
            high = int(np.searchsorted(starts, span.end, side="left"))
            if low >= high:
                left_out += 1
                continue
            kinds.append(span.kind)
            first.append(a + low)
            behind.append(a + high)
    return SpanTable(kinds, np.array(first, np.int64), np.array(behind, np.int64), left_out)


def recovered(table: SpanTable, right: NDArray[np.bool_]) -> dict[str, Recovery]:
    """Spans read back fully (every word right), partly or not, by type; ``all`` comes first.

    Args:
        right: whether each word was read right, (m,).
    """
    sums = np.concatenate([[0], np.cumsum(right)])
    hits = sums[table.behind] - sums[table.first]
    full = hits == table.behind - table.first
    some = (hits > 0) & ~full
    kinds = np.array(table.kinds, dtype=object)
    out = {"all": _recovery(full, some)}
    for kind in sorted(set(table.kinds) - {ANY}):
        of = kinds == kind
        out[kind] = _recovery(full[of], some[of])
    return out


def _recovery(full: NDArray[np.bool_], some: NDArray[np.bool_]) -> Recovery:
    fully, partly = int(full.sum()), int(some.sum())
    return Recovery(fully, partly, len(full) - fully - partly)
