"""Whatever the bytes: a DpsanError of one line, or valid embeddings."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsan.embeddings import file_digest, files, load
from dpsan.embeddings.text_rows import plain_numbers
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
