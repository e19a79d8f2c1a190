"""Damage on disk: a load gives what was saved or nothing (more in tests/scoreboard/damage.py)."""

import hashlib
import json
import os
import random
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from cache_entries import left_behind, same

from dpsan.embeddings.cache.faiss_file import INDEX
from dpsan.embeddings.cache.store import Entry, Store

KIND, KEY = "index", "some key"
FILES = (INDEX, "1.raw", "3.raw", "manifest.json")


def original() -> Entry:
    rng = np.random.default_rng(7)
    return Entry(
        {
            INDEX: rng.standard_normal((9, 5)).astype("<f4"),
            "norms": rng.standard_normal((9, 5)).astype("<f4"),
            "empty": np.empty((0, 3)),
            "ids": np.arange(6, dtype="<i8"),
        },
        {"metric": "euclidean", "n": 9},
    )


def other(number: int) -> Entry:
    return Entry({k: v + 1 for k, v in original().arrays.items()}, {"n": number})


def right(entry: Entry | None) -> bool:
    return same(entry, original())


class Shelf:
    """A store with one intact entry that can be put back, and two others to take files from."""

    def __init__(self, base: Path) -> None:
        self.notes: list[str] = []
        self.store = Store(base / "cache", self.notes.append)
        self.store.save(KIND, KEY, original())
        (self.path,) = (base / "cache" / "v2").iterdir()
        self.pristine = base / "pristine"
        shutil.copytree(self.path, self.pristine)
        strangers = Store(base / "strangers")
        strangers.save(KIND, "another key", other(1))
        strangers.save("table", KEY, other(2))
        old = Store(base / "old")
        old.save(KIND, KEY, other(3))
        self.strangers = [p for d in ("strangers", "old") for p in (base / d / "v2").iterdir()]

    def restore(self) -> None:
        """Power of every test: the entry loads when nothing is wrong with it."""
        if self.path.is_symlink() or self.path.is_file():
            self.path.unlink()
        elif self.path.exists():
            shutil.rmtree(self.path)
        shutil.copytree(self.pristine, self.path)
        self.notes.clear()
        assert right(self.store.load(KIND, KEY))
        assert self.notes == []

    def assert_noticed(self) -> None:
        assert self.store.load(KIND, KEY) is None
        assert len(self.notes) == 1, self.notes
        assert "damaged" in self.notes[0]
        assert "rebuilding" in self.notes[0]
        assert [problem for _, problem in self.store.check()] != [None]

    def assert_rebuilt(self) -> None:
        self.notes.clear()
        assert right(self.store.get(KIND, KEY, original))
        assert len(self.notes) == 1, self.notes
        assert right(self.store.load(KIND, KEY))
        assert len(self.notes) == 1, self.notes
        assert left_behind(self.store.root) == []


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """Nothing here depends on what survives a power cut, and waiting for it is most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return Shelf(tmp_path_factory.mktemp("damage"))


def pick(path: Path, rng: random.Random, *, at_least: int = 1) -> Path:
    return rng.choice([p for p in sorted(path.iterdir()) if p.stat().st_size >= at_least])


def flip_bit(path, rng, shelf):
    file = pick(path, rng)
    data = bytearray(file.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def folder_in_its_place(path, rng, shelf):
    file = pick(path, rng, at_least=0)
    file.unlink()
    file.mkdir(0o700)


def writable_by_others(path, rng, shelf):
    rng.choice([path, *path.iterdir()]).chmod(rng.choice([0o620, 0o602, 0o777, 0o770]))


def directory_replaced(path, rng, shelf):
    shutil.rmtree(path)
    rng.choice([lambda: path.symlink_to(shelf.pristine), path.touch, path.mkdir])()


DAMAGES = {flip_bit: 40, folder_in_its_place: 5, writable_by_others: 20, directory_replaced: 12}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed(shelf, damage):
    rng = random.Random(damage.__name__)
    for number in range(DAMAGES[damage]):
        shelf.restore()
        damage(shelf.path, rng, shelf)
        shelf.assert_noticed()
        if number < 5:
            shelf.assert_rebuilt()


def test_every_bit_of_the_manifest_counts(shelf):
    """All bytes, not a sample: the frame around the body included."""
    shelf.restore()
    file = shelf.path / "manifest.json"
    intact = file.read_bytes()
    for position in range(len(intact)):
        data = bytearray(intact)
        data[position] ^= 1 << position % 8
        file.write_bytes(data)
        assert shelf.store.load(KIND, KEY) is None
    file.write_bytes(intact)
    assert right(shelf.store.load(KIND, KEY))


def test_a_file_of_another_entry_is_noticed(shelf):
    """A crash or a backup may bring back one file of an earlier entry with the same key."""
    for stranger in shelf.strangers:
        for name in FILES:
            shelf.restore()
            assert (stranger / name).read_bytes() != (shelf.path / name).read_bytes()
            shutil.copyfile(stranger / name, shelf.path / name)
            shelf.assert_noticed()


def signed(content: object) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    digest = hashlib.sha256(body).hexdigest().encode()
    return b'{"sha256":"' + digest + b'","body":' + body + b"}\n"


def content_of(content, change):
    """The manifest's content with other fields, or with other files, or another content."""
    if isinstance(change, dict):
        return content | change
    if isinstance(change, tuple):  # number of a file, and its other fields
        content["files"][change[0]] |= change[1]
        return content
    return change(content)


def with_files(change):
    return lambda content: content | {"files": change(content["files"])}


MANIFESTS = {
    **{
        f"{field}: {value}": {field: value}
        for field, value in [
            *(("format", value) for value in (0, 1, 3, "2", True, 2.0)),
            *(("kind", "table"), ("kind", "../x"), ("key", "some key "), ("key", None)),
            *(("meta", []), ("files", {}), ("created", 1)),
        ]
    },
    **{
        f"no {name}": lambda content, name=name: {k: v for k, v in content.items() if k != name}
        for name in ("format", "kind", "key", "meta", "files")
    },
    "list": lambda content: [content],
    "null": lambda content: None,
    "no JSON": lambda content: b"{",
    "no UTF-8": lambda content: b"\xff\xfe",
    "deep": lambda content: b"[" * 200_000,
    "NaN": lambda content: b"NaN",
    **{
        f"{name}: {where}": (at, change)
        for at, where in enumerate(("index", "array"))
        for name, change in {
            "extra dimension": {"shape": [9, 5, 2]},
            "dimension less": {"shape": [9]},
            "negative dimensions": {"shape": [-9, -5]},
            "fractions": {"shape": [9.0, 5]},
            "true": {"shape": [True, 45]},
            "huge": {"shape": [1 << 40], "size": 4 << 40},
            "huge matrix": {"shape": [1 << 20, 1 << 20], "size": 4 << 40},
            "huge, size untouched": {"shape": [1 << 40]},
            "huger than memory counts": {"shape": [1 << 62, 1 << 62], "size": 4 << 124},
            "many dimensions": {"shape": [9, 5] + [1] * 1000},
            "size": {"size": 181},
            "negative size": {"size": -180},
            "object dtype": {"dtype": "|O", "shape": [45]},
            "strange dtype": {"dtype": "f4,f4", "shape": [22]},
            "big-endian": {"dtype": ">f4"},
            "other width": {"dtype": "<f8"},
            "digest": {"sha256": "0" * 64},
            "digest is null": {"sha256": None},
        }.items()
    },
    "huge and empty": (2, {"shape": [0, 1 << 62, 1 << 62]}),
    "other shape of the index": (0, {"shape": [5, 9]}),
    "index as array": (0, {"name": "other"}),
    "array as index": with_files(lambda f: [f[1], f[1] | {"name": INDEX}, *f[2:]]),
    "integers as index": (0, {"dtype": "<i4"}),
    "name twice": (0, {"name": "norms"}),
    "swapped": with_files(lambda f: [f[1], f[0], *f[2:]]),
    "one more": with_files(lambda f: [*f, f[0] | {"name": "more"}]),
    "file is null": with_files(lambda f: [None, *f[1:]]),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_signed_manifest_that_lies(shelf, name):
    shelf.restore()
    file = shelf.path / "manifest.json"
    content = json.loads(file.read_bytes())["body"]
    file.write_bytes(signed(content))
    assert right(shelf.store.load(KIND, KEY))  # power: this is how a manifest is signed
    file.write_bytes(signed(content_of(content, MANIFESTS[name])))
    tracemalloc.start()
    shelf.assert_noticed()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
    shelf.assert_rebuilt()


def test_huge_manifest_is_not_read(shelf):
    shelf.restore()
    os.truncate(shelf.path / "manifest.json", 1 << 40)  # sparse
    shelf.assert_noticed()


@pytest.mark.parametrize("change", ["saved", "cleared", "truncated"])
def test_changed_while_it_is_read(shelf, monkeypatch, change):
    """Between two of our reads; only what nobody of us does is damage."""
    shelf.restore()
    readv, writer, calls = os.readv, Store(shelf.store.root), []
    act = {
        "saved": lambda: writer.save(KIND, KEY, original()),
        "cleared": writer.clear,
        "truncated": lambda: os.truncate(shelf.path / INDEX, 20),
    }[change]

    def interrupted(fd, parts):
        calls.append(1)
        if len(calls) == 2:
            act()
        return readv(fd, parts)

    monkeypatch.setattr(os, "readv", interrupted)
    found = shelf.store.load(KIND, KEY)
    assert right(found) if change == "saved" else found is None
    assert len(calls) > 1
    assert ["damaged" in note for note in shelf.notes] == [True] * (change == "truncated")
