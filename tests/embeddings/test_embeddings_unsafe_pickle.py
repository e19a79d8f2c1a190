"""Pickles and devices are refused; ``tests/scoreboard/damage.py`` has all ``hostile_files``."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from embedding_files import WORDS, vectors
from hostile_files import CANARY, pickles, special
from support import needs_gensim

from dpsan.embeddings import file_digest, load, load_unsafe_pickle
from dpsan.errors import EmbeddingError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
PICKLE = (
    ": refused: pickle files can run code "
    "(export with save_word2vec_format, or see dpsan index --unsafe-pickle)"
)


def test_pickles_and_devices_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    expected = {**dict(pickles(tmp_path, CANARY)), **dict(special(tmp_path))}
    for name in ("model.kv", "x.model", "x.PKL", "x.pt", "x.kv.gz"):
        Path(name).write_bytes(b"1 2\na 1 2\n")
        expected[name] = "refused"
    for name, kind in expected.items():
        with pytest.raises(EmbeddingError) as caught:
            load(name)
        assert "\n" not in str(caught.value)
        assert kind == "error" or str(caught.value) == name + PICKLE
    assert not Path(CANARY).exists(), "code from a file was run"


@needs_gensim
def test_keyed_vectors(tmp_path: Path) -> None:
    """Arrays that gensim stores beside are part of the digest."""
    from gensim.models import KeyedVectors

    keyed, path = KeyedVectors(vectors().shape[1]), tmp_path / "model.kv"
    keyed.add_vectors(WORDS, vectors())
    keyed.save(str(path))
    embeddings = load_unsafe_pickle(path)
    assert embeddings.index_to_key == WORDS
    np.testing.assert_array_equal(embeddings.vectors, vectors())
    assert embeddings.digest == file_digest(path)
    assert load_unsafe_pickle(path, vocab_size=3).index_to_key == WORDS[:3]
    KeyedVectors.load(str(path)).save(str(path), sep_limit=1)
    before = load_unsafe_pickle(path)
    np.testing.assert_array_equal(before.vectors, vectors())
    np.save(path.with_name("model.kv.vectors.npy"), vectors() * 2)
    assert load_unsafe_pickle(path).digest == file_digest(path) != before.digest


@needs_gensim
def test_model_with_counts(tmp_path: Path) -> None:
    from gensim.models import Word2Vec

    lines = [["a", "b", "c"], ["a", "b"], ["a"]] * 5
    model = Word2Vec(lines, vector_size=4, min_count=1, workers=1, epochs=1)
    model.save(str(tmp_path / "w.model"))
    embeddings = load_unsafe_pickle(tmp_path / "w.model")
    assert embeddings.index_to_key == ["a", "b", "c"]
    assert embeddings.counts.tolist() == [15, 10, 5]


OTHERS = [pickle.dumps(each) for each in ({"a": [1, 2]}, [1, 2], None, "text")]


@needs_gensim
@pytest.mark.parametrize("data", [*OTHERS, b"", b"hello", b"\x80\x04", b"cno_such\nthing\n."])
def test_other_pickles_and_damaged_ones(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.kv").write_bytes(data)
    with pytest.raises(EmbeddingError, match="not gensim KeyedVectors"):
        load_unsafe_pickle(tmp_path / "x.kv")
    with pytest.raises(EmbeddingError, match="no such file"):
        load_unsafe_pickle(tmp_path / "not.kv")
