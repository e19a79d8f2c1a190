"""Small manners of the command line that people expect of any."""

import os
from pathlib import Path

import pytest

BASE = ["rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    return tmp_path


def test_version_and_help(dpsan):
    assert dpsan("-V").stdout == dpsan("--version").stdout
    assert dpsan("help", "report").stdout == dpsan("report", "--help").stdout
    assert dpsan("help").stdout == dpsan("--help").stdout
    assert dpsan("help", "reprot").returncode == 2


def test_did_you_mean_a_field(folder, dpsan):
    (folder / "a.csv").write_text("id,body\n1,here\n")
    done = dpsan(*BASE, "-k", "bdoy", "a.csv", cwd=folder)
    assert b"no column 'bdoy' (did you mean 'body'?)" in done.stderr
    done = dpsan(*BASE, "-k", "other", "a.csv", cwd=folder)
    assert b"body" not in done.stderr


def test_numbers_are_asked_for_in_our_words(dpsan):
    for given, says in ((("-e", "abc"), "not a number"), (("-j", "1.5"), "not a whole number")):
        done = dpsan("rewrite", *given)
        assert done.returncode == 2
        assert done.stderr.decode().endswith(f"): {says}\n")
    assert dpsan("rewrite", "-j", "0").stderr.endswith(b": must be >= 1\n")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json", "a.parquet"])
def test_a_missing_field_is_wrong_usage(folder, dpsan, name):
    (folder / name).write_text("id,body\n1,here\n")
    done = dpsan(*BASE, name, cwd=folder)
    kind = name.removeprefix("a.")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"dpsan: {kind} needs --field (".encode())


def test_quiet_says_what_passed_unseen(folder, dpsan):
    """Nothing else: no statement, no table, no note."""
    (folder / "a.csv").write_text("here\nthere\n")
    done = dpsan(*BASE, "-q", "-k", "1", "a.csv", cwd=folder)
    assert done.stderr == (
        b"dpsan: the first row of a table passes unchanged, as its header (--no-header if it is "
        b"data)\n"
    )
    assert dpsan(*BASE, "-q", "-k", "1", "--no-header", "a.csv", cwd=folder).stderr == b""
    (folder / "a.jsonl").write_text('{"t": "here"}\n{"u": "there"}\n')
    done = dpsan(*BASE, "-q", "-k", "t", "a.jsonl", cwd=folder)
    assert done.stderr == (
        b"dpsan: 1 of 2 fields passes unchanged: u\n"
        b"dpsan: written unchanged, without the field: 1 record\n"
    )
    (folder / "b.jsonl").write_text('{"t": "here"}\nno json\n')
    done = dpsan(*BASE, "-q", "-k", "t", "--bad-records", "bad", "b.jsonl", cwd=folder)
    assert (done.returncode, done.stdout.count(b"\n")) == (0, 1)
    assert done.stderr == b"dpsan: 1 record written to bad, not to the output\n"


def test_recursive_keeps_the_tree(folder, dpsan):
    (folder / "in/deep").mkdir(parents=True)
    for name in ("in/b.txt", "in/deep/a.txt", "in/.hidden"):
        (folder / name).write_text("Here there\n")
    (folder / "in/link.txt").symlink_to("b.txt")
    done = dpsan(*BASE, "-q", "-r", "in", "-O", "out", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    found = sorted(str(p.relative_to(folder / "out")) for p in folder.rglob("out/**/*.txt"))
    assert [each.removeprefix("in/") for each in found] == ["b.txt", "deep/a.txt"]
    (folder / "empty").mkdir()
    assert dpsan(*BASE, "-r", "empty", cwd=folder).returncode == 2


@pytest.mark.parametrize("root", ["{}/in", "../in", "..", "{}/in/deep/.."])
def test_recursive_keeps_the_tree_of_a_directory_elsewhere(folder, dpsan, root):
    """Files of one name in two folders are two outputs."""
    (folder / "in/deep").mkdir(parents=True)
    (folder / "work").mkdir()
    for name in ("in/a.txt", "in/deep/a.txt"):
        (folder / name).write_text("Here there\n")
    command = [*BASE[:-1], str(folder / "two.txt"), "-q", "-r", root.format(folder)]
    cwd = folder / ("in/deep" if root == ".." else "work")
    done = dpsan(*command, "-O", str(folder / "out"), cwd=cwd)
    assert (done.returncode, done.stderr) == (0, b"")
    found = {str(p.relative_to(folder / "out")) for p in folder.rglob("out/**/*.txt")}
    assert found == {"in/a.txt", "in/deep/a.txt"}


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
    few = dpsan(*BASE, *names[:3], "-O", "few", cwd=folder)
    assert few.stderr.count(b".txt\n") == 3


def test_the_list_of_entries_is_sorted(folder, dpsan):
    for name in ("b.txt", "a.txt"):
        (folder / name).write_text("here 0 9\nthere 9 0\n" + name + " 1 1\n")
        dpsan("index", name, cwd=folder)
    lines = dpsan("index", "--list", cwd=folder).stdout.decode().split("\n")
    kinds = [line.split()[0] for line in lines[:-2]]
    assert kinds == sorted(kinds)
    assert all(" bytes " in line for line in lines[:-2])
