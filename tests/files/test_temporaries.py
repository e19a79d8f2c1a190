"""Temporary files of killed runs are swept by the next run, and nothing else is."""

import fcntl
import os
import signal

import pytest
from support import started, wait_for

from dpsan.files import names as swept
from dpsan.files.atomic_files import AtomicFile

DIGITS = "0123456789abcdef"


@pytest.fixture(autouse=True)
def unseen(monkeypatch):
    """Each test is a process that has seen no directory yet."""
    monkeypatch.setattr(swept, "_FOUND", {})


def temporaries(folder):
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".tmp"))


def write(target, **more):
    sink = AtomicFile(target, **more)
    sink.write(b"new")
    sink.commit()


def test_a_killed_run_is_swept_by_the_next(tmp_path, dpsan, cache):
    """kill -9 in the middle of an input that never ends, then the same command again."""
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    os.mkfifo(tmp_path / "a.txt")
    command = ["rewrite", "-q", "-e", "9", "-m", "laplace", "-E", "two.txt", "-O", "out", "a.txt"]
    env = {**os.environ, "DPSAN_CACHE_DIR": str(cache)}
    out = tmp_path / "out"
    with started(*command, cwd=tmp_path, env=env) as child:
        feed = os.open(tmp_path / "a.txt", os.O_WRONLY)
        wait_for(lambda: out.is_dir() and temporaries(out))
        left = temporaries(out)
        # While it lives, another run onto the same name leaves its file alone.
        write(out / "a.txt")
        assert temporaries(out) == left
        child.kill()
        assert child.wait() == -signal.SIGKILL
    os.close(feed)
    assert temporaries(out) == left != []
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt").write_text("here\n")
    done = dpsan(*command, "--force", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert {path.name for path in out.iterdir()} == {".dpsan-request", "a.txt"}


@pytest.mark.parametrize(("name", "place"), [("ä.txt", ["-i"]), (f"{'ö' * 120}.txt", ["-O", "ö"])])
def test_names_are_no_ascii_in_a_locale_that_knows_no_more(dpsan, tmp_path, place, name):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    (tmp_path / name).write_text("here\n")
    command = ["rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", *place, name]
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    books = ["--ledger", "ö.ledger", "--memo", "ä.memo"]
    done = dpsan(*command, *books, cwd=tmp_path, env=plain)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "ö.ledger").is_file()
    assert not [each for each in os.listdir(tmp_path) if each.endswith(".tmp")]


def test_only_dead_files_for_the_same_name_go(tmp_path):
    target = tmp_path / "a.txt"
    others = [f".b.txt.{DIGITS}.tmp", ".a.txt.notes.tmp", f"a.txt.{DIGITS}.tmp", f".a.txt.{DIGITS}"]
    for name in others:
        (tmp_path / name).touch()
    folder, pipe, link = (f".a.txt.{digit * 16}.tmp" for digit in "def")
    (tmp_path / folder).mkdir()
    (tmp_path / folder).chmod(0o755)  # whatever umask a command before this test left
    os.mkfifo(tmp_path / pipe)
    (tmp_path / link).symlink_to(tmp_path / others[0])
    (tmp_path / f".a.txt.{DIGITS}.tmp").write_text("half")  # of a dead run
    living = AtomicFile(target)
    write(target)
    stay = {"a.txt", *others, folder, pipe, link, living._temporary.name}
    assert {path.name for path in tmp_path.iterdir()} == stay
    living.discard()


def test_a_file_is_locked_until_it_has_its_name(tmp_path, monkeypatch):
    """Else a sweep between the two would take it."""
    target, real, named = tmp_path / "a.txt", os.close, []
    sink = AtomicFile(target)
    locked = sink.descriptor

    def close(descriptor):
        if descriptor == locked:
            named.append(target.exists())
        real(descriptor)

    monkeypatch.setattr(os, "close", close)
    sink.commit()
    assert named[0]


def test_a_file_swept_before_it_was_locked_is_made_again(tmp_path, monkeypatch):
    real, swept = fcntl.flock, []

    def flock(descriptor, how):
        if not swept:
            swept.append(temporaries(tmp_path))
            (tmp_path / swept[0][0]).unlink()
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    write(tmp_path / "a.txt")
    assert len(swept[0]) == 1
    assert (tmp_path / "a.txt").read_bytes() == b"new"


def test_no_locks_no_sweep(tmp_path, monkeypatch):
    def flock(descriptor, how):
        raise OSError(95, "no locks")

    monkeypatch.setattr(fcntl, "flock", flock)
    dead = tmp_path / f".a.txt.{DIGITS}.tmp"
    dead.touch()
    write(tmp_path / "a.txt")
    assert dead.exists()
    assert (tmp_path / "a.txt").read_bytes() == b"new"
