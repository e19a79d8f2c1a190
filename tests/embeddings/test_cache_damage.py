"""Damage on disk: a load gives what was saved or nothing (more in tests/scoreboard/damage.py)."""

import hashlib
import json
import os
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
        (self.path,) = (base / "cache" / "v5").iterdir()
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


def head_of(data: bytes) -> dict:
    return json.loads(data[16 : int.from_bytes(data[8:16], "little")])


def signed(data: bytes, content: object) -> bytes:
    """An entry with another head, and a SHA-256 of its own."""
    head = content if isinstance(content, bytes) else json.dumps(content).encode()
    head = head.ljust(-(-(16 + len(head)) // 64) * 64 - 16)
    body = head + data[int.from_bytes(data[8:16], "little") : -32]
    body = (len(body) + 48).to_bytes(8, "little") + (16 + len(head)).to_bytes(8, "little") + body
    return body + hashlib.sha256(body).digest()


def changed(**change):
    return lambda content: content | change


HEADS = {
    "another kind": changed(kind="table"),
    "no kind at all": changed(kind="../x"),
    "another key": changed(key="some key "),
    "a list": lambda content: [content],
    "no JSON": lambda content: b"{",
    "no meta": lambda content: {"arrays": {}, "kind": KIND, "key": KEY},
    **{
        f"{about}": changed(arrays={"vectors": about})
        for about in (None, ["<f4", [9, 5, 200]], ["<f4", [-9, -5]], ["|O", [45]], ["<f4", [9.0]])
    },
}


@pytest.mark.parametrize("name", HEADS)
def test_signed_head_that_lies(shelf, name):
    shelf.restore()
    content = head_of(shelf.intact)
    shelf.path.write_bytes(signed(shelf.intact, content))
    assert right(shelf.store.load(KIND, KEY))  # power: this is how a head is signed
    shelf.path.write_bytes(signed(shelf.intact, HEADS[name](content)))
    shelf.assert_noticed()
    shelf.assert_rebuilt()


@pytest.mark.parametrize("size", [0, 1, 47, 48, 1 << 40])
def test_another_size_is_seen_before_anything_is_read(shelf, size):
    shelf.restore()
    os.truncate(shelf.path, size)  # sparse
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
        if len(calls) == 1:
            act()
        return readv(fd, parts)

    monkeypatch.setattr(os, "readv", interrupted)
    found = shelf.store.load(KIND, KEY)
    # The file that was opened stays whole whoever replaces or removes its name.
    assert found is None if change == "truncated" else right(found)
    assert calls
    assert ["damaged" in note for note in shelf.notes] == [True] * (change == "truncated")
