import json

import pytest
from support import needs_gensim

from dpsan.analysis.pages import named

VECTORS = "".join(f"word{i} {i % 7 + 1} {i % 11} {i * 0.1:.1f}\n" for i in range(50))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "v.txt").write_text(VECTORS + "word3 1 2 3\nzero 0 0 0\nbad nan 1 2\n")
    return tmp_path


def run(dpsan, folder, *arguments, **more):
    return dpsan(*arguments, cwd=folder, env={"DPSAN_CACHE_DIR": str(folder / "c")}, **more)


def test_build(dpsan, folder):
    done = run(dpsan, folder, "index", "none.txt", "v.txt", "--json")
    assert done.returncode == 1
    assert done.stderr.endswith(b"dpsan: 1 of 2 files failed\n")
    (report,) = json.loads(done.stdout)
    assert (report["words"], report["dimensions"], report["bytes"]) == (50, 3, 50 * 3 * 4)
    assert report["dropped"] == {"duplicate": 1, "zero": 1, "non_finite": 1}
    assert report["nearest"]["p5"] <= report["nearest"]["p50"] <= report["nearest"]["p95"]
    assert report["diameter"] > report["nearest"]["p95"]
    assert report["diameter_exact"] is True


def test_damage_is_found_and_rebuilt_with_a_note(dpsan, folder):
    run(dpsan, folder, "index", "v.txt")
    (kept,) = (each for each in (folder / "c").rglob("index-*") if not each.suffix)
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)
    laplace = ("rewrite", "-e", "1000", "-m", "laplace", "-E", "v.txt")
    again = run(dpsan, folder, *laplace, stdin=b"word7")
    assert again.stdout == b"word7"
    assert b"damaged" in again.stderr
    assert run(dpsan, folder, *laplace, stdin=b"word7").stderr.count(b"damaged") == 0


@needs_gensim
def test_pickle_is_refused_and_read_only_on_demand(dpsan, folder):
    from gensim.models import KeyedVectors

    model = KeyedVectors(3)
    model.add_vectors(["one", "two"], [[1, 0, 0], [0, 1, 0]])
    model.save(str(folder / "model.kv"))
    laplace = ("rewrite", "-q", "-e", "1000", "-m", "laplace", "-E", "model.kv")
    refused = run(dpsan, folder, *laplace)
    assert refused.returncode == 1
    assert refused.stderr == (
        b"dpsan: model.kv: refused: pickle files can run code (export with "
        b"save_word2vec_format, or see dpsan index --unsafe-pickle)\n"
    )
    assert run(dpsan, folder, "index", "--unsafe-pickle", "model.kv").returncode == 0
    assert run(dpsan, folder, *laplace, stdin=b"two").stdout == b"two"


def test_values_have_the_names_of_json():
    values = {"a_b": {"c": None, "d": [1, "x\n"]}, "e": True, "f": [], "g": 0.25, "h": {}}
    found = [(name, value) for name, value, _ in named(values)]
    assert found[:2] == [("a b c", "none"), ("a b d", "1 / x\\n")]  # no control characters
    assert found[2:] == [("e", "yes"), ("f", "none"), ("g", "0.25"), ("h", "none")]
