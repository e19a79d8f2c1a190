"""Write a Parquet file with the schema, key-value metadata and compression of the input.

Columns keep the types that Arrow reads, and times of 96 bits stay such.  How else a type is stored
(a decimal in whole numbers or in bytes), encodings and pages are those of pyarrow.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any, Final

from dpsan.errors import InputError
from dpsan.files.source import Source

_CODECS: Final = {"SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"}
_MOST_MILLISECONDS: Final = (1 << 63) // 10**6 - 1
"""Largest time that fits into 64 bits of nanoseconds, before or after 1970."""


class Positioned(io.RawIOBase):
    """Read a descriptor at positions of its own, without moving the descriptor's."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor, self._at = descriptor, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence)
        self._at = offset + (os.fstat(self._descriptor).st_size if base is None else base)
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self._descriptor, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Written(io.BytesIO):
    """Hold bytes until they are fetched; positions count all bytes."""

    _fetched = 0

    def tell(self) -> int:
        return self._fetched + super().tell()

    def fetch(self) -> bytes:
        """Return all bytes since the last call."""
        data = self.getvalue()
        self._fetched += len(data)
        self.seek(0)
        self.truncate()
        return data


class Output:
    """A Parquet file whose bytes are fetched after each row group.

    Args:
        file: the input, as a ``pyarrow.parquet.ParquetFile``.
        columns: numbers of the columns that are written.  They have been read from the first row
            group: where their metadata are damaged, that is an error, and here the process ends.
        schema: of the columns that are written without metadata; default all, with it.
    """

    def __init__(self, file: Any, columns: list[int], schema: Any = None) -> None:
        import pyarrow.parquet as pq

        self._written = _Written()
        self._metadata: dict[bytes, bytes] = {}
        options = _options(file, columns)
        if schema is None:
            # The Arrow schema that pyarrow stores is among the metadata.
            schema, self._metadata = file.schema_arrow, dict(file.metadata.metadata or {})
        self._writer = pq.ParquetWriter(self._written, schema, **options)

    def write(self, table: Any) -> bytes:
        """Return the bytes that a row group adds."""
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        return self._written.fetch()

    def finish(self, _: list[str]) -> bytes:
        """Return the bytes of the footer."""
        if self._metadata:
            self._writer.add_key_value_metadata(self._metadata)
        self._writer.close()
        return self._written.fetch()


def _options(file: Any, columns: list[int]) -> dict[str, Any]:
    """Return the options of ``pyarrow.parquet.ParquetWriter`` that a file shows."""
    paths = [file.schema.column(number).path for number in columns]
    options: dict[str, Any] = {
        "store_schema": False,
        # What old programs call the items of a list is part of the paths of columns.
        "use_compliant_nested_type": not any(".list.item" in path for path in paths),
        "use_deprecated_int96_timestamps": bool(_int96(file)),
    }
    if file.metadata.num_row_groups:
        group = file.metadata.row_group(0)
        chunks = [group.column(number) for number in columns]
        options["compression"] = {
            chunk.path_in_schema: chunk.compression.lower()
            if chunk.compression in _CODECS
            else "none"
            for chunk in chunks  # LZO cannot be written
        }
        # Statistics keep copies of large values in memory.
        with_statistics = [chunk.path_in_schema for chunk in chunks if chunk.is_stats_set]
        options["write_statistics"] = with_statistics or False
    return options


def _int96(file: Any) -> list[str]:
    """Return the paths of columns whose times have 96 bits, as Impala and Spark write them."""
    columns = map(file.schema.column, range(len(file.schema.names)))
    return [column.path for column in columns if column.physical_type == "INT96"]


def check_times(source: Source, file: Any, number: int) -> None:
    """Refuse times of 96 bits that 64 bits cannot hold: Arrow would change them silently.

    Args:
        source, file: the input.
        number: the row group.

    Raises:
        InputError: a time would become another one.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    paths = _int96(file)
    if not paths:
        return
    again = Positioned(source.descriptor() or 0)
    with pq.ParquetFile(again, coerce_int96_timestamp_unit="ms") as coarse:
        table = coarse.read_row_group(number, columns=paths).combine_chunks()
    for times in (value for column in table.columns for value in _times(column.combine_chunks())):
        ends = pc.min_max(times.cast("int64")).as_py()
        if any(value is not None and abs(value) > _MOST_MILLISECONDS for value in ends.values()):
            where = paths[0] if len(paths) == 1 else "one of the columns"
            what = f"an INT96 time in {where} is before 1677 or after 2262 and cannot be kept"
            raise InputError(source.name, what, "write the file with 64-bit timestamps first")


def _times(array: Any) -> Iterator[Any]:
    """Yield the timestamps inside an array of any type."""
    import pyarrow as pa

    if pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from _times(child)
    elif pa.types.is_nested(array.type):
        yield from _times(array.flatten())
    elif pa.types.is_timestamp(array.type):
        yield array
