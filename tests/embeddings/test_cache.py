"""The store: what goes in comes out, who may read it, what happens where it cannot be used."""

import errno
import hashlib
import itertools
import json
import os
import queue
import shutil
import stat
import tempfile
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import filelock
import numpy as np
import pytest
from cache_entries import NOBODY, NUMBERS, left_behind, same, small
from hypothesis import given
from hypothesis import strategies as st

from dpsan.embeddings import store as module
from dpsan.embeddings.store import Entry, Store, read_entry
from dpsan.errors import CacheError
from dpsan.files.private_files import DamagedError
from dpsan.files.source import closing_descriptor, create_locked, remove, temporary_name


def never() -> Entry:
    raise AssertionError("built although it is stored")


DTYPES = ["<f2", "<f4", "<f8", "<i4", "<i8", "|u1", "<u4", "<u8", "|b1"]
SHAPES = [(), (0,), (3, 0, 2), (5,), (2, 3), (1, 2, 3, 4)]
ODD = "\n\0\r \udcff\udc00𝔘\ud800"  # lone surrogates


def test_round_trip(tmp_path):
    arrays = {}
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        numbers = np.arange(np.prod(shape, dtype=int))
        arrays[f"{ODD}{dtype}{shape}"] = numbers.astype(dtype).reshape(shape)
    arrays["odd"] = np.array([np.nan, -0.0, np.inf, 5e-324])
    meta = {ODD: [None, True, -(10**40), 5e-324, 1.7e308, {"": ODD, "a": [{}, []]}], "": {}}
    store = Store(tmp_path, pytest.fail)
    for key in ("", ODD, "k" * 999):
        for held in ({}, arrays, {"vectors": NUMBERS} | arrays):
            store.save("any", key, Entry(held, meta))
            loaded = store.load("any", key)
            assert same(loaded, Entry(held, meta))
            assert all(array.flags.writeable for array in loaded.arrays.values())


def test_large_entries_and_short_reads_and_writes(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    entry = Entry({"a": rng.integers(0, 256, (2 << 20) + 1, dtype=np.uint8)}, {})
    Store(tmp_path).save("big", "k", entry)
    assert same(Store(tmp_path, pytest.fail).load("big", "k"), entry)
    write, readv = os.write, os.readv
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    monkeypatch.setattr(os, "readv", lambda fd, parts: readv(fd, [parts[0][:5]]))
    Store(tmp_path).save("index", "k", small())
    assert same(Store(tmp_path, pytest.fail).load("index", "k"), small())


def test_keys_and_kinds_do_not_mix(tmp_path):
    store = Store(tmp_path, pytest.fail)
    store.save("index", "k", small())
    others = ("index", "K"), ("index", "k "), ("index", ""), ("table", "k"), ("index-k", "")
    assert [each for each in others if store.load(*each) is not None] == []
    store.save("index", "k", small(2.0))
    assert same(store.load("index", "k"), small(2.0))
    assert not same(store.load("index", "k"), small())
    assert left_behind(tmp_path) == []


def test_root(tmp_path, monkeypatch):
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(tmp_path / "chosen"))
    assert Store().root == tmp_path / "chosen"
    monkeypatch.setenv("DPSAN_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path))
    root = Store().root
    assert root.is_relative_to(tmp_path)
    assert root.name == "dpsan"
    assert list(tmp_path.iterdir()) == []  # nothing is created before it is needed
    assert Store().load("index", "k") is None
    assert list(tmp_path.iterdir()) == []
    monkeypatch.chdir(tmp_path)
    store = Store(Path("cache"))
    store.save("index", "k", small())
    monkeypatch.chdir("/")
    assert store.load("index", "k") is not None


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777])
def test_modes(tmp_path, umask):
    root = tmp_path / "new" / "cache"
    before = os.umask(umask)
    try:
        Store(root, pytest.fail).get("index", "k", small)
        assert same(Store(root, pytest.fail).get("index", "k", never), small())
    finally:
        os.umask(before)
    seen = [root.parent, root, *root.rglob("*")]
    assert len(seen) == 5  # new, cache, v5, lock, entry
    for path in seen:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_get_passes_on_what_build_raises(tmp_path):
    for error in (OSError(errno.ENOSPC, "mine"), CacheError("mine"), KeyboardInterrupt()):

        def build(error=error):
            raise error

        with pytest.raises(type(error)) as caught:
            Store(tmp_path, pytest.fail).get("index", "k", build)
        assert caught.value is error
        assert left_behind(tmp_path) == []
    assert same(Store(tmp_path, pytest.fail).get("index", "k", small), small())  # lock is free


def test_threads_build_once_and_note_that_they_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_WAIT_BEFORE_NOTE", 0.05)
    built, noted = [], queue.SimpleQueue()

    def build():
        built.append(1)
        assert all("waiting" in noted.get(timeout=60) for _ in range(3))
        return small()

    store = Store(tmp_path, noted.put)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(store.get, "index", "k", build) for _ in range(4)]
    results = [answer.result() for answer in asked]
    assert built == [1]
    assert [same(result, small()) for result in results] == [True] * 4
    assert noted.empty()


def test_locks_that_do_not_work_are_done_without(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "_acquire", refuse)
    assert same(Store(tmp_path, pytest.fail).get("index", "k", small), small())
    assert same(Store(tmp_path, pytest.fail).get("index", "k", never), small())


def assert_goes_on(root: Path) -> str:
    notes = []
    store = Store(root, notes.append)
    for number in range(2):
        assert same(store.get("index", "k", small), small())
        assert len(notes) == number + 1, notes
        assert "\n" not in notes[-1]
    with pytest.raises(CacheError):
        store.save("index", "k", small())
    return notes[-1]


def test_root_is_a_file_or_its_directory_a_link(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    assert "Not a directory" in assert_goes_on(tmp_path / "file" / "cache")
    Store(tmp_path / "real").save("index", "k", small())
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "v5").symlink_to(tmp_path / "real" / "v5")
    assert_goes_on(tmp_path / "cache")


def test_version_directory_open_to_others(tmp_path):
    Store(tmp_path).save("index", "k", small())
    assert Store(tmp_path, pytest.fail).load("index", "k") is not None
    (tmp_path / "v5").chmod(0o770)
    assert "other users may write" in assert_goes_on(tmp_path)
    if os.geteuid() == 0:  # only root can give files away
        os.chown(tmp_path / "v5", NOBODY, NOBODY)
        assert "another user" in assert_goes_on(tmp_path)


def test_read_only_root():
    root, privileged = Path(tempfile.mkdtemp()), os.geteuid() == 0
    try:
        if privileged:
            os.chown(root, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        (root / "empty").mkdir(0o555)
        assert "Permission denied" in assert_goes_on(root / "empty")
        Store(root / "full", pytest.fail).save("index", "k", small(3.0))
        (root / "full" / "v5").chmod(0o500)
        # What is there is still read, without a word; what is not there is built each time.
        full = Store(root / "full", pytest.fail)
        assert same(full.get("index", "k", never), small(3.0))
        notes = []
        assert same(Store(root / "full", notes.append).get("index", "other", small), small())
        (note,) = notes
        assert "Permission denied" in note
    finally:
        if privileged:
            os.seteuid(0)
        (root / "full" / "v5").chmod(0o700)
        shutil.rmtree(root)


def test_messages_hold_no_words(tmp_path):
    notes = []
    entry = Entry({"CANARY": np.frombuffer(b"CANARY", np.uint8)}, {"m": "CANARY"})
    store = Store(tmp_path, notes.append)
    store.save("index", "CANARY", entry)
    (path,) = tmp_path.glob("v5/index-*")
    intact = path.read_bytes()
    for bad in (intact[:-1], intact[:-1] + b"\xff", b"", intact[1:], b"_" + intact[1:]):
        path.write_bytes(bad)
        assert store.load("index", "CANARY") is None
    assert len(notes) == 5
    assert all("damaged" in n or "differs" in n or "manifest" in n or "bytes" in n for n in notes)
    assert not any("CANARY" in note for note in notes)


def test_temporaries_of_dead_writers_go_but_not_those_in_use(tmp_path):
    store = Store(tmp_path, pytest.fail)
    store.save("index", "k", small(1.0))
    (path,) = (tmp_path / "v5").iterdir()
    alive = path.with_name(temporary_name(path.name))
    with closing_descriptor(create_locked(alive)):
        dead, other = (path.with_name(f".{x}.{'0' * 16}.tmp") for x in (path.name, "index-other"))
        for each in (dead, other):
            each.write_bytes(b"x" * 1000)
        store.save("index", "k", small())
        assert sorted(left_behind(tmp_path)) == sorted([alive.name, other.name])


def write_files(folder, files):
    folder.mkdir(parents=True)
    for path in (folder.parent, folder):
        path.chmod(0o700)
    for file, data in files.items():
        (folder / file).write_bytes(data)
        (folder / file).chmod(0o600)


def test_entry_of_version_5_still_loads(tmp_path):
    """Bytes as version 5 wrote them: if this fails, FORMAT_VERSION must be raised."""
    numbers = np.array([[1.5, -2.0]], "<f4")
    words = "a\néb".encode()
    about = {"vectors": ["<f4", [1, 2]], "w": ["|u1", [5]]}
    head = json.dumps({"kind": "index", "key": "k", "meta": {}, "arrays": about}).encode()
    head = head.ljust(192 - 16)
    body = head + numbers.tobytes().ljust(64, b"\0") + words.ljust(64, b"\0")
    body = (len(body) + 48).to_bytes(8, "little") + (192).to_bytes(8, "little") + body
    name = "index-" + hashlib.sha256(b'[5, "index", "k"]').hexdigest()
    write_files(tmp_path / "v5", {name: body + hashlib.sha256(body).digest()})
    expected = Entry({"vectors": numbers, "w": np.frombuffer(words, "u1")}, {})
    assert same(Store(tmp_path, pytest.fail).load("index", "k"), expected)


def test_arrays_are_read_once(tmp_path):
    """No second copy of what was verified, and it is aligned."""
    vectors = np.random.default_rng(4).normal(size=(3000, 9)).astype("<f4")
    Store(tmp_path).save("index", "k", Entry({"vectors": vectors}, {}))
    tracemalloc.start()
    found = Store(tmp_path).load("index", "k").arrays["vectors"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert vectors.nbytes < peak < 1.3 * vectors.nbytes
    assert found.ctypes.data % 64 == 0
    assert found.flags.c_contiguous


# Damage on disk: a load gives what was saved or nothing.


KIND, KEY = "index", "some key"


def original() -> Entry:
    rng = np.random.default_rng(7)
    arrays = {name: rng.standard_normal((9, 5)).astype("<f4") for name in ("vectors", "norms")}
    arrays |= {"empty": np.empty((0, 3)), "ids": np.arange(6, dtype="<i8")}
    return Entry(arrays, {"metric": "euclidean", "n": 9})


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


@pytest.mark.parametrize("size", [0, 1, 47, 48, 1 << 40])
def test_another_size_is_seen_before_anything_is_read(shelf, size):
    shelf.restore()
    os.truncate(shelf.path, size)  # sparse
    shelf.assert_noticed()
    shelf.assert_rebuilt()


def with_head(shelf, change):
    """Another head, with a digest of its own."""
    end = int.from_bytes(shelf.intact[8:16], "little")
    body = json.loads(shelf.intact[16:end])
    change(body)
    raw = json.dumps(body, separators=(",", ":")).encode().ljust(end - 16)
    new = shelf.intact[:16] + raw + shelf.intact[end:-32]
    shelf.path.write_bytes(new + hashlib.sha256(new).digest())


def of_another_entry(shelf):
    shelf.store.save(KIND, "other", original())
    (other,) = {*shelf.path.parent.glob(f"{KIND}-*[!k]")} - {shelf.path}
    other.replace(shelf.path)


def lying(body):
    body["arrays"]["ids"][1] = [10**9]


HARM = {
    "growth": lambda shelf: shelf.path.write_bytes(shelf.intact + b"\0"),
    "another key": lambda shelf: with_head(shelf, lambda body: body.update(key="some kez")),
    "a lying shape": lambda shelf: with_head(shelf, lying),
    "another entry": of_another_entry,
    "a link": lambda shelf: shelf.path.symlink_to(
        shelf.path.rename(shelf.path.parent.parent / "elsewhere")
    ),
    "a pipe": lambda shelf: (shelf.path.unlink(), os.mkfifo(shelf.path, 0o600)),
    "others may write": lambda shelf: shelf.path.chmod(0o622),
    "another owner": lambda shelf: os.chown(shelf.path, NOBODY, NOBODY),
}


@pytest.mark.parametrize("kind", HARM)
def test_a_file_that_is_not_what_was_saved_is_noticed(shelf, kind):
    if "owner" in kind and os.geteuid():
        pytest.skip("only root gives files away")
    shelf.restore()
    HARM[kind](shelf)
    assert shelf.store.load(KIND, KEY) is None
    assert len(shelf.notes) == 1


@given(at=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_every_bit_counts(shelf, at, bit):
    shelf.restore()
    flipped = bytearray(shelf.intact)
    flipped[at % len(flipped)] ^= 1 << bit
    shelf.path.write_bytes(flipped)
    shelf.assert_noticed()
    with pytest.raises(DamagedError):
        read_entry(shelf.path)


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
