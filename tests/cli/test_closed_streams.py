"""Standard streams that the caller closed: the right status, no traceback, no file in their place.

With descriptor 1 closed, the first file that a program opens becomes descriptor 1.
"""

import itertools
import json
import os
import subprocess
import sys

import pytest

CLOSED = ["".join(each) for n in range(1, 4) for each in itertools.combinations("012", n)]
BASE = ["rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--seed", "s"]
EVERY = [
    ["--help"],
    ["--version"],
    ["mechanisms", "krr"],
    ["mechanisms", "--json"],
    ["explain", "-m", "krr", "-e", "2", "-E", "two.txt", "here"],
    ["calibrate", "-m", "krr", "-E", "two.txt", "--unchanged", "0.8"],
    ["verify", "-m", "krr", "-e", "2", "-E", "two.txt", "--draws", "10000"],
    ["evaluate", "in.txt", "in.txt", "-E", "two.txt"],
    ["report", "kept.jsonl"],
    ["index", "two.txt"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, dpsan):
    path = tmp_path_factory.mktemp("closed")
    (path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    (path / "in.txt").write_text("here there\n" * 50)
    done = dpsan(*BASE, "in.txt", "-o", "kept.txt", "-a", "kept.jsonl", cwd=path)
    assert done.returncode == 0, done.stderr
    return path


def run(arguments, closed, folder, cache, stdin=b""):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
    ends = " ".join(f"{each}>&-" for each in closed)
    return subprocess.run(
        ["bash", "-c", f'exec "$@" {ends}', "bash", sys.executable, "-m", "dpsan", *arguments],
        cwd=folder,
        env={**clean, "DPSAN_CACHE_DIR": str(cache)},
        input=stdin,
        capture_output=True,
        timeout=60,
    )


@pytest.mark.parametrize("closed", CLOSED)
def test_a_filter(folder, cache, closed):
    done = run([*BASE, "-q"], closed, folder, cache, b"here\n")
    told = done.stderr.decode().replace("dpsan: NOT PRIVATE: --seed makes the random numbers ", "")
    if "0" in closed:
        expected = "public\ndpsan: standard input: cannot read: Bad file descriptor\n"
    elif "1" in closed:
        expected = "public\ndpsan: standard output: cannot write: Bad file descriptor\n"
    else:
        expected = "public\n"
    assert told == ("" if "2" in closed else expected)
    assert done.returncode == (1 if set(closed) & {"0", "1"} else 0)
    assert done.stdout == (b"" if set(closed) & {"0", "1"} else b"here\n")


@pytest.mark.parametrize(
    ("closed", "jobs"), [*((each, "1") for each in CLOSED), ("1", "2"), ("012", "2")]
)
def test_files_are_not_taken_for_streams(folder, cache, closed, jobs):
    """Nothing is written to standard output here: success, and each file holds its own."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    command = [*BASE, "-v", "-j", jobs, "in.txt", "-o", "out.txt", "-a", "audit", "--force"]
    done = run(command, closed, folder, cache)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr
    assert b"internal" not in done.stderr
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert after.pop("out.txt") == before["kept.txt"]
    rows = [
        [row for row in map(json.loads, data.splitlines()) if row["type"] == "word"]
        for data in (after.pop("audit"), before["kept.jsonl"])
    ]
    assert rows[0] == rows[1]
    for name in ("out.txt", "audit"):
        before.pop(name, None)
        (folder / name).unlink()
    assert after == before


@pytest.mark.parametrize("arguments", EVERY, ids=lambda each: " ".join(each[:2]))
def test_every_command_fails_without_its_output(folder, cache, arguments):
    done = run(arguments, "1", folder, cache)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.endswith(b"dpsan: standard output: cannot write: Bad file descriptor\n")
    assert b"Traceback" not in done.stderr
    assert b"internal" not in done.stderr


@pytest.mark.parametrize("arguments", EVERY, ids=lambda each: " ".join(each[:2]))
def test_every_command_works_without_the_others(folder, cache, arguments):
    done = run(arguments, "02", folder, cache)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


def test_errors_keep_their_status(folder, cache):
    for closed in ("2", "012"):
        assert run([*BASE, "none.txt"], closed, folder, cache).returncode == 1
        assert run(["rewrite"], closed, folder, cache).returncode == 2
