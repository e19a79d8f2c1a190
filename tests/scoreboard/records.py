"""Bad input records: every byte of the output is foretold."""

# ruff: noqa: BLE001

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from scoreboard.base import Row, Size, row
from scoreboard.patterns import mutants
from scoreboard.shift import shifting, text

_PER_INPUT = 300


def _lines(generator: Random, end: str, *, invisible: bool, encoding: str = "utf-8") -> Any:
    """A file of lines and what must become of it."""
    wide = encoding != "utf-8"
    raw, expected = [], []
    for _ in range(_PER_INPUT):
        one, becomes = text(generator, lines=False, invalid=not wide, invisible=invisible)
        raw.append(one.decode(encoding="utf-8", errors="strict" if wide else "surrogateescape"))
        expected.append(becomes)
    last = generator.choice(["", end]) if raw[-1] else end  # else it would be no record
    mark = generator.choice(["", "\ufeff"])
    data = (mark + end.join(raw) + last).encode(encoding, "surrogateescape")
    return data, (mark + end.join(expected) + last).encode(encoding), {"encoding": encoding}


def _jsonl(generator: Random, end: str, *, invisible: bool) -> Any:
    raw, expected = [], []
    for number in range(_PER_INPUT):
        one, becomes = text(generator, lines=True, invalid=True, invisible=invisible)
        cell, out = _json_string(generator, one, becomes)
        front = b'{"n":123456789012345678901234567890, "e":1E5,"f" : 1.10,"o":"\\u00e9\\/here",'
        back = b', "z":[1.0,{"text":"here"}],"i":%d}' % number
        null = generator.random() < 0.05 and number > 0
        raw.append(front + b'"text": ' + (b"null" if null else cell) + back)
        expected.append(front + b'"text": ' + (b"null" if null else out) + back)
    return _joined(generator, raw, expected, end, {"fields": ("text",)})


def _json_string(generator: Random, one: bytes, becomes: str) -> tuple[bytes, bytes]:
    """A JSON string in some style, and the new one, which has no needless escapes."""
    try:
        value, clean = one.decode(), True
    except UnicodeDecodeError:
        value, clean = one.decode(errors="surrogateescape"), False
    ascii_ = clean and generator.random() < 0.5
    cell = json.dumps(value, ensure_ascii=ascii_).encode("utf-8", "surrogateescape")
    slashes = generator.random() < 0.3
    cell = cell.replace(b"/", b"\\/") if slashes else cell
    if clean and value == becomes and not value.strip():
        return cell, cell
    return cell, json.dumps(becomes, ensure_ascii=False).encode()


def _csv(generator: Random, end: str, *, invisible: bool, delimiter: bytes = b",") -> Any:
    always = delimiter == b","
    header = delimiter.join((b"id", b'"text"' if always else b"text", b"o"))
    raw, expected = [header], [header]
    for number in range(_PER_INPUT):
        one, becomes = text(generator, lines=True, invalid=True, invisible=invisible)
        value = one.decode(errors="replace")
        special = any(each in one for each in (delimiter, b'"', b"\n", b"\r"))
        quoted = special or generator.random() < 0.3
        cell = b'"' + one.replace(b'"', b'""') + b'"' if quoted else one
        out = becomes.encode()
        special = any(each in out for each in (delimiter, b'"', b"\n", b"\r"))
        if value == becomes and value.encode() == one and not value.strip():
            out = cell
        elif always or special or not out:
            out = b'"' + out.replace(b'"', b'""') + b'"'
        other = generator.choice([b"here", b'"here, ""there"""', b'"a\nb"', b"", b'""', b"\xff"])
        raw.append(delimiter.join((b"%d" % number, cell, other)))
        expected.append(delimiter.join((b"%d" % number, out, other)))
        if generator.random() < 0.03:
            raw.append(b"")
            expected.append(b"")
    return _joined(generator, raw, expected, end, {"fields": ("text",)})


def _joined(generator, raw, expected, end, options):
    ending, mark = end.encode(), generator.choice([b"", b"\xef\xbb\xbf"])
    last = ending if raw[-1] == b"" else generator.choice([b"", ending])
    data = mark + ending.join(raw) + last
    return data, mark + ending.join(expected) + last, options


_KINDS: dict[str, tuple[str, Callable[..., Any]]] = {
    "text": ("text", _lines),
    "utf-16": ("text", partial(_lines, encoding="utf-16-le")),
    "jsonl": ("jsonl", _jsonl),
    "csv": ("csv", _csv),
    "tsv": ("tsv", partial(_csv, delimiter=b"\t")),
}


@row(
    "records",
    "bad input records (Unicode, bytes, text, UTF-16, JSON, CSV, TSV, Parquet), all changed",
    "≥ 1,000,000",
)
def bad_records(row: Row, size: Size, folder: Path) -> None:
    """Random Unicode and bytes in every container, each word drawn as the next one."""
    from identity import Collected, through

    same = shifting()
    generator = Random(4)
    goal = size.of(9_000, 40_000, 1_000_000)
    names = list(_KINDS)
    turn = 0
    while row.tried < goal:
        name = names[turn % len(names)]
        turn += 1
        invisible = turn % 20 >= 15
        container, make = _KINDS[name]
        end = generator.choice(["\n", "\r\n"])
        data, expected, options = make(generator, end, invisible=invisible)
        sink = Collected()
        inputs = [data]
        if turn % 3 == 0:  # a second input behind the first in one output
            more, becomes, _ = make(generator, end, invisible=invisible)
            inputs.append(more)
            expected = _behind(expected, becomes, name)
        pieces = generator.choice([1, 7, 4096]) if generator.random() < 0.1 else 1 << 18
        batch = generator.choice([1, 7, 1 << 14])
        records = 0
        try:
            for each in inputs:
                _, outcome = through(
                    same, each, container, size=pieces, batch=batch, sink=sink, **options
                )
                records += outcome.totals.records
        except Exception:
            sink.data = b""
        kind = "lost, added, reordered or changed"
        if invisible:
            kind = "control or format character passed, or another change beside one"
        row.count(f"{name}: {kind}", sink.data != expected)
        row.count("records miscounted", bool(sink.data) and records < _PER_INPUT * len(inputs))
        row.tried += _PER_INPUT * len(inputs)
    _parquet(row, size, folder, same, generator)


def _behind(first: bytes, second: bytes, name: str) -> bytes:
    """Two inputs in one output: one mark, one header, and no record glued to another."""
    wide = name == "utf-16"
    newline = "\n".encode("utf-16-le" if wide else "utf-8")
    mark = "\ufeff".encode("utf-16-le" if wide else "utf-8")
    if not first.endswith(newline) and first not in (b"", mark):
        first += newline
    second = second.removeprefix(mark)
    if name in ("csv", "tsv"):
        second = second.split(b"\n", 1)[1]
    return first + second


def _parquet(row: Row, size: Size, folder: Path, sanitizer: Any, generator: Random) -> None:
    """Tables of strings in columns, lists and structs, with nulls, in several row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from identity import through_file

    for number in range(size.of(4, 12, 100)):
        both: list[list[dict[str, Any]]] = [[], []]
        for _ in range(200):
            made = [_valid(generator) for _ in range(4)]
            length = len(made[1][0] or "") % 4
            for rows, (t, one, two, d) in zip(both, zip(*made, strict=True), strict=True):
                some = None if one is None else [one, None, two][:length]
                struct = None if two is None else {"a": two, "b": 7}
                others = {"n": len(rows), "when": 1 << 40}
                rows.append({**others, "t": t, "l": some, "s": struct, "d": d})
        schema = pa.schema(
            [
                pa.field("n", pa.int64()),
                pa.field("t", pa.string(), metadata={b"of": b"field"}),
                pa.field("l", pa.list_(pa.string())),
                pa.field("s", pa.struct([("a", pa.large_string()), ("b", pa.int32())])),
                pa.field("d", pa.dictionary(pa.int32(), pa.string())),
                pa.field("when", pa.timestamp("us")),
            ],
            metadata={b"of": b"schema"},
        )
        old, new = (pa.Table.from_pylist(rows, schema=schema) for rows in both)
        path = folder / f"t{number}.parquet"
        codec = generator.choice(["snappy", "zstd", "gzip", "none"])
        pq.write_table(old, path, row_group_size=generator.choice([33, 200]), compression=codec)
        try:
            data, outcome = through_file(sanitizer, path, fields=("t", "l[]", "s.a", "d"))
            found = pq.ParquetFile(pa.BufferReader(data))
            wrong = found.read().to_pylist() != new.to_pylist() or outcome.totals.records != 200
            before = pq.ParquetFile(path)
            same = before.schema_arrow.equals(found.schema_arrow, check_metadata=True)
            row.count("parquet: schema or its metadata changed", not same)
            changed = _groups(before) != _groups(found)
            row.count("parquet: row groups or compression changed", changed)
        except Exception:
            wrong = True
        row.count("parquet: lost, added, reordered or changed", wrong)
        row.tried += 200


def _valid(generator: Random) -> tuple[str | None, str | None]:
    if generator.random() < 0.1:
        return None, None
    one, becomes = text(generator, lines=True, invalid=False, invisible=False)
    return one.decode(), becomes


def _groups(file: Any) -> list[Any]:
    groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
    return [
        (group.num_rows, [group.column(at).compression for at in range(group.num_columns)])
        for group in groups
    ]


mutants(r"""records
the last line without newline is dropped @ blocks
- yield (line, [_taken(held)], b"")
+ pass
a form feed ends a line @ blocks
- data.split(separator)
+ data.replace(b"\x0c", separator).split(separator)
the byte order mark is lost @ TextFormat._wide
- if mark: ...
+ if False: ...
invalid bytes are dropped @ decode
- raw.decode(options.encoding, errors="replace")
+ raw.decode(options.encoding, errors="ignore")
quotes are not doubled @ _Render._cell
- body.replace(b'"', b'""')
+ body
empty lines of CSV are dropped @ CsvFormat._records
- yield Record(row.line, [], Unchanged(row.ending), owes=row.owes)
+ pass
other cells are written as their values @ _Render.__call__
- self.row.cells.copy()
+ [value(each) for each in self.row.cells]
a null string becomes empty @ _rebuilt
- next(texts) if valid else None
+ next(texts) if valid else ""
the new row groups have another size @ Output.write
- max(table.num_rows, 1)
+ 50
inputs that are joined are glued @ _Flow._write
- piece and sink.owed
+ False
two records change places @ _Flow._write
- out.append(piece)
+ out.insert(max(0, len(out) - 1), piece)
""")
