"""Finished files get their names: what appeared meanwhile stays, and so does whose a file is."""

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from identity import identity

from dpsan.errors import OutputError
from dpsan.files import atomic_files as files
from dpsan.files import final_name, source
from dpsan.files.atomic_files import AtomicFile
from dpsan.files.in_place import Original
from dpsan.files.source import FileSource
from dpsan.run import group
from dpsan.run import stream as batch
from dpsan.run.audit import AuditWriter
from dpsan.run.run import Run
from dpsan.run.stream import Inplace, Plan

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def start(arguments, folder):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
    return subprocess.Popen(
        [sys.executable, "-m", "dpsan", "rewrite", "-q", "-e", "1000", "-m", "laplace", *arguments],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def meanwhile(folder, arguments, act):
    """Run with a pipe as an input, and do something while it is read."""
    (folder / "two.txt").write_text("here 0 9\nthere 9 0\n")
    os.mkfifo(folder / "pipe")
    child = start(["-E", "two.txt", "pipe", *arguments], folder)
    with (folder / "pipe").open("wb") as feed:
        feed.write(b"here\n")
        feed.flush()
        begun = time.monotonic()
        while not temporaries(folder) and time.monotonic() - begun < 30:
            time.sleep(0.05)
        act()
    out, told = child.communicate(timeout=60)
    return child.returncode, out, told


def temporaries(folder):
    return [path.name for path in folder.rglob("*.tmp")]


# --- what appeared meanwhile ------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["-o", "out"], ["-O", "."]])
def test_what_appears_during_a_run_stays(tmp_path, arguments):
    target = tmp_path / ("out" if arguments[0] == "-o" else "sub/pipe")
    if arguments[0] == "-O":
        arguments = ["-O", "sub"]
        target.parent.mkdir()
    found = meanwhile(tmp_path, arguments, lambda: target.write_text("somebody else's"))
    where = target.relative_to(tmp_path)
    told = f"dpsan: {where}: was created meanwhile, and is not replaced (--force replaces it)\n"
    assert found == (1, b"", told.encode())
    assert target.read_text() == "somebody else's"
    assert not temporaries(tmp_path)


def test_what_appears_during_a_run_with_force_is_replaced_unless_special(tmp_path):
    def appear():
        os.mkfifo(tmp_path / "out")

    status, _, told = meanwhile(tmp_path, ["-o", "out", "--force"], appear)
    assert status == 1
    assert told.startswith(b"dpsan: out: not a regular file")
    assert (tmp_path / "out").is_fifo()
    assert not temporaries(tmp_path)


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_file_systems_without_links(tmp_path, monkeypatch, number):
    """The one call that renames without replacing does the same."""

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    file = AtomicFile(tmp_path / "a")
    file.write(b"whole")
    file.commit()
    assert (tmp_path / "a").read_bytes() == b"whole"
    file = AtomicFile(tmp_path / "b")
    file.write(b"second")
    (tmp_path / "b").write_bytes(b"first")
    with pytest.raises(OutputError, match="was created meanwhile, and is not replaced"):
        file.commit()
    assert (tmp_path / "b").read_bytes() == b"first"
    assert not temporaries(tmp_path)


def test_file_systems_that_can_do_neither(tmp_path, monkeypatch):
    """Without a way that cannot replace, nothing is placed; --force is the user's word."""
    import ctypes

    def refuse(*_, **__):
        raise OSError(errno.EPERM, "no")

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())
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


# --- in place ---------------------------------------------------------------------------------


def run(inputs, output, **more):
    plan = Plan(force=more.pop("force", False))
    return Run(identity(), plan, b"k" * 32, inputs, output, **more).execute()


@pytest.mark.parametrize("backup", [None, ".orig"])
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("change", ["replaced", "written to", "appended", "linked", "removed"])
def test_an_input_changed_during_the_run_stays(tmp_path, monkeypatch, backup, force, change):
    path = tmp_path / "a.txt"
    path.write_text("here\n")
    (tmp_path / "b.txt").write_text("there\n")
    real = batch.rewrite_stream

    def changing(source, *arguments, **more):
        outcome = real(source, *arguments, **more)
        if source.name != str(path):
            return outcome
        if change == "replaced":
            (tmp_path / "new").write_text("newer")
            (tmp_path / "new").replace(path)
        elif change == "written to":
            path.write_text("other\n")
        elif change == "appended":
            with path.open("a") as file:
                file.write("more\n")
        elif change == "linked":
            (tmp_path / "name").hardlink_to(path)
        else:
            path.unlink()
        return outcome

    monkeypatch.setattr(batch, "rewrite_stream", changing)
    result = run([path, tmp_path / "b.txt"], Inplace(backup), force=force)
    assert len(result.failed) == 1
    assert [what == "failed" for _, what in result.each] == [True, False]
    if change != "removed":
        assert "changed while it was read, and is not replaced" in result.failed[0]
        told = {"replaced": "newer", "written to": "other\n", "appended": "here\nmore\n"}
        assert path.read_text() == told.get(change, "here\n")
    assert not (tmp_path / "a.txt.orig").exists()
    assert (tmp_path / "b.txt.orig").exists() == (backup is not None)
    assert not temporaries(tmp_path)


@pytest.mark.parametrize("mode", ["stdout", "stdin", "-o", "-O", "-i"])
def test_an_input_that_shrinks_while_it_is_read_is_no_success(tmp_path, monkeypatch, capfd, mode):
    """Neither under a final name, where --resume would skip it for ever, nor with status 0."""
    path, out = tmp_path / "live.txt", tmp_path / "out"
    path.write_text("here there\n" * 1000)
    monkeypatch.setattr(source, "_CHUNK", 1000)
    real = FileSource.read

    def shrinking(self):
        if self.bytes_read >= 5000:
            os.truncate(path, 4000)
        return real(self)

    monkeypatch.setattr(FileSource, "read", shrinking)
    with path.open("rb") as file:
        inputs, output, more = [path], None, {}
        if mode == "stdin":
            monkeypatch.setattr(os, "fstat", of_stdin(file.fileno(), os.fstat))
            monkeypatch.setattr(os, "read", of_stdin(file.fileno(), os.read))
            inputs = [Path("-")]
        elif mode in ("-o", "-O"):
            output, more = out, {"tree": mode == "-O"}
        elif mode == "-i":
            output = Inplace()
        result = run(inputs, output, **more)
    name = "standard input" if mode == "stdin" else path
    assert result.failed == [f"{name}: changed while it was read (run it again)"]
    assert not [each for each in tmp_path.rglob("*") if each.is_file() and each != path]
    assert path.stat().st_size == 4000
    assert bool(capfd.readouterr().out) == (mode in ("stdin", "stdout"))


def of_stdin(descriptor, real):
    """A call that finds an open file as standard input."""
    return lambda number, *more: real(number or descriptor, *more)


def test_in_place_refuses_files_with_other_names(tmp_path):
    (tmp_path / "a").write_text("here\n")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    result = run([tmp_path / "a"], Inplace())
    assert result.failed == [f"{tmp_path}/a: has other names (hard links) (-o writes another file)"]
    assert (tmp_path / "a").stat().st_ino == (tmp_path / "b").stat().st_ino


def test_in_place_refuses_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "a")
    result = run([tmp_path / "a"], Inplace())
    assert result.failed == [f"{tmp_path}/a: not a regular file (-o writes another file)"]
    assert (tmp_path / "a").is_fifo()


def test_a_backup_is_forgotten_if_the_rewriting_is_not_placed(tmp_path, monkeypatch):
    """Else the original has two names, and the next run would refuse it."""

    def refuse(*_, **__):
        raise OSError(errno.EIO, "no")

    (tmp_path / "a").write_text("here\n")
    with monkeypatch.context() as patch:
        patch.setattr(files, "publish", refuse)
        assert run([tmp_path / "a"], Inplace(".orig")).failed
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert not run([tmp_path / "a"], Inplace(".orig")).failed
    assert (tmp_path / "a.orig").read_text() == "here\n"


def test_a_backup_is_never_the_only_name_that_is_removed(tmp_path, monkeypatch):
    """A signal behind the last step: the rewriting has its name, the backup stays."""
    real = AtomicFile.publish

    def interrupted(self):
        real(self)
        raise KeyboardInterrupt

    (tmp_path / "a").write_text("here\n")
    monkeypatch.setattr(AtomicFile, "publish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run([tmp_path / "a"], Inplace(".orig"))
    assert (tmp_path / "a.orig").read_text() == "here\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.orig"]


@ROOT
def test_root_keeps_the_owner(tmp_path):
    path = tmp_path / "a"
    path.write_text("here\n")
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    assert not run([path], Inplace(".orig")).failed
    for each in (path, tmp_path / "a.orig"):
        status = each.stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1234, 2345, 0o640)


def test_an_owner_that_cannot_be_kept_is_refused(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "no")

    path = tmp_path / "a"
    path.write_text("here\n")
    other = os.stat_result((0o100644, 1, 1, 1, os.geteuid() + 1, 1, 5, 0, 0, 0))
    monkeypatch.setattr(os, "fchown", refuse)
    real = os.fstat

    def fstat(descriptor):
        status = real(descriptor)
        return other if os.readlink(f"/proc/self/fd/{descriptor}") == str(path) else status

    class Other:
        def __getattr__(self, name):
            return fstat if name == "fstat" else getattr(os, name)

    monkeypatch.setattr(files, "os", Other())
    result = run([path], Inplace())
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
    assert not run([path], Inplace()).failed
    assert path.stat().st_mode & 0o777 == mode
    assert os.listxattr(path) == []


# --- groups -----------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setattr(group, "_SECONDS", 1000)  # however slow the machine is
    (tmp_path / "in").mkdir()
    paths = [tmp_path / "in" / f"{number:03d}.txt" for number in range(300)]
    for path in paths:
        path.write_text(f"text of {path.stem}\n")
    return paths


class Calls:
    """The calls that matter after a power failure, in order."""

    def __init__(self, monkeypatch):
        self.log = []
        for name in ("fsync", "link", "rename"):
            monkeypatch.setattr(os, name, self.noting(name, getattr(os, name)))

    def noting(self, name, real):
        def call(first, *arguments, **more):
            what = os.readlink(f"/proc/self/fd/{first}") if name == "fsync" else os.fspath(first)
            done = real(first, *arguments, **more)
            self.log.append((name, what))
            return done

        return call


def test_every_output_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch, small):
    calls = Calls(monkeypatch)
    result = run(small, tmp_path / "out", tree=True)
    assert not result.failed
    synced = set()
    for name, what in calls.log:
        if name == "fsync":
            synced.add(what)
        else:
            assert what in synced
    outputs = sorted((tmp_path / "out").iterdir())
    assert [path.read_text() for path in outputs] == [path.read_text() for path in small]
    folders = [what for name, what in calls.log if what == str(tmp_path / "out")]
    assert calls.log[-1] == ("fsync", str(tmp_path / "out"))
    assert len(folders) == 3  # one for each group, not one for each file


def test_one_file_that_fails_is_the_only_one(tmp_path, monkeypatch, small):
    """One cannot be synced, one is there already, one cannot be read."""
    real = os.fsync

    def fsync(descriptor):
        if ".007.txt." in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EIO, "no")
        real(descriptor)

    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "009.txt").write_text("there")
    small[11].unlink()
    small[11].mkdir()
    monkeypatch.setattr(os, "fsync", fsync)
    with AuditWriter(tmp_path / "audit", identity()) as audit:
        result = run(small, tmp_path / "out", tree=True, audit=audit)
    assert len(result.failed) == 3
    states = [what if isinstance(what, str) else "done" for _, what in result.each]
    wanted = ["failed" if number in (7, 9, 11) else "done" for number in range(300)]
    assert states == wanted
    assert [name for name, _ in result.each] == [str(path) for path in small]
    assert (tmp_path / "out" / "009.txt").read_text() == "there"
    assert len(list((tmp_path / "out").iterdir())) == 298
    assert not temporaries(tmp_path)
    monkeypatch.setattr(os, "fsync", real)
    again = run(small, tmp_path / "out", tree=True, resume=True)
    assert (again.skipped, len(again.failed)) == (298, 1)


@pytest.mark.parametrize("held", [4 << 20, 100])
def test_the_audit_is_that_of_one_file_after_the_other(tmp_path, monkeypatch, small, held):
    """Word rows before the output is published, its own row behind, all in order."""
    from dpsan.run.audit import writer

    monkeypatch.setattr(writer, "_MOST_HELD", held)
    audited = {}
    for most in (1, 128):
        monkeypatch.setattr(group, "_MOST", most)
        path = tmp_path / f"audit{most}"
        with AuditWriter(path, identity()) as audit:
            assert not run(small, tmp_path / f"out{most}", tree=True, audit=audit).failed
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert [row["type"] for row in rows[1:-1]] == ["word", "word", "word", "file"] * 300
        assert [row["file"] for row in rows[1:-1]] == [n for n in range(1, 301) for _ in range(4)]
        audited[most] = rows[1:]
    assert audited[1] == audited[128]


def test_words_are_in_the_audit_before_their_output_has_its_name(tmp_path, monkeypatch, small):
    real = final_name.publish
    seen = []

    def place(temporary, target, *, force):
        rows = (tmp_path / "audit").read_text()
        seen.append(f'"file":{int(target.stem) + 1},' in rows)
        real(temporary, target, force=force)

    monkeypatch.setattr(files, "publish", place)
    with AuditWriter(tmp_path / "audit", identity()) as audit:
        run(small, tmp_path / "out", tree=True, audit=audit)
    assert seen == [True] * 300


def test_an_end_in_between_leaves_whole_files_only(tmp_path, monkeypatch, small):
    real = batch.rewrite_stream

    def ending(source, *arguments, **more):
        if "150" in source.name:
            raise KeyboardInterrupt
        return real(source, *arguments, **more)

    monkeypatch.setattr(batch, "rewrite_stream", ending)
    with pytest.raises(KeyboardInterrupt), AuditWriter(tmp_path / "audit", identity()) as audit:
        run(small, tmp_path / "out", tree=True, audit=audit)
    assert not temporaries(tmp_path)
    done = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert len(done) == 128
    assert all(text == f"text of {name[:3]}\n" for name, text in done.items())
    last = json.loads((tmp_path / "audit").read_text().splitlines()[-1])
    assert (last["type"], last["complete"], last["records"]) == ("totals", False, len(done))


def test_few_descriptors_are_enough(tmp_path, monkeypatch, small):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 30, limits[1]))
    try:
        result = run(small, tmp_path / "out", tree=True)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert not result.failed


def test_a_directory_that_cannot_be_synced(tmp_path, monkeypatch, small):
    """Its outputs are there and whole, but the run says that they may not last."""

    def refuse(path):
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(group, "sync_directory", refuse)
    result = run(small[:3], tmp_path / "out", tree=True)
    assert len(result.failed) == 3
    assert "cannot write: Input/output error" in result.failed[0]
    assert len(list((tmp_path / "out").iterdir())) == 3


def test_an_original_is_told_from_another(tmp_path):
    """The unit of the checks above: what counts as the same file, unchanged."""
    path = tmp_path / "a"
    path.write_text("here")
    with path.open("rb") as file:
        original = Original(path, file.fileno(), None, force=False)
    placed = []
    original.replace(lambda: placed.append(1))
    assert placed == [1]
