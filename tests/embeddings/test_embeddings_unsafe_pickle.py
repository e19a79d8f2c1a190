"""gensim's pickles, which only ``dpsan index --unsafe-pickle`` may load."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from embedding_files import WORDS, vectors

from dpsan.embeddings import file_digest, load, load_unsafe_pickle
from dpsan.errors import EmbeddingError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(vectors().shape[1])
    keyed.add_vectors(WORDS, vectors())
    keyed.save(str(tmp_path / "model.kv"))
    return tmp_path / "model.kv"


def test_keyed_vectors(saved: Path) -> None:
    embeddings = load_unsafe_pickle(saved)
    assert embeddings.index_to_key == WORDS
    np.testing.assert_array_equal(embeddings.vectors, vectors())
    assert embeddings.digest == file_digest(saved)
    assert load_unsafe_pickle(saved, vocab_size=3).index_to_key == WORDS[:3]
    with pytest.raises(EmbeddingError, match="refused: pickle files can run code"):
        load(saved)


def test_arrays_beside_are_part_of_the_digest(saved: Path) -> None:
    from gensim.models import KeyedVectors

    KeyedVectors.load(str(saved)).save(str(saved), sep_limit=1)
    beside = saved.with_name("model.kv.vectors.npy")
    assert beside.exists()
    before = load_unsafe_pickle(saved)
    np.testing.assert_array_equal(before.vectors, vectors())
    np.save(beside, vectors() * 2)
    assert load_unsafe_pickle(saved).digest == file_digest(saved) != before.digest


def test_model_with_counts(tmp_path: Path) -> None:
    from gensim.models import Word2Vec

    lines = [["a", "b", "c"], ["a", "b"], ["a"]] * 5
    model = Word2Vec(lines, vector_size=4, min_count=1, workers=1, epochs=1)
    model.save(str(tmp_path / "w.model"))
    embeddings = load_unsafe_pickle(tmp_path / "w.model")
    assert embeddings.index_to_key == ["a", "b", "c"]
    assert embeddings.counts is not None
    assert embeddings.counts.tolist() == [15, 10, 5]


@pytest.mark.parametrize("content", [{"a": [1, 2]}, [1, 2], None, "text"])
def test_other_pickles(tmp_path: Path, content: object) -> None:
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(EmbeddingError, match="not gensim KeyedVectors"):
        load_unsafe_pickle(tmp_path / "x.pkl")


@pytest.mark.parametrize("data", [b"", b"hello", b"\x80\x04", b"cno_such\nthing\n."])
def test_damaged(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.kv").write_bytes(data)
    with pytest.raises(EmbeddingError, match="not gensim KeyedVectors"):
        load_unsafe_pickle(tmp_path / "x.kv")
    with pytest.raises(EmbeddingError, match="no such file"):
        load_unsafe_pickle(tmp_path / "not.kv")
