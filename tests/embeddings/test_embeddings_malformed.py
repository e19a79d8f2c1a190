"""What is wrong with a malformed file is said with file and line, in golden messages."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from embedding_files import WORDS, D, binary_rows, text_rows, vectors

from dpsan.embeddings import load
from dpsan.errors import EmbeddingError

PLANTED = "sesame"
NO_FILE = (
    "not an embedding file (word2vec, GloVe, .vec or .npz: a word and its numbers a line; "
    "dpsan train makes one)"
)
FASTTEXT = (
    "fastText .bin is not read"
    " (use the .vec, or: fasttext print-word-vectors MODEL.bin < WORDS > MODEL.vec)"
)
THREE = WORDS[:3], vectors()[:3]
PACKED = gzip.compress(b"a 1 2\n" * 99)
# The message, which begins with the name of the file, and what is in the file.
MESSAGES = {
    "empty.txt: empty file": b"",
    "short.txt: line 3: 2 numbers, expected 3": b"2 3\na 1 2 3\nsesame 1 2\n",
    "long.txt: line 2: 4 numbers, expected 3": b"1 3\nsesame 1 2 3 4\n",
    "odd.txt: line 2: field 3 is not a number": b"1 3\na 1 sesame 3\n",
    "last.txt: line 2: field 4 is not a number": b"1 3\na 1 2 sesame\n",
    "score.txt: line 3: field 3 is not a number": b"2 3\nb 1 2 3\na 1 1_0 3\n",
    "glue.txt: line 2: 0 numbers, expected 3": b"1 3\na 1 2-3\n",
    "few.txt: line 3: the file ends after 1 of 9 rows": b"9 3\na 1 2 3\n",
    "many.txt: line 3: more rows than the header's 1": b"1 3\na 1 2 3\nsesame 1 2 3\n",
    "hole.txt: line 3: 0 numbers, expected 3": b"2 3\na 1 2 3\n\nb 1 2 3\n",
    "none.txt: line 1: the header says 0 rows": b"0 3\n",
    "flat.txt: line 1: 0 dimensions, expected 1 to 10000": b"3 0\n",
    "wide.txt: line 1: 10001 dimensions, expected 1 to 10000": b"3 10001\n",
    "glove.txt: line 3: 2 numbers, expected 3": b"a 1 2 3\nb 1 2 3\nsesame 1 2\n",
    "gap.txt: line 2: 0 numbers, expected 3": b"a 1 2 3\n\nsesame 1 2 3\n",
    f"prose.txt: {NO_FILE}": b"open sesame\n",
    f"bytes.txt: {NO_FILE}": bytes(range(1, 32)),
    "zeros.txt: no usable row: 2 zero": b"a 0 0\nb 0 0\n",
    "line.txt: line 1: longer than 1 MB": b"x" * (1 << 20) + b"xx 1\n",
    "cut.bin: row 3: the file ends after 2 of 20 rows": b"20 6\n" + binary_rows(*THREE)[:-2],
    "few.bin: row 4: the file ends after 3 of 20 rows": b"20 6\n" + binary_rows(*THREE, b"\n"),
    "many.bin: row 3: more than the header's 2 rows": b"2 6\n" + binary_rows(*THREE),
    "word.bin: row 1: a word longer than 1 MB": b"2 6\n\0" + b"x" * (3 << 20),
    "zip.npz: damaged zip file": b"PK\x03\x04sesame",
    f"model.bin: {FASTTEXT}": bytes.fromhex("ba164f2f0c000000"),
    "a.txt: bzip2 is not read (convert it to plain text or .gz)": b"BZh91AY",
    "cut.gz: the compressed data end too early": PACKED[:-9],
    "bad.gz: the compressed data are damaged": PACKED[:-8] + b"sesame!!",
    "twice.gz: compressed twice (gunzip it once)": gzip.compress(gzip.compress(b"a 1\n")),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    name = message.partition(":")[0]
    Path(name).write_bytes(MESSAGES[message])
    with pytest.raises(EmbeddingError) as caught:
        load(name)
    assert str(caught.value) == message
    assert PLANTED not in str(caught.value)


def test_words_and_vectors_disagree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", vectors())
    with pytest.raises(EmbeddingError, match=r"^a\.npy: .npy, which has no words, is not"):
        load("a.npy")
    np.savez("b.npz", words=np.array(WORDS[:5]), vectors=vectors())
    with pytest.raises(EmbeddingError, match=r"^b\.npz: 5 words, but 20 vectors$"):
        load("b.npz")
    np.savez("c.npz", vectors=vectors())
    with pytest.raises(EmbeddingError, match=r"^c\.npz: no array 'words'$"):
        load("c.npz")


def test_numpy_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = np.array(WORDS)
    np.savez("a.npz", words=words, vectors=np.asfortranarray(vectors()))
    with pytest.raises(EmbeddingError, match=r"^a\.npz: vectors\.npy: columns first \(save numpy"):
        load("a.npz")
    for bad in (np.zeros(20), np.zeros((2, 2, 2)), np.array(["x"]), np.zeros((20, 6), complex)):
        np.savez("a.npz", words=words, vectors=bad)
        with pytest.raises(EmbeddingError, match=r"^a\.npz: vectors\.npy: (expected real|not an)"):
            load("a.npz")


def test_dropped_rows_are_counted(tmp_path: Path) -> None:
    rows = [b"good 1 2", b"good 3 4", b"nan nan 1", b"big 1e39 1", b"minf -inf 1", b"nought 0 -0"]
    rows += [b" 1 2", b"nul\0l 1 2", b"bad\xff 1 2", b"bad\xfe 1 2", b"nan 1 2"]
    (tmp_path / "f").write_bytes(b"\n".join(rows))
    embeddings = load(tmp_path / "f")
    assert embeddings.index_to_key == ["good", "bad\ufffd", "nan"]
    np.testing.assert_array_equal(embeddings.vectors, [[1, 2], [1, 2], [1, 2]])
    dropped = {"duplicate": 2, "non_finite": 3, "zero": 1, "empty_word": 1, "nul": 1}
    assert embeddings.dropped == dropped


def test_dropped_rows_do_not_count_for_vocab_size(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a 1 1\na 2 2\nb 0 0\nc 3 3\nd 4 4\nd 5 5\n")
    embeddings = load(tmp_path / "f", vocab_size=2)
    assert embeddings.index_to_key == ["a", "c"]
    assert embeddings.dropped == {"duplicate": 1, "zero": 1}


def test_line_feeds_and_surrogates_in_words(tmp_path: Path) -> None:
    words = np.array(["a\nb", "\ud800x", "ok"])
    np.savez(tmp_path / "f.npz", words=words, vectors=np.ones((3, 2)))
    embeddings = load(tmp_path / "f.npz")
    assert embeddings.index_to_key == ["\ufffdx", "ok"]
    assert embeddings.dropped == {"nul": 1}


def test_blank_lines_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(text_rows(WORDS, vectors()) + b"\n\r\n  \n")
    assert (load(tmp_path / "f").n, load(tmp_path / "f").d) == (len(WORDS), D)
