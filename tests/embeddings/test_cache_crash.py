"""Crashes, races and failing system calls: an entry is whole or absent, and built once."""

import errno
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import filelock  # noqa: F401  (loaded before system calls are made to fail)
import numpy as np
import pytest

import dpsan
from dpsan.embeddings.cache.store import Entry, Store

REPOSITORY = Path(dpsan.__file__).parents[1]
CHILD_ENVIRONMENT = os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}


def child(code: str, *arguments: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=CHILD_ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def temporaries(root: Path) -> list[Path]:
    return list(root.glob("v2/.*.tmp"))


# --- kill -9 ---------------------------------------------------------------------------------

SAVE_FOREVER = """
import sys, itertools, numpy as np
from pathlib import Path
from dpsan.embeddings.cache.store import Entry, Store
store = Store(Path(sys.argv[1]), print)
first = int(sys.argv[2])
sys.stdout.write("ready\\n"); sys.stdout.flush()
sys.stdin.readline()
for number in itertools.count(first):
    store.save("index", "k", Entry(
        {"a": np.full(200_000, number), "index.faiss": np.full((300, 7), number, dtype="f4")},
        {"number": number},
    ))
"""


def consistent(entry: Entry) -> bool:
    number = entry.meta["number"]
    return (
        entry.arrays["a"].shape == (200_000,)
        and bool((entry.arrays["a"] == number).all())
        and entry.arrays["index.faiss"].shape == (300, 7)
        and bool((entry.arrays["index.faiss"] == number).all())
    )


def test_kill_9(tmp_path):
    rng = random.Random(9)
    loaded = torn = 0
    longest = 0.06
    for number in range(400):
        root = tmp_path / str(number % 3)  # also over what earlier crashes left
        process = child(SAVE_FOREVER, root, number * 1000)  # exact in float32
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"go\n")
        process.stdin.flush()
        time.sleep(rng.uniform(0.0, longest))
        process.kill()
        process.communicate()
        torn += bool(temporaries(root))
        # Not even a note: a crash leaves nothing under an entry's name that is not whole.
        entry = Store(root, pytest.fail).load("index", "k")
        if entry is not None:
            assert consistent(entry)
            loaded += 1
        elif not loaded:
            longest *= 1.2  # a busy machine
        if root.exists():
            Store(root).clear()
            assert temporaries(root) == []
        if number >= 35 and torn >= 5 and loaded >= 5:
            break
    # Power: kills did fall into the middle of saves, and saves did finish.
    assert torn >= 5
    assert loaded >= 5


# --- many first runs at once -----------------------------------------------------------------

GET_ONCE = """
import os, sys, time, numpy as np
from pathlib import Path
from dpsan.embeddings.cache.store import Entry, Store
root = Path(sys.argv[1])
def build():
    fd = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, b"x")
    time.sleep(0.1)
    return Entry({"a": np.full(10_000, 5)}, {"pid": os.getpid()})
import filelock
sys.stdout.write("ready\\n"); sys.stdout.flush()
sys.stdin.readline()
notes = []
entry = Store(root, notes.append).get("index", "k", build)
assert (entry.arrays["a"] == 5).all()
print(entry.meta["pid"], notes)
"""


def test_concurrent_first_runs_build_once(tmp_path):
    for number in range(4):
        root, count = tmp_path / f"cache-{number}", tmp_path / f"count-{number}"
        processes = [child(GET_ONCE, root, count) for _ in range(8)]
        for process in processes:
            assert process.stdout.readline() == b"ready\n"
        for process in processes:  # all imports are done: they start within a millisecond
            process.stdin.write(b"go\n")
            process.stdin.flush()
        answers = {process.communicate(timeout=60)[0] for process in processes}
        assert [process.returncode for process in processes] == [0] * 8
        assert len(answers) == 1, answers  # one process's entry for all, and no notes
        assert answers.pop().endswith(b" []\n")
        assert count.read_bytes() == b"x"
        assert temporaries(root) == []


# --- the n-th system call fails --------------------------------------------------------------


def entry(number: int = 1) -> Entry:
    return Entry(
        {"a": np.full(1000, number), "index.faiss": np.full((7, 1), number, dtype="f4")},
        {"number": number},
    )


def is_entry(found: Entry, number: int = 1) -> bool:
    return (
        bool((found.arrays["a"] == number).all())
        and bool((found.arrays["index.faiss"] == number).all())
        and found.meta == {"number": number}
    )


def spoil(root: Path) -> None:
    """An entry under the same key that is there and damaged."""
    store = Store(root)
    store.save("index", "k", entry(2))
    for path in root.glob("v2/index-*/0.raw"):
        path.write_bytes(b"damaged")


def keep(root: Path) -> None:
    Store(root).save("index", "k", entry(1))


def nothing(root: Path) -> None:
    pass


CALLS = ["write", "fsync", "rename", "mkdir", "chmod", "fchmod", "open", "close", "readv", "fstat"]
CALLS += ["stat", "lstat", "unlink", "listdir"]
# Cleaning up uses these itself: if they fail there, what is left is swept another day.
CLEANING = {"open", "close", "stat", "lstat", "fstat", "unlink", "listdir"}


@pytest.mark.parametrize("before", [nothing, spoil, keep])
@pytest.mark.parametrize("call", CALLS)
def test_nth_call_fails(tmp_path, monkeypatch, call, before):
    if call != "fsync":
        monkeypatch.setattr(os, "fsync", lambda _fd: None)  # most of the time, and not the matter
    real = getattr(os, call)
    faults = 0
    for number in range(1, 200):
        root = tmp_path / str(number)
        before(root)
        count = 0

        def fail(*args, number=number, **kwargs):
            nonlocal count
            count += 1
            if count == number:
                if call == "close":  # the system closes the descriptor and complains
                    real(*args, **kwargs)
                error = random.Random(number).choice([errno.EIO, errno.ENOSPC, errno.EACCES])
                raise OSError(error, os.strerror(error))
            return real(*args, **kwargs)

        notes = []
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            got = Store(root, notes.append).get("index", "k", entry)
        assert is_entry(got)
        assert len(notes) <= 2, notes
        assert not any("\n" in note for note in notes)
        if call not in CLEANING or before is not spoil:
            assert temporaries(root) == []
        # What is there now is right or counts as absent, and the next run mends it.
        found = Store(root).load("index", "k")
        assert found is None or is_entry(found)
        if before is not spoil and found is None:
            assert notes  # not cached, and said so
        assert is_entry(Store(root).get("index", "k", entry))
        assert is_entry(Store(root, pytest.fail).load("index", "k"))
        if count < number:
            break  # this run needed fewer calls: every one of them has failed once
        faults += 1
    else:
        pytest.fail("never came to an end")
    if before is nothing and call not in ("readv", "unlink"):
        assert faults >= 1


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_call_fails_from_the_nth_on(tmp_path, monkeypatch, call):
    """A disk that is full stays full."""
    real = getattr(os, call)
    for number in range(1, 12):
        root = tmp_path / str(number)
        keep(root)
        count = 0

        def fail(*args, number=number, **kwargs):
            nonlocal count
            count += 1
            if count >= number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            patch.setattr(Store, "load", lambda *_args, **_kwargs: None)
            patch.setattr(Store, "_look", lambda *_args, **_kwargs: (None, ""))
            notes = []
            assert is_entry(Store(root, notes.append).get("index", "k", lambda: entry(1)))
        assert temporaries(root) == []
        found = Store(root, pytest.fail).load("index", "k")
        assert found is None or is_entry(found)
        if count >= number:
            assert len(notes) == 1
            assert "No space left" in notes[0]


def test_interrupt_while_saving(tmp_path, monkeypatch):
    def interrupt(*_args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            Store(tmp_path).get("index", "k", entry)
    assert temporaries(tmp_path) == []
    assert is_entry(Store(tmp_path, pytest.fail).get("index", "k", entry))  # lock is free


def test_out_of_memory_while_saving(tmp_path, monkeypatch):
    def exhausted(*_args):
        raise MemoryError

    monkeypatch.setattr(dpsan.embeddings.cache.store.files, "write_hashed", exhausted)
    notes = []
    assert is_entry(Store(tmp_path, notes.append).get("index", "k", entry))
    assert len(notes) == 1
    assert "out of memory" in notes[0]
    assert temporaries(tmp_path) == []
