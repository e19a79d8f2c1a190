"""Readers who hold candidates, and who read several noisings, on texts small enough to follow."""

import json

import pytest
from support import need_extra

WORDS = [f"word{i}" for i in range(60)]


@pytest.fixture(scope="module")
def folder(dpsan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("linkage")
    words = [f"{word} {i % 7} {i // 7} {i * i % 11}\n" for i, word in enumerate(WORDS)]
    (folder / "v.txt").write_text("".join(words))
    rows = [" ".join(WORDS[(i * 7 + step * (i + 3)) % 60] for step in range(6)) for i in range(40)]
    rows[3:5] = ["word1, word2; word3!", "..."]  # the only one with its layout; no word
    (folder / "o.txt").write_text("".join(f"{row}\n" for row in rows))
    others = [f"{WORDS[i]} {WORDS[(i + 7) % 60]} word5 word6 word7 word8" for i in range(50)]
    (folder / "c.txt").write_text("".join(f"{row}\n" for row in [*others, *rows[:20]]))
    own = [
        (f"a{i % 3}", " ".join(WORDS[20 * (i % 3) + (i * step) % 20] for step in range(1, 9)))
        for i in range(90)
    ]
    own += [("alone", "word3 word4"), ("ab", "word1 word2")]
    (folder / "who.csv").write_text("who,body\n" + "".join(f"{a},{b}\n" for a, b in own))
    given = ("-E", "v.txt", "-m", "krr", "-e", "2.5", "-q", "--seed", "z", "-k", "body")
    assert dpsan("rewrite", *given, "who.csv", "-o", "hid.csv", cwd=folder).returncode == 0
    run = ("rewrite", "-q", "-E", "v.txt", "-m", "krr", "-e", "2.5", "o.txt", "-o")
    assert dpsan(*run, "s.txt", "--seed", "x", cwd=folder).returncode == 0
    assert dpsan(*run, "t.txt", "--seed", "y", "--copies", "3", cwd=folder).returncode == 0
    return folder


def judged(dpsan, folder, *arguments):
    given = ("-E", "v.txt", "-m", "krr", "-e", "2.5", "--no-scores", "-q", *arguments)
    done = dpsan("evaluate", *given, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_readers_with_candidates(dpsan, folder):
    given = ("--candidates", "c.txt", "--words", "2,4", "--json", "o.txt", "s.txt")
    text = judged(dpsan, folder, *given)
    found = json.loads(text)["linkage"]
    rows = {(each["reader"], each["words"]): each for each in found["readers"]}
    # Different texts: 50 others, 39 originals with words, half of them also in the file.
    assert {each["candidates"] for each in found["readers"] if each["words"] != 4} == {89}
    assert {each["candidates"] for each in found["readers"] if each["words"] == 4} == {88}
    shares = [rows["exact, in order", words]["first"]["share"] for words in (2, 4, None)]
    assert shares[0] < shares[1] <= shares[2]
    for naive in ("TF-IDF", "mean vector", "number of words", "layout"):
        assert rows[naive, None]["first"]["share"] <= shares[2]
    assert rows["layout", None]["first"]["hits"] >= 1
    assert ("layout", 2) not in rows
    assert any("--consistent" in note for note in found["notes"])  # one draw for many places
    low, high = rows["exact, in order", 2]["median_rank"]["interval"]
    assert low <= rows["exact, in order", 2]["median_rank"]["value"] <= high
    assert "word" not in json.dumps(found).replace("words", "").replace("of word", "")
    assert judged(dpsan, folder, *given) == text
    # More noisings tell more.
    copies = ("--copies", "3", "--candidates", "c.txt", "--json", "o.txt", "t.txt")
    many = json.loads(judged(dpsan, folder, *copies))["linkage"]["readers"]
    (row,) = [each for each in many if each["reader"] == "exact, any order"]
    assert rows["exact, any order", None]["first"]["hits"] < row["first"]["hits"]


def test_authors(dpsan, folder):
    """Each author has words of his own, which noise hides from a reader of clean texts only."""
    need_extra("evaluate")
    given = ("--authors", "who", "-k", "body", "--json", "who.csv", "hid.csv")
    text = judged(dpsan, folder, *given)
    found = json.loads(text)["authors"]
    assert (found["authors"], found["known"], found["left_out"]) == (3, 72, 2)
    assert found["chance"] == pytest.approx(1 / 3)
    shares = {name: each["share"] for name, each in found["readers"].items()}
    assert {each["of"] for each in found["readers"].values()} == {18}
    assert shares["original texts"] == 1.0
    assert shares["sanitized, learnt from own copies"] >= 0.55
    assert shares["always the author of most texts"] == pytest.approx(1 / 3)
    assert judged(dpsan, folder, *given) == text
    shown = judged(dpsan, folder, *(each for each in given if each != "--json"))
    assert "3 authors, learnt from 72 other texts; a guess at random is right in 33.33 %" in shown


def test_wrong_use(dpsan, folder):
    for given, what in (
        (("--words", "3"), b"--words needs --candidates"),
        (("--words", "0", "--candidates", "c.txt"), b"whole numbers"),
        (("--candidates", "none.txt"), b"no such file"),
        (("--authors", "who"), b"--authors is for jsonl"),
        (("--copies", "2"), b"40 records where o.txt has 40, 2 copies of each"),
    ):
        base = ("-E", "v.txt", "-m", "krr", "-e", "2.5", "--no-scores", "-q", *given)
        done = dpsan("evaluate", *base, "o.txt", "s.txt", cwd=folder)
        assert done.returncode in (1, 2)
        assert what in done.stderr, done.stderr
