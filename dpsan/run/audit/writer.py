"""Writes audits: the header, rows of words and totals."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from dpsan.embeddings.word_lists import WordClass
from dpsan.files.atomic_files import PrivateFile
from dpsan.formats.passing import Passing
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.registry import own_file
from dpsan.privacy.guarantee import WordGroup
from dpsan.run.audit.rows import Rows, encodable
from dpsan.run.audit.schema import SCHEMA, finite, guarantee_row
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.figures import SAME, not_protected, weakness
from dpsan.sanitize.result import Action, AuditTable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.version import __version__


class AuditWriter(PrivateFile):
    """Writes one audit file; a context manager.

    Args:
        path: created with mode 0600 under every umask.
        sanitizer: for the header.
        originals: also write the input words, distances and ranks.
        force: replace an existing file, once :meth:`place` is called.
        memo: whether equal messages are drawn once.
        spans: whether only words in spans are drawn.
        fields: which fields of the inputs were chosen.
        drop_other: whether the others are left out.
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
        fields: Sequence[str] = (),
        drop_other: bool = False,
        part: bool = False,
    ) -> None:
        super().__init__(path, force=force)
        self._copies = copies
        self._expected_share = sanitizer.expected_share
        self._rows = Rows(sanitizer, originals=originals, copies=copies)
        if not part:
            header = _header(
                sanitizer, originals=originals, seeded=seeded, copies=copies, spans=spans
            )
            header["not_protected"] += [SAME] if memo else []
            header |= {"fields": list(fields), "drop_other": drop_other}
            self._write(header)

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
            remembered: the words by action of each text that has one row for all words.
        """
        for rows in self._rows.of(file, lines, table, copy, remembered):
            self.send(rows)

    def file(
        self,
        file: int,
        name: str,
        totals: Accountant,
        hashes: tuple[str, str],
        passing: Passing | None = None,
    ) -> None:
        """Write the row that ends an input."""
        row = {"type": "file", "file": file, "name": encodable(name)}
        row |= _totals(totals, self._copies)
        row |= {"passing": (passing or Passing()).row()}
        self._write(row | {"input_sha256": hashes[0], "output_sha256": hashes[1]})

    def totals(
        self,
        totals: Accountant,
        hashes: tuple[str, str] | None,
        passing: Passing | None = None,
        *,
        complete: bool,
    ) -> None:
        """Write the last row and sync.

        Args:
            passing: what was not sanitized, over all inputs.
            hashes: SHA-256 of input and output where there is one of each.
        """
        largest = totals.composed(totals.largest_file)
        row = {"type": "totals", "complete": complete} | _totals(totals, self._copies)
        row["expected_unchanged"] = self._expected_share(totals)
        row |= {"epsilon_ldp_largest_file": finite(largest.epsilon)}
        row |= {"delta_largest_file": largest.delta, "passing": (passing or Passing()).row()}
        row["input_sha256"], row["output_sha256"] = hashes or (None, None)
        self._write(row)
        self.to_disk(place=complete)

    def _write(self, row: dict[str, Any]) -> None:
        self.send(orjson.dumps(row) + b"\n")


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


def _header(
    sanitizer: Sanitizer, *, originals: bool, seeded: bool, copies: int, spans: bool
) -> dict[str, Any]:
    mechanism: Mechanism = sanitizer.mechanism
    spec, half = sanitizer.spec, sanitizer.half_linked
    own, public = own_file(mechanism.name), spec.public
    own_name = "" if own is None else encodable(own.path.name)
    words = len(sanitizer.public)
    return {
        "type": "header",
        "schema": SCHEMA,
        "dpsan": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "mechanism": mechanism.name,
        "own": own and {"file": own_name, "class": own.class_name, "sha256": own.sha256},
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
        **spec.rows(),
        "only": _classes(spec.only, sanitizer.guarantee.groups),
        "classes": _classes(spec.classes, sanitizer.guarantee.groups),
        "fluent": sanitizer.language_model,
        "public": public and {"list": public.name, "words": words, "sha256": public.sha256},
        "copies": copies,
        "originals": originals,
        "seeded": seeded,
        "private": not seeded and not spans and not spec.only,
        "consistent": spec.consistent,
        "spans": spans,
        "not_protected": not_protected(sanitizer.guarantee, spec, spans=spans),
    }
