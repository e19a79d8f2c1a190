"""Crashes, races and failing system calls: an entry is whole or absent, and built once."""

import errno
import os
import random
import signal
from itertools import count

import filelock  # noqa: F401  (loaded before system calls are made to fail)
import pytest
from cache_entries import left_behind, same, small

from dpsan.embeddings.cache import store as module
from dpsan.embeddings.cache.store import Store

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

CALLS = ["write", "fsync", "rename", "mkdir", "chmod", "fchmod", "open", "close", "readv", "fstat"]
CALLS += ["stat", "lstat", "unlink", "listdir"]
# Cleaning up uses these itself: if they fail there, what is left is swept another day.
CLEANING = {"open", "close", "stat", "lstat", "fstat", "unlink", "listdir"}


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """Waiting for the disk is most of the time, and not the matter."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)


def test_kill_9_at_any_call(tmp_path):
    """While one entry replaces another; a write is killed in its middle."""

    def save(root, last):
        left = count(1)

        def counted(real, name):
            def call(*args, **kwargs):
                if next(left) == last:
                    if name == "write":
                        real(args[0], args[1][: len(args[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **kwargs)

            return call

        for name in CALLS:
            setattr(os, name, counted(getattr(os, name), name))
        Store(root).save("index", "k", small(2))

    torn, seen = 0, set()
    for last in count(1):
        root = tmp_path / str(last)
        Store(root).save("index", "k", small(1))
        child = os.fork()
        if child == 0:
            try:
                save(root, last)
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        torn += bool(left_behind(root))
        # Not even a note: a crash leaves nothing under an entry's name that is not whole.
        found = Store(root, pytest.fail).load("index", "k")
        assert found is None or same(found, small(found.meta["number"]))
        seen.add(found and found.meta["number"])
        assert same(Store(root, pytest.fail).get("index", "k", small), found or small())
        Store(root).clear()
        assert left_behind(root) == []
        if os.WTERMSIG(status) != signal.SIGKILL:
            break
    assert torn > 10  # power: kills did fall into the middle of saves
    assert seen >= {1, 2}


def spoil(root):
    """An entry under the same key that is there and damaged."""
    Store(root).save("index", "k", small(2))
    for path in root.glob("v3/index-*"):
        path.write_bytes(b"damaged")


def keep(root):
    Store(root).save("index", "k", small())


def nothing(root):
    pass


@pytest.mark.parametrize("before", [nothing, spoil, keep])
@pytest.mark.parametrize("call", CALLS)
def test_nth_call_fails(tmp_path, monkeypatch, call, before):
    real = getattr(os, call)
    stays = before is spoil and call in ("write", "fsync", "rename")  # as a full disk does
    for number in range(1, 200):
        root = tmp_path / str(number)
        before(root)
        calls = count(1)
        failed = False

        def fail(*args, number=number, calls=calls, **kwargs):
            nonlocal failed
            now = next(calls)
            if now == number or (stays and now > number):
                failed = True
                if call == "close":  # the system closes the descriptor and complains
                    real(*args, **kwargs)
                error = random.Random(number).choice([errno.EIO, errno.ENOSPC, errno.EACCES])
                raise OSError(error, os.strerror(error))
            return real(*args, **kwargs)

        notes = []
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            got = Store(root, notes.append).get("index", "k", small)
        assert same(got, small())
        assert len(notes) <= 2, notes
        assert not any("\n" in note for note in notes)
        if call not in CLEANING or before is not spoil:
            assert left_behind(root) == []
        # What is there now is right or counts as absent, and the next run mends it.
        found = Store(root).load("index", "k")
        assert found is None or same(found, small())
        if before is not spoil and found is None:
            assert notes  # not cached, and said so
        assert same(Store(root).get("index", "k", small), small())
        assert same(Store(root, pytest.fail).load("index", "k"), small())
        if not failed:
            break  # this run needed fewer calls: every one of them has failed once
    else:
        pytest.fail("never came to an end")
    if before is nothing and call not in ("readv", "unlink"):
        assert number > 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_interrupt_or_no_memory_while_saving(tmp_path, monkeypatch, error):
    def fail(*_args):
        raise error

    notes = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_entry", fail)
        if error is KeyboardInterrupt:
            with pytest.raises(KeyboardInterrupt):
                Store(tmp_path).get("index", "k", small)
        else:
            assert same(Store(tmp_path, notes.append).get("index", "k", small), small())
            assert "out of memory" in notes.pop()
    assert notes == left_behind(tmp_path) == []
    assert same(Store(tmp_path, pytest.fail).get("index", "k", small), small())  # lock is free
