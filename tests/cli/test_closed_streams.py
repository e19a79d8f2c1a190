"""Commands without their output; the scoreboard closes every stream of a rewrite."""

import pytest

BASE = ["rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--seed", "s"]
EVERY = [["--help"], ["mechanisms", "--json"]]
EVERY += [["explain", "-m", "krr", "-e", "2", "-E", "two.txt", "here"]]
EVERY += [["calibrate", "-m", "krr", "-E", "two.txt", "--unchanged", "0.8"]]
EVERY += [["verify", "-m", "krr", "-e", "2", "-E", "two.txt", "--draws", "10000"]]
EVERY += [["evaluate", "in.txt", "in.txt", "-E", "two.txt"], ["report", "kept.jsonl"]]
EVERY += [["index", "two.txt"]]


@pytest.mark.parametrize("arguments", EVERY, ids=lambda each: each[0])
def test_every_command_fails_without_its_output(dpsan, folder, arguments):
    (folder / "in.txt").write_text("here there\n" * 50)
    if arguments[0] == "report":
        dpsan(*BASE, "in.txt", "-o", "kept.txt", "-a", "kept.jsonl", cwd=folder)
    done = dpsan(*arguments, cwd=folder, closed=[1])
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.endswith(b"dpsan: standard output: cannot write: Bad file descriptor\n")
    assert b"Traceback" not in done.stderr
    assert b"internal" not in done.stderr
