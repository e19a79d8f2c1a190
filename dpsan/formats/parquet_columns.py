"""The columns of a Parquet file, which are chosen and which pass, and the layout of the output.

The output has the schema, key-value metadata and compression of the input.  Columns keep the types
that Arrow reads, and times of 96 bits stay such.  How else a type is stored (a decimal in whole
numbers or in bytes), encodings and pages are those of pyarrow.
"""

import io
import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from dpsan.errors import InputError
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions
from dpsan.formats.passing import Fields, Position, Positions, named, shown_names
from dpsan.formats.paths import Field, Place, did_you_mean, parse_field, parse_fields, places

Steps: TypeAlias = tuple[str | None, ...]
"""Names of struct fields from the outside in; None stands for every item of a list."""


class Columns:
    """The chosen columns of a file, and the others.

    Raises:
        InputError: there is no such column, or it does not hold strings.
    """

    def __init__(self, source: Source, file: Any, options: ReadOptions) -> None:
        schema = file.schema_arrow
        if not options.fields:
            raise InputError(source.name, "parquet needs --field", _there(schema))
        self.chosen = [_field(schema, name) for name in dict.fromkeys(options.fields)]
        for path in self.chosen:
            _check_field(source, schema, path)
        root = places(self.chosen, parse_fields(options.excluded, "--except"))
        self._options = options
        self.leaves = [*_leaves_of(schema, root)]
        self.read: list[str] | None = None
        """Columns to read, as paths of the file; None: all."""
        self.narrow: Any = None
        """The schema of the chosen columns alone; None: all columns are written."""
        self.written = [*range(len(file.schema))]
        """Numbers of the columns that are read and written."""
        self.paths = [leaf for leaf in self.leaves if leaf.is_chosen(source)]
        """The chosen columns."""
        ends = {leaf.place.field for leaf in self.paths if leaf.place is not None}
        self.unseen = {
            number
            for number, path in enumerate(self.chosen)
            if number not in ends and not path.optional
        }
        """Fields without a column: they may be in the JSON of a string."""
        if not any(leaf.place is not None and leaf.place.enters for leaf in self.paths):
            self.check_seen(source)
        if options.drop_other:
            chosen = {leaf[:2] for leaf in self.paths}
            maps = {leaf.column for leaf in self.leaves if leaf.key}
            if not maps.isdisjoint(leaf.column for leaf in self.paths):
                raise InputError(source.name, "--drop-other cannot leave out the keys of a map")
            numbered = enumerate(self.leaves)
            self.written = [at for at, leaf in numbered if leaf[:2] in chosen]
            self.read = [file.schema.column(at).path for at in self.written]
            self.narrow = file.read_row_groups([], columns=self.read).schema.remove_metadata()
            leaves = [*_leaves_of(self.narrow, root)]
            if len(leaves) != len(chosen):
                raise InputError(source.name, "two columns have the same path in the file")
            self.paths = leaves
        self.fields = Fields("column", requested=options.fields, left_out=options.drop_other)
        wild = any(path.wild for path in self.chosen)
        self.positions = Positions(None, self.chosen, self.fields, Fields("key") if wild else None)
        self.keys = [leaf for leaf in self.leaves if leaf.key] if wild else []
        """Keys of maps, which pass."""

    def check_seen(self, source: Source) -> None:
        """Raise InputError if a field has led nowhere."""
        for number in sorted(self.unseen):
            what = f"no strings in '{self.chosen[number].name}'"
            raise InputError(source.name, what, "add ? to the name if it may be absent")

    def described(self, file: Any) -> list[Fields]:
        """Return all columns, down to their leaves, and the entries of key-value metadata."""
        schema, left_out = file.schema_arrow, self._options.drop_other
        chosen = {leaf.path for leaf in self.paths}
        for leaf in self.leaves:
            number = leaf.place.field if leaf.place is not None else None
            if leaf.path not in chosen:
                self.fields.others[leaf.path] = None
            elif number is not None:
                self.positions.takes(leaf.position, number)
        metadata = Fields("metadata item", left_out=left_out)
        keys = [*(file.metadata.metadata or {}), *(schema.metadata or {})]
        for field in schema:
            keys += (b"%b: %b" % (field.name.encode(), key) for key in field.metadata or {})
        for key in keys:
            # Arrow's own entries, which are made of the schema.
            if key != b"ARROW:schema" and not key.endswith(b"PARQUET:field_id"):
                metadata.others[key.decode(errors="replace")] = None
        keys = [] if self.positions.keys is None else [self.positions.keys]
        return [self.fields, metadata, *keys]


class Leaf(NamedTuple):
    """A column of the file, which may be inside of others."""

    column: int
    steps: Steps
    """From the outermost column; a map is a list of structs with key and value."""
    path: str
    kind: Any
    place: Place | None
    key: bool
    """True for the keys of a map."""
    position: Position

    def is_chosen(self, source: Source) -> bool:
        """Return whether its strings are chosen.  Raises InputError: they cannot be."""
        import pyarrow as pa

        place, kind = self.place, self.kind
        if place is None or self.key or not (place.enters or place.field is not None):
            return False
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if _is_text(kind):
            return True
        hidden = isinstance(kind, pa.BaseExtensionType) and _is_text(kind.storage_type)
        if hidden or place.strict:
            hint = f"--except '{self.path}' lets it pass" if hidden else ""
            what = f"field '{self.path}' is {self.kind}, not a string"
            raise InputError(source.name, what, hint)
        return False


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def _leaves_of(schema: Any, root: Place | None) -> Iterator[Leaf]:
    """Yield each leaf in the order of the file.

    Args:
        root: what is chosen of a row.
    """
    for at, (name, label) in enumerate(zip(schema.names, named(schema.names), strict=True)):
        place = root and root.child(name)
        for steps, path, kind, inner, key in _inside(label, schema.field(at).type, place):
            yield Leaf(at, steps, path, kind, inner, key, Position(path, inner))


def _inside(
    path: str, kind: Any, place: Place | None
) -> Iterator[tuple[Steps, str, Any, Place | None, bool]]:
    """Yield steps, path, type and place of each leaf of a type, and whether it is a map's key."""
    import pyarrow as pa

    inner: list[tuple[Steps, str, str | None, Any]] = []
    if pa.types.is_struct(kind):
        inner = [((field.name,), f".{field.name}", field.name, field.type) for field in kind]
    elif pa.types.is_map(kind):
        inner = [((None, "key"), ".key", "key", kind.key_type)]
        inner += [((None, "value"), ".value", "value", kind.item_type)]
    elif pa.types.is_nested(kind):
        inner = [((None,), "[]", None, kind.value_type)]
    if not inner:
        yield (), path, kind, place, False
    for steps, name, step, type_below in inner:
        below = place and place.child(step)
        key = pa.types.is_map(kind) and step == "key"
        for more, whole, leaf, there, inside in _inside(path + name, type_below, below):
            yield (*steps, *more), whole, leaf, there, key or inside


def _there(schema: Any) -> str:
    return f"columns: {shown_names(schema.names)}; choose with --field"


def _field(schema: Any, name: str) -> Field:
    return Field(name, (name,)) if name in schema.names else parse_field(name)


def _check_field(source: Source, schema: Any, field: Field) -> None:
    """Raise InputError if a field leads to no column, as far as it names its steps."""
    import pyarrow as pa

    column, *steps = field.steps[: field.literal] or ("",)
    if not field.literal:
        return
    if column is None or column not in schema.names:
        near = did_you_mean(str(column), schema.names)
        raise InputError(source.name, f"no column '{column}'", near or _there(schema))
    if schema.names.count(column) > 1:
        raise InputError(source.name, f"two columns are named '{column}'")
    kind = schema.field(column).type
    for step in steps:
        if _is_text(kind):
            return  # it may hold JSON
        if step is None and pa.types.is_nested(kind) and hasattr(kind, "value_type"):
            kind = kind.value_type
        elif step is not None and pa.types.is_struct(kind) and kind.get_field_index(step) >= 0:
            kind = kind.field(step).type
        elif step == "value" and pa.types.is_map(kind):
            kind = kind.item_type
        else:
            raise InputError(source.name, f"no field '{field.name}' in column '{column}' ({kind})")
    if not field.wild and pa.types.is_nested(kind):
        raise InputError(source.name, f"field '{field.name}' is {kind}, not a string")


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
