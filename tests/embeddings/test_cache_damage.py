"""Damage on disk: a load gives what was saved or nothing (more in tests/scoreboard/damage.py)."""

import hashlib
import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from cache_entries import left_behind, same

from dpsan.embeddings.cache.store import Entry, Store
from dpsan.files.names import remove

KIND, KEY = "index", "some key"


def original() -> Entry:
    rng = np.random.default_rng(7)
    return Entry(
        {
            "vectors": rng.standard_normal((9, 5)).astype("<f4"),
            "norms": rng.standard_normal((9, 5)).astype("<f4"),
            "empty": np.empty((0, 3)),
            "ids": np.arange(6, dtype="<i8"),
        },
        {"metric": "euclidean", "n": 9},
    )


def right(entry: Entry | None) -> bool:
    return same(entry, original())


class Shelf:
    """A store with one intact entry that can be put back."""

    def __init__(self, base: Path) -> None:
        self.notes: list[str] = []
        self.store = Store(base / "cache", self.notes.append)
        self.store.save(KIND, KEY, original())
        (self.path,) = (base / "cache" / "v4").iterdir()
        self.intact = self.path.read_bytes()

    def restore(self) -> None:
        """Power of every test: the entry loads when nothing is wrong with it."""
        remove(self.path)
        self.path.touch(0o600)
        self.path.write_bytes(self.intact)
        self.notes.clear()
        assert right(self.store.load(KIND, KEY))
        assert self.notes == []

    def assert_noticed(self) -> None:
        assert self.store.load(KIND, KEY) is None
        assert len(self.notes) == 1, self.notes
        assert "damaged" in self.notes[0]
        assert "rebuilding" in self.notes[0]

    def assert_rebuilt(self) -> None:
        self.notes.clear()
        assert right(self.store.get(KIND, KEY, original))
        assert len(self.notes) == 1, self.notes
        assert right(self.store.load(KIND, KEY))
        assert len(self.notes) == 1, self.notes
        assert left_behind(self.store.root) == []


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return Shelf(tmp_path_factory.mktemp("damage"))


def parts(data: bytes) -> tuple[bytes, bytes]:
    """The arrays and the manifest of an entry."""
    end = len(data) - 40 - int.from_bytes(data[-8:], "little")
    return data[:end], data[end:-40]


def signed(data: bytes, content: object) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    tail = hashlib.sha256(body).digest() + len(body).to_bytes(8, "little")
    return parts(data)[0] + body + tail


def of_array(name, **change):
    """The content with another type, shape or digest of an array."""

    def changed(content):
        about = dict(zip(("dtype", "shape", "sha256"), content["arrays"][name], strict=True))
        return content | {"arrays": content["arrays"] | {name: [*(about | change).values()]}}

    return changed


def with_arrays(change):
    return lambda content: content | {"arrays": change(content["arrays"])}


MANIFESTS = {
    **{
        f"{field}: {value}": lambda content, change={field: value}: content | change
        for field, value in [
            *(("format", value) for value in (0, 1, 2, 3, "4")),
            *(("kind", "table"), ("kind", "../x"), ("key", "some key "), ("key", None)),
            *(("meta", []), ("arrays", []), ("arrays", None)),
        ]
    },
    **{
        f"no {name}": lambda content, name=name: {k: v for k, v in content.items() if k != name}
        for name in ("format", "kind", "key", "meta", "arrays")
    },
    "list": lambda content: [content],
    "null": lambda content: None,
    "no JSON": lambda content: b"{",
    "no UTF-8": lambda content: b"\xff\xfe",
    "deep": lambda content: b"[" * 200_000,
    "NaN": lambda content: b"NaN",
    **{
        f"{name}: {array}": of_array(array, **change)
        for array in ("vectors", "norms")
        for name, change in {
            "extra dimension": {"shape": [9, 5, 2]},
            "dimension less": {"shape": [9]},
            "negative dimensions": {"shape": [-9, -5]},
            "fractions": {"shape": [9.0, 5]},
            "true": {"shape": [True, 45]},
            "huge": {"shape": [1 << 40]},
            "huge matrix": {"shape": [1 << 20, 1 << 20]},
            "huger than memory counts": {"shape": [1 << 62, 1 << 62]},
            "many dimensions": {"shape": [9, 5] + [1] * 1000},
            "object dtype": {"dtype": "|O", "shape": [45]},
            "strange dtype": {"dtype": "f4,f4", "shape": [22]},
            "big-endian": {"dtype": ">f4"},
            "other width": {"dtype": "<f8"},
            "digest": {"sha256": "0" * 64},
            "digest is null": {"sha256": None},
        }.items()
    },
    "huge and empty": of_array("empty", shape=[0, 1 << 62, 1 << 62]),
    "another order": with_arrays(lambda a: dict(reversed(a.items()))),
    "one more": with_arrays(lambda a: a | {"more": a["norms"]}),
    "array is null": with_arrays(lambda a: a | {"norms": None}),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_signed_manifest_that_lies(shelf, name):
    shelf.restore()
    content = json.loads(parts(shelf.intact)[1])
    shelf.path.write_bytes(signed(shelf.intact, content))
    assert right(shelf.store.load(KIND, KEY))  # power: this is how a manifest is signed
    shelf.path.write_bytes(signed(shelf.intact, MANIFESTS[name](content)))
    tracemalloc.start()
    shelf.assert_noticed()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    shelf.assert_rebuilt()


def test_huge_manifest_is_not_read(shelf):
    shelf.restore()
    os.truncate(shelf.path, 1 << 40)  # sparse
    with shelf.path.open("r+b") as file:
        file.seek(-8, os.SEEK_END)
        file.write((1 << 39).to_bytes(8, "little"))
    shelf.assert_noticed()


@pytest.mark.parametrize("change", ["saved", "removed", "truncated"])
def test_changed_while_it_is_read(shelf, monkeypatch, change):
    """Between two of our reads; only what nobody of us does is damage."""
    shelf.restore()
    readv, writer, calls = os.readv, Store(shelf.store.root), []
    act = {
        "saved": lambda: writer.save(KIND, KEY, original()),
        "removed": shelf.path.unlink,
        "truncated": lambda: os.truncate(shelf.path, 20),
    }[change]

    def interrupted(fd, parts):
        calls.append(1)
        if len(calls) == 2:
            act()
        return readv(fd, parts)

    monkeypatch.setattr(os, "readv", interrupted)
    found = shelf.store.load(KIND, KEY)
    # The file that was opened stays whole whoever replaces or removes its name.
    assert found is None if change == "truncated" else right(found)
    assert len(calls) > 1
    assert ["damaged" in note for note in shelf.notes] == [True] * (change == "truncated")
