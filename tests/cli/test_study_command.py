"""``dpsan study`` as a user meets it: records that repeat, pictures that are whole or absent."""

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import need_extra

from dpsan.analysis.study import STUDIES
from dpsan.cli.output import fitting
from dpsan.cli.study_output import spare

WORDS = "red 1 0 0\nblue 0 1 0\ngreen 1 1 0\nblack 0 0 2\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "words.txt").write_text(WORDS)
    return tmp_path


def test_the_list(dpsan):
    out = dpsan("study").stdout.decode()
    for name, entry in STUDIES.items():
        assert f"\n{name} " in out
        assert entry.source.split()[0] in out


@pytest.mark.parametrize(
    "arguments",
    [
        "neighbours -E words.txt --words 2 --seed other",
        "variance -m laplace -m gaussian -e 1,10 -E words.txt --vocab-size 3 -p delta=1e-3",
        "dot-product -p d=3 --draws 40 -e 2",
    ],
)
def test_the_record_repeats(arguments, dpsan, folder):
    """The command in the JSON makes the same JSON."""
    first = dpsan("study", *arguments.split(), "--json", cwd=folder)
    assert first.returncode == 0, first.stderr
    record = json.loads(first.stdout)
    assert record["name"] == arguments.split()[0]
    again = dpsan(*shlex.split(record["command"])[1:], cwd=folder)
    assert again.stdout == first.stdout
    if "-E" in arguments:
        assert record["embeddings"]["source"] == "words.txt"
        assert record["embeddings"]["n"] == (3 if "--vocab-size" in arguments else 4)
        assert len(record["embeddings"]["digest"]) == 64
    else:
        assert record["embeddings"] is None
    table = dpsan("study", *arguments.split(), "--csv", cwd=folder).stdout.decode()
    rows = list(csv.DictReader(io.StringIO(table)))
    assert len(rows) == len(record["rows"])
    for row, other in zip(rows, record["rows"], strict=True):
        for name, text in row.items():
            value = other[name]
            assert text == "" if value is None else str(value) == text


def test_pictures(dpsan, folder):
    need_extra("plot")
    arguments = ("study", "variance", "-m", "laplace", "-e", "1,2", "-q", "--plot")
    done = dpsan(*arguments, "a.svg", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"mechanism")
    first = (folder / "a.svg").read_bytes()
    assert first.startswith(b"<?xml")
    assert dpsan(*arguments, "a.svg", cwd=folder).returncode == 1
    assert dpsan(*arguments, "a.svg", "--force", cwd=folder).returncode == 0
    assert (folder / "a.svg").read_bytes() == first
    assert sorted(path.name for path in folder.iterdir()) == ["a.svg", "words.txt"]


def test_a_narrow_terminal_has_the_figures():
    columns = ("mechanism", "words", "close", "close_low", "close_high", "p95", "bayes")
    rows = [[name, "5000", "0.1", "0.09", "0.11", "3", "0.5"] for name in ("a", "b")]
    rows[1][2:] = ["0.2", "0.19", "0.21", "4", "0.6"]

    def kept(width):
        return fitting([columns, *rows], spare(columns, rows), width)

    assert kept(80) == [0, 1, 2, 3, 4, 5, 6]
    assert kept(49) == [0, 1, 2, 3, 5, 6]
    assert [columns[at] for at in kept(20)] == ["mechanism", "close", "p95", "bayes"]


def test_an_error_leaves_no_picture(dpsan, folder):
    need_extra("plot")
    done = dpsan("study", "variance", "-m", "krr", "-e", "1", "--plot", "a.svg", cwd=folder)
    assert done.returncode == 2
    assert b"noise scale" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["words.txt"]


def test_an_interrupt_leaves_no_picture(cache, folder):
    """Whether it can be written is tried before the work; nothing of that is left."""
    need_extra("plot")
    running = subprocess.Popen(
        [sys.executable, "-m", "dpsan", "study", "theorems", "--plot", "a.svg"],
        cwd=folder,
        env={**os.environ, "DPSAN_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while b"matplotlib" not in Path(f"/proc/{running.pid}/maps").read_bytes():
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT
    assert out == b""
    assert [path.name for path in folder.iterdir()] == ["words.txt"]
