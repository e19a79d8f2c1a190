"""Long texts, cut between words: the same words as at once, in a fraction of the memory."""

import json
import subprocess
import sys

import pytest
from support import audit_rows, cases, cut_long, records_of

from dpsan.privacy import randomness
from dpsan.sanitize import rewriting
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import segments

KEY = b"k" * 32


@pytest.mark.parametrize("before", [1, 255, 256, 257, 700])
def test_streams_go_on_within_a_record(before):
    whole = randomness.streams_for(KEY, [3, 4], [1000, 5])
    rest = randomness.streams_for(KEY, [3, 4], [1000 - before, 5], before=before)
    assert len(rest) == len(whole) - before
    assert (rest.bits("x", 3) == whole.bits("x", 3)[before:]).all()
    assert (records_of(rest) == records_of(whole)[before:]).all()
    assert [row for part in rest.chunks(256) for row in part.bits("x")] == [*rest.bits("x")]
    assert len(randomness.streams_for(KEY, [3], [0], before=before)) == 0


TEXTS = [
    "word1 word2",
    "word3, unknown's x-ray—word4-word5 é\u0301 \ud800 " * 60,
    "",
    "\U0001f600 word6 " * 90,
    "word7",
]


@cases("mechanism unknown", ("knn-response", "sample"), ("laplace", "sample"), ("krr", "mask"))
def test_words_do_not_depend_on_stretches(monkeypatch, embeddings, store, mechanism, unknown):
    made = Sanitizer(mechanism, epsilon=5, embeddings=embeddings, cache=store, unknown=unknown)
    whole = made.sanitize(TEXTS, KEY, [7, 8, 9, 11, 12])
    cut_long(monkeypatch, 300, 40, 301)
    cut = []
    monkeypatch.setattr(rewriting, "segments", lambda *a: cut.append(a) or segments(*a))
    done = made.sanitize(TEXTS, KEY, [7, 8, 9, 11, 12])
    assert len(cut) == 2
    assert done.lines == whole.lines != TEXTS
    assert (done.drawn, done.counts) == (whole.drawn, whole.counts)


def test_an_audit_needs_the_line(monkeypatch, embeddings, store):
    """It has a row for each word: no line is cut."""
    word = Sanitizer("krr", epsilon=5, embeddings=embeddings, cache=store)

    def done():
        return audit_rows(word.sanitize(TEXTS, KEY, audit=True).records)

    expected = done()
    cut_long(monkeypatch, 16, 6, 32)
    assert done() == expected


@pytest.fixture
def base(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    return ["rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt"]


@pytest.mark.slow
def test_long_lines_are_those_of_short_ones(tmp_path, dpsan, base):
    """A line over 1 MB, its word order and its neighbours; the record limit; invalid bytes."""
    line = b"here there, HERE \xe2\x80\x94 " * 52_000
    text = b"here\n" + line + b"\r\nthere\n"
    done = dpsan(*base, cwd=tmp_path, stdin=text)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == text.replace(b"HERE", b"here").replace(b"\nhere t", b"\nHere t")
    assert dpsan(*base, "-j", "2", cwd=tmp_path, stdin=text).stdout == done.stdout
    done = dpsan(*base, cwd=tmp_path, stdin=text, longest=1 << 20)
    assert done.stdout == b"here\n"
    assert b":2: record longer than" in done.stderr
    broken = line + b"\xff here\n"
    done = dpsan(*base, cwd=tmp_path, stdin=broken)
    assert done.stdout.split()[-2] in (b"here", b"there")  # what is no UTF-8 is drawn
    done = dpsan(*base, "--invalid", "error", cwd=tmp_path, stdin=broken)
    assert done.stdout == b""
    assert f":1: invalid utf-8 at byte {len(line) + 1}".encode() in done.stderr


def test_long_cells_and_strings_are_those_of_short_ones(tmp_path, dpsan, base):
    base = [*base, "-k", "t", "--case", "vocabulary"]
    cell = 'here "there", HERE \u2014/\n' * 46_000
    row = 't,x\n"' + cell.replace('"', '""') + '",HERE\nhere,b\n'
    done = dpsan(*base, "--format", "csv", cwd=tmp_path, stdin=row.encode())
    assert (done.returncode, done.stderr) == (0, b"dpsan: 1 of 2 columns passes unchanged: x\n")
    assert done.stdout.decode() == row.replace("HERE \u2014", "here \u2014")
    line = json.dumps({"a": "HERE", "t": cell, "b": [1]}, ensure_ascii=False) + "\n"
    done = dpsan(*base, "--format", "jsonl", cwd=tmp_path, stdin=line.encode())
    assert done.stderr == b"dpsan: 2 of 3 fields pass unchanged: a, b[]\n"
    assert done.stdout.decode() == line.replace(", HERE ", ", here ")


MEASURE = """
import resource, sys
from dpsan.sanitize.sanitizer import Sanitizer
made = Sanitizer("knn-response", epsilon=8, seed="s")
made.rewrite(["some words to begin with"])
text = "some words, and more of them " * 150_000
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
before = peak()
made.sanitize([text], b"k" * 32)
print((peak() - before) / len(text))
"""


@pytest.mark.slow
def test_a_long_text_takes_little_memory(cache):
    """4 MB: 26 times its size before it was cut."""
    environment = {"DPSAN_CACHE_DIR": str(cache), "PATH": "/usr/bin:/bin"}
    assert float(subprocess.check_output([sys.executable, "-c", MEASURE], env=environment)) < 6
