"""Finished files get their names: what appeared meanwhile stays, and so does whose a file is."""

import errno
import fcntl
import json
import os
import resource
import signal
from types import SimpleNamespace

import pytest
from identity import identity
from support import started, wait_for

from dpsan.errors import OutputError
from dpsan.files import atomic_files as files
from dpsan.files import source as final_name
from dpsan.files.atomic_files import AtomicFile
from dpsan.run import group
from dpsan.run.audit.writer import AuditWriter
from dpsan.run.plan import Plan, Result
from dpsan.run.run import Run

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def temporaries(folder):
    return [path.name for path in folder.rglob("*.tmp")]


def refusing(number):
    """A call of the operating system that fails."""

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    return refuse


def test_what_appears_during_a_run_stays(tmp_path):
    file = AtomicFile(tmp_path / "a")
    file.write(b"whole")
    file.commit()
    assert (tmp_path / "a").read_bytes() == b"whole"
    file = AtomicFile(tmp_path / "b")
    file.write(b"second")
    (tmp_path / "b").write_bytes(b"first")
    told = r"was created meanwhile, and is not replaced \(keep it if .*more than one\)"
    with pytest.raises(OutputError, match=told):
        file.commit()
    assert (tmp_path / "b").read_bytes() == b"first"
    file = AtomicFile(tmp_path / "c", force=True)
    os.mkfifo(tmp_path / "c")
    with pytest.raises(OutputError, match="c: not a regular file"):
        file.commit()
    assert (tmp_path / "c").is_fifo()
    assert not temporaries(tmp_path)


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_file_systems_without_links(tmp_path, monkeypatch, number):
    """Without a way that cannot replace, nothing is placed; --force is the user's word."""
    monkeypatch.setattr(os, "link", refusing(number))
    file = AtomicFile(tmp_path / "a")
    with pytest.raises(OutputError, match="cannot make a file without replacing another"):
        file.commit()
    assert list(tmp_path.iterdir()) == []
    file = AtomicFile(tmp_path / "a", force=True)
    file.commit()
    assert (tmp_path / "a").exists()


def test_an_answer_lost_on_the_way_is_no_other_file(tmp_path, monkeypatch):
    """A network file system may say "exists" of the link that it made itself."""
    real = os.link

    def twice(*arguments, **more):
        real(*arguments, **more)
        real(*arguments, **more)

    monkeypatch.setattr(os, "link", twice)
    AtomicFile(tmp_path / "a").commit()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.fixture
def outcomes(monkeypatch):
    """Outcome of each input of a run, by its number."""
    by_number, add = {}, Result.add

    def noted(self, outcome):
        by_number[outcome.task.file] = outcome
        add(self, outcome)

    monkeypatch.setattr(Result, "add", noted)
    return by_number


def run(inputs, output=None, **more):
    plan = Plan(force=more.pop("force", False))
    return Run(identity(), plan, b"k" * 32, inputs, output, **more).execute()


def test_an_input_that_got_another_name_stays(tmp_path, monkeypatch):
    """Also with --force; tests/scoreboard/live.py has other changes."""
    (tmp_path / "linked").write_text("here\n")
    real = group.rewrite_stream

    def changing(source, *arguments, **more):
        outcome = real(source, *arguments, **more)
        (tmp_path / "name").hardlink_to(source.name)
        return outcome

    monkeypatch.setattr(group, "rewrite_stream", changing)
    result = run([tmp_path / "linked"], in_place=True, force=True)
    assert "changed while it was read, and is not replaced" in result.failed[0]
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == dict.fromkeys(["linked", "name"], "here\n")


@ROOT
def test_root_keeps_the_owner(tmp_path):
    path = tmp_path / "a"
    path.write_text("here\n")
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    assert not run([path], in_place=True).failed
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 2345, 0o640)


def test_an_owner_that_cannot_be_kept_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("here\n")
    other = os.stat_result((0o100644, 1, 1, 1, os.geteuid() + 1, 1, 5, 0, 0, 0))
    monkeypatch.setattr(os, "fchown", refusing(errno.EPERM))
    real = os.fstat

    def fstat(descriptor):
        status = real(descriptor)
        return other if os.readlink(f"/proc/self/fd/{descriptor}") == str(path) else status

    monkeypatch.setattr(files, "os", SimpleNamespace(**vars(os) | {"fstat": fstat}))
    result = run([path], in_place=True)
    assert "its owner and group cannot be kept" in result.failed[0]
    assert path.read_text() == "here\n"
    assert not temporaries(tmp_path)


ACL = bytes.fromhex(  # user::rw- user:1234:r-- group::--- mask::r-- other::---
    "02000000 0100 0600 ffffffff 0200 0400 d2040000 0400 0000 ffffffff 1000 0400 ffffffff"
    "2000 0000 ffffffff"
)


@pytest.mark.parametrize(("listed", "mode"), [(None, 0o644), (ACL, 0o600)])
def test_the_mode_is_kept_and_extended_attributes_are_not(tmp_path, listed, mode):
    """They may hold a digest of the original.  Without its list a file gives its group nothing."""
    path = tmp_path / "a"
    path.write_text("here\n")
    path.chmod(0o644)
    try:
        os.setxattr(path, "user.sha256", b"digest of the original")
        if listed:
            os.setxattr(path, "system.posix_acl_access", listed)
    except OSError as error:
        pytest.skip(f"no extended attributes here: {error.strerror}")
    assert not run([path], in_place=True).failed
    assert path.stat().st_mode & 0o777 == mode
    assert os.listxattr(path) == []


NUMBER = 20
"""Small files, of which a group has 12."""


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setattr(group, "_SECONDS", 1000)  # however slow the machine is
    monkeypatch.setattr(group, "_MOST", 12)
    (tmp_path / "in").mkdir()
    paths = [tmp_path / "in" / f"{number:03d}.txt" for number in range(NUMBER)]
    for path in paths:
        path.write_text(f"text of {path.stem}\n")
    return paths


def test_one_file_that_fails_is_the_only_one(tmp_path, monkeypatch, small, outcomes):
    """One cannot be synced, one is there already, one cannot be read."""
    real = os.fsync

    def fsync(descriptor):
        if ".007.txt." in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EIO, "no")
        real(descriptor)

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "009.txt").write_text("there")
    small[15].unlink()
    small[15].mkdir()
    monkeypatch.setattr(os, "fsync", fsync)
    with AuditWriter(tmp_path / "audit", identity()) as audit:
        result = run(small, tmp_path / "out", tree=True, audit=audit)
    assert len(result.failed) == 3
    every = [outcome for _, outcome in sorted(outcomes.items())]
    states = {str(outcome.task.path): outcome.status == "failed" for outcome in every}
    assert [number for number, failed in enumerate(states.values()) if failed] == [7, 9, 15]
    assert [*states] == [str(path) for path in small]
    assert (tmp_path / "out" / "009.txt").read_text() == "there"
    assert len(list((tmp_path / "out").iterdir())) == NUMBER - 2
    assert not temporaries(tmp_path)
    monkeypatch.setattr(os, "fsync", real)
    again = run(small, tmp_path / "out", tree=True, resume=True)
    assert (again.skipped, len(again.failed)) == (NUMBER - 2, 1)


def test_resume_advises_no_second_draw_where_another_run_was_faster(tmp_path, small):
    out = tmp_path / "out"
    out.mkdir()

    def faster(_, path):
        (out / path.name).write_text("there")

    result = run(small[:2], out, tree=True, resume=True, begun=faster)
    assert len(result.failed) == 2
    for line in result.failed:
        assert "was created meanwhile, and is not replaced (keep it" in line
        assert "--force" not in line
    assert not temporaries(tmp_path)


def test_the_audit_is_that_of_one_file_after_the_other(tmp_path, monkeypatch, small):
    """Word rows before the output is published, its own row behind, all in order."""
    audited, seen, publish = {}, [], final_name.publish

    def place(temporary, target, *, force):
        if target != path:
            seen.append(f'"file":{int(target.stem) + 1},' in path.read_text())
        publish(temporary, target, force=force)

    monkeypatch.setattr(final_name, "publish", place)
    for most in (1, 12):
        monkeypatch.setattr(group, "_MOST", most)
        path = tmp_path / f"audit{most}"
        with AuditWriter(path, identity()) as audit:
            assert not run(small, tmp_path / f"out{most}", tree=True, audit=audit).failed
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert [row["type"] for row in rows[1:-1]] == ["word", "word", "word", "file"] * NUMBER
        assert [row["file"] for row in rows[1:-1]] == sorted([*range(1, NUMBER + 1)] * 4)
        audited[most] = rows[1:]
    assert audited[1] == audited[12]
    assert seen == [True] * 2 * NUMBER


def test_few_descriptors_are_enough(tmp_path, monkeypatch, small):
    monkeypatch.setattr(group, "_MOST", 128)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 30, limits[1]))
    try:
        result = run(small, tmp_path / "out", tree=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert not result.failed


# Temporary files of killed runs are swept by the next run, and nothing else is.


DIGITS = "0123456789abcdef"


@pytest.fixture(autouse=True)
def unseen(monkeypatch):
    """Each test is a process that has seen no directory yet."""
    monkeypatch.setattr(final_name, "_FOUND", {})


def temporary_files(folder):
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
        wait_for(lambda: out.is_dir() and temporary_files(out))
        left = temporary_files(out)
        # While it lives, another run onto the same name leaves its file alone.
        write(out / "a.txt")
        assert temporary_files(out) == left
        child.kill()
        assert child.wait() == -signal.SIGKILL
    os.close(feed)
    assert temporary_files(out) == left != []
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.txt").write_text("here\n")
    done = dpsan(*command, "--force", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert {path.name for path in out.iterdir()} == {".dpsan-request", "a.txt"}


SHORT = pytest.param("ä.txt", ["-i"], marks=pytest.mark.slow)


@pytest.mark.parametrize(("name", "place"), [SHORT, (f"{'ö' * 120}.txt", ["-O", "ö"])])
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
    stay = {"a.txt", *others, folder, pipe, link, living.temporary.name}
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
            swept.append(temporary_files(tmp_path))
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
