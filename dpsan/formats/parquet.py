"""``parquet``: columns of strings, one row group at a time; needs an extra.

A row is a record; its texts are the strings of the chosen columns, through structs (``a.b``) and
lists (``a[]``); a column whose whole name is the field comes first.  Null stays null.  What
is kept of the file itself: :mod:`dpsan.formats.parquet_layout`.  A row group is in memory as a
whole, on input and on output, as the format wants it.

Parquet is read from its end, so it needs a file: a pipe would have to be copied to disk, where
private text does not belong.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import Any, ClassVar, Final, TypeAlias

from dpsan.errors import ExtraMissingError, InputError, reason
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record
from dpsan.formats.lines import decode, too_long
from dpsan.formats.parquet_layout import Output, Positioned, check_times
from dpsan.formats.passing import Fields, named, shown_names
from dpsan.formats.paths import did_you_mean, parse_field

_BATCH: Final = 1024
"""Rows whose strings are Python objects at once."""


class ParquetFormat(Format):
    """Apache Parquet."""

    name: ClassVar[str] = "parquet"
    takes_budget = copyable = takes_spans = takes_fields = needs_fields = True

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
        what = "not a Parquet file, or damaged"
        if isinstance(error, OSError) and error.errno:
            what = f"cannot read: {reason(error)}"
        raise InputError(source.name, what) from None


def _records(source: Source, options: ReadOptions, file: Any, size: int) -> Iterator[Record | None]:
    columns = Columns(source, file, options)
    output: Output | None = None
    yield Record(0, [], lambda _: b"", part="frame", fields=columns.fields(file))
    groups, first, done = file.num_row_groups, 1, 0
    for number in range(groups):
        check_times(source, file, number)
        table = file.read_row_group(number, columns=columns.read)
        # Arrow has read the metadata of these columns, which would end the process if damaged.
        output = output or Output(source, file, columns.written, columns.narrow)
        yield from _Group(source, options, table, columns.paths, output).records(first)
        first += table.num_rows
        del table
        # Hash and count the input's bytes as its groups are done.
        while done < size * (number + 1) // groups and (data := source.read()):
            done += len(data)
    output = output or Output(source, file, columns.written, columns.narrow)
    yield Record(0, [], output.finish, part="frame")
    while source.read():
        pass


class Columns:
    """The chosen columns of a file, and the others.

    Raises:
        InputError: there is no such column, or it does not hold strings.
    """

    def __init__(self, source: Source, file: Any, options: ReadOptions) -> None:
        schema = file.schema_arrow
        if not options.fields:
            raise InputError(source.name, "parquet needs --field", _there(schema))
        names = dict.fromkeys(options.fields)
        self._options = options
        self.paths = [_Path(source, schema, each) for each in names]
        self._chosen = {(each.column, each.steps): each.field for each in self.paths}
        self.read: list[str] | None = None
        """Columns to read, as paths of the file; None: all."""
        self.narrow: Any = None
        """The schema of the chosen columns alone; None: all columns are written."""
        self.written = [*range(len(file.schema))]
        """Numbers of the columns that are read and written."""
        if options.drop_other:
            numbered = enumerate(_leaves_of(schema))
            self.written = [
                at for at, (column, steps, _) in numbered if (column, steps) in self._chosen
            ]
            self.read = [file.schema.column(at).path for at in self.written]
            self.narrow = file.read_row_groups([], columns=self.read).schema.remove_metadata()
            if len([*_leaves_of(self.narrow)]) != len(self._chosen):
                raise InputError(source.name, "two columns have the same path in the file")
            self.paths = [_Path(source, self.narrow, each) for each in names]

    def fields(self, file: Any) -> list[Fields]:
        """Return all columns, down to their leaves, and the entries of key-value metadata."""
        schema, left_out = file.schema_arrow, self._options.drop_other
        columns = Fields("column", requested=self._options.fields, left_out=left_out)
        for column, steps, path in _leaves_of(schema):
            name = self._chosen.get((column, steps))
            (columns.others if name is None else columns.chosen)[name or path] = None
        metadata = Fields("metadata item", left_out=left_out)
        keys = [*(file.metadata.metadata or {}), *(schema.metadata or {})]
        for each in schema:
            keys += (b"%b: %b" % (each.name.encode(), key) for key in each.metadata or {})
        for key in keys:
            # Arrow's own entries, which are made of the schema.
            if key != b"ARROW:schema" and not key.endswith(b"PARQUET:field_id"):
                metadata.others[key.decode(errors="replace")] = None
        return [columns, metadata]


_Steps: TypeAlias = tuple[str | None, ...]
"""Names of struct fields from the outside in; None stands for every item of a list."""


def _leaves_of(schema: Any) -> Iterator[tuple[int, _Steps, str]]:
    """Yield each leaf in the order of the file: its column, the steps to it, and its path."""
    for at, label in enumerate(named(schema.names)):
        for steps, path in _leaf_paths(label, schema.field(at).type):
            yield at, steps, path


def _leaf_paths(path: str, kind: Any) -> Iterator[tuple[_Steps, str]]:
    import pyarrow as pa

    inner: list[tuple[str, str | None, Any]] = []
    if pa.types.is_struct(kind):
        inner = [(f".{each.name}", each.name, each.type) for each in kind]
    elif pa.types.is_map(kind):
        inner = [(".key", "key", kind.key_type), (".value", "value", kind.item_type)]
    elif pa.types.is_nested(kind):
        inner = [("[]", None, kind.value_type)]
    if not inner:
        yield (), path
    for name, step, below in inner:
        for steps, whole in _leaf_paths(path + name, below):
            yield (step, *steps), whole


def _there(schema: Any) -> str:
    return f"columns: {shown_names(schema.names)}; choose with --field"


class _Path:
    """The way to the strings of one field through a column's type."""

    def __init__(self, source: Source, schema: Any, field: str) -> None:
        import pyarrow as pa

        steps = (field,) if field in schema.names else parse_field(field).steps
        column = steps[0]
        if column is None or column not in schema.names:
            near = did_you_mean(str(column), schema.names)
            raise InputError(source.name, f"no column '{column}'", near or _there(schema))
        if schema.names.count(column) > 1:
            raise InputError(source.name, f"two columns are named '{column}'")
        self.field, self.column = field, int(schema.names.index(column))
        self.steps = steps[1:]
        kind = schema.field(self.column).type
        for step in self.steps:
            if step is None and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
                kind = kind.value_type
            elif step is not None and pa.types.is_struct(kind) and kind.get_field_index(step) >= 0:
                kind = kind.field(step).type
            else:
                raise InputError(source.name, f"no field '{field}' in column '{column}' ({kind})")
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise InputError(source.name, f"field '{field}' is {kind}, not a string")


class _Group:
    """One row group: its texts out, the new texts in, then its bytes."""

    def __init__(
        self, source: Source, options: ReadOptions, table: Any, paths: list[_Path], output: Output
    ) -> None:
        self._source, self._options = source, options
        self._table, self._paths, self._output = table.combine_chunks(), paths, output
        self._rows: list[int] = []
        """The row each output row is made of: every row once, or as often as there are copies."""
        self._texts: list[list[str]] = [[] for _ in paths]

    def records(self, first: int) -> Iterator[Record]:
        """Yield a record for each row, and a frame that writes the group.

        Args:
            first: number of the first row in the file, from 1.
        """
        utf8 = ReadOptions(invalid=self._options.invalid)
        for start in range(0, self._table.num_rows, _BATCH):
            some = self._table.slice(start, _BATCH)
            texts: list[list[list[str]]] = [[[] for _ in self._paths] for _ in range(len(some))]
            invalid = [0] * len(some)
            for at, path in enumerate(self._paths):
                for raw, row in _strings(_whole(some.column(path.column)), path.steps):
                    line = first + start + row
                    if len(raw) > self._options.max_record:
                        raise too_long(self._source, line, self._options.max_record)
                    text, bad = decode(self._source, line, raw, utf8)
                    invalid[row] += bad
                    texts[row][at].append(text)
            for row, each in enumerate(texts, start):
                render = partial(self._take, row, [*map(len, each)])
                record = Record(first + row, [*chain(*each)], render, invalid[row - start])
                if kinds := self._options.kinds:
                    pairs = zip(self._paths, each, strict=True)
                    record.kinds = [
                        kinds.get(path.field, "") for path, texts in pairs for _ in texts
                    ]
                yield record
        yield Record(first, [], self._write, part="frame")

    def _take(self, row: int, counts: list[int], texts: list[str]) -> bytes:
        """Take the new texts of a row; the bytes come with the group."""
        self._rows.append(row)
        each = iter(texts)
        for new, count in zip(self._texts, counts, strict=True):
            new.extend(islice(each, count))
        return b""

    def _write(self, _: list[str]) -> bytes:
        import pyarrow as pa

        table, self._table = self._table, None  # what is rewritten is not kept beside the new
        if self._rows != list(range(table.num_rows)):
            table = table.take(pa.array(self._rows, type=pa.int64())).combine_chunks()
        for path, texts in zip(self._paths, self._texts, strict=True):
            new = _rebuilt(_whole(table.column(path.column)), path.steps, iter(texts))
            texts.clear()
            table = table.set_column(path.column, table.schema.field(path.column), new)
            del new
        return self._output.write(table)


def _whole(column: Any) -> Any:
    """Return a column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _strings(array: Any, steps: _Steps) -> Iterator[tuple[bytes, int]]:
    """Yield the strings at the end of a path that are not null, and the row of each.

    As bytes: a damaged file may hold strings that are not UTF-8.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.array(range(len(array)), type=pa.int64())
    for step in steps:
        if step is None:
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


def _rebuilt(array: Any, steps: _Steps, texts: Iterator[str]) -> Any:
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
