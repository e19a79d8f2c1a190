"""Long texts, cut between words: the same words as at once, in a fraction of the memory."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsan.privacy import randomness
from dpsan.sanitize import rewriting
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text import tokens
from dpsan.text.tokens import TOKENIZERS, segments

PIECES = st.text(st.sampled_from("abs1. ,-'’—é\u0301\u200b\U0001f600\n\ud800x"), max_size=200)


def small(monkeypatch, stretch=16, ahead=6, long=32):
    monkeypatch.setattr(tokens, "SEGMENT", stretch)
    monkeypatch.setattr(tokens, "AHEAD", ahead)
    monkeypatch.setattr(rewriting, "LONG", long)


@pytest.mark.parametrize("name", TOKENIZERS)
@given(text=st.lists(PIECES, max_size=6).map("".join))
def test_a_text_in_stretches_has_the_same_pieces(name, text):
    """No word is cut in two, whatever stands on either side of a seam."""
    split = TOKENIZERS[name].split
    with pytest.MonkeyPatch.context() as patch:
        small(patch)
        found = list(segments(text, split))
    joined = found[0]
    for pieces in found[1:]:
        joined[-1:] = [joined[-1] + pieces[0], *pieces[1:]]
    assert joined == split(text)


def test_stretches_are_short():
    """Else nothing is gained: 3 MB of words, a word of 1 MB among them."""
    text = "some words, " * 100_000 + "x" * 1_000_000 + " and more" * 100_000
    sizes = [sum(map(len, pieces)) for pieces in segments(text, TOKENIZERS["unicode"].split)]
    assert sum(sizes) == len(text)
    assert sorted(sizes)[-2] <= tokens.SEGMENT
    assert max(sizes) < 3_000_000


@pytest.mark.parametrize("before", [0, 1, 255, 256, 257, 700])
def test_streams_go_on_within_a_record(before):
    whole = randomness.streams_for(b"k" * 32, [3, 4], [1000, 5])
    rest = randomness.streams_for(b"k" * 32, [3, 4], [1000 - before, 5], before=before)
    assert len(rest) == len(whole) - before
    assert (rest.bits("x", 3) == whole.bits("x", 3)[before:]).all()
    assert (rest.records == whole.records[before:]).all()
    parts = rest.chunks(256)
    assert sum(map(len, parts)) == len(rest)
    assert [row for part in parts for row in part.bits("x").tolist()] == rest.bits("x").tolist()


def test_streams_of_nothing_more():
    assert len(randomness.streams_for(b"k" * 32, [3], [0], before=300)) == 0


TEXTS = [
    "word1 word2",
    "word3, unknown's x-ray—word4-word5 é\u0301 \ud800 " * 60,
    "",
    "\U0001f600 word6 " * 90,
    "word7",
]


@pytest.mark.parametrize("mechanism", ["knn-response", "laplace", "krr"])
@pytest.mark.parametrize("unknown", ["sample", "keep", "mask"])
def test_words_do_not_depend_on_stretches(monkeypatch, embeddings, store, mechanism, unknown):
    made = Sanitizer(mechanism, epsilon=5, embeddings=embeddings, cache=store, unknown=unknown)
    whole = made.sanitize(TEXTS, b"k" * 32, [7, 8, 9, 11, 12])
    small(monkeypatch, stretch=300, ahead=40, long=301)
    cut = []
    monkeypatch.setattr(rewriting, "segments", lambda *a: cut.append(a) or segments(*a))
    done = made.sanitize(TEXTS, b"k" * 32, [7, 8, 9, 11, 12])
    assert len(cut) == 2
    assert done.lines == whole.lines != TEXTS
    assert (done.drawn, done.counts) == (whole.drawn, whole.counts)


def test_articles_agree_across_stretches(monkeypatch):
    made = Sanitizer(epsilon=2.0, only="names,places")
    texts = ["an Oslo a Paris " * 60, "a x an Maria, " * 70]
    whole = made.sanitize(texts, b"k" * 32, [7, 8])
    for stretch in (300, 302, 303, 305):
        small(monkeypatch, stretch=stretch, ahead=40, long=stretch + 1)
        assert made.sanitize(texts, b"k" * 32, [7, 8]).lines == whole.lines


def test_noise_of_a_line_needs_the_line(monkeypatch, embeddings, store):
    """And an audit has a row for each word: neither is cut."""
    given = {"parameters": {"tensor": "line"}, "allow_unproved": True}
    line = Sanitizer("tldp", epsilon=5, embeddings=embeddings, cache=store, **given)
    word = Sanitizer("krr", epsilon=5, embeddings=embeddings, cache=store)
    expected = [
        line.sanitize(TEXTS, b"k" * 32).lines,
        list(word.sanitize(TEXTS, b"k" * 32, audit=True).records),
    ]
    small(monkeypatch)
    assert line.sanitize(TEXTS, b"k" * 32).lines == expected[0]
    assert list(word.sanitize(TEXTS, b"k" * 32, audit=True).records) == expected[1]


@pytest.fixture
def base(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    return ["rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "two.txt"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_long_lines_are_those_of_short_ones(tmp_path, dpsan, base, jobs):
    """A line over 1 MB, its word order and its neighbours; the record limit; invalid bytes."""
    base = [*base, "-j", jobs]
    line = b"here there, HERE \xe2\x80\x94 " * 60_000
    text = b"here\n" + line + b"\r\nthere\n" + line
    done = dpsan(*base, cwd=tmp_path, stdin=text)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == text.replace(b"HERE", b"here").replace(b"\nhere t", b"\nHere t")
    done = dpsan(*base, "--max-record", "1MiB", cwd=tmp_path, stdin=text)
    assert done.stdout == b"here\n"
    assert b":2: record longer than" in done.stderr
    broken = line + b"\xff here\n"
    done = dpsan(*base, cwd=tmp_path, stdin=broken)
    assert done.stdout.split()[-2] in (b"here", b"there")  # what is no UTF-8 is drawn
    done = dpsan(*base, "--invalid", "error", cwd=tmp_path, stdin=broken)
    assert done.stdout == b""
    assert f":1: invalid utf-8 at byte {len(line) + 1}".encode() in done.stderr


def test_long_cells_and_strings_are_those_of_short_ones(tmp_path, dpsan, base):
    base = [*base, "-j", "2", "-k", "t", "--case", "vocabulary"]
    cell = 'here "there", HERE \u2014/\n' * 60_000
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
text = "some words, and more of them " * 700_000
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
before = peak()
made.sanitize([text], b"k" * 32)
print((peak() - before) / len(text))
"""


def test_a_long_text_takes_little_memory(cache):
    """20 MB: 26 times its size before it was cut."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE],
        capture_output=True,
        text=True,
        check=True,
        env={"DPSAN_CACHE_DIR": str(cache), "PATH": "/usr/bin:/bin"},
    )
    assert float(done.stdout) < 6
