"""The audit: one JSON row for each word, as secret as the input.

Knows JSON rows and files.  Must not know how words are drawn.  Rows: a header, ``word`` rows, a
``file`` row behind each input, and ``totals``; a run that stopped early has totals with
``"complete": false`` or none at all.  Keys, noise and noisy vectors are never written.
"""

from __future__ import annotations

import datetime
import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import orjson

from dpsan import __version__
from dpsan.accounting import NOT_PROTECTED, Accountant
from dpsan.errors import OutputError
from dpsan.files import create_private
from dpsan.guarantee import Guarantee
from dpsan.mechanisms.base import Mechanism
from dpsan.runspec import AuditRecord
from dpsan.sanitizer import Sanitizer

__all__ = ["SCHEMA", "AuditWriter", "guarantee_row"]

SCHEMA: Final = 1

_CHUNK: Final = 1 << 20


def _finite(value: float | None) -> float | None:
    """JSON has no infinity: null means that no finite value holds."""
    return None if value is None or math.isinf(value) else value


def guarantee_row(guarantee: Guarantee) -> dict[str, Any]:
    """A guarantee as JSON values."""
    claimed = None if guarantee.claimed is None else asdict(guarantee.claimed)
    return {
        "status": str(guarantee.status),
        "epsilon_ldp": _finite(guarantee.epsilon_ldp),
        "delta": guarantee.delta,
        "metric": guarantee.metric,
        "epsilon_metric": _finite(guarantee.epsilon_metric),
        "also": [list(each) for each in guarantee.also],
        "per_line": guarantee.per_line,
        "infinite_loss_mass": guarantee.infinite_loss_mass,
        "claimed": claimed,
        "why": guarantee.why,
        "source": guarantee.source,
    }


class AuditWriter:
    """Writes one audit file; a context manager.

    Args:
        path: created with mode 0600 under every umask.
        sanitizer: for the header.
        originals: also write the input words, distances and ranks.
        force: replace an existing file.
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
        part: bool = False,
    ) -> None:
        self._descriptor = create_private(path, force=force)
        self._path = path
        self._originals = originals
        self._space = sanitizer.space
        self._epsilon = sanitizer.mechanism.epsilon
        self._per_line = sanitizer.guarantee.per_line
        self._copies = copies
        if not part:
            self._write([_header(sanitizer, originals=originals, seeded=seeded, copies=copies)])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._descriptor)

    def words(
        self, file: int, lines: Sequence[int], records: Sequence[AuditRecord], copy: int
    ) -> None:
        """Write the rows of one batch.

        Args:
            file: 1-based number of the input.
            lines: for each text of the batch its line.
            records: what was done.
            copy: 1-based number of the copy.
        """
        rows = []
        shift, at = 0, -1
        share = self._shares(records)
        for each in records:
            if each.record != at:
                at, shift = each.record, 0
            # Positions are those of the output line: input positions would tell word lengths.
            start = each.start + shift
            shift += len(each.output) - (each.end - each.start)
            row: dict[str, Any] = {
                "type": "word",
                "file": file,
                "line": lines[each.record],
                "start": start,
                "end": start + len(each.output),
                "action": each.action,
                "out": each.output,
                # Kept, passed and masked words are not drawn: no epsilon bounds what they tell.
                "epsilon": share(each.record) if each.output_id >= 0 else None,
            }
            if self._copies > 1:
                row["copy"] = copy
            if self._originals:
                row.update(self._original(each))
            rows.append(row)
        self._write(rows)

    def _shares(self, records: Sequence[AuditRecord]) -> Callable[[int], float]:
        """Epsilon of each drawn word of a text; a line's epsilon is shared out evenly."""
        if not self._per_line:
            return lambda _: self._epsilon
        drawn = Counter(each.record for each in records if each.output_id >= 0)
        return lambda record: self._epsilon / drawn[record]

    def _original(self, each: AuditRecord) -> dict[str, Any]:
        row: dict[str, Any] = {
            "in": each.original,
            "in_start": each.start,
            "in_end": each.end,
            "unchanged": each.original == each.output or each.input_id == each.output_id >= 0,
            "rank": None,
            "distance": None,
        }
        if 0 <= each.input_id < self._space.n and each.output_id >= 0:
            row["distance"], row["rank"] = self._space.rank(each.input_id, each.output_id)
        return row

    def append(self, part: Path) -> None:
        """Copy the rows of a part.  Raises OutputError."""
        try:
            with part.open("rb") as rows:
                while data := rows.read(_CHUNK):
                    self._send(data)
        except OSError as error:
            raise OutputError(f"{part}: cannot read: {error.strerror}") from None

    def file(self, file: int, name: str, totals: Accountant, hashes: tuple[str, str]) -> None:
        """Write the row that ends an input."""
        row = {"type": "file", "file": file, "name": name, **_totals(totals, self._copies)}
        row.update(input_sha256=hashes[0], output_sha256=hashes[1])
        self._write([row])

    def totals(self, totals: Accountant, hashes: tuple[str, str] | None, *, complete: bool) -> None:
        """Write the last row and sync.

        Args:
            hashes: SHA-256 of input and output where there is one of each.
        """
        row = {"type": "totals", "complete": complete, **_totals(totals, self._copies)}
        row["input_sha256"], row["output_sha256"] = hashes or (None, None)
        self._write([row])
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # Pipes and devices cannot be synced.
            if error.errno not in (22, 95):
                raise OutputError(f"{self._path}: cannot write: {error.strerror}") from None

    def _write(self, rows: list[dict[str, Any]]) -> None:
        if rows:
            self._send(b"\n".join([orjson.dumps(_printable(row)) for row in rows]) + b"\n")

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except OSError as error:
                raise OutputError(f"{self._path}: cannot write: {error.strerror}") from None


def _printable(row: dict[str, Any]) -> dict[str, Any]:
    """The row with lone surrogates (which JSON in UTF-8 cannot hold) replaced."""
    for key in ("in", "out", "name"):
        value = row.get(key)
        if isinstance(value, str) and not value.isascii():
            row[key] = value.encode("utf-8", "replace").decode("utf-8")
    return row


def _totals(totals: Accountant, copies: int) -> dict[str, Any]:
    return {
        "records": totals.records,
        "words": totals.words,
        **{str(action): count for action, count in totals.counts.items()},
        "drawn": totals.drawn,
        "epsilon_sum": totals.epsilon_sum,
        "epsilon_ldp_sum": _finite(totals.epsilon_ldp_sum),
        "epsilon_ldp_largest_text": _finite(totals.largest_text(copies)),
        "invalid": totals.invalid,
    }


def _header(sanitizer: Sanitizer, *, originals: bool, seeded: bool, copies: int) -> dict[str, Any]:
    mechanism: Mechanism = sanitizer.mechanism
    spec = sanitizer.spec
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
        "copies": copies,
        "originals": originals,
        "seeded": seeded,
        "private": not seeded and str(spec.unknown) != "keep",
        "not_protected": list(NOT_PROTECTED),
    }
