"""Damage on disk: whatever happens to the files, a load gives what was saved or nothing."""

import hashlib
import json
import os
import random
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from dpsan.embeddings.cache.faiss_file import INDEX
from dpsan.embeddings.cache.store import Entry, Store

NOBODY = 65534
KIND, KEY = "index", "some key"


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
    entry = original()
    return Entry({k: v + 1 for k, v in entry.arrays.items()}, {"n": number})


def right(entry: Entry | None) -> bool:
    if entry is None:
        return False
    expected = original()
    return (
        entry.arrays.keys() == expected.arrays.keys()
        and all(
            entry.arrays[k].dtype == v.dtype
            and entry.arrays[k].shape == v.shape
            and entry.arrays[k].tobytes() == v.tobytes()
            for k, v in expected.arrays.items()
        )
        and entry.meta == expected.meta
    )


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
        assert [p.name for p in self.path.parent.iterdir() if p.name.endswith(".tmp")] == []


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """Nothing here depends on what survives a power cut, and waiting for it is most of the time."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    return Shelf(tmp_path_factory.mktemp("damage"))


# --- damage of bytes; each takes the entry's directory and a source of randomness -------------


def pick(path: Path, rng: random.Random, *, at_least: int = 1) -> Path:
    return rng.choice([p for p in sorted(path.iterdir()) if p.stat().st_size >= at_least])


def flip_bit(path, rng, shelf):
    file = pick(path, rng)
    data = bytearray(file.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def flip_manifest_bit(path, rng, shelf):
    file = path / "manifest.json"
    data = bytearray(file.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def truncate(path, rng, shelf):
    file = pick(path, rng)
    os.truncate(file, rng.randrange(file.stat().st_size))


def append(path, rng, shelf):
    file = pick(path, rng, at_least=0)
    file.write_bytes(file.read_bytes() + rng.randbytes(rng.randint(1, 9)))


def zero_run(path, rng, shelf):
    """A block that never reached the disk."""
    file = pick(path, rng, at_least=48)
    data = bytearray(file.read_bytes())
    start = rng.randrange(len(data) - 40)
    data[start : start + 40] = bytes(40)
    assert bytes(data) != file.read_bytes()
    file.write_bytes(data)


def swap_blocks(path, rng, shelf):
    file = path / rng.choice([INDEX, "1.raw"])
    data = file.read_bytes()
    cut = rng.randrange(1, len(data))
    file.write_bytes(data[cut:] + data[:cut])


def swap_files(path, rng, shelf):
    first, second = rng.sample(sorted(path.iterdir()), 2)
    assert first.read_bytes() != second.read_bytes()
    first.rename(path / "x")
    second.rename(first)
    (path / "x").rename(second)


def copy_over(path, rng, shelf):
    first, second = rng.sample(sorted(path.iterdir()), 2)
    shutil.copyfile(first, second)


def empty(path, rng, shelf):
    pick(path, rng).write_bytes(b"")


def missing(path, rng, shelf):
    pick(path, rng, at_least=0).unlink()


def file_of_another_entry(path, rng, shelf):
    stranger = rng.choice(shelf.strangers)
    name = rng.choice([INDEX, "1.raw", "3.raw", "manifest.json"])
    assert (stranger / name).read_bytes() != (path / name).read_bytes()
    shutil.copyfile(stranger / name, path / name)


def other_entry(path, rng, shelf):
    shutil.rmtree(path)
    shutil.copytree(rng.choice(shelf.strangers[:2]), path)


def link(path, rng, shelf):
    """The right content, behind a symbolic link."""
    file = pick(path, rng, at_least=0)
    file.unlink()
    file.symlink_to(shelf.pristine / file.name)


def other_kind_of_file(path, rng, shelf):
    file = pick(path, rng, at_least=0)
    file.unlink()
    if rng.random() < 0.5:
        os.mkfifo(file, 0o600)
    else:
        file.mkdir(0o700)


def writable_by_others(path, rng, shelf):
    rng.choice([path, *path.iterdir()]).chmod(rng.choice([0o620, 0o602, 0o777, 0o770]))


def directory_replaced(path, rng, shelf):
    shutil.rmtree(path)
    what = rng.choice(["link", "file", "empty"])
    if what == "link":
        path.symlink_to(shelf.pristine)
    elif what == "file":
        path.write_bytes(b"")
    else:
        path.mkdir(0o700)


def foreign_owner(path, rng, shelf):
    os.chown(rng.choice([path, *path.iterdir()]), NOBODY, -1)


DAMAGES = [
    (flip_bit, 150),
    (flip_manifest_bit, 100),
    (truncate, 60),
    (append, 30),
    (zero_run, 30),
    (swap_blocks, 30),
    (swap_files, 40),
    (copy_over, 30),
    (empty, 20),
    (missing, 20),
    (file_of_another_entry, 20),
    (other_entry, 6),
    (link, 20),
    (other_kind_of_file, 20),
    (writable_by_others, 20),
    (directory_replaced, 12),
    pytest.param(
        foreign_owner,
        20,
        marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away"),
    ),
]


@pytest.mark.parametrize(("damage", "rounds"), DAMAGES)
def test_damage_is_noticed(shelf, damage, rounds):
    rng = random.Random(damage.__name__)
    for number in range(rounds):
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


def test_older_content_of_one_file_is_noticed(shelf):
    """A crash or a backup may bring back one file of an earlier entry with the same key."""
    old = shelf.strangers[2]
    for name in (INDEX, "1.raw", "3.raw", "manifest.json"):
        shelf.restore()
        shutil.copyfile(old / name, shelf.path / name)
        shelf.assert_noticed()


# --- manifests with a right digest and a wrong content ----------------------------------------


def signed(content: object) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    digest = hashlib.sha256(body).hexdigest().encode()
    return b'{"sha256":"' + digest + b'","body":' + body + b"}\n"


def with_content(**changes):
    return lambda content: content | changes


def without(name):
    return lambda content: {k: v for k, v in content.items() if k != name}


def with_file(position, **changes):
    def change(content):
        content["files"][position] |= changes
        return content

    return change


def with_files(change):
    return lambda content: content | {"files": change(content["files"])}


MANIFESTS = {
    "version 0": with_content(format=0),
    "version 1": with_content(format=1),
    "version 3": with_content(format=3),
    "version as text": with_content(format="2"),
    "version true": with_content(format=True),
    "version as float": with_content(format=2.0),
    "other kind": with_content(kind="table"),
    "impossible kind": with_content(kind="../x"),
    "other key": with_content(key="some key "),
    "key is null": with_content(key=None),
    "meta is a list": with_content(meta=[]),
    "files is an object": with_content(files={}),
    "created is a number": with_content(created=1),
    **{f"no {name}": without(name) for name in ("format", "kind", "key", "meta", "files")},
    "list": lambda content: [content],
    "null": lambda content: None,
    "no JSON": lambda content: b"{",
    "no UTF-8": lambda content: b"\xff\xfe",
    "deep": lambda content: b"[" * 200_000,
    "NaN": lambda content: b"NaN",
    **{
        f"{name}: {where}": with_file(at, **change)
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
    "huge and empty": with_file(2, shape=[0, 1 << 62, 1 << 62]),
    "other shape of the index": with_file(0, shape=[5, 9]),
    "index as array": with_file(0, name="other"),
    "array as index": with_files(lambda f: [f[1], f[1] | {"name": INDEX}, *f[2:]]),
    "integers as index": with_file(0, dtype="<i4"),
    "name twice": with_file(0, name="norms"),
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
    file.write_bytes(signed(MANIFESTS[name](content)))
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


# --- changes while it is read -----------------------------------------------------------------


def test_replaced_while_read_is_not_damage(shelf, monkeypatch):
    """Another process saves or clears the entry between two of our reads."""
    shelf.restore()
    readv, writer = os.readv, Store(shelf.store.root)
    for change, expected in [
        (lambda: writer.save(KIND, KEY, original()), True),
        (writer.clear, False),
    ]:
        calls = []

        def interrupted(fd, parts, calls=calls, change=change):
            calls.append(1)
            if len(calls) == 2:
                change()
            return readv(fd, parts)

        with monkeypatch.context() as patch:
            patch.setattr(os, "readv", interrupted)
            assert right(shelf.store.load(KIND, KEY)) is expected
        assert shelf.notes == []
        assert len(calls) > 1


def test_truncated_while_read(shelf, monkeypatch):
    shelf.restore()
    readv, calls = os.readv, []

    def interrupted(fd, parts):
        calls.append(1)
        if len(calls) == 2:
            os.truncate(shelf.path / INDEX, 20)
        return readv(fd, parts)

    monkeypatch.setattr(os, "readv", interrupted)
    assert shelf.store.load(KIND, KEY) is None
    assert "damaged" in shelf.notes[0]
