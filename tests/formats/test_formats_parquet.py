"""``parquet``: chosen strings change; rows, types, metadata and compression stay."""

import datetime
import decimal
import gzip
import hashlib
import io
import os

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import Collected, identity, marker, through_file

from dpsan.errors import InputError
from dpsan.files.source import FileSource
from dpsan.formats.base import ReadOptions
from dpsan.run.plan import Plan
from dpsan.run.stream import Work, rewrite_stream

pa = pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
pq = pytest.importorskip("pyarrow.parquet")
SAME, MASK = identity(), marker()


def table(rows=200):
    text = [None if i % 7 == 3 else f"row {i} é" if i % 5 else "" for i in range(rows)]
    said = [{"role": "user", "content": None}, {"role": "user", "content": "say 1"}, None]
    message = pa.struct([pa.field("role", pa.string()), pa.field("content", pa.large_string())])
    tags = [None if i % 9 == 8 else ["x", None, f"t{i}"][: i % 4] for i in range(rows)]
    chats = [None if i % 11 == 5 else said[: i % 4] for i in range(rows)]
    kinds = [("one", "two", None)[i % 3] for i in range(rows)]
    columns = {
        pa.field("id", pa.int64(), nullable=False, metadata={"unit": "one"}): range(rows),
        pa.field("text", pa.string()): text,
        pa.field("tags", pa.list_(pa.string())): tags,
        pa.field("chat", pa.list_(message)): chats,
        pa.field("price", pa.decimal128(30, 2)): [decimal.Decimal("1.10")] * rows,
        pa.field("when", pa.timestamp("us", "UTC")): range(17 * 10**14, 17 * 10**14 + rows),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string())): kinds,
        pa.field("a.b", pa.large_string()): [f"dot {i}" for i in range(rows)],
    }
    schema = pa.schema([*columns], metadata={"origin": "test", "pandas": "{}"})
    return pa.table([pa.array(each, field.type) for field, each in columns.items()], schema=schema)


FIELDS = ("text", "tags[]", "chat[].content", "kind", "a.b")


def write(path, what, **options):
    pq.write_table(what, path, **options)
    return path


def masked(value):
    """What becomes of a value of a chosen column."""
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, dict):
        return {**value, "content": masked(value["content"])}
    return regex.sub(r"\w+", "<unk>", value) if isinstance(value, str) else value


def groups_of(metadata):
    """Rows and compression of each row group."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return [(each.num_rows, each.column(1).compression) for each in groups]


@pytest.mark.parametrize(("groups", "codec"), [(200, "snappy"), (70, "zstd"), (70, "none")])
def test_texts_are_replaced_and_everything_else_is_kept(tmp_path, groups, codec):
    path = write(tmp_path / "a.parquet", table(), row_group_size=groups, compression=codec)
    before, old = pq.read_table(path), pq.ParquetFile(path).metadata
    columns = ("text", "tags", "chat", "kind", "a.b")
    wanted = before.to_pylist()
    for row in wanted:
        row |= {name: masked(row[name]) for name in columns if name in row}
    for sanitizer, rows in ((SAME, before.to_pylist()), (MASK, wanted)):
        data, outcome = through_file(sanitizer, path, fields=FIELDS)
        after = pq.read_table(pa.BufferReader(data))
        assert after.schema.equals(before.schema, check_metadata=True)
        assert after.to_pylist() == rows
        assert groups_of(pq.ParquetFile(pa.BufferReader(data)).metadata) == groups_of(old)
        assert outcome.totals.records == 200
        assert outcome.sha256[0] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert not any(word in data for word in (b"say 1", b"row 1", b"dot 1", b"two"))


def test_copies(tmp_path):
    path = write(tmp_path / "a.parquet", table(50), row_group_size=20)
    sink = Collected()
    descriptor = os.open(path, os.O_RDONLY)
    plan = Plan("auto", ReadOptions(fields=("text", "tags[]")), copies=3)
    rewrite_stream(FileSource(str(path), descriptor), sink, Work(SAME, plan, b"k" * 32))
    os.close(descriptor)
    after = pq.read_table(pa.BufferReader(sink.data)).to_pylist()
    assert after == [row for row in table(50).to_pylist() for _ in range(3)]


def test_empty_table_and_messages(monkeypatch, tmp_path):
    path = write(tmp_path / "e.parquet", table(0))
    data, _ = through_file(SAME, path, fields=("text",))
    assert pq.read_table(pa.BufferReader(data)).equals(pq.read_table(path))
    path = write(tmp_path / "b.parquet", table(5))
    for fields, message in (
        (("body",), "no column 'body' (columns: id, text, tags"),
        ((), "parquet needs --field (columns: id,"),
        (("id",), "field 'id' is int64, not a string"),
        (("tags",), "field 'tags' is list<"),
        (("chat[].nothing",), "no field 'chat[].nothing' in column 'chat'"),
    ):
        with pytest.raises(InputError) as caught:
            through_file(SAME, path, fields=fields)
        assert message in str(caught.value)
    monkeypatch.setattr(ReadOptions, "max_record", 3)
    with pytest.raises(InputError, match="record longer than 3 bytes"):
        through_file(SAME, path, fields=("text",))


def test_damaged_files(tmp_path):
    path = write(tmp_path / "b.parquet", table(200), compression="none")
    whole = path.read_bytes()
    bad = tmp_path / "bad.parquet"
    half = whole[: len(whole) // 2]
    for data in (b"", b"PAR1", b"x" * 100, whole[:-10], half, b"\0" * 8 + whole[8:]):
        bad.write_bytes(data)
        try:
            through_file(SAME, bad, fields=("text",))
        except InputError as error:
            assert str(error).startswith(f"{bad}: not a Parquet file")  # noqa: PT017
        else:
            assert data[8:] == whole[8:]


def test_a_column_with_the_path_of_a_dropped_one_is_refused(tmp_path):
    """Its reader would take both, and the other one would pass."""
    both = pa.table({"a": pa.array([{"b": "secret"}]), "a.b": ["word"], "t": ["word"]})
    path = write(tmp_path / "a.parquet", both)
    with pytest.raises(InputError, match="two columns have the same path in the file"):
        through_file(SAME, path, fields=("a.b",), drop_other=True)
    data, _ = through_file(MASK, path, fields=("t",), drop_other=True)
    assert pq.read_table(pa.BufferReader(data)).to_pydict() == {"t": ["<unk>"]}


def test_pipes_and_compressed_files_are_refused(tmp_path):
    path = tmp_path / "a.parquet.gz"
    path.write_bytes(gzip.compress(b"x"))
    with pytest.raises(InputError, match="needs a file, not a pipe"):
        through_file(SAME, path, fields=("text",))


# --- types, metadata and compression ----------------------------------------------------------

TIMES = [datetime.datetime(2020, 1, 1, 1, 2, 3, 4), datetime.datetime(1960, 5, 6, 7), None]


def typed():
    columns = {"text": ["a b", "c d", None], "n": [1, 2, 3]}
    columns["when"] = pa.array(TIMES, pa.timestamp("us"))
    columns["more"] = pa.array([[TIMES[0]], [], None], pa.list_(pa.timestamp("ns")))
    columns["dec"] = pa.array([decimal.Decimal("1.10")] * 3, pa.decimal128(9, 2))
    columns |= {"f": [1.5, 2.5, 3.5], "kind": ["x", "y", "x"]}
    return pa.table({**columns, "small": pa.array([1, 2, 3], pa.int8())})


SPARK = {"use_deprecated_int96_timestamps": True, "store_schema": False, "version": "1.0"}
SPARK["store_decimal_as_integer"] = True
STYLES = {
    "plain": {},
    "spark": SPARK,
    "spark with a schema": SPARK | {"store_schema": True},
    "encodings": {
        "column_encoding": {"n": "DELTA_BINARY_PACKED", "text": "DELTA_LENGTH_BYTE_ARRAY"},
        "use_dictionary": ["kind"],
        "compression": {"text": "zstd", "n": "gzip", "f": "lz4", "kind": "none"},
        "write_statistics": ["n"],
        "write_page_index": True,
    },
    "old": {"version": "1.0", "use_compliant_nested_type": False, "use_dictionary": False},
}  # fmt: skip


def written(path, what, metadata=None, **options):
    with pq.ParquetWriter(path, what.schema, **options) as writer:
        writer.write_table(what, row_group_size=2)
        writer.add_key_value_metadata(metadata or {})
    return path


def described(path):
    """Metadata, and compression and statistics of each column."""
    with pq.ParquetFile(path) as file:
        meta = file.metadata
        groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
        parts = [group.column(number) for group in groups for number in range(meta.num_columns)]
        columns = [(part.path_in_schema, part.compression, part.is_stats_set) for part in parts]
        return dict(meta.metadata or {}), columns


@pytest.mark.parametrize("style", STYLES)
def test_the_layout_is_kept(tmp_path, style):
    more = {"geo": '{"version": "1.1"}', "org.apache.spark.version": "3.5"}
    path = written(tmp_path / "a.parquet", typed(), more, **STYLES[style])
    out = tmp_path / "out.parquet"
    data, _ = through_file(SAME, path, fields=("text",))
    out.write_bytes(data)
    old, new = described(path), described(out)
    assert set(old[0]) >= {b"geo", b"org.apache.spark.version"}
    assert new == old
    before, after = pq.read_table(path), pq.read_table(out)
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.equals(before)


@given(st.lists(st.integers(-(2**63) + 2 * 10**9, 2**63 - 2 * 10**9) | st.none()), st.booleans())
@settings(max_examples=30)
def test_times_of_96_bits_stay_what_they_are(tmp_path_factory, nanoseconds, store):
    text = pa.array(["one two"] * len(nanoseconds), pa.string())
    what = pa.table({"text": text, "when": pa.array(nanoseconds, pa.timestamp("ns"))})
    path = tmp_path_factory.mktemp("times") / "a.parquet"
    write(path, what, use_deprecated_int96_timestamps=True, store_schema=store)
    data, _ = through_file(MASK, path, fields=("text",))
    with pq.ParquetFile(io.BytesIO(data)) as file:
        assert file.schema.column(1).physical_type == "INT96"
        assert file.read().column("when").cast("int64").to_pylist() == nanoseconds


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("seconds", [253402300799, -62135596800])  # the years 9999 and 1
def test_times_that_arrow_would_change_are_refused(tmp_path, seconds, nested):
    kind = pa.timestamp("ms")
    times = pa.array([[None, 1000 * seconds]] if nested else [1000 * seconds])
    what = pa.table({"text": ["one"], "when": times.cast(pa.list_(kind) if nested else kind)})
    path = write(tmp_path / "a.parquet", what, use_deprecated_int96_timestamps=True)
    with pytest.raises(InputError, match=r"an INT96 time in when.*before 1677 or after 2262 and"):
        through_file(SAME, path, fields=("text",))


def test_a_type_that_pyarrow_writes_in_another_way(tmp_path):
    path = written(tmp_path / "a.parquet", typed().select(["text", "kind"]), store_schema=False)
    data = path.read_bytes()
    # In the footer: the string becomes an ENUM, which pyarrow reads and does not write.
    string, enum = b"\x04kind\x25\x00\x4c\x1c\x00", b"\x04kind\x25\x08\x4c\x4c\x00"
    assert data.count(string) == 1
    path.write_bytes(data.replace(string, enum))
    before = pq.read_table(path)
    out, _ = through_file(SAME, path, fields=("text",))
    assert pq.read_table(pa.BufferReader(out)).equals(before)


def nested_table():
    """Every nested type of Parquet, with strings at its leaves, numbers and JSON."""
    word, size = pa.string(), pa.int64()
    struct = pa.struct([("s", word), ("n", size), ("m", pa.map_(word, pa.list_(word)))])
    columns = {
        "id": (size, [1, 2, 3]),
        "t": (word, ["one", None, ""]),
        "st": (pa.list_(struct), [[{"s": "x", "n": 1, "m": [("k", ["y", None])]}], None, []]),
        "map": (pa.map_(word, word), [[("maria", "a"), ("b", None)], [], None]),
        "two": (pa.list_(word, 2), [["a", "b"], None, ["c", None]]),
        "d": (pa.dictionary(pa.int8(), word), ["one", "two", None]),
        "j": (pa.large_string(), ['{"k": ["v w", 1.50], "n": 2}', "no json", None]),
        "raw": (pa.binary(), [b"x", b"y", None]),
    }
    return pa.table({name: pa.array(rows, kind) for name, (kind, rows) in columns.items()})


def drawn(value, *, key=""):
    if isinstance(value, dict):
        return {name: drawn(each, key=name) for name, each in value.items()}
    if isinstance(value, tuple):  # an entry of a map
        return (value[0], drawn(value[1]))
    if isinstance(value, list):
        return [drawn(each) for each in value]
    if isinstance(value, str) and value[:1] == "{":
        return value.replace("v w", "<unk> <unk>")
    return regex.sub(r"\w+", "<unk>", value) if isinstance(value, str) else value


def test_every_string_of_every_nested_type_is_drawn(tmp_path):
    path = write(tmp_path / "a.parquet", nested_table())
    data, outcome = through_file(MASK, path, fields=("**",))
    before, after = pq.read_table(path), pq.read_table(pa.BufferReader(data))
    assert after.schema.equals(before.schema)
    assert after.to_pylist() == [drawn(row) for row in before.to_pylist()]
    same, _ = through_file(SAME, path, fields=("**",))
    assert pq.read_table(pa.BufferReader(same)).equals(before)
    assert [*outcome.passing.lines()] == [
        "7 of 14 columns pass unchanged: id, st[].n, st[].m.key, map.key, raw, j.k[], j.n",
        "2 keys pass unchanged: j.k, j.n",
        "passed unchanged, and may hold text: 1 identifying key",
    ]


def test_columns_that_are_left_out_pass_and_parts_of_json_are_found(tmp_path):
    path = write(tmp_path / "a.parquet", nested_table())
    before = pq.read_table(path).to_pylist()
    excluded = ("st[].s", "map", "j.k", "t*")
    data, _ = through_file(MASK, path, fields=("**",), excluded=excluded)
    row = pq.read_table(pa.BufferReader(data)).to_pylist()[0]
    kept = [row[name] == before[0][name] for name in ("map", "j", "t", "two", "d")]
    assert kept == [True] * 4 + [False]
    assert row["st"] == [{"s": "x", "n": 1, "m": [("k", ["<unk>", None])]}]
    data, _ = through_file(MASK, path, fields=("map.value", "st[].m.value[]"))
    row = pq.read_table(pa.BufferReader(data)).to_pylist()[0]
    assert row["map"] == [("maria", "<unk>"), ("b", None)]
    assert row["st"][0]["m"] == [("k", ["<unk>", None])]
    with pytest.raises(InputError, match=":2: field 'j' is not an object"):
        through_file(MASK, path, fields=("j.k.*",))
    for wrong in ("s.**", "**.x", "st[].x*"):
        with pytest.raises(InputError, match=r"no (column|field|strings)|is not"):
            through_file(MASK, path, fields=(wrong,))
    with pytest.raises(InputError, match="the keys of a map"):
        through_file(MASK, path, fields=("**",), drop_other=True)
    flat = write(tmp_path / "b.parquet", nested_table().select(["id", "t", "d", "j"]))
    data, _ = through_file(MASK, flat, fields=("**",), drop_other=True, excluded=("d",))
    kept = pq.read_table(pa.BufferReader(data)).to_pylist()[0]
    assert kept == {"t": "<unk>", "j": '{"k":["<unk> <unk>"]}'}


def test_a_string_of_a_type_that_cannot_be_written_is_not_passed(tmp_path):
    if not hasattr(pa, "json_"):
        pytest.skip("pyarrow without the type JSON")
    column = pa.array(['{"a": "secret"}'], pa.string()).cast(pa.json_())
    path = write(tmp_path / "a.parquet", pa.table({"j": column, "t": ["x"]}))
    with pytest.raises(InputError, match=r"'j' is .*--except 'j' lets it pass"):
        through_file(MASK, path, fields=("**",))
    assert through_file(MASK, path, fields=("**",), excluded=("j",))[1].totals.words == 1
