"""Progress: on a terminal only, and never among the data."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("calibrate", "-m", "krr", "--unchanged", "0.3"), b"krr: try "),
        (("explain", "-m", "krr", "w1", "--at", "unchanged=0.3"), b"krr: try "),
        (("explain", "-m", "krr", "w1", "-e", "3"), b"explaining krr"),
        (("evaluate", "--no-scores", "o.txt", "s.txt"), b"judging"),
    ],
)
def test_shown_on_a_terminal(dpsan, tmp_path, cache, arguments, shown):
    (tmp_path / "v.txt").write_text("".join(f"w{i} {i % 5} {i}\n" for i in range(30)))
    (tmp_path / "o.txt").write_text("w1 w2\n")
    (tmp_path / "s.txt").write_text("w3 w2\n")
    arguments = (*arguments, "-E", "v.txt")
    piped = dpsan(*arguments, cwd=tmp_path)
    assert piped.returncode == 0
    assert shown not in piped.stderr
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "dpsan", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "DPSAN_CACHE_DIR": str(cache), "TERM": "xterm", "COLUMNS": "80"},
        timeout=120,
        check=True,
    )
    os.close(theirs)
    assert done.stdout == piped.stdout
    seen = b""
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # the other end is closed and all is read
            break
    os.close(ours)
    assert shown in seen
