"""Rows of words as the bytes of an audit, put together from columns that are JSON at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan.sanitize.result import ACTIONS, UNDRAWN, Action, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

_ROWS: Final = 1 << 11
"""Rows that are put together at once."""
_ACTIONS: Final = np.array([*map(str, ACTIONS)], dtype=object)

Ids = NDArray[np.int64]
Column = NDArray[Any] | Sequence[Any]


class Rows:
    """Makes the rows of one audit.

    Args:
        sanitizer: drew the words.
        originals: also the input words, distances and ranks.
        copies: of each text.
    """

    def __init__(self, sanitizer: Sanitizer, *, originals: bool, copies: int) -> None:
        self._originals, self._copies = originals, copies
        self._space = sanitizer.space
        self._epsilon = sanitizer.mechanism.epsilon
        self._per_line = sanitizer.guarantee.per_line
        self._public = np.array(sanitizer.public, dtype=np.int64)
        grouping = sanitizer.grouping
        self._classes = np.array([None, *sanitizer.replaced_classes], dtype=object)
        self._kinds = None if grouping is None else grouping.kinds(self._space.n)
        self._class_of: dict[str | None, str | None] = {None: None}
        if only := sanitizer.replacing:
            self._class_of |= zip(only.groups, only.classes, strict=True)

    def of(
        self,
        file: int,
        lines: Sequence[int],
        table: AuditTable,
        copy: int,
        remembered: Mapping[int, Mapping[Action, int]],
    ) -> Iterator[bytes]:
        """Yield the rows of one batch, some at a time.

        Args: see :meth:`dpsan.run.audit.writer.AuditWriter.words`.
        """
        numbers = _numbers(np.array(lines, dtype=np.int64)).tolist()
        where = [
            f'"file":{file},"line":{line},"text":{text}'
            for line, text in zip(lines, numbers, strict=True)
        ]
        others: defaultdict[int, bytes] = defaultdict(bytes)
        for text, before in zip(remembered, np.cumsum(table.sizes)[[*remembered]], strict=True):
            counts = {str(action): remembered[text][action] for action in UNDRAWN}
            row = f'{{"type":"remembered",{where[text]},"epsilon":0,'.encode()
            others[int(before)] += row + orjson.dumps(counts)[1:] + b"\n"
        heads = np.array([each.encode() for each in where], dtype=object)
        texts = np.repeat(np.arange(len(where)), table.sizes)
        columns = self._columns(table, copy)
        fields = b"".join(b',"%b":%%b' % name.encode() for name in columns)
        form = b'{"type":"word",%b' + fields + b"}\n"
        edges = sorted({0, *range(0, len(table), _ROWS), *others})
        for begin, end in pairwise([*edges, len(table)]):
            part = slice(begin, end)
            values = [as_json(column[part]) for column in columns.values()]
            rows = map(form.__mod__, zip(heads[texts[part]], *values, strict=True))
            yield others.get(begin, b"") + b"".join(rows)

    def _columns(self, table: AuditTable, copy: int) -> dict[str, Column]:
        """Return the fields of words, in the order of a row."""
        lengths = np.fromiter(map(len, table.outputs), np.int64, len(table))
        starts = table.output_starts(lengths)
        columns: dict[str, Column] = {
            "start": starts,
            "end": starts + lengths,
            "action": _ACTIONS[table.actions],
            "out": table.outputs,
        }
        if table.drawn is not None:
            columns["drawn"] = table.drawn
        shares, which = self._epsilons(table)
        columns["epsilon"] = np.array(shares, dtype=object)[which]
        if table.reasons is not None:
            reasons = [reason or (None, None) for reason in table.reasons]
            columns["class"] = [self._class_of[group] for group, _ in reasons]
            columns["group"] = [group for group, _ in reasons]
            columns["rule"] = [rule for _, rule in reasons]
            columns["passes"] = table.passes or []
        elif self._kinds is not None:
            ids = table.input_ids
            kinds = np.where(ids >= 0, self._kinds[np.maximum(ids, 0)] + 1, 0)
            columns["class"] = self._classes[kinds]
        if self._copies > 1:
            columns["copy"] = np.full(len(table), copy)
        return columns | (self._inputs(table) if self._originals else {})

    def _epsilons(self, table: AuditTable) -> tuple[list[float | None], Ids]:
        """Return epsilons, and which of them each word has."""
        shares: list[float | None] = [None, self._epsilon]
        if table.reasons is not None:
            assert table.first is not None  # noqa: S101 - what replaces words of groups says it
            which = np.array([2 * (reason is not None) for reason in table.reasons], dtype=np.int64)
            which[table.first] = 1
            return [*shares, 0.0], which
        drawn = table.input_ids >= 0
        which = np.ones(len(table), dtype=np.int64)
        if self._per_line:  # a line's epsilon is shared out evenly
            texts = np.repeat(np.arange(len(table.sizes)), table.sizes)
            words = np.maximum(np.bincount(texts[drawn], minlength=len(table.sizes)), 1)
            counts, which = np.unique(words, return_inverse=True)
            shares, which = [None, *(self._epsilon / counts).tolist()], which[texts] + 1
        if table.first is not None:  # the draw of an equal word before it
            which[~table.first] = len(shares)
            shares.append(0.0)
        # Kept, passed and masked words are not drawn, public words not protected: no epsilon bounds
        # what they tell.
        if len(self._public):
            public = np.isin(table.input_ids, self._public)
            drawn &= ~(public if table.first is None else public & table.first)
        which[~drawn] = 0
        return shares, which

    def _inputs(self, table: AuditTable) -> dict[str, Column]:
        """Return the fields about the inputs."""
        distances, ranks = self._ranks(table)
        lengths = np.fromiter(map(len, table.originals), np.int64, len(table))
        pairs = zip(table.originals, table.outputs, strict=True)
        return {
            "in": table.originals,
            "in_start": table.starts,
            "in_end": table.starts + lengths,
            # As evaluate compares.
            "unchanged": [a == b or folded(a) == folded(b) for a, b in pairs],
            "rank": ranks,
            "distance": distances,
        }

    def _ranks(self, table: AuditTable) -> tuple[list[float | None], list[int | None]]:
        """Distance and rank of each output that was drawn for a known word."""
        distances: list[float | None] = [None] * len(table)
        ranks: list[int | None] = [None] * len(table)
        ids, outputs = table.input_ids, table.output_ids
        known = np.flatnonzero((ids >= 0) & (ids < self._space.n) & (outputs >= 0))
        words, groups = np.unique(ids[known], return_inverse=True)
        order = np.argsort(groups, kind="stable")
        ends = np.cumsum(np.bincount(groups, minlength=len(words)))[:-1]
        for word, indices in zip(words.tolist(), np.split(known[order], ends), strict=False):
            found = self._space.ranks(word, outputs[indices])
            for index, distance, rank in zip(indices.tolist(), *found, strict=True):
                distances[index], ranks[index] = distance, rank
        return distances, ranks


def _numbers(lines: Ids) -> Ids:
    """For each text its 1-based number among the texts of its line."""
    every = np.arange(1, len(lines) + 1)
    first = np.where(np.diff(lines, prepend=-1) != 0, every, 0)
    return np.asarray(every - np.maximum.accumulate(first) + 1)


def as_json(column: Column) -> list[bytes]:
    """Return each string, number, bool or None as JSON."""
    values = column.tolist() if isinstance(column, np.ndarray) else column
    if not values:
        return []
    try:
        data = orjson.dumps(values, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        data = orjson.dumps(
            [each and encodable(each) for each in values], option=orjson.OPT_INDENT_2
        )
    # One value a line, and no newline within a value: JSON writes it as an escape.
    return data[4:-2].split(b",\n  ")


def encodable(text: str) -> str:
    """Return the text with lone surrogates (which JSON in UTF-8 cannot hold) replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
