"""Rows of words as the bytes of an audit, whole columns of words at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import orjson

from dpsan.run.audit.cells import Ids
from dpsan.run.audit.fragments import Fragments, as_json
from dpsan.sanitize.result import UNDRAWN, Action, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

_ROWS: Final = 1 << 14
"""Rows that are put together at once."""


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
        self._classes = sanitizer.replaced_classes
        self._kinds = None if grouping is None else grouping.kinds(self._space.n)
        self._class_of = {}
        if only := sanitizer.replacing:
            self._class_of = dict(zip(only.groups, only.classes, strict=True))
        self._fragments = Fragments()

    def of(
        self,
        file: int,
        lines: Sequence[int],
        table: AuditTable,
        copy: int,
        remembered: Mapping[int, Mapping[Action, int]],
    ) -> Iterator[memoryview]:
        """The rows of one batch, some at a time, to be taken before the next batch is given.

        Args: see :meth:`dpsan.run.audit.writer.AuditWriter.words`.
        """
        add = self._fragments.cells.add
        indices, outputs = self._fragments.words(table)
        where = np.array(lines, dtype=np.int64)
        texts = _numbers(where)
        heads = self._fragments.heads(file, where, texts)
        tails, which = self._tails(table, copy)
        columns = [np.repeat(heads, table.sizes), indices, outputs, add(tails)[which]]
        if table.drawn is not None:
            drawn = [b',"drawn":%s' % orjson.dumps(each) for each in table.drawn]
            columns.insert(3, add(drawn))
        if self._originals:
            columns.append(add(self._inputs(table)))
        other_rows = add(
            [
                b'{"type":"remembered","file":%d,"line":%d,"text":%d,"epsilon":0,%s\n'
                % (file, where[text], texts[text], orjson.dumps(_undrawn(counts))[1:])
                for text, counts in remembered.items()
            ]
        )
        before = np.cumsum(table.sizes)[[*remembered]]
        return self._joined(columns, before, other_rows)

    def _joined(self, columns: list[Ids], before: Ids, other_rows: Ids) -> Iterator[memoryview]:
        """Yield rows of words, and between them those of texts from the memo.

        Args:
            columns: numbers of fragments, each of shape (words,).
            before: number of words before each text from the memo.
            other_rows: their rows.
        """
        numbers = np.stack(columns, axis=1).ravel()
        if len(other_rows):
            numbers = np.insert(numbers, len(columns) * before, other_rows)
        most = len(columns) * _ROWS
        for at in range(0, len(numbers), most):
            yield self._fragments.cells.joined(numbers[at : at + most])

    def _tails(self, table: AuditTable, copy: int) -> tuple[list[bytes], Ids]:
        """Return the ends of rows, from the epsilon on, and which of them each word has."""
        if table.reasons is not None:
            return self._reason_tails(table, table.reasons, copy)
        if self._kinds is not None:
            return self._class_tails(table, copy, self._kinds)
        drawn = table.input_ids >= 0
        which = np.ones(len(table), dtype=np.int64)
        shares = [self._epsilon]
        if self._per_line:  # a line's epsilon is shared out evenly
            texts = np.repeat(np.arange(len(table.sizes)), table.sizes)
            each = np.maximum(np.bincount(texts[drawn], minlength=len(table.sizes)), 1)
            counts, found = np.unique(each, return_inverse=True)
            shares = (self._epsilon / counts).tolist()
            which = found[texts] + 1
        if table.first is not None:  # the draw of an equal word before it
            shares.append(0.0)
            which[~table.first] = len(shares)
        # Kept, passed and masked words are not drawn, public words not protected: no epsilon bounds
        # what they tell.
        if len(self._public):
            public = np.isin(table.input_ids, self._public)
            drawn &= ~(public if table.first is None else public & table.first)
        which[~drawn] = 0
        more, end = self._ends(copy)
        kinds = [b',"epsilon":%s%s%s' % (each, more, end) for each in [b"null", *as_json(shares)]]
        return kinds, which

    def _class_tails(self, table: AuditTable, copy: int, kinds: Ids) -> tuple[list[bytes], Ids]:
        """Return the same where words have classes: epsilon and class of each word."""
        more, end = self._ends(copy)
        free, by_value = len(self._classes), len(self._classes) - 4  # numbers come after the groups
        epsilons = [self._epsilon] * free
        epsilons[by_value] = self._epsilon
        rows = [(None, None), *zip(epsilons, self._classes, strict=True)]
        rows += [(0.0, name) for name in self._classes]
        tails = [
            b',"epsilon":%s,"class":%s%s%s' % (*map(orjson.dumps, row), more, end) for row in rows
        ]
        codes = table.input_ids
        which = np.where(codes >= 0, kinds[np.maximum(codes, 0)] + 1, 0)
        if table.first is not None:  # the draw of an equal word before it
            which[(which > 0) & ~table.first] += free
        return tails, which

    def _reason_tails(
        self, table: AuditTable, reasons: Sequence[tuple[str, str] | None], copy: int
    ) -> tuple[list[bytes], Ids]:
        """Return the same where groups are drawn alone: epsilon, class, group and rule, and by
        what a word passes.
        """
        more, end = self._ends(copy)
        numbers: dict[tuple[float | None, tuple[str, str] | None, str | None], int] = {}
        costs: list[float | None] = [None if reason is None else 0.0 for reason in reasons]
        assert table.first is not None  # noqa: S101 - what replaces words of groups says it
        for at in np.flatnonzero(table.first).tolist():
            costs[at] = self._epsilon
        which = [
            numbers.setdefault(each, len(numbers))
            for each in zip(costs, reasons, table.passes or (), strict=True)
        ]
        names, tails = ("epsilon", "class", "group", "rule", "passes"), []
        for cost, reason, passes in numbers:
            group, rule = reason or (None, None)
            kind = None if group is None else self._class_of[group]
            row = dict(zip(names, (cost, kind, group, rule, passes), strict=True))
            tails.append(b",%s%s%s" % (orjson.dumps(row)[1:-1], more, end))
        return tails, np.array(which, dtype=np.int64)

    def _ends(self, copy: int) -> tuple[bytes, bytes]:
        """Return what stands after the epsilon of each row, and what ends it."""
        return (
            b',"copy":%d' % copy if self._copies > 1 else b"",
            b"" if self._originals else b"}\n",
        )

    def _inputs(self, table: AuditTable) -> list[bytes]:
        """Return the fragments about the inputs."""
        distances, ranks = self._ranks(table)
        originals = [*table.originals]
        pairs = zip(originals, table.outputs, strict=True)
        same = [a == b or folded(a) == folded(b) for a, b in pairs]  # as evaluate compares
        return [
            b',"in":%s,"in_start":%d,"in_end":%d,"unchanged":%s,"rank":%s,"distance":%s}\n'
            % (original, start, start + length, unchanged, rank, distance)
            for original, start, length, unchanged, rank, distance in zip(
                as_json(originals),
                table.starts.tolist(),
                map(len, originals),
                as_json(same),
                as_json(ranks),
                as_json(distances),
                strict=True,
            )
        ]

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


def _undrawn(counts: Mapping[Action, int]) -> dict[str, int]:
    return {str(each): counts[each] for each in UNDRAWN}
