"""The store: what goes in comes out, who may read it, what happens where it cannot be used."""

import errno
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import filelock
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

import dpsan
from dpsan.embeddings.cache.faiss_file import INDEX, KIND
from dpsan.embeddings.cache.store import FORMAT_VERSION, Entry, Store
from dpsan.errors import CacheError
from dpsan.files.temporaries import locked_directory

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
NUMBERS = np.arange(12, dtype="<f4").reshape(3, 4)


def small(number: float = 1.0) -> Entry:
    return Entry(
        {INDEX: NUMBERS * np.float32(number), "ids": np.arange(5)},
        {"number": number},
    )


def same(a: Entry, b: Entry) -> bool:
    return (
        list(a.arrays) == list(b.arrays)
        and all(
            x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
            for x, y in zip(a.arrays.values(), b.arrays.values(), strict=True)
        )
        and a.meta == b.meta
    )


def never() -> Entry:
    raise AssertionError("built although it is stored")


def left_behind(root: Path) -> list[str]:
    return [p.name for p in root.glob("v*/*") if p.name.endswith(".tmp")]


@contextmanager
def as_nobody():
    # filelock is imported above for this: cache.py imports it late, when nobody may not read it.
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_path():
    """A directory that any user can reach, unlike tmp_path."""
    path = Path(tempfile.mkdtemp(prefix="dpsan-test-"))
    path.chmod(0o755)
    yield path
    subprocess.run(["chmod", "-R", "u+rwX", path], check=True)
    shutil.rmtree(path)


# --- round trip ------------------------------------------------------------------------------

DTYPES = ["<f2", "<f4", "<f8", "<i4", "<i8", "|u1", "<u4", "<u8", "|b1"]
any_array = st.sampled_from(DTYPES).flatmap(
    lambda dtype: st_numpy.arrays(
        dtype, st_numpy.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
    )
)
# Lone surrogates, and two that would make a pair if they were glued together.
any_string = st.text(
    st.one_of(st.characters(), st.sampled_from("\n\0\r \ud800\udc00\udcff𝔘"))
).filter(lambda text: json.loads(json.dumps(text)) == text)  # a pair of surrogates is one character
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | any_string,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_string, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
any_entry = st.builds(
    Entry,
    arrays=st.builds(
        lambda index, others: {**index, **others},
        st.dictionaries(
            st.just(INDEX), st_numpy.arrays("<f4", st_numpy.array_shapes(min_dims=2, max_dims=2))
        ),
        st.dictionaries(any_string, any_array, max_size=3),
    ),
    meta=st.dictionaries(any_string, any_json, max_size=3),
)


@settings(max_examples=200, deadline=None)
@given(entry=any_entry, key=any_string)
def test_round_trip(tmp_path_factory, entry, key):
    store = Store(tmp_path_factory.getbasetemp() / "round-trip", pytest.fail)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _fd: None)
        store.save("any", key, entry)
    loaded = store.load("any", key)
    assert loaded is not None
    assert same(loaded, entry)
    assert all(array.flags.writeable for array in loaded.arrays.values())
    store.clear()


def test_same_catches_differences():
    assert same(small(), small())
    assert not same(small(), small(2.0))


def test_large_entry_in_pieces(tmp_path):
    rng = np.random.default_rng(1)
    entry = Entry({"a": rng.integers(0, 256, 5_000_001, dtype=np.uint8)}, {})
    Store(tmp_path).save("big", "k", entry)
    assert same(Store(tmp_path, pytest.fail).load("big", "k"), entry)


def test_short_reads_and_writes(tmp_path, monkeypatch):
    write, readv = os.write, os.readv
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:7]))
    monkeypatch.setattr(os, "readv", lambda fd, parts: readv(fd, [parts[0][:5]]))
    Store(tmp_path).save("index", "k", small())
    assert same(Store(tmp_path, pytest.fail).load("index", "k"), small())


def test_keys_and_kinds_do_not_mix(tmp_path):
    store = Store(tmp_path, pytest.fail)
    store.save("index", "k", small())
    for kind, key in [
        ("index", "K"),
        ("index", "k "),
        ("index", ""),
        ("table", "k"),
        ("index-k", ""),
    ]:
        assert store.load(kind, key) is None
    store.save("index", "k", small(2.0))
    assert same(store.load("index", "k"), small(2.0))
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("kind", ["", "..", "a/b", "A", "-a", "a\n", "é", "1a", "a" * 65])
def test_bad_kind(tmp_path, kind):
    store = Store(tmp_path)
    for call in (
        lambda: store.load(kind, "k"),
        lambda: store.save(kind, "k", small()),
        lambda: store.get(kind, "k", small),
    ):
        with pytest.raises(ValueError, match="kind"):
            call()


@pytest.mark.parametrize(
    "array",
    [NUMBERS.T, NUMBERS.astype(">f4"), NUMBERS.astype("c8"), np.array(["a"]), np.array([None])],
)
def test_arrays_that_would_not_come_back(array):
    with pytest.raises(ValueError, match="cannot be stored"):
        Entry({"a": array}, {})


@pytest.mark.parametrize("array", [NUMBERS.reshape(-1), NUMBERS.astype("<f8")])
def test_an_index_is_a_matrix_of_float32(array):
    with pytest.raises(ValueError, match="cannot be stored"):
        Entry({INDEX: array}, {})


@pytest.mark.parametrize("meta", [{"a": (1, 2)}, {1: 2}, {"a": float("nan")}])
def test_meta_that_would_not_come_back(meta):
    with pytest.raises(ValueError, match="JSON"):
        Entry({}, meta)


def test_meta_without_bound_is_refused(tmp_path):
    with pytest.raises(ValueError, match="too large"):
        Store(tmp_path).save("index", "k", Entry({}, {"a": "x" * (17 << 20)}))
    assert Store(tmp_path).load("index", "k") is None
    assert left_behind(tmp_path) == []


# --- where it is, who may read it ------------------------------------------------------------


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
    assert Store().entries() == Store().check() == []
    assert Store().clear() == (0, 0)
    assert list(tmp_path.iterdir()) == []


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
    assert len(seen) == 8  # new, cache, v2, lock, entry, two files, manifest
    for path in seen:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


def test_relative_root_survives_chdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = Store(Path("cache"))
    store.save("index", "k", small())
    monkeypatch.chdir("/")
    assert store.load("index", "k") is not None


# --- get -------------------------------------------------------------------------------------


def test_get_builds_once(tmp_path):
    built = []

    def build():
        built.append(1)
        return small()

    for _ in range(3):
        assert same(Store(tmp_path, pytest.fail).get("index", "k", build), small())
    assert built == [1]


def test_get_passes_on_what_build_raises(tmp_path):
    for error in (OSError(errno.ENOSPC, "mine"), CacheError("mine"), KeyboardInterrupt()):

        def build(error=error):
            raise error

        with pytest.raises(type(error)) as caught:
            Store(tmp_path, pytest.fail).get("index", "k", build)
        assert caught.value is error
        assert left_behind(tmp_path) == []
    assert same(Store(tmp_path, pytest.fail).get("index", "k", small), small())  # lock is free


def test_threads_build_once(tmp_path):
    built, results = [], []

    def build():
        built.append(1)
        time.sleep(0.2)
        return small()

    store = Store(tmp_path, pytest.fail)
    threads = [
        threading.Thread(target=lambda: results.append(store.get("index", "k", build)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [1]
    assert len(results) == 4
    assert all(same(result, small()) for result in results)


def test_waiting_is_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(dpsan.embeddings.cache.store, "_WAIT_BEFORE_NOTE", 0.05)
    building = threading.Event()

    def build():
        building.set()
        time.sleep(0.3)
        return small()

    other = threading.Thread(target=lambda: Store(tmp_path).get("index", "k", build))
    other.start()
    building.wait()
    notes = []
    assert same(Store(tmp_path, notes.append).get("index", "k", never), small())
    other.join()
    assert len(notes) == 1
    assert "waiting" in notes[0]


def test_locks_that_do_not_work_are_done_without(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "_acquire", refuse)
    assert same(Store(tmp_path, pytest.fail).get("index", "k", small), small())
    assert same(Store(tmp_path, pytest.fail).get("index", "k", never), small())


# --- a cache that cannot be used ------------------------------------------------------------


def assert_goes_on(root: Path, *, calls: int = 2) -> str:
    notes = []
    store = Store(root, notes.append)
    for number in range(calls):
        assert same(store.get("index", "k", small), small())
        assert len(notes) == number + 1, notes
        assert "\n" not in notes[-1]
    with pytest.raises(CacheError):
        store.save("index", "k", small())
    return notes[-1]


def test_root_is_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    assert "Not a directory" in assert_goes_on(tmp_path / "file" / "cache")


def test_version_directory_is_a_link(tmp_path):
    Store(tmp_path / "real").save("index", "k", small())
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "v2").symlink_to(tmp_path / "real" / "v2")
    assert_goes_on(tmp_path / "cache")


def test_version_directory_open_to_others(tmp_path):
    Store(tmp_path).save("index", "k", small())
    assert Store(tmp_path, pytest.fail).load("index", "k") is not None
    (tmp_path / "v2").chmod(0o770)
    assert "other users may write" in assert_goes_on(tmp_path)
    for call in (Store(tmp_path).entries, Store(tmp_path).check, Store(tmp_path).clear):
        with pytest.raises(CacheError, match="other users"):
            call()


@needs_root
def test_version_directory_of_another_user(tmp_path):
    (tmp_path / "v2").mkdir(0o700)
    os.chown(tmp_path / "v2", NOBODY, NOBODY)
    assert "another user" in assert_goes_on(tmp_path)


@needs_root
def test_read_only_root(open_path):
    (open_path / "empty").mkdir(0o555)
    (open_path / "full").mkdir()
    os.chown(open_path / "full", NOBODY, NOBODY)
    with as_nobody():
        assert "Permission denied" in assert_goes_on(open_path / "empty")
        full = open_path / "full"
        Store(full, pytest.fail).save("index", "k", small(3.0))
        (full / "v2").chmod(0o500)
        # What is there is still read, without a word; what is not there is built each time.
        assert same(Store(full, pytest.fail).get("index", "k", never), small(3.0))
        notes = []
        assert same(Store(full, notes.append).get("index", "other", small), small())
        assert len(notes) == 1
        assert "Permission denied" in notes[0]


def test_full_disk(tmp_path, monkeypatch):
    def full(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    assert "No space left on device" in assert_goes_on(tmp_path)
    assert left_behind(tmp_path) == []
    assert Store(tmp_path, pytest.fail).load("index", "k") is None


def test_file_size_limit(tmp_path):
    """A real refusal by the kernel in the middle of a file."""
    code = f"""
import resource, numpy as np
from pathlib import Path
from dpsan.embeddings.cache.store import Entry, Store
resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, 1_500_000))
notes = []
entry = Store(Path({str(tmp_path)!r}), notes.append).get(
    "index", "k", lambda: Entry({{"a": np.ones(1_000_000)}}, {{}}))
assert entry.arrays["a"].sum() == 1_000_000
print(len(notes), notes)
"""
    env = os.environ | {"PYTHONPATH": str(Path(dpsan.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 ")
    assert "File too large" in done.stdout
    assert left_behind(tmp_path) == []
    assert Store(tmp_path, pytest.fail).load("index", "k") is None


def test_messages_hold_no_words(tmp_path):
    notes = []
    entry = Entry({"CANARY": np.frombuffer(b"CANARY", np.uint8)}, {"m": "CANARY"})
    store = Store(tmp_path, notes.append)
    store.save("index", "CANARY", entry)
    for path in tmp_path.glob("v2/index-*/*"):
        intact = path.read_bytes()
        for bad in (intact[:-1], intact[:-1] + b"\xff", b"", None):
            path.unlink()
            if bad is not None:
                path.write_bytes(bad)
            assert store.load("index", "CANARY") is None
            notes += [str(problem) for _, problem in store.check()]
            path.write_bytes(intact)
    assert len(notes) == 16
    assert all("damaged" in n or ":" in n for n in notes)
    assert not any("CANARY" in note for note in notes)


# --- entries, check, clear -------------------------------------------------------------------


@pytest.fixture
def three(tmp_path):
    store = Store(tmp_path, pytest.fail)
    store.save("index", "glove/1", small(1.0))
    store.save("index", "glove/2", small(2.0))
    store.save("knn-table", "fasttext/1", small(3.0))
    return store


def test_entries(three):
    infos = three.entries()
    assert [(i.kind, i.key, i.meta["number"], i.ok) for i in infos if i.kind == "knn-table"] == [
        ("knn-table", "fasttext/1", 3.0, True)
    ]
    assert sorted(i.key for i in infos) == ["fasttext/1", "glove/1", "glove/2"]
    for info in infos:
        on_disk = sum(p.stat().st_size for p in (three.root / "v2" / info.name).iterdir())
        assert info.bytes == on_disk > 0
        assert info.created.endswith("+00:00")
    assert all(problem is None for _, problem in three.check())


def test_check_finds_what_entries_does_not_read(three):
    victim = three.entries()[0]
    path = three.root / "v2" / victim.name / "1.raw"
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(data)
    assert all(info.ok for info in three.entries())
    problems = {info.name: problem for info, problem in three.check()}
    assert [name for name, problem in problems.items() if problem] == [victim.name]
    assert "1.raw" in problems[victim.name]


def test_damaged_manifest_is_listed_and_cleared(three):
    victim = three.entries()[0]
    (three.root / "v2" / victim.name / "manifest.json").write_bytes(b"{}")
    info = next(i for i in three.entries() if i.name == victim.name)
    assert (info.ok, info.key, info.kind, info.meta) == (False, "", victim.kind, {})
    assert info.bytes > 0
    assert three.clear()[0] == 3
    assert list((three.root / "v2").iterdir()) == []


def test_clear(three):
    sizes = [info.bytes for info in three.entries()]
    assert three.clear() == (3, sum(sizes))
    assert three.load("index", "glove/2") is None
    assert list((three.root / "v2").iterdir()) == []


def test_clear_removes_locks_and_temporaries_but_not_those_in_use(three):
    shelf = three.root / "v2"
    three.get("index", "locked", small)
    free = {p.name for p in shelf.glob("*.lock")}
    assert len(free) == 1
    held = filelock.FileLock(shelf / "index-held.lock")
    dead = shelf / f".index-dead.{'0' * 16}.tmp"
    dead.mkdir(0o700)
    (dead / "0.raw").write_bytes(b"x" * 1000)
    with held, locked_directory(shelf / "index-alive") as alive:
        size = sum(info.bytes for info in three.entries())
        assert three.clear() == (4, size + 1000)
        names = {p.name for p in shelf.iterdir()}
    assert "index-held.lock" in names
    assert alive.name in names
    assert dead.name not in names
    assert not free & names
    assert three.entries() == []


def test_save_sweeps_what_dead_runs_left_of_the_same_entry(three):
    shelf = three.root / "v2"
    name = next(info.name for info in three.entries() if info.key == "glove/1")
    with locked_directory(shelf / name) as alive:
        dead, other = (shelf / f".{each}.{'0' * 16}.tmp" for each in (name, "index-other"))
        for path in (dead, other):
            path.mkdir(0o700)
        three.save("index", "glove/1", small())
        assert sorted(left_behind(three.root)) == sorted([alive.name, other.name])


def test_manifest_is_json_and_names_its_version(three):
    for path in three.root.glob("v2/*/manifest.json"):
        body = json.loads(path.read_bytes())["body"]
        assert body["format"] == FORMAT_VERSION
        assert {f["name"] for f in body["files"]} == {INDEX, "ids"}


def test_entry_of_version_2_still_loads(tmp_path):
    """Bytes as version 2 wrote them: if this fails, FORMAT_VERSION must be raised."""
    files = {
        INDEX: b"IxF2" + bytes.fromhex(
            "02000000" "0100000000000000" "0000100000000000" "0000100000000000"
            "01" "01000000" "0200000000000000"
        ) + np.array([1.5, -2.0], "<f4").tobytes(),
        "1.raw": "a\néb".encode(),
    }  # fmt: skip
    about = []
    for data, (name, dtype, shape, size) in zip(
        files.values(), [(INDEX, "<f4", [1, 2], 8), ("w", "|u1", [5], 5)], strict=True
    ):
        digest = hashlib.sha256(data).hexdigest()
        about.append({"name": name, "dtype": dtype, "shape": shape, "size": size,
                      "sha256": digest})  # fmt: skip
    body = json.dumps(
        {"format": 2, "kind": "index", "key": "k", "created": "", "meta": {}, "files": about}
    )
    digest = hashlib.sha256(body.encode()).hexdigest()
    files["manifest.json"] = f'{{"sha256":"{digest}","body":{body}}}\n'.encode()
    name = "index-" + hashlib.sha256(b'[2, "index", "k"]').hexdigest()
    write_files(tmp_path / "v2" / name, files)
    entry = Store(tmp_path, pytest.fail).load("index", "k")
    assert same(
        entry,
        Entry(
            {INDEX: np.array([[1.5, -2.0]], "f4"), "w": np.frombuffer("a\néb".encode(), "u1")}, {}
        ),
    )


def write_files(folder, files):
    folder.mkdir(parents=True)
    for path in (folder.parent, folder):
        path.chmod(0o700)
    for file, data in files.items():
        (folder / file).write_bytes(data)
        (folder / file).chmod(0o600)


def test_entries_of_earlier_versions_are_swept(tmp_path):
    """The next time something is stored, or cleared; what is not ours stays where it is."""
    old = tmp_path / "v1"
    name = "index-" + "0a" * 32
    for sweep, freed in ((lambda store: store.save("index", "k", small()), None),
                         (lambda store: store.clear(), 9)):  # fmt: skip
        write_files(old / name, {"0.raw": b"12345", "manifest.json": b"{}"})
        write_files(old / ".tmp-0123456789abcdef", {"0.raw": b"12"})
        (old / f"{name}.lock").touch()
        store = Store(tmp_path, pytest.fail)
        assert store.load("index", "other") is None
        assert old.exists()
        before = sum(info.bytes for info in store.entries())
        told = sweep(store)
        assert not old.exists()
        assert freed is None or told == (1, before + freed)
    write_files(old / name, {"0.raw": b"12345"})
    write_files(old / "my data", {"0.raw": b"12345"})
    store.save("index", "k", small())
    assert [path.name for path in old.iterdir()] == ["my data"]
    assert (old / "my data" / "0.raw").read_bytes() == b"12345"
    old.chmod(0o770)  # others may write there: not ours alone
    write_files(old / name, {"0.raw": b"12345"})
    old.chmod(0o770)
    store.clear()
    assert (old / name).exists()


# --- the index ----------------------------------------------------------------------------------


def test_faiss_opens_the_index(tmp_path):
    """Byte for byte what FAISS writes, and what FAISS reads from it are the vectors."""
    import faiss

    vectors = np.random.default_rng(4).normal(size=(300, 7)).astype("<f4")
    Store(tmp_path).save("index", "k", Entry({INDEX: vectors}, {}))
    (file,) = tmp_path.glob(f"v2/index-*/{INDEX}")
    opened = faiss.read_index(str(file))
    assert type(opened).__name__ == KIND
    assert (opened.ntotal, opened.d) == vectors.shape
    assert opened.reconstruct_n(0, 300).tobytes() == vectors.tobytes()
    theirs = faiss.IndexFlatL2(7)
    theirs.add(vectors)
    faiss.write_index(theirs, str(tmp_path / "theirs"))
    assert file.read_bytes() == (tmp_path / "theirs").read_bytes()


def test_vectors_are_searched_where_they_were_read(tmp_path):
    """No second copy: the memory that was verified is that which is searched, and it is aligned."""
    import faiss

    from dpsan.space.float32_search import least_values

    vectors = np.random.default_rng(4).normal(size=(3000, 9)).astype("<f4")
    Store(tmp_path).save("index", "k", Entry({INDEX: vectors}, {}))
    tracemalloc.start()
    found = Store(tmp_path).load("index", "k").arrays[INDEX]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert vectors.nbytes < peak < 1.3 * vectors.nbytes
    assert found.ctypes.data % 64 == 0
    assert found.flags.c_contiguous
    (file,) = tmp_path.glob(f"v2/index-*/{INDEX}")
    points = vectors[:40] + np.float32(0.1)
    values, ids = faiss.read_index(str(file)).search(points, 5)
    ours, near = least_values(found, points, 5)
    assert (ours == ids).all()
    # The last bits depend on the processor, and on where in memory the rows lie.
    np.testing.assert_allclose(near, values, rtol=1e-5, atol=1e-5)
