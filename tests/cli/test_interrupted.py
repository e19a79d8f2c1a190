"""What a run that is ended by a signal says: what is complete, and how to go on."""

import fcntl
import signal
import termios

from support import cases, started, wait_for

from dpsan.cli.rewrite_options import Completed, RewriteOptions

BASE = ("rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--case", "vocabulary")


@cases(
    "output message",
    (
        ["-o", "o.txt", "-a", "audit"],
        b"interrupted: o.txt was not written (the same command begins again); audit is "
        b"incomplete: remove it, or name another\n",
    ),
    (
        [],
        b"interrupted: the output is not complete (discard it before you begin again: "
        b"two outputs tell more than one)\n",
    ),
)
def test_issue_13_one_output(folder, env, output, message):
    with started(*BASE, *output, cwd=folder, env=env) as child:
        child.stdin.write(b"here\n")
        child.stdin.flush()
        if output:  # the run has begun when it has an audit and has read the line
            wait_for((folder / "audit").exists)
            wait_for(lambda: not any(fcntl.ioctl(child.stdin, termios.FIONREAD, bytes(4))))
        else:
            assert child.stdout.readline() == b"here\n"
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=300)
    assert (child.returncode, told) == (-signal.SIGINT, b"dpsan: " + message)


def test_files_in_place_are_told_by_what_they_are(tmp_path):
    """Not by what the program believes: that is one signal behind."""
    inputs = [tmp_path / f"{name}.txt" for name in "abc"]
    for path in inputs:
        path.write_text("here there\n")
    completed = Completed(RewriteOptions(files=inputs, in_place=True))
    none = completed.message()
    assert none.startswith(f"interrupted: 0 of 3 files are rewritten, not {inputs[0]} and")
    for path in inputs[:2]:
        (tmp_path / "new").write_text("there\n")
        (tmp_path / "new").rename(path)
    assert f"2 of 3 files are rewritten, not {inputs[2]} and" in completed.message()


def test_files_of_an_earlier_run_count_where_they_are_skipped(tmp_path):
    inputs, out = [tmp_path / f"{name}.txt" for name in "abc"], tmp_path / "out"
    out.mkdir()
    (out / "a.txt").write_text("there\n")
    first = Completed(RewriteOptions(files=inputs, output_dir=out, force=True))
    resumed = Completed(RewriteOptions(files=inputs, output_dir=out, resume=True))
    (out / "b.txt").write_text("there\n")
    assert "2 of 3 files are complete" in resumed.message()
    assert "1 of 3 files are complete" in first.message()
