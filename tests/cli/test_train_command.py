"""``dpsan train``: from public text to a rewrite with it."""

import gzip
import json
import os
import signal

import numpy as np
import pytest
from embeddings.test_training import sentences
from support import cases, needs_gensim, started, tables, wait_for

from dpsan import load_embeddings
from dpsan.errors import EmbeddingError

CASES = tables("cli/cases/errors")

pytestmark = needs_gensim
FAST = ("--least", "5", "--dimensions", "16", "--epochs", "2")


@pytest.fixture(scope="module")
def text():
    return "\n".join(sentences(1500)).encode()


@pytest.fixture
def folder(tmp_path, text):
    (tmp_path / "t.txt.gz").write_bytes(gzip.compress(text))
    return tmp_path


def test_train_and_rewrite(dpsan, folder):
    told = dpsan("train", "t.txt.gz", "-o", "de.npz", *FAST, "--json", cwd=folder, status=0)
    report = json.loads(told.stdout)
    made = load_embeddings(folder / "de.npz")
    assert report["words"] == made.n >= 100
    assert report["known"] == 1.0
    assert made.spellings is not None
    assert made.spellings[made.key_to_index["berlin"]] == "Berlin"
    assert made.counts is not None
    assert (np.diff(made.counts) <= 0).all()
    assert not made.english
    # The first run builds the index, the second takes words and spellings from the cache.
    for _ in range(2):
        laplace = ("rewrite", "-q", "-e", "400", "-m", "laplace", "-E", "de.npz")
        out = dpsan(*laplace, cwd=folder, stdin=b"oder Berlin und berlin\n")
        assert out.stdout == b"Oder Berlin und Berlin\n", out.stderr


def test_what_people_see(dpsan, folder):
    done = dpsan("train", "t.txt.gz", "-o", "own.npz", *FAST, cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "own.npz"
    assert any(line.split() == ["known", "1"] for line in lines)
    assert max(map(len, lines)) <= 80


@cases("status why arguments", *CASES["train"])
def test_errors(dpsan, folder, status, why, arguments):
    (folder / "cut.gz").write_bytes((folder / "t.txt.gz").read_bytes()[:-30])
    (folder / "latin.txt").write_bytes("CANARY schön".encode("latin-1"))
    (folder / "there.npz").write_text("mine")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = dpsan("train", *arguments.split(), cwd=folder, status=int(status))
    assert why in done.stderr.decode()
    assert b"CANARY" not in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
def test_interrupted(folder):
    """While vectors are trained: nothing is left, neither output nor temporary files."""
    (folder / "tmp").mkdir()
    env = {**os.environ, "TMPDIR": str(folder / "tmp")}
    command = ("train", "t.txt.gz", "-o", "o.npz", "--epochs", "1000")
    with started(*command, cwd=folder, env=env) as running:
        wait_for(lambda: list((folder / "tmp").glob("*/text")))
        running.send_signal(signal.SIGTERM)
        _, told = running.communicate(timeout=300)
    assert running.returncode == -signal.SIGTERM, told
    assert b"Traceback" not in told
    assert sorted(path.name for path in folder.iterdir()) == ["t.txt.gz", "tmp"]
    assert list((folder / "tmp").iterdir()) == []


# --- what an .npz may say of its words ----------------------------------------------------------


WORDS = ["paris", "may", "ibm"]


def npz(path, words=WORDS, **arrays):
    np.savez(path, vectors=np.eye(len(words), dtype=np.float32), words=np.array(words), **arrays)
    return path


def test_counts_and_spellings_are_optional(tmp_path):
    spellings = ["Paris", "may", "IBM"]
    for made in (np.array(spellings), np.array([each.encode() for each in spellings])):
        path = npz(tmp_path / "v.npz", counts=np.array([5, 4, 3]), spellings=made)
        assert load_embeddings(path).counts.tolist() == [5, 4, 3]
        assert load_embeddings(path).spellings == spellings
    assert load_embeddings(path, vocab_size=2).spellings == ["Paris", "may"]
    found = load_embeddings(npz(tmp_path / "v.npz"))
    assert (found.counts, found.spellings) == (None, None)


@cases(
    "name values why",
    ("counts", [5, 4], "2 counts, but 3 vectors"),
    ("counts", [5.0, 4, 3], "expected whole numbers"),
    ("counts", [[5], [4], [3]], "expected whole numbers"),
    ("counts", [5, -4, 3], r"expected counts from 0 to below 10\^15"),
    ("counts", [5, 10**15, 3], "expected counts from 0"),
    ("counts", [5, None, 3], "refused: pickle"),
    ("spellings", ["Paris", "may"], "2 spellings, but 3 vectors"),
    ("spellings", [1, 2, 3], r"spellings\.npy: expected text"),
    ("spellings", ["Paris", "may", "SAP"], "a spelling that is not of its word"),
    ("spellings", ["Paris", "may", ""], "a spelling that is not of its word"),
    ("spellings", ["Paris", "may", None], "refused: pickle"),
)
def test_counts_and_spellings_that_lie(tmp_path, name, values, why):
    path = npz(tmp_path / "v.npz", **{name: np.array(values)})
    with pytest.raises(EmbeddingError, match=why):
        load_embeddings(path)


def test_the_spelling_of_one_word_is_no_other_word(tmp_path):
    path = npz(tmp_path / "v.npz", ["paris", "Paris"], spellings=np.array(["Paris", "Paris"]))
    with pytest.raises(EmbeddingError, match="a spelling that is not of its word"):
        load_embeddings(path)
