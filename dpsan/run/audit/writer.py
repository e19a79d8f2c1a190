"""Writes audits, whole columns of words at a time.

Knows JSON rows and files.  Must not know how words are drawn.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan import __version__
from dpsan.errors import OutputError
from dpsan.errors import reason as os_reason
from dpsan.formats.atomic_files import create_private, write_all
from dpsan.mechanisms.base import Mechanism
from dpsan.run.audit.fragments import Fragments, as_json, encodable
from dpsan.run.audit.schema import SCHEMA, finite, guarantee_row
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.numbers import FORMS, NumberPolicy
from dpsan.sanitize.result import UNDRAWN, Action, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import CHOICE, EQUAL, NOT_PROTECTED, SAME, not_protected, weakness
from dpsan.text.tokens import folded

_ROWS: Final = 1 << 13
"""Rows that are put together at once."""
_MOST_HELD: Final = 4 << 20


class AuditWriter:
    """Writes one audit file; a context manager.

    Args:
        path: created with mode 0600 under every umask.
        sanitizer: for the header.
        originals: also write the input words, distances and ranks.
        force: replace an existing file.
        memo: whether equal messages are drawn once.
        spans: whether only words in spans are drawn.
        part: without a header: rows that another writer is to :meth:`send`.

    Raises:
        OutputError: it exists or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        sanitizer: Sanitizer,
        *,
        originals: bool = False,
        force: bool = False,
        seeded: bool = False,
        copies: int = 1,
        memo: bool = False,
        spans: bool = False,
        part: bool = False,
    ) -> None:
        self._descriptor = create_private(path, force=force)
        self._path = path
        self._originals = originals
        self._space = sanitizer.space
        self._epsilon = sanitizer.mechanism.epsilon
        self._per_line = sanitizer.guarantee.per_line
        self._copies = copies
        self._public = np.array(sanitizer.public, dtype=np.int64)
        self._fragments = Fragments()
        self._held: list[bytes] | None = None
        self._held_bytes = 0
        self._overflow: Callable[[], None] = lambda: None
        if not part:
            header = _header(
                sanitizer, originals=originals, seeded=seeded, copies=copies, spans=spans
            )
            header["not_protected"] += [SAME] if memo else []
            self._write(header)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def words(
        self,
        file: int,
        lines: Sequence[int],
        table: AuditTable,
        copy: int,
        remembered: Mapping[int, Mapping[Action, int]] = MappingProxyType({}),
    ) -> None:
        """Write the rows of one batch.

        Args:
            file: 1-based number of the input.
            lines: for each text of the batch the line of its record; a record's are together.
            table: what was done.
            copy: 1-based number of the copy.
            remembered: by its place, ascending, the words of each text that has one row for all of
                them.
        """
        place = b'"file":%d,"line":%%d,"text":%%d,' % file
        where = _places(lines)
        columns = [*self._fragments.places(table), self._fragments.outputs(table)]
        tails, which = self._tails(table, copy)
        tail = b""
        if self._originals:
            columns += [tails[which], np.array(self._inputs(table), dtype=object)]
        elif len(which) and (which == which[0]).all():
            tail = tails[which[0]]  # of the row before: each column takes time
        else:
            columns.append(tails[which])
        head = tail + b'{"type":"word",' + place + b'"start":'
        heads = np.array([head % each for each in where], dtype=object)
        columns.insert(0, heads.repeat(table.sizes))
        told = {text: (place % where[text], counts) for text, counts in remembered.items()}
        self._send_all(self._rows(columns, tail, table.sizes, told))

    def _rows(
        self,
        columns: list[NDArray[np.object_]],
        tail: bytes,
        sizes: NDArray[np.int64],
        remembered: Mapping[int, tuple[bytes, Mapping[Action, int]]],
    ) -> Iterator[bytes]:
        """Rows of words, and between them those of remembered texts."""
        at = 0
        ends = np.cumsum(sizes).tolist() if remembered else ()
        for text, (place, counts) in remembered.items():
            yield from self._joined([column[at : ends[text]] for column in columns], tail)
            more = orjson.dumps({str(each): counts[each] for each in UNDRAWN})[1:]
            yield b'{"type":"remembered",%s"epsilon":0,%s\n' % (place, more)
            at = ends[text]
        yield from self._joined([column[at:] for column in columns], tail)

    @staticmethod
    def _joined(columns: list[NDArray[np.object_]], tail: bytes) -> Iterator[bytes]:
        """Rows, some at a time.

        Args:
            columns: fragments, each of shape (words,).
            tail: ends each row; the first column begins with that of the row before.
        """
        for at in range(0, len(columns[0]), _ROWS):
            part = [column[at : at + _ROWS].tolist() for column in columns]
            rows = [b""] * (len(part) * len(part[0]))
            for place, column in enumerate(part):
                rows[place :: len(part)] = column
            rows[0] = rows[0][len(tail) :]
            rows.append(tail)
            yield b"".join(rows)

    def _send_all(self, parts: Iterator[bytes]) -> None:
        """Write parts, each while the next is put together.  Raises OutputError."""
        first, second = next(parts, b""), next(parts, None)
        if second is None or self._held is not None:
            for part in chain([first, second], parts):
                self.send(part or b"")
            return
        with ThreadPoolExecutor(1) as writer:
            written = writer.submit(self.send, first)
            for part in chain([second], parts):
                written.result()
                written = writer.submit(self.send, part)
            written.result()

    def _tails(self, table: AuditTable, copy: int) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
        """The ends of rows, from the epsilon on, and which of them each word has."""
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
        more = b',"copy":%d' % copy if self._copies > 1 else b""
        end = b"" if self._originals else b"}\n"
        kinds = [b',"epsilon":%s%s%s' % (each, more, end) for each in [b"null", *as_json(shares)]]
        return np.array(kinds, dtype=object), which

    def _inputs(self, table: AuditTable) -> list[bytes]:
        """What the rows say of the inputs."""
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
        for word, places in zip(words.tolist(), np.split(known[order], ends), strict=False):
            found = self._space.ranks(word, outputs[places])
            for place, distance, rank in zip(places.tolist(), *found, strict=True):
                distances[place], ranks[place] = distance, rank
        return distances, ranks

    def hold(self, overflow: Callable[[], None]) -> None:
        """Keep rows in memory until they are taken: what was finished earlier comes before them.

        Args:
            overflow: called when they are many; takes them, and sends them behind what comes first.
        """
        self._held, self._held_bytes, self._overflow = [], 0, overflow

    def take(self) -> bytes:
        """The rows that are held, no longer held from now on."""
        held, self._held = self._held or [], None
        return b"".join(held)

    def file(self, file: int, name: str, totals: Accountant, hashes: tuple[str, str]) -> None:
        """Write the row that ends an input."""
        row = {
            "type": "file",
            "file": file,
            "name": encodable(name),
            **_totals(totals, self._copies),
        }
        row.update(input_sha256=hashes[0], output_sha256=hashes[1])
        self._write(row)

    def totals(self, totals: Accountant, hashes: tuple[str, str] | None, *, complete: bool) -> None:
        """Write the last row and sync.

        Args:
            hashes: SHA-256 of input and output where there is one of each.
        """
        largest = totals.composed(totals.largest_file)
        row = {
            "type": "totals",
            "complete": complete,
            **_totals(totals, self._copies),
            "epsilon_ldp_largest_file": finite(largest.epsilon),
            "delta_largest_file": largest.delta,
        }
        row["input_sha256"], row["output_sha256"] = hashes or (None, None)
        self._write(row)
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # Pipes and devices cannot be synced.
            if error.errno not in (22, 95):
                raise OutputError(f"{self._path}: cannot write: {os_reason(error)}") from None

    def _write(self, row: dict[str, Any]) -> None:
        self.send(orjson.dumps(row) + b"\n")

    def send(self, rows: bytes) -> None:
        """Write rows as they are, or hold them.  Raises OutputError."""
        if self._held is not None:
            self._held.append(rows)
            self._held_bytes += len(rows)
            if self._held_bytes > _MOST_HELD:
                self._overflow()
            return
        write_all(self._descriptor, rows, self._path)


def _places(lines: Sequence[int]) -> list[tuple[int, int]]:
    """For each text its line, and its 1-based number among the texts of that line."""
    every = np.arange(1, len(lines) + 1)
    first = np.where(np.diff(lines, prepend=-1) != 0, every, 0)
    return list(zip(lines, (every - np.maximum.accumulate(first) + 1).tolist(), strict=True))


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


def _header(
    sanitizer: Sanitizer, *, originals: bool, seeded: bool, copies: int, spans: bool
) -> dict[str, Any]:
    mechanism: Mechanism = sanitizer.mechanism
    spec, half = sanitizer.spec, sanitizer.half_linked
    return {
        "type": "header",
        "schema": SCHEMA,
        "dpsan": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "mechanism": mechanism.name,
        "epsilon": mechanism.epsilon,
        "epsilon_unit": mechanism.epsilon_unit,
        "parameters": {name: getattr(mechanism, name) for name in mechanism.parameters()},
        "guarantee": guarantee_row(sanitizer.guarantee),
        "expected_unchanged": sanitizer.expected_unchanged,
        "weak": weakness(sanitizer.guarantee, copies, sanitizer.expected_unchanged),
        # What passes outside spans tells which text it is.
        "linked": None if half is None or spans else half.of(copies),
        "embeddings": {
            "source": Path(sanitizer.embeddings.source).name,
            "digest": sanitizer.embeddings.digest,
            "words": sanitizer.embeddings.n,
            "dimensions": sanitizer.embeddings.d,
        },
        "tokenizer": spec.tokenizer,
        "unknown": str(spec.unknown),
        "case": spec.case,
        "keep_words": len(spec.keep),
        "numbers": str(spec.numbers),
        "public": None
        if spec.public is None
        else {
            "list": spec.public.name,
            "words": len(sanitizer.public),
            "sha256": spec.public.sha256,
        },
        "copies": copies,
        "originals": originals,
        "seeded": seeded,
        "private": not seeded and str(spec.unknown) != "keep" and not spans,
        "consistent": spec.consistent,
        "spans": spans,
        "not_protected": [
            *not_protected(sanitizer.guarantee),
            *([CHOICE] if spans else []),
            *([EQUAL] if spec.consistent else []),
            *([FORMS] if spec.numbers == NumberPolicy.VALUE else []),
            *NOT_PROTECTED,
        ],
    }
