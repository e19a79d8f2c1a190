"""Entries for the tests of the cache, and whether two are the same."""

from pathlib import Path

import numpy as np

from dpsan.embeddings.store import Entry

NOBODY = 65534
NUMBERS = np.arange(12, dtype="<f4").reshape(3, 4)


def small(number: float = 1.0) -> Entry:
    arrays = {"vectors": NUMBERS * np.float32(number), "ids": np.full(5, number)}
    return Entry(arrays, {"number": number})


def same(a: Entry | None, b: Entry) -> bool:
    if a is None:
        return False
    first, second = (
        [(name, array.dtype, array.shape, array.tobytes()) for name, array in entry.arrays.items()]
        for entry in (a, b)
    )
    return first == second and a.meta == b.meta


def left_behind(root: Path) -> list[str]:
    return [path.name for path in root.glob("v*/*") if path.name.endswith(".tmp")]
