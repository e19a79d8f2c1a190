import json
import os
import subprocess
import sys
import time

import pytest

VECTORS = "".join(f"word{i} {i % 7 + 1} {i % 11} {i * 0.1:.1f}\n" for i in range(50))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "v.txt").write_text(VECTORS + "word3 1 2 3\nzero 0 0 0\nbad nan 1 2\n")
    return tmp_path


def run(dpsan, folder, *arguments, **more):
    return dpsan(*arguments, cwd=folder, env={"DPSAN_CACHE_DIR": str(folder / "c")}, **more)


def test_build_list_check_clear(dpsan, folder):
    done = run(dpsan, folder, "index", "v.txt", "--json")
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)
    assert report["words"] == 50
    assert report["dimensions"] == 3
    assert report["dropped"] == {"duplicate": 1, "zero": 1, "non_finite": 1}
    assert report["nearest"]["p5"] <= report["nearest"]["p50"] <= report["nearest"]["p95"]
    assert report["diameter"] > report["nearest"]["p95"]
    assert report["diameter_exact"] is True
    assert len(report["digest"]) == 64
    assert report["bytes"] == 50 * 3 * 4
    rows = json.loads(run(dpsan, folder, "index", "--list", "--json").stdout)
    assert {row["kind"] for row in rows} == {"index", "table"}
    assert all(row["ok"] for row in rows)
    assert run(dpsan, folder, "index", "--check").returncode == 0
    cleared = json.loads(run(dpsan, folder, "index", "--clear", "--json").stdout)
    assert cleared["removed"] == len(rows)
    assert json.loads(run(dpsan, folder, "index", "--list", "--json").stdout) == []


def test_text_output(dpsan, folder):
    out = run(dpsan, folder, "index", "v.txt").stdout.decode()
    assert "50 of 3 dimensions" in out
    assert "1 duplicate" in out
    assert "entries in" in run(dpsan, folder, "index", "--list").stdout.decode()


def test_damage_is_found_and_rebuilt_with_a_note(dpsan, folder):
    run(dpsan, folder, "index", "v.txt")
    biggest = max((folder / "c").rglob("*.raw"), key=lambda path: path.stat().st_size)
    data = bytearray(biggest.read_bytes())
    data[len(data) // 2] ^= 1
    biggest.write_bytes(data)
    check = run(dpsan, folder, "index", "--check")
    assert check.returncode == 1
    assert b"damaged" in check.stdout
    again = run(
        dpsan, folder, "rewrite", "-e", "1000", "-m", "laplace", "-E", "v.txt", stdin=b"word7"
    )
    assert again.stdout == b"word7"
    assert b"damaged" in again.stderr
    assert run(dpsan, folder, "index", "--check").returncode == 0


def test_changed_file_is_not_mistaken_for_the_old_one(dpsan, folder):
    first = json.loads(run(dpsan, folder, "index", "v.txt", "--json").stdout)[0]["digest"]
    (folder / "v.txt").write_text(VECTORS.replace("word9 ", "other "))
    second = json.loads(run(dpsan, folder, "index", "v.txt", "--json").stdout)[0]["digest"]
    assert first != second
    smaller = run(dpsan, folder, "index", "v.txt", "--vocab-size", "10", "--json")
    assert json.loads(smaller.stdout)[0]["words"] == 10


def test_one_bad_file_does_not_stop_the_others(dpsan, folder):
    done = run(dpsan, folder, "index", "none.txt", "v.txt")
    assert done.returncode == 1
    assert b"50 of 3" in done.stdout
    assert done.stderr.endswith(b"dpsan: 1 of 2 files failed\n")


def test_pickle_is_refused_and_read_only_on_demand(dpsan, folder):
    from gensim.models import KeyedVectors

    model = KeyedVectors(3)
    model.add_vectors(["one", "two"], [[1, 0, 0], [0, 1, 0]])
    model.save(str(folder / "model.kv"))
    refused = run(dpsan, folder, "rewrite", "-e", "9", "-m", "laplace", "-E", "model.kv")
    assert refused.returncode == 1
    assert refused.stderr == (
        b"dpsan: model.kv: refused: pickle files can run code (export with "
        b"save_word2vec_format, or see dpsan index --unsafe-pickle)\n"
    )
    assert run(dpsan, folder, "index", "--unsafe-pickle", "model.kv").returncode == 0
    now = run(
        dpsan,
        folder,
        "rewrite",
        "-q",
        "-e",
        "1000",
        "-m",
        "laplace",
        "-E",
        "model.kv",
        stdin=b"two",
    )
    assert now.stdout == b"two"


def test_concurrent_first_runs_build_once(folder):
    env = {**os.environ, "DPSAN_CACHE_DIR": str(folder / "c")}
    command = [sys.executable, "-m", "dpsan", "rewrite", "-q", "-e", "1000", "-m", "laplace"]
    running = [
        subprocess.Popen(
            [*command, "-E", "v.txt"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=env,
        )
        for _ in range(4)
    ]
    done = [each.communicate(b"word5 word6\n") for each in running]
    assert done == [(b"word5 word6\n", b"")] * 4
    assert len(list((folder / "c").glob("v*/index-*/manifest.json"))) == 1


def test_second_run_starts_from_the_cache(dpsan, shared, tmp_path):
    """Issue 3: under two seconds on an idle machine; here only that nothing is built again."""
    file = str(shared / "embeddings" / "glove840B_300d_10k_int8.w2v.txt.gz")
    arguments = ("rewrite", "-q", "-m", "laplace", "-e", "20", "-E", file)
    run(dpsan, tmp_path, *arguments, stdin=b"a\n")
    entries = {path: path.stat().st_mtime_ns for path in (tmp_path / "c").rglob("manifest.json")}
    started = time.monotonic()
    run(dpsan, tmp_path, *arguments, stdin=b"a\n")
    assert time.monotonic() - started < 60
    assert entries == {
        path: path.stat().st_mtime_ns for path in (tmp_path / "c").rglob("manifest.json")
    }
