"""Every format holds the same 20 words and loads to the same rows."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from embedding_files import FORMATS, WORDS, binary_rows, text_rows, vectors, write_all
from support import needs_gensim

from dpsan.embeddings import file_digest, load
from dpsan.embeddings.loading import load_watched
from dpsan.errors import EmbeddingError, UsageError


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
    told, names = [], []

    @contextmanager
    def watch(what):
        names.append(what)
        yield told.append

    shown, plain = load_watched(every_format[name], None, watch), load(every_format[name])
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
