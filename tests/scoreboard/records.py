"""Bad input records: every byte of the output is foretold."""

# ruff: noqa: BLE001

import json
import re
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from identity import Collected, through, through_file

from scoreboard.base import Row, Size, row
from scoreboard.shift import shifting, text

_PER_INPUT = 300


def _lines(generator, end, invisible):
    """A file of lines and what must become of it."""
    raw, expected = [], []
    for _ in range(_PER_INPUT):
        one, becomes = text(generator, lines=False, invalid=True, invisible=invisible)
        raw.append(one.decode(encoding="utf-8", errors="surrogateescape"))
        expected.append(becomes)
    last = generator.choice(["", end]) if raw[-1] else end  # else it would be no record
    mark = generator.choice(["", "\ufeff"])
    data = (mark + end.join(raw) + last).encode("utf-8", "surrogateescape")
    return data, (mark + end.join(expected) + last).encode(), {}


def _jsonl(generator, end, invisible):
    rows = []
    for number in range(_PER_INPUT):
        one, becomes = text(generator, lines=True, invalid=True, invisible=invisible)
        both = _json_string(generator, one, becomes)
        front = b'{"n":123456789012345678901234567890, "e":1E5,"f" : 1.10,"o":"\\u00e9\\/here",'
        back = b', "z":[1.0,{"text":"here"}],"i":%d}' % number
        if generator.random() < 0.05 and number > 0:
            both = b"null", b"null"
        rows.append([front + b'"text": ' + cell + back for cell in both])
    return _joined(generator, rows, end)


def _json_string(generator: Random, one: bytes, becomes: str) -> tuple[bytes, bytes]:
    """A JSON string in some style, and the new one, which has no needless escapes."""
    value = one.decode(errors="surrogateescape")
    ascii_ = not re.search("[\ud800-\udfff]", value) and generator.random() < 0.5
    cell = json.dumps(value, ensure_ascii=ascii_).encode("utf-8", "surrogateescape")
    if generator.random() < 0.3:
        cell = cell.replace(b"/", b"\\/")
    if value == becomes and not value.strip():
        return cell, cell
    return cell, json.dumps(becomes, ensure_ascii=False).encode()


def _csv(generator, end, invisible, delimiter=b","):
    always = delimiter == b","
    rows = [[delimiter.join((b"id", b'"text"' if always else b"text", b"o"))] * 2]
    quote = re.compile(b'[%s"\n\r]' % delimiter)
    for number in range(_PER_INPUT):
        one, becomes = text(generator, lines=True, invalid=True, invisible=invisible)
        quoted = quote.search(one) or generator.random() < 0.3
        cell = b'"' + one.replace(b'"', b'""') + b'"' if quoted else one
        out = becomes.encode()
        if out == one and not becomes.strip():
            out = cell
        elif always or not out or quote.search(out):
            out = b'"' + out.replace(b'"', b'""') + b'"'
        other = generator.choice([b"here", b'"here, ""there"""', b'"a\nb"', b"", b'""', b"\xff"])
        rows.append([delimiter.join((b"%d" % number, each, other)) for each in (cell, out)])
        rows += [[b"", b""]] * (generator.random() < 0.03)
    return _joined(generator, rows, end)


def _joined(generator, rows, end):
    ending, mark = end.encode(), generator.choice([b"", b"\xef\xbb\xbf"])
    last = ending if rows[-1][0] == b"" else generator.choice([b"", ending])
    data, expected = (mark + ending.join(some) + last for some in zip(*rows, strict=True))
    return data, expected, {"fields": ("text",)}


_KINDS: dict[str, Callable[..., Any]] = {"text": _lines, "jsonl": _jsonl, "csv": _csv}
_KINDS |= {"tsv": partial(_csv, delimiter=b"\t")}


@row(
    "records",
    "bad input records (Unicode, bytes, text, JSON, CSV, TSV, Parquet), all changed",
    "≥ 1,000,000",
)
def bad_records(row: Row, size: Size, folder: Path) -> None:
    """Random Unicode and bytes in every container, each word drawn as the next one."""
    same, generator = shifting(), Random(4)
    for turn, name in enumerate(cycle(_KINDS), 1):
        if row.tried >= size.of(9_000, 40_000, 1_000_000):
            break
        invisible = turn % 20 >= 15
        make = _KINDS[name]
        end = generator.choice(["\n", "\r\n"])
        data, expected, options = make(generator, end, invisible)
        sink = Collected()
        inputs = [data]
        if turn % 3 == 0:  # a second input behind the first in one output
            more, becomes, _ = make(generator, end, invisible)
            inputs.append(more)
            expected = _behind(expected, becomes, name)
        options["invalid"] = "replace"
        options["size"] = generator.choice([1, 7, 4096]) if generator.random() < 0.1 else 1 << 18
        options["batch"] = generator.choice([1, 7, 1 << 14])
        records = 0
        try:
            for each in inputs:
                _, outcome = through(same, each, name, sink=sink, **options)
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
    mark = "\ufeff".encode()
    if not first.endswith(b"\n") and first not in (b"", mark):
        first += b"\n"
    second = second.removeprefix(mark)
    return first + (second.split(b"\n", 1)[1] if name in ("csv", "tsv") else second)


def _parquet(row, size, folder, sanitizer, generator):
    """Tables of strings in columns, lists and structs, with nulls, in several row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
        columns = {
            "n": pa.int64(),
            "t": pa.string(),
            "l": pa.list_(pa.string()),
            "s": pa.struct({"a": pa.large_string(), "b": pa.int32()}),
            "d": pa.dictionary(pa.int32(), pa.string()),
            "when": pa.timestamp("us"),
        }
        fields = [pa.field(name, kind, metadata={"of": name}) for name, kind in columns.items()]
        schema = pa.schema(fields, metadata={"of": "schema"})
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


def _valid(generator):
    if generator.random() < 0.1:
        return None, None
    one, becomes = text(generator, lines=True, invalid=False, invisible=False)
    return one.decode(), becomes


def _groups(file):
    rows = file.metadata.to_dict()["row_groups"]
    return [(row["num_rows"], [each["compression"] for each in row["columns"]]) for row in rows]
