"""Rows of words as the bytes of an audit, some thousand words at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan.sanitize.result import ACTIONS, UNDRAWN, Action, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

_ROWS: Final = 1 << 11
"""Rows that are put together at once."""
_ROW: Final = b'%b"start":%d,"end":%d,"action":"%b","out":%b'
_DRAWN: Final = b',"drawn":%b'
_INPUT: Final = b',"in":%b,"in_start":%d,"in_end":%d,"unchanged":%b,"rank":%b,"distance":%b'
_ACTIONS: Final = [str(action).encode() for action in ACTIONS]

Ids = NDArray[np.int64]


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
        self._classes = [None, *sanitizer.replaced_classes]
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
        numbers = _numbers(np.array(lines, dtype=np.int64))
        where = [
            f'"file":{file},"line":{line},"text":{text},'
            for line, text in zip(lines, numbers.tolist(), strict=True)
        ]
        heads = [f'{{"type":"word",{each}'.encode() for each in where]
        tails, which = self._tails(table, copy)
        lengths = np.fromiter(map(len, table.outputs), np.int64, len(table))
        starts, texts = table.output_starts(lengths), np.repeat(np.arange(len(heads)), table.sizes)
        ends = starts + lengths
        inputs = self._inputs(table) if self._originals else []
        form = _ROW + _DRAWN * (table.drawn is not None) + b",%b" + _INPUT * bool(inputs) + b"}\n"
        others: defaultdict[int, bytes] = defaultdict(bytes)
        for text, before in zip(remembered, np.cumsum(table.sizes)[[*remembered]], strict=True):
            counts = {str(action): remembered[text][action] for action in UNDRAWN}
            row = f'{{"type":"remembered",{where[text]}"epsilon":0,'.encode()
            others[int(before)] += row + orjson.dumps(counts)[1:] + b"\n"
        edges = sorted({0, *range(0, len(table), _ROWS), *others})
        for begin, end in pairwise([*edges, len(table)]):
            part = slice(begin, end)
            columns: list[Iterable[object]] = [
                map(heads.__getitem__, texts[part].tolist()),
                starts[part].tolist(),
                ends[part].tolist(),
                map(_ACTIONS.__getitem__, table.actions[part].tolist()),
                as_json(table.outputs[part]),
                *([] if table.drawn is None else [as_json(table.drawn[part])]),
                map(tails.__getitem__, which[part].tolist()),
                *(column[part] for column in inputs),
            ]
            rows = map(form.__mod__, zip(*columns, strict=True))
            yield others.get(begin, b"") + b"".join(rows)

    def _tails(self, table: AuditTable, copy: int) -> tuple[list[bytes], Ids]:
        """Return the ends of rows, from the epsilon on, and which of them each word has.

        They say epsilon, with classes the class, and with groups that are drawn alone also the
        group, the rule, and by what a word passes.
        """
        shares, which = self._epsilons(table)
        names: tuple[str, ...] = ("epsilon",)
        values: list[tuple[Any, ...]] = [(share,) for share in shares]
        if table.reasons is not None:
            names = ("epsilon", "class", "group", "rule", "passes")
            codes: dict[tuple[int, tuple[str, str] | None, str | None], int] = {}
            triples = zip(which.tolist(), table.reasons, table.passes or (), strict=True)
            which = np.array([codes.setdefault(each, len(codes)) for each in triples], np.int64)
            values = []
            for share, reason, passes in codes:
                group, rule = reason or (None, None)
                values.append((shares[share], self._class_of[group], group, rule, passes))
        elif self._kinds is not None:
            names, values = ("epsilon", "class"), [*product(shares, self._classes)]
            ids = table.input_ids
            kinds = np.where(ids >= 0, self._kinds[np.maximum(ids, 0)] + 1, 0)
            which = which * len(self._classes) + kinds
        more = {"copy": copy} if self._copies > 1 else {}
        rows = [dict(zip(names, row, strict=True)) | more for row in values]
        return [orjson.dumps(row)[1:-1] for row in rows], which

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

    def _inputs(self, table: AuditTable) -> list[Sequence[object]]:
        """Return columns about the inputs."""
        distances, ranks = self._ranks(table)
        originals, starts = [*table.originals], table.starts
        pairs = zip(originals, table.outputs, strict=True)
        same = [a == b or folded(a) == folded(b) for a, b in pairs]  # as evaluate compares
        ends = starts + np.fromiter(map(len, originals), np.int64, len(table))
        places = starts.tolist(), ends.tolist()
        return [as_json(originals), *places, as_json(same), as_json(ranks), as_json(distances)]

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


def as_json(values: Sequence[Any]) -> list[bytes]:
    """Return each string, number, bool or None as JSON."""
    if not values:
        return []
    try:
        data = orjson.dumps(values, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        data = orjson.dumps([encodable(str(each)) for each in values], option=orjson.OPT_INDENT_2)
    # One value a line, and no newline within a value: JSON writes it as an escape.
    return data[4:-2].split(b",\n  ")


def encodable(text: str) -> str:
    """Return the text with lone surrogates (which JSON in UTF-8 cannot hold) replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
