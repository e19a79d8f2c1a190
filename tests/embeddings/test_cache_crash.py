"""Crashes, races and failing system calls: an entry is whole or absent, and built once."""

import errno
import os
import random
import sys
from itertools import count

import filelock  # noqa: F401  (loaded before system calls are made to fail)
import pytest
from cache_entries import left_behind, same, small

from dpsan.embeddings import store as module
from dpsan.embeddings.store import Store

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

CALLS = ["write", "fsync", "rename", "mkdir", "chmod", "fchmod", "open", "close", "readv", "fstat"]
LISTING = "scandir" if sys.version_info >= (3, 14) else "listdir"  # what Path.glob calls
CALLS += ["stat", "lstat", "unlink", LISTING]
# Cleaning up uses these itself: if they fail there, what is left is swept another day.
CLEANING = {"open", "close", "stat", "lstat", "fstat", "unlink", LISTING}


def spoil(root):
    """An entry under the same key that is there and damaged."""
    Store(root).save("index", "k", small(2))
    for path in root.glob("v5/index-*"):
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
