"""Whatever the bytes: a DpsanError of one line, or valid embeddings."""

from __future__ import annotations

import gzip
import hashlib
import tempfile
from pathlib import Path

import numpy as np
from embedding_files import WORDS, binary_rows, text_rows, vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsan.embeddings import Embeddings, file_digest, files, load
from dpsan.errors import DpsanError

_NUMBER = st.one_of(
    st.floats(width=32).map(repr), st.sampled_from(["0", "1", "-0", "1e400", "1_0", "x", "", "0x1"])
)
_WORD = st.one_of(st.text(max_size=4), st.sampled_from(["a", "b", "a b", "", "\0", "1", ". ."]))
_ROW = st.tuples(_WORD, st.lists(_NUMBER, min_size=1, max_size=4)).map(
    lambda row: " ".join([row[0], *row[1]])
)
_TEXT = st.tuples(st.sampled_from(["", "2 2\n", "3 3\n", "9 1\n"]), st.lists(_ROW, max_size=6)).map(
    lambda file: (file[0] + "\n".join(file[1])).encode("utf-8", "surrogatepass")
)
_STARTS = st.sampled_from(
    [
        b"",
        b"20 6\n",
        b"20 6\n" + text_rows(WORDS, vectors())[:300],
        b"20 6\n" + binary_rows(WORDS, vectors())[:300],
        b"\x93NUMPY\1\0",
        b"\x1f\x8b\x08\0",
        b"PK\3\4",
        b"\x80\4",
        b"(dp0\n",
    ]
)


def _load(path: Path) -> tuple[Embeddings | None, str]:
    try:
        return load(path), ""
    except DpsanError as error:
        return None, str(error)


def _check(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        path.with_name("f.words.txt").write_bytes(b"a\nb\n")
        embeddings, message = _load(path)
        if embeddings is None:
            assert message
            assert "\n" not in message
            return
        assert embeddings.digest == file_digest(path)
    keys, table = embeddings.index_to_key, embeddings.vectors
    assert table.shape == (len(keys), embeddings.d)
    assert table.dtype == np.float32
    assert len(set(keys)) == len(keys) > 0
    assert all(key and "\0" not in key and "\n" not in key for key in keys)
    assert "".join(keys).encode()
    assert np.isfinite(table).all()
    assert table.any(axis=1).all()


@settings(max_examples=300, deadline=None)
@given(_STARTS, st.binary(max_size=200), st.booleans())
def test_any_bytes(start: bytes, rest: bytes, packed: bool) -> None:
    data = start + rest
    _check(gzip.compress(data) if packed else data, "f.npy")


@settings(max_examples=400, deadline=None)
@given(_TEXT)
def test_any_text(data: bytes) -> None:
    _check(data, "f")


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.text("abcé ", min_size=1, max_size=5), st.just(None), min_size=1), st.data()
)
def test_what_is_written_is_read(words: dict[str, None], data: st.DataObject) -> None:
    keys = [word for word in words if word.strip() == word] or ["a"]
    number = st.floats(width=32, allow_nan=False, allow_infinity=False).filter(bool)
    table = np.array([[data.draw(number) for _ in range(2)] for _ in keys], dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f"
        path.write_bytes(f"{len(keys)} 2\n".encode() + text_rows(keys, table))
        embeddings = load(path)
        np.savez(Path(folder) / "f.npz", words=np.array(keys), vectors=table)
        zipped = load(Path(folder) / "f.npz")
    assert embeddings.index_to_key == zipped.index_to_key == keys
    np.testing.assert_array_equal(embeddings.vectors, table)
    np.testing.assert_array_equal(zipped.vectors, table)


def test_every_byte_of_a_large_file_counts(tmp_path, monkeypatch):
    """Files of many parts, which threads hash: any bit, any place, any length."""
    monkeypatch.setattr(files, "_PART", 64)
    monkeypatch.setattr(files, "_HASHED", 24)
    path, text = tmp_path / "e.txt", bytearray(b"".join(b"w%d 1 2\n" % i for i in range(40)))
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


def test_a_small_file_is_told_by_its_sha256(tmp_path):
    (tmp_path / "e.txt").write_bytes(b"a 1\n")
    known = hashlib.sha256(b"a 1\n").hexdigest()
    assert files.digest_of([tmp_path / "e.txt"], 3) == files.digest_of([known], 3)
