"""Every format of embeddings loads to the same rows; what is damaged is refused in one line."""

import gzip
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from embedding_files import FORMATS, WORDS, D, binary_rows, text_rows, vectors, write_all
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cases, needs_gensim, tables

from dpsan.embeddings import file_digest, files, load
from dpsan.embeddings.readers import plain_numbers
from dpsan.embeddings.words import WATCH
from dpsan.errors import DpsanError, EmbeddingError, UsageError


@pytest.fixture(scope="module")
def every_format(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_all(tmp_path_factory.mktemp("formats"))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_loads_the_same(every_format: dict[str, Path], name: str) -> None:
    path = every_format[name]
    embeddings = load(path)
    assert [word.replace("\u00a0", " ") for word in embeddings.index_to_key] == WORDS
    np.testing.assert_array_equal(embeddings.vectors, vectors())
    assert embeddings.vectors.dtype == np.float32
    assert embeddings.vectors.flags.c_contiguous
    assert embeddings.dropped == {}
    assert embeddings.source == str(path)
    assert embeddings.digest == file_digest(path)
    first = load(str(path), vocab_size=3)
    assert first.index_to_key == WORDS[:3]
    np.testing.assert_array_equal(first.vectors, vectors()[:3])
    assert embeddings.digest != first.digest == file_digest(path, vocab_size=3)


@pytest.mark.parametrize("name", ["glove.txt", "glove.txt.gz", "google.bin", "plain.npz"])
def test_reading_shows_how_much_is_read(every_format: dict[str, Path], name: str) -> None:
    told, names, plain = [], [], load(every_format[name])

    @contextmanager
    def watch(what):
        names.append(what)
        yield told.append

    before = WATCH.set(watch)
    shown = load(every_format[name])
    WATCH.reset(before)
    assert names == ["reading vectors"]
    assert max(told) == 1
    assert shown.digest == plain.digest
    assert (shown.vectors == plain.vectors).all()


def test_content_decides_not_the_name(every_format: dict[str, Path], tmp_path: Path) -> None:
    for name in ("word2vec.txt", "glove.txt", "google.bin", "packed.npz", "glove.txt.gz"):
        odd = tmp_path / f"{name}.dat"
        odd.write_bytes(every_format[name].read_bytes())
        assert load(odd).n == len(WORDS)


def test_digest_follows_bytes_and_no_names(every_format: dict[str, Path], tmp_path: Path) -> None:
    renamed = tmp_path / "b"
    renamed.write_bytes(every_format["plain.npz"].read_bytes())
    assert load(renamed).digest == load(every_format["plain.npz"]).digest
    assert load(renamed).digest != load(every_format["bytes.npz"]).digest


def test_vocab_size_must_be_positive(tmp_path: Path) -> None:
    for size in (0, -1):
        with pytest.raises(UsageError, match=r"^vocab_size must be >= 1"):
            load(tmp_path / "any.txt", vocab_size=size)


@needs_gensim
@pytest.mark.parametrize("binary", [False, True])
def test_what_gensim_writes_is_read(tmp_path: Path, binary: bool) -> None:
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(50)
    table = np.random.default_rng(1).normal(size=(300, 50)).astype(np.float32)
    words = [f"w{i}" for i in range(300)]
    theirs.add_vectors(words, table)
    theirs.save_word2vec_format(str(tmp_path / "file"), binary=binary)
    ours = load(tmp_path / "file")
    assert ours.index_to_key == words
    np.testing.assert_array_equal(ours.vectors, table)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 300])
def test_binary_is_told_from_text(tmp_path: Path, d: int) -> None:
    words = [str(1990 + i) for i in range(40)]
    for seed in range(4):
        table = np.random.default_rng(seed).normal(size=(40, d)).astype(np.float32)
        binary = binary_rows(words, table), binary_rows(words, table, b"\n")
        for rows in (*binary, text_rows(words, table)):
            (tmp_path / "f").write_bytes(f"40 {d}\n".encode() + rows)
            np.testing.assert_array_equal(load(tmp_path / "f").vectors, table)


def test_blocks_join_without_a_seam(tmp_path: Path) -> None:
    n, d = 3000, 250  # three blocks of text
    table = np.random.default_rng(3).integers(1, 99, size=(n, d)).astype(np.float32)
    rows = [f"w{i} " + " ".join(map(str, row)) for i, row in enumerate(table.tolist())]
    rows[2500] = rows[2500].replace("w2500", "a b c")
    (tmp_path / "f").write_text("\n".join(rows))
    embeddings = load(tmp_path / "f")
    assert embeddings.index_to_key[2500] == "a b c"
    np.testing.assert_array_equal(embeddings.vectors, table)
    rows[2811] = rows[2811].rpartition(" ")[0]
    (tmp_path / "f").write_text("\n".join(rows))
    with pytest.raises(EmbeddingError, match=r"f: line 2812: 249 numbers, expected 250$"):
        load(tmp_path / "f")
    assert load(tmp_path / "f", vocab_size=2811).n == 2811  # it stops before the fault


# Whatever the bytes: a DpsanError of one line, or valid embeddings.


_ODD = st.sampled_from(["0", "1", "-0", "1e400", "1_0", "x", "", "0x1"])
_NUMBER = st.one_of(st.floats(width=32).map(repr), _ODD)
_WORD = st.one_of(st.text(max_size=4), st.sampled_from(["a", "b", "a b", "", "\0", "1", ". ."]))
_NUMBERS = st.lists(_NUMBER, min_size=1, max_size=4)
_ROW = st.tuples(_WORD, _NUMBERS).map(lambda row: " ".join([row[0], *row[1]]))
_TEXT = st.tuples(st.sampled_from(["", "2 2\n", "3 3\n", "9 1\n"]), st.lists(_ROW, max_size=6)).map(
    lambda file: (file[0] + "\n".join(file[1])).encode("utf-8", "surrogatepass")
)


@pytest.mark.slow
@settings(max_examples=150)
@given(_TEXT)
def test_any_text(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        path.write_bytes(data)
        try:
            embeddings, digest = load(path), file_digest(path)
        except DpsanError as error:
            message = str(error)
        else:
            message = ""
    if message:
        assert "\n" not in message
        return
    assert embeddings.digest == digest
    keys, table = embeddings.index_to_key, embeddings.vectors
    assert table.shape == (len(keys), embeddings.d)
    assert table.dtype == np.float32
    assert len(set(keys)) == len(keys) > 0
    assert all(key and "\0" not in key and "\n" not in key for key in keys)
    assert "".join(keys).encode()
    assert np.isfinite(table).all()
    assert table.any(axis=1).all()


def test_every_byte_of_a_large_file_counts(tmp_path, monkeypatch):
    """Files of many parts, which threads hash: any bit, any place, any length."""
    monkeypatch.setattr(files, "_PART", 64)
    monkeypatch.setattr(files, "_HASHED", 24)
    path, text = tmp_path / "e.txt", bytearray(b"".join(b"w%d 1 2\n" % i for i in range(20)))
    seen = set()
    for place in [*range(len(text)), None]:
        changed = bytearray(text)
        if place is not None:
            changed[place] ^= 1
        path.write_bytes(changed)
        seen.add(files.digest_of([path], None))
    for length in (63, 64, 65, 128, 129, len(text) + 64):
        path.write_bytes((text + b"w 3 4\n" * 20)[:length])
        seen.add(files.digest_of([path], None))
    assert len(seen) == len(text) + 1 + 6


_FIELD = (
    st.floats().map(repr)
    | st.integers().map(str)
    | st.text("0123456789+-.eE", max_size=8)
    | st.from_regex(r"-?[0-9]{1,25}\.[0-9]{1,25}(e-?[0-9]{1,3})?", fullmatch=True)
    | st.sampled_from(["-0", "-0.0", "1_0", "[1]", "true", "1,2", "\t1", "1e999", "NaN"])
)


@given(st.lists(_FIELD, min_size=1, max_size=6))
def test_the_same_bits_as_float(fields):
    joined = " ".join(fields).encode()
    found = plain_numbers(joined)
    if found is not None:
        expected = [float(each) for each in joined.split(b" ")]
        assert found.tobytes() == np.array(expected).tobytes()


# What is wrong with a malformed file is said with file and line, in golden messages.


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
MESSAGES = {message: text.encode() for message, text in tables("embeddings/cases")["messages"]}
MESSAGES |= {
    "empty.txt: empty file": b"",
    f"bytes.txt: {NO_FILE}": bytes(range(1, 32)),
    "line.txt: line 1: longer than 1 MB": b"x" * (1 << 20) + b"xx 1\n",
    "cut.bin: row 3: the file ends after 2 of 20 rows": b"20 6\n" + binary_rows(*THREE)[:-2],
    "few.bin: row 4: the file ends after 3 of 20 rows": b"20 6\n" + binary_rows(*THREE, b"\n"),
    "many.bin: row 3: more than the header's 2 rows": b"2 6\n" + binary_rows(*THREE),
    "word.bin: row 1: a word longer than 1 MB": b"2 6\n\0" + b"x" * (3 << 20),
    "zip.npz: damaged zip file, or one of other data": b"PK\x03\x04sesame",
    f"model.bin: {FASTTEXT}": bytes.fromhex("ba164f2f0c000000"),
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
    assert (load("a.npz").vectors == vectors()).all()
    for bad in (np.zeros(20), np.zeros((2, 2, 2)), np.array(["x"]), np.zeros((20, 6), complex)):
        np.savez("a.npz", words=words, vectors=bad)
        with pytest.raises(EmbeddingError, match=r"^a\.npz: vectors\.npy: expected real"):
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


# A Python for which there is no gensim: all but training and pickles of vectors works.


@cases(
    "command status told",
    ("rewrite -q -e 8 -E own.vec text.txt", 0, ""),
    ("rewrite -q --only names text.txt", 0, ""),
    ("train -q --words 100 text.txt -o own.npz", 2, "train needs gensim"),
    ("index --unsafe-pickle own.kv", 1, "a pickle of vectors needs gensim"),
)
def test_commands(dpsan, tmp_path, command, status, told):
    (tmp_path / "text.txt").write_text("Maria is in Paris.\n" * 3)
    (tmp_path / "own.kv").write_bytes(b"\x80\x04N.")
    (tmp_path / "own.vec").write_text("".join(f"w{i} 1 {i}\n" for i in range(50)))
    change = "import sys\nsys.modules['gensim'] = None"
    done = dpsan(*command.split(), cwd=tmp_path, change=change, status=status)
    assert told.encode() in done.stderr
    assert b"Traceback" not in done.stderr
