"""What a run that is ended by a signal says: what is complete, and how to go on."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from dpsan.cli.rewrite_files import Completed, Files

BASE = ("rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--case", "vocabulary")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("here there\n")
    return tmp_path


def child_of(folder, cache, arguments, **more):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
    return subprocess.Popen(
        [sys.executable, "-m", "dpsan", *arguments],
        cwd=folder,
        env={**env, "DPSAN_CACHE_DIR": str(cache), "TERM": "xterm", "COLUMNS": "80"},
        **more,
    )


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (["-o", "o.txt"], b"interrupted: o.txt was not written (the same command begins again)\n"),
        ([], b"interrupted: the output is not complete (discard it before you begin again: "
             b"two rewrites cost twice)\n"),
    ],
)  # fmt: skip
def test_issue_13_one_output(folder, cache, output, message):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A line that is answered shows that the run has begun.
    shown = ["-a", "audit"] if output else []
    child = child_of(folder, cache, [*BASE, *output, *shown], **pipes)
    child.stdin.write(b"here\n")
    child.stdin.flush()
    if output:
        begun = time.monotonic()
        while not (folder / "audit").exists() and time.monotonic() - begun < 60:
            time.sleep(0.05)
        time.sleep(0.5)
    else:
        assert child.stdout.readline() == b"here\n"
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert (child.returncode, told) == (-signal.SIGINT, b"dpsan: " + message)


def test_files_in_place_are_told_by_what_they_are(folder):
    """Not by what the program believes: that is one signal behind."""
    inputs = [folder / f"{name}.txt" for name in "abc"]
    completed = Completed(Files(files=inputs, in_place=True))
    none = completed.message()
    assert none.startswith(f"interrupted: 0 of 3 files are rewritten, not {inputs[0]} and")
    for path in inputs[:2]:
        (folder / "new").write_text("there\n")
        (folder / "new").rename(path)
    assert f"2 of 3 files are rewritten, not {inputs[2]} and" in completed.message()


def test_files_of_an_earlier_run_count_where_they_are_skipped(folder):
    inputs, out = [folder / f"{name}.txt" for name in "abc"], folder / "out"
    out.mkdir()
    (out / "a.txt").write_text("there\n")
    first = Completed(Files(files=inputs, output_dir=out, force=True))
    resumed = Completed(Files(files=inputs, output_dir=out, resume=True))
    (out / "b.txt").write_text("there\n")
    assert "2 of 3 files are complete" in resumed.message()
    assert "1 of 3 files are complete" in first.message()


@pytest.mark.parametrize(("source", "shown"), [("file", b"/7.0 MB"), ("pipe", b" MB")])
def test_issue_13_progress_of_standard_input(folder, cache, source, shown):
    """A bar for a file, a counter for a pipe; the data stays clean."""
    text = b"here there, here\n" * 411_765
    (folder / "in").write_bytes(text)
    ours, theirs = pty.openpty()
    with (folder / "in").open("rb") as file, (folder / "out").open("wb") as out:
        stdin = file if source == "file" else subprocess.PIPE
        child = child_of(folder, cache, BASE[:1] + BASE[2:], stdin=stdin, stdout=out, stderr=theirs)
        os.close(theirs)
        if source == "pipe":
            child.stdin.write(text)
            child.stdin.close()
        seen = b""
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
        assert child.wait(timeout=60) == 0
    os.close(ours)
    assert shown in seen
    assert (folder / "out").stat().st_size == len(text)


def test_no_progress_where_nobody_looks(dpsan, folder):
    done = dpsan(*BASE, "a.txt", cwd=folder)
    assert (done.stdout, done.stderr) == (b"here there\n", b"")
