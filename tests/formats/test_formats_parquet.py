import pytest
from identity import identity, marker, through_file

from dpsan.errors import InputError

pa = pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
pq = pytest.importorskip("pyarrow.parquet")
SAME, MASK = identity(), marker()


def table(rows=3000):
    text = [None if i % 7 == 3 else f"row {i} é" if i % 5 else "" for i in range(rows)]
    chat = [
        None
        if i % 11 == 5
        else [
            None if j == 2 and i % 3 else {"role": "user", "content": f"say {i} {j}" if j else None}
            for j in range(i % 4)
        ]
        for i in range(rows)
    ]
    message = pa.struct([pa.field("role", pa.string()), pa.field("content", pa.large_string())])
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata={"unit": "one"}),
            pa.field("text", pa.string()),
            pa.field("tags", pa.list_(pa.string())),
            pa.field("chat", pa.list_(message)),
            pa.field("price", pa.decimal128(30, 2)),
            pa.field("when", pa.timestamp("us", "UTC")),
            pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
            pa.field("a.b", pa.large_string()),
        ],
        metadata={"origin": "test", "pandas": "{}"},
    )
    import decimal

    return pa.Table.from_pydict(
        {
            "id": range(rows),
            "text": text,
            "tags": [None if i % 9 == 8 else ["x", None, f"t{i}"][: i % 4] for i in range(rows)],
            "chat": chat,
            "price": [decimal.Decimal("1.10")] * rows,
            "when": [1_700_000_000_000_001 + i for i in range(rows)],
            "kind": [("one", "two", None)[i % 3] for i in range(rows)],
            "a.b": [f"dot {i}" for i in range(rows)],
        },
        schema=schema,
    )


def write(path, what, **options):
    pq.write_table(what, path, **options)
    return path


FIELDS = ("text", "tags[]", "chat[].content", "kind", "a.b")


def masked(value):
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, str):
        import regex

        return regex.sub(r"\w+", "<unk>", value)
    return value


@pytest.mark.parametrize("groups", [3000, 700])
@pytest.mark.parametrize("codec", ["snappy", "zstd", "none"])
def test_everything_else_is_kept(tmp_path, groups, codec):
    before = table()
    path = write(tmp_path / "a.parquet", before, row_group_size=groups, compression=codec)
    out = tmp_path / "out.parquet"
    data, outcome = through_file(SAME, path, fields=FIELDS)
    out.write_bytes(data)
    after = pq.read_table(out)
    read = pq.read_table(path)
    assert after.schema.equals(read.schema, check_metadata=True)
    assert after.to_pylist() == read.to_pylist()
    old, new = pq.ParquetFile(path).metadata, pq.ParquetFile(out).metadata
    assert old.num_row_groups == new.num_row_groups
    for group in range(old.num_row_groups):
        assert old.row_group(group).num_rows == new.row_group(group).num_rows
        assert (
            old.row_group(group).column(1).compression == new.row_group(group).column(1).compression
        )
    assert outcome.totals.records == 3000
    import hashlib

    assert outcome.sha256[0] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_texts_are_replaced_and_nulls_stay(tmp_path):
    before = table()
    path = write(tmp_path / "a.parquet", before, row_group_size=1100)
    data, _ = through_file(MASK, path, fields=FIELDS)
    for word in (b"say 1", b"row 1", b"dot 1", b"two"):
        assert word not in data
    after = pq.read_table(pa.BufferReader(data))
    for old, new in zip(before.to_pylist(), after.to_pylist(), strict=True):
        assert new["id"] == old["id"]
        assert new["text"] == masked(old["text"])
        assert new["tags"] == masked(old["tags"])
        assert new["kind"] == masked(old["kind"])
        assert new["a.b"] == masked(old["a.b"])
        if old["chat"] is None:
            assert new["chat"] is None
        else:
            for a, b in zip(old["chat"], new["chat"], strict=True):
                assert (a is None) == (b is None)
                if a:
                    assert (b["role"], b["content"]) == (a["role"], masked(a["content"]))


def test_copies(tmp_path):
    import os

    from identity import Collected

    from dpsan.files.source import FileSource
    from dpsan.formats.base import ReadOptions
    from dpsan.run.stream import Plan, Work, rewrite_stream

    path = write(tmp_path / "a.parquet", table(50), row_group_size=20)
    sink = Collected()
    descriptor = os.open(path, os.O_RDONLY)
    plan = Plan("auto", ReadOptions(fields=("text", "tags[]")), copies=3)
    rewrite_stream(FileSource(str(path), descriptor), sink, Work(SAME, plan, b"k" * 32))
    os.close(descriptor)
    after = pq.read_table(pa.BufferReader(sink.data)).to_pylist()
    assert after == [row for row in table(50).to_pylist() for _ in range(3)]


def test_empty_table_and_messages(tmp_path):
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
    with pytest.raises(InputError, match="record longer than 3 bytes"):
        through_file(SAME, path, fields=("text",), max_record=3)


def test_damaged_files(tmp_path):
    path = write(tmp_path / "b.parquet", table(200), compression="none")
    whole = path.read_bytes()
    bad = tmp_path / "bad.parquet"
    for data in (
        b"",
        b"PAR1",
        b"x" * 100,
        whole[:-10],
        whole[: len(whole) // 2],
        b"\0" * 8 + whole[8:],
    ):
        bad.write_bytes(data)
        try:
            through_file(SAME, bad, fields=("text",))
        except InputError as error:
            assert str(error).startswith(f"{bad}: not a Parquet file")  # noqa: PT017
        else:
            assert data[8:] == whole[8:]


def test_pipes_and_compressed_files_are_refused(tmp_path):
    import gzip

    path = tmp_path / "a.parquet.gz"
    path.write_bytes(gzip.compress(b"x"))
    with pytest.raises(InputError, match="needs a file, not a pipe"):
        through_file(SAME, path, fields=("text",))
