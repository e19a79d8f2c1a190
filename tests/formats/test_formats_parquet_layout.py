"""What a Parquet file is besides its rows is kept, or the file is refused.  Issue 13."""

import datetime
import decimal
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity import identity, marker, through_file

from dpsan.errors import InputError

pa = pytest.importorskip("pyarrow", reason="extra 'parquet' is not installed")
pq = pytest.importorskip("pyarrow.parquet")
SAME, MASK = identity(), marker()
TIMES = [datetime.datetime(2020, 1, 1, 1, 2, 3, 4), datetime.datetime(1960, 5, 6, 7), None]


def table():
    return pa.table(
        {
            "text": pa.array(["a b", "c d", None]),
            "n": pa.array([1, 2, 3]),
            "when": pa.array(TIMES, pa.timestamp("us")),
            "more": pa.array([[TIMES[0]], [], None], pa.list_(pa.timestamp("ns"))),
            "dec": pa.array([decimal.Decimal("1.10")] * 3, pa.decimal128(9, 2)),
            "f": pa.array([1.5, 2.5, 3.5]),
            "kind": pa.array(["x", "y", "x"]),
            "small": pa.array([1, 2, 3], pa.int8()),
        }
    )


SPARK = {
    "use_deprecated_int96_timestamps": True,
    "store_schema": False,
    "store_decimal_as_integer": True,
    "version": "1.0",
}
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


def write(path, what, metadata=None, **options):
    with pq.ParquetWriter(path, what.schema, **options) as writer:
        writer.write_table(what, row_group_size=2)
        writer.add_key_value_metadata(metadata or {})
    return path


def described(path):
    """Types, metadata, version, and compression and statistics of each column."""
    with pq.ParquetFile(path) as file:
        meta = file.metadata
        columns = [
            (each.path_in_schema, each.physical_type, each.compression, each.is_stats_set)
            for group in range(meta.num_row_groups)
            for number in range(meta.num_columns)
            for each in [meta.row_group(group).column(number)]
        ]
        # The first line is an address, the second names the root.
        types = str(file.schema).split("\n")[2:]
        return types, dict(meta.metadata or {}), columns, meta.format_version


@pytest.mark.parametrize("style", STYLES)
def test_the_layout_is_kept(tmp_path, style):
    path = write(
        tmp_path / "a.parquet",
        table(),
        {"geo": '{"version": "1.1"}', "org.apache.spark.version": "3.5"},
        **STYLES[style],
    )
    out = tmp_path / "out.parquet"
    data, _ = through_file(SAME, path, fields=("text",))
    out.write_bytes(data)
    old, new = described(path), described(out)
    assert set(old[1]) >= {b"geo", b"org.apache.spark.version"}
    assert new == old
    before, after = pq.read_table(path), pq.read_table(out)
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.equals(before)


@given(
    nanoseconds=st.lists(st.integers(-(2**63) + 2 * 10**9, 2**63 - 2 * 10**9) | st.none()),
    store=st.booleans(),
)
@settings(max_examples=30)
def test_times_of_96_bits_stay_what_they_are(tmp_path_factory, nanoseconds, store):
    what = pa.table(
        {
            "text": pa.array(["one two"] * len(nanoseconds), pa.string()),
            "when": pa.array(nanoseconds, pa.timestamp("ns")),
        }
    )
    path = tmp_path_factory.mktemp("times") / "a.parquet"
    pq.write_table(what, path, use_deprecated_int96_timestamps=True, store_schema=store)
    data, _ = through_file(MASK, path, fields=("text",))
    with pq.ParquetFile(io.BytesIO(data)) as file:
        assert file.schema.column(1).physical_type == "INT96"
        assert file.read().column("when").cast("int64").to_pylist() == nanoseconds


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("seconds", [253402300799, -62135596800])  # the years 9999 and 1
def test_times_that_arrow_would_change_are_refused(tmp_path, seconds, nested):
    kind = pa.timestamp("ms")
    times = pa.array([[None, 1000 * seconds]] if nested else [1000 * seconds])
    times = times.cast(pa.list_(kind) if nested else kind)
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"text": ["one"], "when": times}), path, use_deprecated_int96_timestamps=True
    )
    with pytest.raises(InputError) as caught:
        through_file(SAME, path, fields=("text",))
    assert "an INT96 time in when" in str(caught.value)
    assert "before 1677 or after 2262 and cannot be kept" in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_types_that_cannot_be_kept_are_refused(tmp_path):
    path = write(tmp_path / "a.parquet", table().select(["text", "kind"]), store_schema=False)
    data = path.read_bytes()
    # In the footer: the string becomes an ENUM, which pyarrow reads and does not write.
    string, enum = b"\x04kind\x25\x00\x4c\x1c\x00", b"\x04kind\x25\x08\x4c\x4c\x00"
    assert data.count(string) == 1
    path.write_bytes(data.replace(string, enum))
    assert "(Enum)" in described(path)[0][1]
    with pytest.raises(InputError) as caught:
        through_file(SAME, path, fields=("text",))
    assert str(caught.value) == (
        f"{path}: a column's type cannot be kept: 'optional binary field_id=-1 kind (Enum);' would "
        "become 'optional binary field_id=-1 kind;' (convert the file first, or leave that column "
        "out)"
    )
