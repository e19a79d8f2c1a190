"""An exception that nobody foresaw fails one input; the others go on, and no text is told."""

import subprocess
import sys

import pytest

PLANTED = """
import sys
from dpsan.formats.text import TextFormat
from dpsan.text.lookup import Lookup
real_read, real_batch = TextFormat.read, Lookup.batch

def read(self, source, options):
    if source.name == "reads.txt":
        raise KeyError("Maria Gonzalez")
    return real_read(self, source, options)

def batch(self, texts):
    if "Maria" in texts:
        raise ValueError("Maria Gonzalez", {"not": "picklable"}, lambda: None)
    return real_batch(self, texts)

TextFormat.read, Lookup.batch = read, batch
"""
MAIN = """
if __name__ == "__main__":
    sys.argv[0] = "dpsan"
    from dpsan.cli.guard import main
    main()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    for name, text in (("a", "here\n"), ("draws", "Maria\n"), ("reads", "here\n"), ("z", "here\n")):
        (tmp_path / f"{name}.txt").write_text(text)
    # A script, so that spawned workers run the first part of it, too.
    (tmp_path / "planted.py").write_text(PLANTED + MAIN)
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("together", [False, True])
def test_the_others_go_on(folder, cache, jobs, together):
    done = subprocess.run(
        [
            sys.executable, "planted.py", "rewrite", "-q", "-e", "1000", "-m", "laplace",
            "-E", "two.txt", "-j", jobs, *([] if together else ["-O", "out"]),
            "a.txt", "draws.txt", "reads.txt", "z.txt",
        ],
        cwd=folder, capture_output=True, timeout=60,
        env={"DPSAN_CACHE_DIR": str(cache), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    told = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert [line.rsplit(":", 1)[0] for line in told[:2]] == [
        "dpsan: draws.txt: internal error: ValueError at planted.py",
        "dpsan: reads.txt: internal error: KeyError at planted.py",
    ]
    assert told[2:] == ["dpsan: 2 of 4 files failed"]
    assert b"Maria" not in done.stderr
    if together:
        assert done.stdout == b"here\nhere\n"
    else:
        names = sorted(path.name for path in (folder / "out").iterdir())
        assert names == [".dpsan-request", "a.txt", "z.txt"]
