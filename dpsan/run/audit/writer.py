"""Writes audits: the header, rows of words and totals.

Rows of words are put together from columns that are JSON at once.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan import __version__
from dpsan.embeddings.word_lists import WordClass
from dpsan.files.atomic_files import PrivateFile
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.registry import finite, own_file
from dpsan.privacy.guarantee import WordGroup
from dpsan.run.audit import SCHEMA, guarantee_row
from dpsan.run.plan import Outcome, Plan, Result
from dpsan.run.side_outputs import encodable
from dpsan.sanitize.accountant import FACTS, Accountant, not_protected, weakness
from dpsan.sanitize.result import ACTIONS, UNDRAWN, Action, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

_ROWS: Final = 1 << 11
"""Rows that are put together at once."""
_ACTIONS: Final = np.array([*map(str, ACTIONS)], dtype=object)

Ids = NDArray[np.int64]
Column = NDArray[Any] | Sequence[Any]


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
            [value and encodable(value) for value in values], option=orjson.OPT_INDENT_2
        )
    # One value a line, and no newline within a value: JSON writes it as an escape.
    return data[4:-2].split(b",\n  ")


class AuditWriter(PrivateFile):
    """Writes one audit file; a context manager.

    Args:
        path: created with mode 0600 under every umask; with ``force`` of the plan, an existing file
            is replaced, once :meth:`place` is called.
        sanitizer: for the header.
        plan: of the run.

    Raises:
        OutputError: it exists or cannot be written.
    """

    def __init__(self, path: Path, sanitizer: Sanitizer, plan: Plan | None = None) -> None:
        self._plan = plan = plan or Plan()
        super().__init__(path, force=plan.force)
        self._expected_share = sanitizer.expected_share
        self._epsilon = sanitizer.mechanism.epsilon
        self._public = np.array(sanitizer.public, dtype=np.int64)
        self._classes = np.array([None, *sanitizer.replaced_classes], dtype=object)
        self._grouping = sanitizer.grouping
        self._class_of = sanitizer.replacing.class_of if sanitizer.replacing else {}
        self._write(_header(sanitizer, plan))

    def words(
        self,
        file: int,
        lines: Sequence[int],
        table: AuditTable,
        copy: int,
        remembered: Mapping[int, Mapping[Action, int]] = MappingProxyType({}),
    ) -> None:
        """Write the rows of one batch, some at a time.

        Args:
            file: 1-based number of the input.
            lines: for each text of the batch the line of its record; a record's are together.
            table: what was done.
            copy: 1-based number of the copy.
            remembered: the words by action of each text that has one row for all words.
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
        heads = np.array([place.encode() for place in where], dtype=object)
        texts = np.repeat(np.arange(len(where)), table.sizes)
        columns = self._columns(table, copy)
        fields = b"".join(b',"%b":%%b' % name.encode() for name in columns)
        form = b'{"type":"word",%b' + fields + b"}\n"
        edges = sorted({0, *range(0, len(table), _ROWS), *others})
        for begin, end in pairwise([*edges, len(table)]):
            part = slice(begin, end)
            values = [as_json(column[part]) for column in columns.values()]
            rows = map(form.__mod__, zip(heads[texts[part]], *values, strict=True))
            self.send(others.get(begin, b"") + b"".join(rows))

    def file(self, outcome: Outcome) -> None:
        """Write the row that ends an input."""
        row = {"type": "file", "file": outcome.task.file, "name": encodable(outcome.name)}
        row |= _totals(outcome.totals, self._plan.copies) | {"passing": outcome.passing.row()}
        row["input_sha256"], row["output_sha256"] = outcome.sha256
        self._write(row)

    def totals(self, result: Result, *, complete: bool) -> None:
        """Write the last row and sync."""
        totals = result.totals
        largest = totals.composed(totals.largest_file)
        row = {"type": "totals", "complete": complete} | _totals(totals, self._plan.copies)
        row["expected_unchanged"] = self._expected_share(totals)
        row |= {"epsilon_ldp_largest_file": finite(largest.epsilon)}
        row |= {"delta_largest_file": largest.delta, "passing": result.passing.row()}
        self._write(row)
        self.to_disk(place=complete)

    def _write(self, row: dict[str, Any]) -> None:
        self.send(orjson.dumps(row) + b"\n")

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
            columns["class"] = [group and self._class_of[group] for group, _ in reasons]
            columns["group"] = [group for group, _ in reasons]
            columns["rule"] = [rule for _, rule in reasons]
            columns["passes"] = table.passes or []
        elif self._grouping.classed:
            ids = table.input_ids
            kinds = np.where(ids >= 0, self._grouping.kinds[np.maximum(ids, 0)] + 1, 0)
            columns["class"] = self._classes[kinds]
        if self._plan.copies > 1:
            columns["copy"] = np.full(len(table), copy)
        return columns | (self._inputs(table) if self._plan.originals else {})

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
        lengths = np.fromiter(map(len, table.originals), np.int64, len(table))
        pairs = zip(table.originals, table.outputs, strict=True)
        return {
            "in": table.originals,
            "in_start": table.starts,
            "in_end": table.starts + lengths,
            # As evaluate compares.
            "unchanged": [a == b or folded(a) == folded(b) for a, b in pairs],
        }


def _totals(totals: Accountant, copies: int) -> dict[str, Any]:
    charges = totals.charges - totals.public
    every = totals.composed(charges)
    largest = totals.composed(copies * totals.largest_record)
    return {
        "records": totals.records,
        "words": totals.words,
        **{str(action): count for action, count in totals.counts.items()},
        "draws": totals.draws,
        "public": totals.public,
        "epsilon_sum": charges * totals.epsilon,
        "epsilon_ldp_sum": finite(every.epsilon),
        "delta_sum": every.delta,
        "epsilon_ldp_largest_record": finite(largest.epsilon),
        "delta_largest_record": largest.delta,
        "invalid": totals.invalid,
        "invisible": totals.invisible,
    }


def _classes(
    classes: Iterable[WordClass], groups: Iterable[WordGroup]
) -> list[dict[str, Any]] | None:
    """Return classes of words with the sizes of their groups; None without any."""
    sizes: dict[str, list[int]] = {word_class.name: [] for word_class in classes}
    for group in groups if sizes else ():
        sizes[group.name].append(group.words)
    rows = [
        {"class": word_class.name, "groups": sizes[word_class.name], "sha256": word_class.sha256}
        for word_class in classes
    ]
    return rows or None


def _header(sanitizer: Sanitizer, plan: Plan) -> dict[str, Any]:
    mechanism: Mechanism = sanitizer.mechanism
    copies, seeded, spans = plan.copies, plan.seeded, plan.spans is not None
    spec, half = sanitizer.spec, sanitizer.half_linked
    user_file, public = own_file(mechanism.name), spec.public
    own_name = "" if user_file is None else encodable(user_file.path.name)
    words = len(sanitizer.public)
    same = [FACTS["same"]] * plan.memo
    return {
        "type": "header",
        "schema": SCHEMA,
        "dpsan": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "mechanism": mechanism.name,
        "own": user_file
        and {"file": own_name, "class": user_file.class_name, "sha256": user_file.sha256},
        "epsilon": mechanism.epsilon,
        "epsilon_unit": mechanism.epsilon_unit,
        "parameters": {name: getattr(mechanism, name) for name in mechanism.parameters()},
        "guarantee": guarantee_row(sanitizer.guarantee),
        "expected_unchanged": sanitizer.expected_unchanged,
        "weak": weakness(sanitizer.guarantee, copies, sanitizer.expected_unchanged),
        # What passes outside spans tells which text it is.
        "linked": None if half is None or spans else half.of(copies),
        "embeddings": sanitizer.embeddings.told(),
        **spec.rows(),
        "only": _classes(spec.only, sanitizer.guarantee.groups),
        "classes": _classes(spec.classes, sanitizer.guarantee.groups),
        "fluent": sanitizer.language_model,
        "public": public and {"list": public.name, "words": words, "sha256": public.sha256},
        "copies": copies,
        "originals": plan.originals,
        "seeded": seeded,
        "private": not seeded and not spans and not spec.only,
        "consistent": spec.consistent,
        "spans": spans,
        "not_protected": not_protected(sanitizer.guarantee, spec, spans=spans) + same,
        "fields": list(plan.options.fields),
        "drop_other": plan.options.drop_other,
        "policy": plan.policy,
        "beside": list(plan.beside),
    }
