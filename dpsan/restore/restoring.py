"""Restore the records of an input, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from dpsan.files.atomic_files import Sink
from dpsan.formats.base import Record
from dpsan.restore.map_file import Map
from dpsan.restore.originals import Originals

_HELD: Final = 1 << 20
"""Output bytes that are collected before they are written."""


class Restoring:
    """Puts originals back into records.

    Args:
        source: the map.
        by_unit: a record uses the rows of its unit alone, which are read when they are needed.

    Raises:
        InputError: the map is damaged.
    """

    def __init__(self, source: Map, by_unit: bool) -> None:
        self._map = source
        self._units = source.units() if by_unit else None
        self._unit = ""
        self._originals = Originals(() if by_unit else source.rows())
        self.counts: Counter[str] = Counter()
        """See :meth:`Originals.restore`; also ``strangers``, records of units that the map lacks,
        and ``invalid``, byte sequences that were replaced."""

    def write(self, records: Iterator[Record | None], sink: Sink) -> None:
        """Restore and write records.  Raises InputError, OutputError."""
        held = bytearray()
        try:
            for record in records:
                if record is not None:
                    self._restore(record, held, sink)
                if record is None or len(held) >= _HELD:
                    sink.write(bytes(held))
                    held.clear()
        finally:  # records before an error are written
            sink.write(bytes(held))

    def _restore(self, record: Record, held: bytearray, sink: Sink) -> None:
        """Append a record to the output that is held."""
        if self._units is not None and record.texts:
            self._choose(record.unit)
        texts = [self._originals.restore(text, self.counts) for text in record.texts]
        if texts != record.texts:
            self.counts["invalid"] += record.invalid
        if piece := record.render(texts):
            held += sink.owed + piece
            sink.owed = record.owes

    def _choose(self, unit: str) -> None:
        """Take the originals of a unit."""
        assert self._units is not None  # noqa: S101 - the caller has looked
        parts = self._units.get(unit, ())
        self.counts["strangers"] += not parts
        if unit != self._unit:
            self._unit, self._originals = unit, Originals(self._map.read(parts))
