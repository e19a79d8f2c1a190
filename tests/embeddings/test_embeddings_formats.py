"""Every format holds the same 20 words and loads to the same rows."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from embedding_files import FORMATS, WORDS, binary_rows, text_rows, vectors

from dpsan.embeddings import file_digest, load, load_embeddings
from dpsan.embeddings.loading import load_watched
from dpsan.errors import EmbeddingError, ExtraMissingError, UsageError

DATA = Path(__file__).parents[3] / "shared" / "data" / "embeddings"
HAS_SAFETENSORS = importlib.util.find_spec("safetensors") is not None


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_loads_the_same(every_format: dict[str, Path], name: str) -> None:
    if "safetensors" in name and not HAS_SAFETENSORS:
        with pytest.raises(ExtraMissingError, match="safetensors"):
            load(every_format[name])
        pytest.skip("the extra 'safetensors' is not installed")
    embeddings = load(every_format[name])
    assert [word.replace("\u00a0", " ") for word in embeddings.index_to_key] == WORDS
    np.testing.assert_array_equal(embeddings.vectors, vectors())
    assert embeddings.vectors.dtype == np.float32
    assert embeddings.vectors.flags.c_contiguous
    assert embeddings.dropped == {}
    assert embeddings.source == str(every_format[name])
    assert embeddings.digest == file_digest(every_format[name])


@pytest.mark.parametrize("name", ["glove.txt", "glove.txt.gz", "google.bin", "plain.npz"])
def test_reading_shows_how_much_is_read(every_format: dict[str, Path], name: str) -> None:
    told: list[float] = []
    names: list[str] = []

    @contextmanager
    def watch(what: str) -> Iterator[Callable[[float], None]]:
        names.append(what)
        yield told.append

    shown, plain = load_watched(every_format[name], None, watch), load(every_format[name])
    assert names == ["reading vectors"]
    assert max(told) == 1
    assert shown.digest == plain.digest
    assert (shown.vectors == plain.vectors).all()


@pytest.mark.parametrize("name", FORMATS)
def test_vocab_size_keeps_the_first(every_format: dict[str, Path], name: str) -> None:
    if "safetensors" in name and not HAS_SAFETENSORS:
        pytest.skip("the extra 'safetensors' is not installed")
    embeddings = load(str(every_format[name]), vocab_size=3)
    assert embeddings.index_to_key == WORDS[:3]
    np.testing.assert_array_equal(embeddings.vectors, vectors()[:3])
    assert embeddings.digest == file_digest(every_format[name], vocab_size=3)
    assert embeddings.digest != file_digest(every_format[name])


def test_content_decides_not_the_name(every_format: dict[str, Path], tmp_path: Path) -> None:
    for name in ("word2vec.txt", "glove.txt", "google.bin", "packed.npz", "glove.txt.gz"):
        odd = tmp_path / f"{name}.dat"
        odd.write_bytes(every_format[name].read_bytes())
        assert load(odd).n == len(WORDS)


def test_digest_follows_bytes_and_words(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", vectors())
    words = tmp_path / "a.words.txt"
    words.write_text("\n".join(WORDS))
    before = load(tmp_path / "a.npy").digest
    words.write_text("\n".join(reversed(WORDS)))
    assert load(tmp_path / "a.npy").digest != before
    renamed = tmp_path / "b.npy"
    renamed.write_bytes((tmp_path / "a.npy").read_bytes())
    (tmp_path / "b.txt").write_text("\n".join(WORDS))
    assert load(renamed).digest == before  # names are not content


@pytest.mark.parametrize("size", [0, -1])
def test_vocab_size_must_be_positive(tmp_path: Path, size: int) -> None:
    with pytest.raises(UsageError, match=r"^vocab_size must be >= 1"):
        load(tmp_path / "any.txt", vocab_size=size)


def test_load_embeddings_is_load() -> None:
    assert load_embeddings is load


def test_gensim_reads_what_we_read(every_format: dict[str, Path]) -> None:
    from gensim.models import KeyedVectors

    theirs = KeyedVectors.load_word2vec_format(str(every_format["google.bin"]), binary=True)
    np.testing.assert_array_equal(theirs.vectors, load(every_format["google.bin"]).vectors)


@pytest.mark.parametrize("binary", [False, True])
def test_what_gensim_writes_is_read(tmp_path: Path, binary: bool) -> None:
    from gensim.models import KeyedVectors

    theirs = KeyedVectors(50)
    table = np.random.default_rng(1).normal(size=(3000, 50)).astype(np.float32)
    words = [f"w{i}" for i in range(3000)]
    theirs.add_vectors(words, table)
    theirs.save_word2vec_format(str(tmp_path / "file"), binary=binary)
    ours = load(tmp_path / "file")
    assert ours.index_to_key == words
    np.testing.assert_array_equal(ours.vectors, table)


@pytest.mark.parametrize("d", [1, 2, 3, 5, 300])
@pytest.mark.parametrize("seed", range(8))
def test_binary_is_told_from_text(tmp_path: Path, d: int, seed: int) -> None:
    table = np.random.default_rng(seed).normal(size=(40, d)).astype(np.float32)
    words = [str(1990 + i) for i in range(40)]
    for rows in (binary_rows(words, table), binary_rows(words, table, b"\n")):
        (tmp_path / "f").write_bytes(f"40 {d}\n".encode() + rows)
        np.testing.assert_array_equal(load(tmp_path / "f").vectors, table)
    (tmp_path / "f").write_bytes(f"40 {d}\n".encode() + text_rows(words, table))
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


@pytest.mark.parametrize(
    ("name", "n", "d"),
    [
        ("glove6B_50d_merged.w2v.txt.gz", 13442, 50),
        ("glove840B_300d_10k_int8.w2v.txt.gz", 9910, 300),
    ],
)
def test_supplied_files_load(name: str, n: int, d: int) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"LOUD: {DATA / name} is not here, the supplied file was NOT tested")
    embeddings = load(DATA / name)
    assert (embeddings.n, embeddings.d) == (n, d)
    assert embeddings.dropped == {}
    assert embeddings.index_to_key[0] == "the"
    assert np.isfinite(embeddings.vectors).all()


def test_importing_loads_no_gensim() -> None:
    code = "import sys, dpsan.embeddings; sys.exit('gensim' in sys.modules)"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env={**os.environ})
    assert done.returncode == 0


def test_safetensors_without_the_package(
    every_format: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ExtraMissingError, match=r"pip install 'dpsan\[safetensors\]'"):
        load(every_format["safe.safetensors"])


def test_missing_words(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", vectors())
    with pytest.raises(EmbeddingError, match=r"a\.npy: no words \(put them into a\.words\.txt"):
        load(tmp_path / "a.npy")


LOADS = """
import sys
from pathlib import Path
from dpsan.embeddings import load
peak = lambda: 1024 * int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
load(Path(sys.argv[1]))
before = peak()
kept = load(Path(sys.argv[2])).vectors
if sys.argv[3] == "copied":
    kept = kept.copy()
print(peak() - before, kept.sum())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory by Linux's /proc")
@pytest.mark.parametrize("how", ["plain", "copied"])
def test_peak_memory(tmp_path: Path, how: str) -> None:
    """What the kernel counts, not tracemalloc: that adds both sides of a block moved by mremap."""
    n, d = 60_000, 300
    table = np.random.default_rng(4).normal(size=(n, d)).astype(np.float32)
    words = [f"w{i}" for i in range(n)]
    (tmp_path / "few").write_bytes(f"100 {d}\n".encode() + binary_rows(words[:100], table[:100]))
    (tmp_path / "all").write_bytes(f"{n} {d}\n".encode() + binary_rows(words, table))
    command = [sys.executable, "-c", LOADS, str(tmp_path / "few"), str(tmp_path / "all"), how]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    peak, total = done.stdout.split()
    np.testing.assert_allclose(float(total), table.sum(), rtol=1e-3)
    limit = 1.3 * table.nbytes + (40 << 20)
    # The twin keeps one copy more, and must be seen.
    assert (float(peak) > limit) == (how == "copied")
