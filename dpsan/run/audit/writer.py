"""Writes audits, whole columns of words at a time.

Knows JSON rows and files.  Must not know how words are drawn.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby, repeat
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan import __version__
from dpsan.errors import OutputError
from dpsan.errors import reason as os_reason
from dpsan.formats.atomic_files import create_private
from dpsan.mechanisms.base import Mechanism
from dpsan.run.audit.schema import SCHEMA, finite, guarantee_row
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.numbers import FORMS, NumberPolicy
from dpsan.sanitize.result import ACTIONS, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import CHOICE, EQUAL, NOT_PROTECTED, not_protected, weakness
from dpsan.text.tokens import folded

__all__ = ["AuditWriter"]

_ACTIONS: Final = np.array([str(action) for action in ACTIONS], dtype=object)

_CHUNK: Final = 1 << 20
_MOST_HELD: Final = 4 << 20


class AuditWriter:
    """Writes one audit file; a context manager.

    Args:
        path: created with mode 0600 under every umask.
        sanitizer: for the header.
        originals: also write the input words, distances and ranks.
        force: replace an existing file.
        spans: whether only words in spans are drawn.
        part: without a header: rows that another writer is to :meth:`append`.

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
        self._held: list[bytes] | None = None
        self._held_bytes = 0
        self._overflow: Callable[[], None] = lambda: None
        if not part:
            header = _header(
                sanitizer, originals=originals, seeded=seeded, copies=copies, spans=spans
            )
            self._write(header)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def words(self, file: int, lines: Sequence[int], table: AuditTable, copy: int) -> None:
        """Write the rows of one batch.

        Args:
            file: 1-based number of the input.
            lines: for each text of the batch the line of its record; a record's are together.
            table: what was done.
            copy: 1-based number of the copy.
        """
        # Whole columns as JSON, put together by one template: an object for each row would cost
        # several times as much as drawing the word.
        heads = [
            f'{{"type":"word","file":{file},"line":{line},"text":{text},"start":'
            for line, texts in groupby(lines)
            for text, _ in enumerate(texts, start=1)
        ]
        outputs = _json(table.outputs)
        starts, ends = _places(table)
        tails = self._tails(table, copy)
        rows = [
            f'{head}{start},"end":{end},"action":"{action}","out":{output}{tail}'
            for head, start, end, action, output, tail in zip(
                _for_each_word(heads, table.sizes),
                starts.tolist(),
                ends.tolist(),
                _ACTIONS[table.actions].tolist(),
                outputs,
                tails,
                strict=True,
            )
        ]
        self.send("".join(rows).encode())

    def _tails(self, table: AuditTable, copy: int) -> Iterable[str]:
        """The end of each word's row, from the epsilon on."""
        drawn = table.input_ids >= 0
        sizes = table.sizes
        shares = np.full(len(table), self._epsilon)
        if self._per_line:  # a line's epsilon is shared out evenly
            texts = np.repeat(np.arange(len(sizes)), sizes)
            shares /= np.maximum(np.bincount(texts[drawn], minlength=len(sizes)), 1)[texts]
        if table.first is not None:  # the draw of an equal word before it
            shares[~table.first] = 0.0
        distinct, which = np.unique(shares, return_inverse=True)
        more = f',"copy":{copy}' if self._copies > 1 else ""
        end = "" if self._originals else "}\n"
        # Kept, passed and masked words are not drawn, public words not protected: no epsilon bounds
        # what they tell.
        if len(self._public):
            public = np.isin(table.input_ids, self._public)
            drawn &= ~(public if table.first is None else public & table.first)
        kinds = [f',"epsilon":{share}{more}{end}' for share in ["null", *_json(distinct.tolist())]]
        tails = np.array(kinds, dtype=object)[np.where(drawn, which + 1, 0)].tolist()
        return map(str.__add__, tails, self._inputs(table)) if self._originals else tails

    def _inputs(self, table: AuditTable) -> list[str]:
        """What the rows say of the inputs."""
        distances, ranks = self._ranks(table)
        pairs = zip(table.originals, table.outputs, strict=True)
        same = [a == b or folded(a) == folded(b) for a, b in pairs]  # as evaluate compares
        return [
            f',"in":{original},"in_start":{start},"in_end":{start + length},'
            f'"unchanged":{unchanged},"rank":{rank},"distance":{distance}}}\n'
            for original, start, length, unchanged, rank, distance in zip(
                _json(table.originals),
                table.starts.tolist(),
                map(len, table.originals),
                _json(same),
                _json(ranks),
                _json(distances),
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
            overflow: called when they are many; makes room for them and calls :meth:`release`.
        """
        self._held, self._held_bytes, self._overflow = [], 0, overflow

    def take(self) -> bytes:
        """The rows that are held, no longer held from now on."""
        held, self._held = self._held or [], None
        return b"".join(held)

    def release(self) -> None:
        """Write the rows that are held, and hold no more.  Raises OutputError."""
        self.send(self.take())

    def append(self, part: Path) -> None:
        """Copy the rows of a part.  Raises OutputError."""
        try:
            with part.open("rb") as rows:
                while data := rows.read(_CHUNK):
                    self.send(data)
        except OSError as error:
            raise OutputError(f"{part}: cannot read: {os_reason(error)}") from None

    def file(self, file: int, name: str, totals: Accountant, hashes: tuple[str, str]) -> None:
        """Write the row that ends an input."""
        row = {
            "type": "file",
            "file": file,
            "name": _encodable(name),
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
        data = memoryview(rows)
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except OSError as error:
                raise OutputError(f"{self._path}: cannot write: {os_reason(error)}") from None


def _json(values: Sequence[str] | Sequence[float | None]) -> list[str]:
    """Each value as JSON."""
    if not values:
        return []
    try:
        data = orjson.dumps(values, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        data = orjson.dumps([_encodable(str(each)) for each in values], option=orjson.OPT_INDENT_2)
    # One value a line, and no newline within a value: JSON writes it as an escape.
    return data[4:-2].decode().split(",\n  ")


def _encodable(text: str) -> str:
    """The text with lone surrogates (which JSON in UTF-8 cannot hold) replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _for_each_word(values: Sequence[str], sizes: NDArray[np.int64]) -> Iterator[str]:
    """The value of a word's text, for each word."""
    return chain.from_iterable(map(repeat, values, sizes.tolist()))


def _places(table: AuditTable) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the words are in the output texts: input positions would tell word lengths."""
    sizes = np.fromiter(map(len, table.outputs), dtype=np.int64, count=len(table))
    return table.output_starts, table.output_starts + sizes


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
