"""Small manners of the command line that people expect of any."""

import os
import sys
from pathlib import Path

import pytest

from dpsan.cli.app import run

BASE = ["rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt"]


def test_version_and_help(dpsan):
    assert dpsan("-V").stdout == dpsan("--version").stdout
    assert dpsan("help", "report").stdout == dpsan("report", "--help").stdout
    assert dpsan("help").stdout == dpsan("--help").stdout
    assert dpsan("help", "reprot").returncode == 2


def test_numbers_are_asked_for_in_our_words(dpsan):
    for given, says in ((("-e", "abc"), "not a number"), (("-j", "1.5"), "not a whole number")):
        done = dpsan("rewrite", *given, status=2)
        assert f": {says}" in done.stderr.decode()
    assert dpsan("rewrite", "-j", "0").stderr.endswith(b": must be >= 1\n")


def test_a_file_that_may_not_be_read(monkeypatch, capsys, tmp_path):
    (tmp_path / "a.txt").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.setattr(sys, "argv", ["dpsan", "headers", "a.txt"])
    assert run() == 2
    told = "dpsan: a.txt: permission denied (ls -l shows for whom)\n"
    assert capsys.readouterr().err == told


def test_one_of_many_that_may_not_be_read_fails_alone(folder, dpsan):
    change = """import os
opened = os.open
def refused(path, *given, **more):
    if str(path) == "b.txt":
        raise PermissionError(13, "text of a system")
    return opened(path, *given, **more)
os.open, os.access = refused, lambda path, *_, **__: str(path) != "b.txt"
"""
    names = [f"{name}.txt" for name in "abc"]
    for name in names:
        (folder / name).write_text("Here there\n")
    done = dpsan(*BASE, *names, "-O", "out", cwd=folder, change=change, status=1)
    assert b"dpsan: b.txt: Permission denied\n" in done.stderr
    assert {path.name for path in (folder / "out").glob("*.txt")} == {"a.txt", "c.txt"}


@pytest.mark.parametrize("root", ["in", "{}/in", "../in", "..", "{}/in/deep/.."])
def test_recursive_keeps_the_tree(folder, dpsan, root):
    """Files of one name in two folders are two outputs; hidden ones and links are left out."""
    (folder / "in/deep").mkdir(parents=True)
    (folder / "work").mkdir()
    for name in ("in/a.txt", "in/deep/a.txt", "in/.hidden"):
        (folder / name).write_text("Here there\n")
    (folder / "in/link.txt").symlink_to("a.txt")
    cwd = folder / {"in": ".", "..": "in/deep"}.get(root, "work")
    more = ["-q", "-E", str(folder / "two.txt"), "-r", root.format(folder)]
    done = dpsan(*BASE[:-2], *more, "-O", str(folder / "out"), cwd=cwd)
    assert (done.returncode, done.stderr) == (0, b"")
    found = {str(p.relative_to(folder / "out")) for p in folder.rglob("out/**/*.txt")}
    assert found == {"in/a.txt", "in/deep/a.txt"}
    (folder / "empty").mkdir()
    assert dpsan(*BASE, "-r", "empty", cwd=folder).returncode == 2


@pytest.mark.parametrize("what", ["directory", "pipe", "empty file", "link to nothing"])
def test_resume_takes_nothing_but_a_file_for_a_finished_output(folder, dpsan, what):
    (folder / "a.txt").write_text("here\n")
    (folder / "none.txt").write_text("")
    out = folder / "out"
    command = [*BASE, "-q", "--resume", "-O", "out", "a.txt", "none.txt"]
    assert dpsan(*command, cwd=folder).returncode == 0
    (out / "a.txt").unlink()
    made = {"directory": Path.mkdir, "pipe": os.mkfifo, "empty file": Path.touch}
    made.get(what, lambda path: path.symlink_to("nothing"))(out / "a.txt")
    before = (out / "none.txt").stat()
    for more in ([], ["--force"]):
        done = dpsan(*command, *more, cwd=folder)
        replaced = bool(more) and what in ("empty file", "link to nothing")
        assert done.returncode == (0 if replaced else 1)
        assert done.stderr.startswith(b"" if replaced else b"dpsan: out/a.txt: ")
        assert ((out / "a.txt").is_file() and (out / "a.txt").read_text() == "here\n") == replaced
    after = (out / "none.txt").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_many_files_have_one_line(folder, dpsan):
    names = [f"{at}.txt" for at in range(21)]
    for name in names:
        (folder / name).write_text("here\n")
    many = dpsan(*BASE, *names, "-O", "many", cwd=folder)
    assert b"21 files rewritten, 21 records" in many.stderr
    assert b"20.txt" not in many.stderr


def test_bytes_that_are_no_text_are_told_of_and_not_lost_in_place(folder, dpsan):
    """--quiet hides no warning; with -i the bytes would be gone."""
    (folder / "latin.txt").write_bytes(b"here caf\xe9 there\n")
    done = dpsan(*BASE[:-2], "-q", "-E", "two.txt", "latin.txt", cwd=folder, status=0)
    assert b"1 invalid byte sequence replaced by U+FFFD (another --encoding" in done.stderr
    done = dpsan(*BASE[:-2], "-q", "-E", "two.txt", "-i", "latin.txt", cwd=folder)
    assert (done.returncode, (folder / "latin.txt").read_bytes()) == (1, b"here caf\xe9 there\n")
