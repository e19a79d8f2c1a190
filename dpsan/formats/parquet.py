"""``parquet``: columns of strings, one row group at a time; needs an extra.

A row is a record; its texts are the strings of the chosen columns, through structs (``a.b``), lists
(``a[]``) and the values of maps (``a.value``), and those of JSON inside of strings; a column whose
whole name is the field comes first.  Null stays null.  What
is kept of the file itself: :mod:`dpsan.formats.parquet_columns`.  A row group is in memory as a
whole, on input and on output, as the format wants it.

Parquet is read from its end, so it needs a file: a pipe would have to be copied to disk, where
private text does not belong.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, Final

from dpsan.errors import ExtraMissingError, InputError, reason
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record
from dpsan.formats.json_scan import TOO_DEEP, Chosen, KindError, Part, other_text, pruned_text
from dpsan.formats.parquet_columns import Columns, Leaf, Output, Positioned, Steps, check_times
from dpsan.formats.passing import PERSONS
from dpsan.formats.paths import is_person
from dpsan.formats.text import decode, too_long

_BATCH: Final = 1024
"""Rows whose strings are Python objects at once."""


class ParquetFormat(Format):
    """Apache Parquet."""

    name: ClassVar[str] = "parquet"
    takes_budget = copyable = takes_spans = takes_fields = needs_fields = nested = True

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        with _opened(source) as (file, size):
            yield from _records(source, options, file, size)

    def labels(self, source: Source, field: str, options: ReadOptions) -> Iterator[str]:
        """Yield a column, whatever its type."""
        with _opened(source) as (file, _):
            if field not in file.schema_arrow.names:
                raise InputError(source.name, f"no column '{field}'")
            for batch in file.iter_batches(columns=[field]):
                yield from map(str, batch.column(field).to_pylist())


@contextmanager
def _opened(source: Source) -> Iterator[tuple[Any, int]]:
    """Open a source as a ``pyarrow.parquet.ParquetFile``; also yield its size in bytes.

    Raises:
        InputError: also in place of Arrow's errors inside the block: they could quote data.
    """
    try:
        import pyarrow as pa  # an extra
        import pyarrow.parquet as pq
    except ImportError:
        raise ExtraMissingError("parquet", "parquet") from None
    descriptor = source.descriptor()
    if descriptor is None:
        raise InputError(source.name, "parquet needs a file, not a pipe or compressed file")
    try:
        size = os.fstat(descriptor).st_size
        if not size:
            raise InputError(source.name, "not a Parquet file: empty")
        with pq.ParquetFile(Positioned(descriptor)) as file:
            yield file, size
    except (pa.ArrowException, OSError, UnicodeError) as error:
        what, hint = "not a Parquet file, or damaged", "-f NAME, such as csv, if it is another"
        if isinstance(error, OSError) and error.errno:
            what, hint = f"cannot read: {reason(error)}", ""
        raise InputError(source.name, what, hint) from None


def _records(source: Source, options: ReadOptions, file: Any, size: int) -> Iterator[Record | None]:
    columns = Columns(source, file, options)
    output: Output | None = None
    yield Record(0, [], lambda _: b"", part="frame", fields=columns.described(file))
    groups, first, done = file.num_row_groups, 1, 0
    for number in range(groups):
        check_times(source, file, number)
        table = file.read_row_group(number, columns=columns.read)
        # Arrow has read the metadata of these columns, which would end the process if damaged.
        output = output or Output(file, columns.written, columns.narrow)
        yield from _Group(source, options, table, columns, output).records(first)
        first += table.num_rows
        del table
        # Hash and count the input's bytes as its groups are done.
        while done < size * (number + 1) // groups and (data := source.read()):
            done += len(data)
    if first > 1:
        columns.check_seen(source)
    output = output or Output(file, columns.written, columns.narrow)
    yield Record(0, [], output.finish, part="frame")
    while source.read():
        pass


class _Row(Chosen):
    """Findings in a row.

    Args:
        columns: number of chosen columns.
    """

    __slots__ = ("invalid", "parts", "persons")

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.parts: list[list[tuple[str, Part]]] = [[] for _ in range(columns)]
        """The strings of each column, and what is chosen of them."""
        self.invalid = 0
        self.persons = 0
        """Number of keys that hold the name or address of a person."""


class _Group:
    """One row group: its texts out, the new texts in, then its bytes."""

    def __init__(
        self, source: Source, options: ReadOptions, table: Any, columns: Columns, output: Output
    ) -> None:
        self._source, self._options = source, options
        self._table, self._columns, self._output = table.combine_chunks(), columns, output
        self._rows: list[int] = []
        """The row each output row is made of: every row once, or as often as there are copies."""
        self._texts: list[list[str]] = [[] for _ in columns.paths]

    def records(self, first: int) -> Iterator[Record]:
        """Yield a record for each row, and a frame that writes the group.

        Args:
            first: number of the first row in the file, from 1.
        """
        paths, positions = self._columns.paths, self._columns.positions
        for start in range(0, self._table.num_rows, _BATCH):
            part = self._table.slice(start, _BATCH)
            rows = [_Row(len(paths)) for _ in range(len(part))]
            for at, leaf in enumerate(paths):
                for raw, row in _strings(_whole(part.column(leaf.column)), leaf.steps):
                    persons = positions.persons
                    self._add(rows[row], at, leaf, raw, first + start + row)
                    rows[row].persons += positions.persons - persons
            for leaf in self._columns.keys:
                for raw, row in _strings(_whole(part.column(leaf.column)), leaf.steps):
                    rows[row].persons += is_person(raw.decode(errors="replace"))
            typed = self._columns.fields.typed
            for number, row_read in enumerate(rows, start):
                self._columns.unseen -= row_read.seen
                render = partial(self._take, number, row_read.parts)
                record = Record(first + number, row_read.texts, render, row_read.invalid)
                record.noted = {PERSONS: row_read.persons} if row_read.persons else None
                names = [self._columns.chosen[number].name for number in row_read.fields]
                record.kinds = self._options.classes(names, row_read.paths, typed)
                yield record
        yield Record(first, [], self._write, part="frame")

    def _add(self, row: _Row, at: int, leaf: Leaf, raw: bytes, line: int) -> None:
        """Add a string to its row, or the chosen strings of the JSON in it.

        Args:
            at, leaf: number of the column, and the column.
            raw: bytes of the string.
            line: number of the row.

        Raises:
            InputError: it is too long, no UTF-8, or no JSON where a field leads into it.
        """
        if len(raw) > self._options.max_record:
            raise too_long(self._source, line, self._options.max_record)
        text, bad = decode(self._source, line, raw, ReadOptions(invalid=self._options.invalid))
        row.invalid += bad
        try:
            if self._options.drop_other and leaf.place is not None:
                text = pruned_text(text, leaf.place) or ""
            part = row.take(text, leaf.position, self._columns.positions)
        except RecursionError:
            raise InputError(self._source.name, TOO_DEEP, line=line) from None
        except KindError as error:
            what = f"field '{error.path}' is not {error.wanted}"
            raise InputError(self._source.name, what, line=line) from None
        row.parts[at].append((text, part))

    def _take(self, row: int, parts: list[list[tuple[str, Part]]], texts: list[str]) -> bytes:
        """Take the new texts of a row; the bytes come with the group.

        Args:
            parts: by column what its strings are.
        """
        self._rows.append(row)
        rest = iter(texts)
        for new, column in zip(self._texts, parts, strict=True):
            new.extend(other_text(old, part, rest) for old, part in column)
        return b""

    def _write(self, _: list[str]) -> bytes:
        import pyarrow as pa

        table, self._table = self._table, None  # what is rewritten is not kept beside the new
        if self._rows != list(range(table.num_rows)):
            table = table.take(pa.array(self._rows, type=pa.int64())).combine_chunks()
        for path, texts in zip(self._columns.paths, self._texts, strict=True):
            new = _rebuilt(_whole(table.column(path.column)), path.steps, iter(texts))
            texts.clear()
            table = table.set_column(path.column, table.schema.field(path.column), new)
            del new
        return self._output.write(table)


def _whole(column: Any) -> Any:
    """Return a column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _strings(array: Any, steps: Steps) -> Iterator[tuple[bytes, int]]:
    """Yield the strings at the end of a path that are not null, and the row of each.

    As bytes: a damaged file may hold strings that are not UTF-8.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.array(range(len(array)), type=pa.int64())
    for step in steps:
        if step is None:
            array = _listed(array)
            rows = rows.take(pc.list_parent_indices(array))
            array = pc.list_flatten(array)
        else:
            array = pc.struct_field(array, step)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.null_count:  # else nothing need be copied
        there = array.is_valid()
        array, rows = array.filter(there), rows.filter(there)
    return zip(array.cast(pa.large_binary()).to_pylist(), rows.to_pylist(), strict=True)


def _listed(array: Any) -> Any:
    """Return lists of a fixed size, views of lists, and maps as lists."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_map(kind):
        return array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return array
    # What a null of a fixed size holds is left behind.
    return array.cast(pa.list_(kind.value_field)).take(pa.array(range(len(array))))


def _rebuilt(array: Any, steps: Steps, texts: Iterator[str]) -> Any:
    """Return the array with other strings at the end of a path."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if not steps:
        values = [next(texts) if valid else None for valid in array.is_valid().to_pylist()]
        if pa.types.is_dictionary(kind):
            # Its dictionary is made anew: the old one holds the old texts.
            return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
        return pa.array(values, kind)
    if steps[0] is None and not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        lists = _rebuilt(_listed(array), steps, texts)
        if not pa.types.is_map(kind):
            return lists.cast(kind)
        keys, values = lists.values.flatten()
        offsets = lists.offsets
        return pa.MapArray.from_arrays(offsets, keys, values, type=kind, mask=array.is_null())
    if steps[0] is None:
        items = _rebuilt(pc.list_flatten(array), steps[1:], texts)
        ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(array), 0))
        large = pa.types.is_large_list(kind)
        offset, made = (pa.int64(), pa.LargeListArray) if large else (pa.int32(), pa.ListArray)
        offsets = pa.concat_arrays([pa.array([0], offset), ends.cast(offset)])
        return made.from_arrays(offsets, items, type=kind, mask=array.is_null())
    children = array.flatten()
    index = kind.get_field_index(steps[0])
    children[index] = _rebuilt(children[index], steps[1:], texts)
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
