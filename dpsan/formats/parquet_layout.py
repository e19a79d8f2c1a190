"""Write a Parquet file with the schema, key-value metadata and compression of the input.

Encodings and pages are those of pyarrow.  An input with a type that pyarrow would change is refused
before anything is written: nobody would look for another type in a sanitized file.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from dpsan.errors import InputError
from dpsan.files.source import Source

_CODECS: Final = {"SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"}
# Two ways to write the same type.
_SAME: Final = re.compile(
    r", is_from_converted_type=\w+, force_set_converted_type=\w+"
    r"|(?<=int32 )(field_id=\S+ .*) \(Int\(bitWidth=32, isSigned=true\)\)"
    r"|(?<=int64 )(field_id=\S+ .*) \(Int\(bitWidth=64, isSigned=true\)\)"
)
_WHOLE_DECIMAL: Final = re.compile(r" int(?:32|64) field_id=\S+ .*\(Decimal\(")
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
        source: for messages.
        file: the input, as a ``pyarrow.parquet.ParquetFile``.
        columns: numbers of the columns that are written.  They have been read from the first row
            group: where their metadata are damaged, that is an error, and here the process ends.
        schema: of the columns that are written without metadata; default all, with it.

    Raises:
        InputError: a column's type cannot be written.
    """

    def __init__(self, source: Source, file: Any, columns: list[int], schema: Any = None) -> None:
        import pyarrow.parquet as pq

        self._written = _Written()
        self._metadata: dict[bytes, bytes] = {}
        # Columns that are chosen are strings, which every version of Parquet has.
        options = _options(file, columns)
        if schema is None:
            schema, options = file.schema_arrow, _same_types(source, file, options)
            # The Arrow schema that pyarrow stores is among it.
            self._metadata = dict(file.metadata.metadata or {})
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
    described = str(file.schema)
    options: dict[str, Any] = {
        "store_schema": False,
        "use_deprecated_int96_timestamps": bool(_int96(file)),
        "store_decimal_as_integer": _WHOLE_DECIMAL.search(described) is not None,
        "write_time_adjusted_to_utc": "(Time(isAdjustedToUTC=true" in described,
    }
    if file.metadata.num_row_groups:
        group = file.metadata.row_group(0)
        chunks = [group.column(number) for number in columns]
        options["compression"] = {
            each.path_in_schema: each.compression.lower() if each.compression in _CODECS else "none"
            for each in chunks  # LZO cannot be written
        }
        # Statistics keep copies of large values in memory.
        with_statistics = [each.path_in_schema for each in chunks if each.is_stats_set]
        options["write_statistics"] = with_statistics or False
    return options


def _same_types(source: Source, file: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with which a file of the same Parquet types is written.

    Raises:
        InputError: there are none; names the first column that would change.
    """
    old = _described(file)
    versions = dict.fromkeys((file.metadata.format_version, "2.6", "2.4", "1.0"))
    for compliant, version in product((True, False), versions):
        tried = options | {"version": version, "use_compliant_nested_type": compliant}
        if _tried(file.schema_arrow, tried) == old:
            return tried
    new = _tried(file.schema_arrow, options)
    changed = next((pair for pair in zip(old, new, strict=False) if pair[0] != pair[1]), ("", ""))
    was, would = ("".join(c if c.isprintable() else "?" for c in each.strip()) for each in changed)
    what = f"a column's type cannot be kept: '{was}' would become '{would}'"
    raise InputError(source.name, what, "convert the file first, or leave that column out")


def _described(file: Any) -> list[str]:
    """Return the types of all columns, one a line, without the name of the root."""
    return [_SAME.sub(r"\1\2", line) for line in str(file.schema).split("\n")[2:]]


def _tried(schema: Any, options: dict[str, Any]) -> list[str]:
    """Return the types that a file without rows gets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = pa.BufferOutputStream()
    try:
        pq.ParquetWriter(written, schema, **options).close()
    except pa.ArrowException:
        return []
    with pq.ParquetFile(pa.BufferReader(written.getvalue())) as file:
        return _described(file)


def _int96(file: Any) -> list[str]:
    """Return the paths of columns whose times have 96 bits, as Impala and Spark write them."""
    columns = map(file.schema.column, range(len(file.schema.names)))
    return [each.path for each in columns if each.physical_type == "INT96"]


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
    for times in (each for column in table.columns for each in _times(column.combine_chunks())):
        ends = pc.min_max(times.cast("int64")).as_py()
        if any(each is not None and abs(each) > _MOST_MILLISECONDS for each in ends.values()):
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
