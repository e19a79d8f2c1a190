"""The bundled vocabulary: what is shipped; a build by the recipe must pass the same tests."""

import hashlib
import json
import runpy
import subprocess
import sys

import faiss
import numpy as np
import pytest
from support import ROOT, cases, tables

from dpsan import load_embeddings
from dpsan.embeddings.loading import load_bundled
from dpsan.text.tokens import lookup_keys

VOCAB = ROOT / "vocab"
HUB_SHARE = 0.01


@pytest.fixture(scope="module")
def english():
    return load_embeddings()


@pytest.fixture(scope="module")
def nearest(english):
    """The 20 nearest words of some words, nearest first, themselves left out."""
    index = faiss.IndexFlatL2(english.vectors.shape[1])
    index.add(english.vectors)

    def search(rows):
        _, found = index.search(english.vectors[rows], 21)
        itself = found == np.array(rows)[:, None]
        itself[~itself.any(axis=1), -1] = True  # of 22 equal words
        return found[~itself].reshape(-1, 20)

    return search


def test_files_are_those_of_the_manifest(english):
    manifest = json.loads((VOCAB / "en" / "manifest.json").read_text(encoding="utf-8"))
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((VOCAB / "en" / name).read_bytes()).hexdigest() == digest
    assert manifest["licence"] == "CC BY-SA 4.0"
    assert {"settings", "seed", "versions", "sources"} <= set(manifest)
    assert english.vectors.shape == (manifest["words"], manifest["dimensions"])
    assert len(english.digest) == 64


def test_size_order_and_vectors(english):
    assert 28_000 <= english.n <= 33_000
    assert english.d == 100
    assert len(english.counts) == english.n
    assert english.counts.min() >= 1
    assert (np.diff(english.counts) <= 0).all()
    assert sum((VOCAB / "en" / name).stat().st_size for name in ("words.tsv", "vectors.npy")) < 8e6
    assert np.isfinite(english.vectors).all()
    assert (np.linalg.norm(english.vectors, axis=1) > 0.9).all()
    assert len(np.unique(english.vectors, axis=0)) == english.n


def test_words_are_what_is_looked_up(english):
    assert len(set(english.index_to_key)) == english.n
    for word in english.index_to_key:
        *_, spelling = lookup_keys(word)
        assert spelling == word
    junk = {"http", "https", "www", "nbsp", "href", "colspan", "margin-left", "quot"}
    assert junk.isdisjoint(english.key_to_index)
    assert not any("/" in word or "@" in word or "_" in word for word in english.index_to_key)


def test_usual_spellings(english):
    usual = dict(zip(english.index_to_key, english.spellings, strict=True))
    wanted = "Paris London Maria Smith I I'm IBM TV DNA UK NATO McDonald iPhone YouTube PhD O'Brien"
    wanted += " X-ray COVID-19 January March Monday English German Christmas God Mr St II"
    assert [w for w in wanted.split() if usual[w.lower()] != w] == []
    small = "the it us may will mark bill can am new church king war rose n't don't e-mail doctor"
    assert [w for w in small.split() if usual[w] != w] == []
    kinds = [VOCAB / "kinds" / f"{name}.txt" for name in ("countries", "weekdays", "months")]
    listed = {w for path in kinds for w in path.read_text("utf-8").split() if len(w) > 3}
    assert sum(usual[w] == w for w in listed & set(usual)) == 0
    assert 5_000 < sum(map(str.__ne__, usual, usual.values())) < 8_000


WORDS = """
january may december monday sunday john mary maria smith garcia o'brien london chicago berlin france
china don't can't it's i'm n't tasty awful sucks overpriced cheesy creepy laughable lol haha dude
spokeswoman bn
"""


def test_words_of_personal_data_and_of_opinions(english):
    wanted = [str(number) for number in range(101)] + [str(year) for year in range(1950, 2026)]
    wanted += [f"{day}th" for day in (4, 11, 12, 13, 20, 30)] + ["1st", "2nd", "3rd", "31st"]
    wanted += WORDS.split()
    assert [word for word in wanted if word not in english.key_to_index] == []


KINDS = dict(tables("cases")["kinds"])


def test_neighbours_are_of_a_kind_and_no_opposites(english, nearest):
    def near(*words):
        found = nearest([english.key_to_index[word] for word in words])
        return [[english.index_to_key[at] for at in row] for row in found]

    for (word, kind), found in zip(KINDS.items(), near(*KINDS), strict=True):
        assert len({*kind.split()} & {*found[:10]}) >= 3, (word, found)
    for pair in (("good", "bad"), ("hot", "cold"), ("happy", "sad"), ("rich", "poor")):
        assert not any({*pair} & {*found} for found in near(*pair))


def test_good_and_bad_are_apart(english, nearest):
    """Of the rated words among a rated word's 20 nearest, hardly one has the opposite sign.

    Of every third word.
    """

    def rated(name):
        lines = (VOCAB / "polar" / f"{name}.txt").read_text("utf-8").splitlines()
        words = {word for line in lines if not line.startswith("#") for word in line.split()}
        return {english.key_to_index[word] for word in words & set(english.key_to_index)}

    good, bad = rated("positive"), rated("negative")
    assert min(len(good), len(bad)) > 500
    assert not good & bad
    same = opposite = 0
    for own, other in ((good, bad), (bad, good)):
        near = nearest(sorted(own)[::3])
        same += int(np.isin(near, sorted(own)).sum())
        opposite += int(np.isin(near, sorted(other)).sum())
    assert opposite < 0.02 * same, (same, opposite)


@pytest.mark.slow
def test_no_hub(english, nearest):
    """Of every third word."""
    near = nearest(range(0, english.n, 3))
    share = np.bincount(near.ravel(), minlength=english.n) / len(near)
    worst = int(share.argmax())
    assert share[worst] <= HUB_SHARE, english.index_to_key[worst]


@cases(
    "script arguments status shown",
    ("build.py", ["--help"], 0, "usage"),
    ("build.py", ["--quick"], 2, "--out"),  # it does not replace the shipped vocabulary
    ("classes.py", ["--help"], 0, "usage"),
    ("measure.py", ["--help"], 0, "bias"),
    ("spell.py", ["--help"], 0, "usage"),
)
def test_the_scripts_start(script, arguments, status, shown, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    monkeypatch.syspath_prepend(VOCAB)
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(VOCAB / script), run_name="__main__")
    assert ended.value.code == status
    assert shown in capsys.readouterr()[status > 0]


@pytest.mark.long
def test_quick_build_loads(shared, tmp_path):
    out = tmp_path / "quick"
    command = [sys.executable, str(VOCAB / "build.py"), "--quick", "--out", str(out)]
    command += ["--corpus", str(shared / "corpus"), "--constraints", str(shared / "constraints")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    built = load_bundled(folder=out)
    assert 3_000 <= built.n <= 4_000
    assert (np.diff(built.counts) <= 0).all()
    assert len(np.unique(built.vectors, axis=0)) == built.n
    assert {"the", "restaurant", "congress", "7", "monday"} <= set(built.index_to_key)
