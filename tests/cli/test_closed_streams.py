"""Standard streams that the caller closed; the scoreboard tries files with them."""

import subprocess
import sys

import pytest

BASE = ["rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--seed", "s"]
EVERY = [
    ["--help"],
    ["mechanisms", "--json"],
    ["explain", "-m", "krr", "-e", "2", "-E", "two.txt", "here"],
    ["calibrate", "-m", "krr", "-E", "two.txt", "--unchanged", "0.8"],
    ["verify", "-m", "krr", "-e", "2", "-E", "two.txt", "--draws", "10000"],
    ["evaluate", "in.txt", "in.txt", "-E", "two.txt"],
    ["report", "kept.jsonl"],
    ["index", "two.txt"],
]


@pytest.fixture
def run(folder, env):
    """Run a command without some of its streams."""

    def call(arguments, closed, stdin=b""):
        ends = " ".join(f"{each}>&-" for each in closed)
        return subprocess.run(
            ["bash", "-c", f'exec "$@" {ends}', "bash", sys.executable, "-m", "dpsan", *arguments],
            cwd=folder,
            env=env,
            input=stdin,
            capture_output=True,
            timeout=600,
        )

    return call


@pytest.mark.parametrize("closed", ["0", "1", "2", "012"])
def test_a_filter(run, closed):
    done = run([*BASE, "-q"], closed, b"here\n")
    told = done.stderr.decode().replace("dpsan: NOT PRIVATE: --seed makes the random numbers ", "")
    expected = {
        "0": "public\ndpsan: standard input: cannot read: Bad file descriptor\n",
        "1": "public\ndpsan: standard output: cannot write: Bad file descriptor\n",
    }
    works = closed == "2"
    assert told == expected.get(closed, "")
    assert (done.returncode, done.stdout) == ((0, b"here\n") if works else (1, b""))


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


def test_a_wrong_use_keeps_its_status(run):
    assert run(["rewrite"], "012").returncode == 2
