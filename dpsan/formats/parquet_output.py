"""The Parquet file that an input becomes: laid out as the input is.

Kept are the schema, the key-value metadata of the file, and for each column compression, encoding
and whether it has statistics; sorting columns as far as none is rewritten.  What pyarrow cannot
write as it was is refused before anything is read: nobody would look for another type of a column
in a sanitized file.

Knows Arrow's reader and writer.  Must not know texts.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from typing import Any, Final

from dpsan.errors import InputError
from dpsan.files.source import Source

__all__ = ["Output", "check_range", "layout"]

_CODECS: Final = {"SNAPPY", "GZIP", "BROTLI", "ZSTD", "LZ4"}
_LEVELS: Final = {"RLE", "BIT_PACKED"}
_DICTIONARY: Final = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
# Two ways to write the same type.
_SAME: Final = re.compile(
    r", is_from_converted_type=\w+, force_set_converted_type=\w+"
    r"|(?<=int32 )(field_id=\S+ .*) \(Int\(bitWidth=32, isSigned=true\)\)"
    r"|(?<=int64 )(field_id=\S+ .*) \(Int\(bitWidth=64, isSigned=true\)\)"
)
_MOST_MILLISECONDS: Final = (1 << 63) // 10**6 - 1
"""What a time in nanoseconds reaches, on either side of 1970."""


class Positioned(io.RawIOBase):
    """Reads a descriptor at positions of its own, without moving the descriptor's."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor, self._at = descriptor, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence)
        self._at = offset + (os.fstat(self._descriptor).st_size if base is None else base)
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self._descriptor, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Written(io.RawIOBase):
    """Takes bytes until they are fetched; remembers only how many there were."""

    def __init__(self) -> None:
        super().__init__()
        self._held = io.BytesIO()
        self._at = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        done = self._held.write(data)
        self._at += done
        return done

    def fetch(self) -> bytes:
        """All bytes since the last time."""
        held, self._held = self._held, io.BytesIO()
        return held.getvalue()


class Output:
    """A Parquet file in the making; its bytes are taken away as they come.

    Args:
        source: for messages.
        file: the input, as a ``pyarrow.parquet.ParquetFile``.
        rewritten: names of the columns that get other texts.
        schema: of the columns that are written; default all, with the metadata of the file.

    Raises:
        InputError: a column cannot be written as it was.
    """

    def __init__(self, source: Source, file: Any, rewritten: set[str], schema: Any = None) -> None:
        import pyarrow.parquet as pq

        self._written = _Written()
        if schema is None:
            options = layout(source, file, rewritten)
            # The Arrow schema that pyarrow stores is among it.
            self._metadata = dict(file.metadata.metadata or {})
        else:
            # Of strings alone, whose type every version of Parquet has.
            options = _options(file, rewritten) | {"store_schema": True, "sorting_columns": None}
            self._metadata = {}
        self._writer = pq.ParquetWriter(self._written, schema or file.schema_arrow, **options)

    def write(self, table: Any) -> bytes:
        """The bytes that a row group adds."""
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        return self._written.fetch()

    def finish(self, _: list[str]) -> bytes:
        """The bytes of the footer."""
        if self._metadata:
            self._writer.add_key_value_metadata(self._metadata)
        self._writer.close()
        return self._written.fetch()


def layout(source: Source, file: Any, rewritten: set[str]) -> dict[str, Any]:
    """The options with which ``pyarrow.parquet.ParquetWriter`` writes as an input was written.

    Raises:
        InputError: there are none; names the first column that would change.
    """
    options = _options(file, rewritten)
    old = _described(file)
    versions = dict.fromkeys((file.metadata.format_version, "2.6", "2.4", "1.0"))
    for compliant in (True, False):
        for version in versions:
            options |= {"version": version, "use_compliant_nested_type": compliant}
            new = _tried(file.schema_arrow, options)
            if new == old:
                return options
            if compliant and version == "2.6":
                nearest = new
    changed = next(
        (pair for pair in zip(old, nearest, strict=False) if pair[0] != pair[1]), ("", "")
    )
    was, would = ("".join(c if c.isprintable() else "?" for c in each.strip()) for each in changed)
    raise InputError(
        source.name,
        f"a column's type cannot be kept: '{was}' would become '{would}'",
        "convert the file first, or leave that column out",
    )


def _options(file: Any, rewritten: set[str]) -> dict[str, Any]:
    described = str(file.schema)
    options: dict[str, Any] = {
        "store_schema": False,
        "use_deprecated_int96_timestamps": bool(_int96(file)),
        "store_decimal_as_integer": bool(
            re.search(r" int(?:32|64) field_id=\S+ .*\(Decimal\(", described)
        ),
    }
    if "(Time(isAdjustedToUTC=true" in described:
        options["write_time_adjusted_to_utc"] = True
    if not file.metadata.num_row_groups:
        return options
    first = file.metadata.row_group(0)
    columns = [first.column(number) for number in range(first.num_columns)]
    encodings = {each.path_in_schema: set(each.encodings) - _LEVELS for each in columns}
    special = {path: found - _DICTIONARY - {"PLAIN"} for path, found in encodings.items()}
    dictionaries = [path for path, found in encodings.items() if found & _DICTIONARY]
    return options | {
        # LZO cannot be written.
        "compression": {
            each.path_in_schema: each.compression.lower() if each.compression in _CODECS else "none"
            for each in columns
        },
        "use_dictionary": dictionaries or False,
        "column_encoding": {
            path: min(found)
            for path, found in special.items()
            if found and path not in dictionaries
        }
        or None,
        "write_statistics": [each.path_in_schema for each in columns if each.is_stats_set] or False,
        "write_page_index": any(each.has_offset_index for each in columns),
        "sorting_columns": _sorting(file, columns, rewritten) or None,
    }


def _sorting(file: Any, columns: list[Any], rewritten: set[str]) -> list[Any]:
    """The columns by which all row groups stay sorted: up to the first that is rewritten."""
    metadata = file.metadata
    groups = [metadata.row_group(at).sorting_columns for at in range(metadata.num_row_groups)]
    out: list[Any] = []
    for same in zip(*groups, strict=False):
        path = columns[same[0].column_index].path_in_schema
        begun = any(path == name or path.startswith(f"{name}.") for name in rewritten)
        if begun or len(set(same)) > 1:
            break
        out.append(same[0])
    return out


def _described(file: Any) -> list[str]:
    """The types of all columns, one a line, without the name of the root."""
    return [_SAME.sub(r"\1\2", line) for line in str(file.schema).split("\n")[2:]]


def _tried(schema: Any, options: dict[str, Any]) -> list[str]:
    """The types that a file without rows gets."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = pa.BufferOutputStream()
    try:
        with pq.ParquetWriter(written, schema, **options) as writer:
            writer.write_table(schema.empty_table())
    except (TypeError, pa.ArrowException):  # an option that an old pyarrow lacks, or a type
        return []
    with pq.ParquetFile(pa.BufferReader(written.getvalue())) as file:
        return _described(file)


def _int96(file: Any) -> list[str]:
    """Paths of the columns whose times have 96 bits, as Impala and Spark write them."""
    columns = map(file.schema.column, range(len(file.schema.names)))
    return [each.path for each in columns if each.physical_type == "INT96"]


def check_range(source: Source, file: Any, number: int) -> None:
    """Arrow reads these times in nanoseconds and says nothing of those that do not fit.

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
        table = coarse.read_row_group(number, columns=paths)
    for column in table.columns:
        for times in (each for chunk in column.chunks for each in _times(chunk)):
            ends = pc.min_max(times.cast("int64")).as_py()
            if any(each is not None and abs(each) > _MOST_MILLISECONDS for each in ends.values()):
                raise InputError(
                    source.name,
                    f"an INT96 time in {paths[0] if len(paths) == 1 else 'one of the columns'} is "
                    "before 1677 or after 2262 and cannot be kept",
                    "write the file with 64-bit timestamps first",
                )


def _times(array: Any) -> Iterator[Any]:
    """The timestamps inside an array of any type."""
    import pyarrow as pa

    if pa.types.is_timestamp(array.type):
        yield array
    elif pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from _times(child)
    elif pa.types.is_nested(array.type):
        yield from _times(array.flatten())
