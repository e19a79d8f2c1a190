"""Strings of Arrow arrays, of any nesting; nulls, numbers and names of fields stay.

    table.set_column(at, "text", rewritten(sanitizer, table["text"]))

Each row is a unit.
"""

import pyarrow as pa


def rewritten(sanitizer, array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([rewritten(sanitizer, part) for part in array.chunks], array.type)
    return pa.array([sanitizer.rewrite_object(row) for row in array.to_pylist()], array.type)
