"""Parts of a Parquet file: some of its row groups, rewritten apart and put together again.

A part is a sequence of Arrow IPC streams, one for each row group; whoever joins the parts encodes
them as one Parquet file, with the same bytes as if it had been read as a whole.

Knows row groups.  Must not know who works on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dpsan.errors import OutputError
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record
from dpsan.formats.parquet import Columns, RowGroup, opened, read_group


def group_sizes(source: Source) -> list[int]:
    """Uncompressed bytes of each row group.  Raises InputError."""
    with opened(source) as (file, _):
        metadata = file.metadata
        return [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]


def read_groups(source: Source, options: ReadOptions, groups: range) -> Iterator[Record | None]:
    """The records of some row groups; their frames are rendered as Arrow IPC streams.

    Raises:
        InputError: as reading the whole file does.
    """
    with opened(source) as (file, _):
        columns = Columns(source, file, options)
        columns.output(source, file)  # refuses before any work
        yield Record(0, [], lambda _: b"", part="frame", fields=columns.fields(file))
        for number in groups:
            table = columns.kept(read_group(source, file, number))
            group = RowGroup(source, options, table, columns.paths, _stream)
            yield from group.records(file.metadata, number)


def _stream(table: Any) -> bytes:
    import pyarrow as pa

    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table)
    data: bytes = written.getvalue().to_pybytes()
    return data


def join_groups(source: Source, options: ReadOptions, parts: Iterable[Path]) -> Iterator[bytes]:
    """The bytes of the Parquet file that ``source`` becomes with the row groups of ``parts``.

    Raises:
        InputError: the source cannot be read.
        OutputError: a part cannot be.
    """
    import pyarrow as pa

    with opened(source) as (file, _):
        output = Columns(source, file, options).output(source, file)
        for path in parts:
            try:
                with path.open("rb") as part:
                    while part.peek(1):
                        with pa.ipc.open_stream(part) as stream:
                            yield output.write(stream.read_all())
            except (OSError, pa.ArrowException):
                raise OutputError(f"{path}: cannot read") from None
        yield output.finish([])
