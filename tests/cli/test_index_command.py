import json
import os
import subprocess
import sys
import time

import pytest

from dpsan.cli.output import cosine_and_bound

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
    shown = {row["kind"]: (row["index"], row["words"], row["dimensions"]) for row in rows}
    assert shown == {"index": ("IndexFlatL2", 50, 3), "table": (None, None, None)}
    assert run(dpsan, folder, "index", "--check").returncode == 0
    cleared = json.loads(run(dpsan, folder, "index", "--clear", "--json").stdout)
    assert cleared["removed"] == len(rows)
    assert json.loads(run(dpsan, folder, "index", "--list", "--json").stdout) == []


def test_text_output(dpsan, folder):
    out = run(dpsan, folder, "index", "v.txt").stdout.decode()
    assert "50 of 3 dimensions" in out
    assert "1 duplicate" in out
    listed = run(dpsan, folder, "index", "--list").stdout.decode()
    assert "IndexFlatL2 50 x 3" in listed
    assert "entries in" in listed


def test_damage_is_found_and_rebuilt_with_a_note(dpsan, folder):
    run(dpsan, folder, "index", "v.txt")
    (kept,) = (folder / "c").rglob("index.faiss")
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)
    check = run(dpsan, folder, "index", "--check")
    assert check.returncode == 1
    assert b"damaged" in check.stdout
    again = run(
        dpsan, folder, "rewrite", "-e", "1000", "-m", "laplace", "-E", "v.txt", stdin=b"word7"
    )
    assert again.stdout == b"word7"
    assert b"damaged" in again.stderr
    assert run(dpsan, folder, "index", "--check").returncode == 0


@pytest.mark.parametrize("bundled", [False, True])
def test_export(dpsan, folder, bundled):
    """Issue 21: what FAISS opens is the vocabulary, with its words beside it."""
    import faiss

    from dpsan import load_embeddings

    files = ["--vocab-size", "90"] if bundled else ["v.txt"]
    done = run(dpsan, folder, "index", *files, "--export", "out.faiss", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["exported"] == ["out.faiss", "out.words.txt"]
    expected = load_embeddings(None if bundled else folder / "v.txt", vocab_size=90)
    index = faiss.read_index(str(folder / "out.faiss"))
    assert (type(index).__name__, index.ntotal) == ("IndexFlatL2", expected.n)
    assert index.reconstruct_n(0, index.ntotal).tobytes() == expected.vectors.tobytes()
    assert (folder / "out.words.txt").read_text().split("\n") == [*expected.index_to_key, ""]
    if not bundled:
        (kept,) = (folder / "c").rglob("index.faiss")
        assert kept.read_bytes() == (folder / "out.faiss").read_bytes()


@pytest.mark.parametrize("there", ["out.faiss", "out.words.txt"])
def test_export_replaces_nothing_without_force(dpsan, folder, there):
    (folder / there).write_text("mine")
    done = run(dpsan, folder, "index", "v.txt", "--export", "out.faiss")
    assert done.returncode == 1
    assert done.stderr.decode() == f"dpsan: {there}: exists (--force replaces it)\n"
    assert (folder / there).read_text() == "mine"
    assert {path.name for path in folder.iterdir()} == {"c", "v.txt", there}
    assert run(dpsan, folder, "index", "v.txt", "--export", "out.faiss", "--force").returncode == 0
    assert (folder / there).read_text(errors="replace") != "mine"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("v.txt", "--export", "v.txt", "--force"), "--export are the same file"),
        (("v.txt", "--export", "link", "--force"), "--export are the same file"),
        (("v.words.txt", "--export", "v.faiss", "--force"), "words of --export are the same file"),
        (("v.txt", "link", "--export", "x"), "--export is for one file"),
        (("--list", "--export", "x"), "--export is for one file"),
        (("--clear", "--export", "x"), "--export is for one file"),
    ],
)
def test_wrong_use_of_export(dpsan, folder, arguments, why):
    (folder / "link").symlink_to("v.txt")
    (folder / "v.words.txt").write_text(VECTORS)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = run(dpsan, folder, "index", *arguments)
    assert done.returncode == 2
    assert why in done.stderr.decode()
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


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
    assert done == [(b"Word5 word6\n", b"")] * 4
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


def test_what_the_default_mechanism_needs_is_made_ahead_and_optimized(dpsan, folder):
    """The kept distribution is replaced, later runs use it, and the bound is printed from then."""

    def tables():
        rows = json.loads(run(dpsan, folder, "index", "--list", "-v", "--json").stdout)
        return {row["source"]: (row["digest"], row["mean_cosine"]) for row in rows}

    asked = ("mechanisms", "optimal-response", "-e", "3", "-E", "v.txt", "--json")
    (plain,) = json.loads(run(dpsan, folder, "index", "-e", "3", "v.txt", "--json").stdout)
    assert plain["default"]["mechanism"] == "optimal-response"
    assert plain["default"]["mean_cosine"] is None
    assert json.loads(run(dpsan, folder, *asked).stdout)["mean_cosine"] is None
    made = tables()
    assert {"base-2-3-0.83-2-0.0125"} <= set(made)
    before = draws(dpsan, folder)
    more = run(dpsan, folder, "index", "-e", "3", "--optimize", "-v", "v.txt")
    assert b"ready for" in more.stdout
    assert b"with this LDP epsilon no more than" in more.stdout
    assert draws(dpsan, folder) != before
    cosines = json.loads(run(dpsan, folder, *asked).stdout)["mean_cosine"]
    assert 0.3 < cosines["achieved"] <= cosines["bound"] <= 1
    assert tables()["cosine-bound-1-3.0"][1] == cosines["bound"]
    for command in (asked[:-1], ("explain", "word3", "-e", "3", "-E", "v.txt", "--no-posterior")):
        said = " ".join(run(dpsan, folder, *command).stdout.decode().split())
        assert cosine_and_bound(**cosines) in said


def test_a_bound_is_never_rounded_down():
    assert "no more than 0.7390 is" in cosine_and_bound(0.7, 0.73894)
    assert "no more than 0.5000 is" in cosine_and_bound(0.4, 0.5)


def draws(dpsan, folder):
    """The distribution of a word at epsilon 3."""
    asked = ("explain", "word3", "-e", "3", "-E", "v.txt", "--json", "--no-posterior")
    (row,) = json.loads(run(dpsan, folder, *asked).stdout)
    return row["outputs"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--optimize", "v.txt"), "--optimize needs --epsilon"),
        (("-v", "v.txt"), "--verbose needs --epsilon"),
        (("-e", "3", "--list"), "--epsilon is for embeddings"),
        (("-e", "3", "--optimize"), "--optimize needs a file: the bundled tables cannot change"),
        (("-e", "0", "v.txt"), "epsilon must be"),
    ],
)
def test_wrong_use_of_epsilon(dpsan, folder, arguments, why):
    done = run(dpsan, folder, "index", *arguments)
    assert done.returncode == 2
    assert why in done.stderr.decode()


def test_progress_of_tables_is_shown_on_a_terminal_only(dpsan, folder):
    assert b"looking for" not in run(dpsan, folder, "index", "-e", "3", "v.txt").stderr
    ours, theirs = os.openpty()
    subprocess.run(
        [sys.executable, "-m", "dpsan", "index", "-e", "3.5", "v.txt"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "DPSAN_CACHE_DIR": str(folder / "c"), "TERM": "xterm", "COLUMNS": "80"},
        timeout=120,
        check=True,
    )
    os.close(theirs)
    seen = b""
    while b"finding near words" not in seen:
        try:
            seen += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert b"best distribution at epsilon 3.5" in seen
    assert b"finding near words" in seen
