"""The bundled vocabulary: what is shipped, and the recipe that made it."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpsan import Embeddings, load_embeddings
from dpsan.embeddings.bundled import load_bundled
from dpsan.text.tokens import lookup_keys

ROOT = Path(__file__).resolve().parent.parent
VOCAB = ROOT / "vocab"
HUB_SHARE = 0.01
CHUNK = 2_000


@pytest.fixture(scope="module")
def english() -> Embeddings:
    return load_embeddings()


@pytest.fixture(scope="module")
def nearest(english: Embeddings) -> np.ndarray:
    """The 20 nearest words of every word, nearest first, itself left out."""
    vectors = english.vectors
    lengths = np.einsum("ij,ij->i", vectors, vectors)
    out = np.empty((english.n, 20), dtype=np.int64)
    for start in range(0, english.n, CHUNK):
        scores = lengths - 2 * vectors[start : start + CHUNK] @ vectors.T
        scores[np.arange(len(scores)), np.arange(start, start + len(scores))] = np.inf
        part = np.argpartition(scores, 20, axis=1)[:, :20]
        order = np.argsort(np.take_along_axis(scores, part, axis=1), axis=1)
        out[start : start + CHUNK] = np.take_along_axis(part, order, axis=1)
    return out


def test_files_are_those_of_the_manifest(english: Embeddings) -> None:
    manifest = json.loads((VOCAB / "en" / "manifest.json").read_text(encoding="utf-8"))
    for name, digest in manifest["sha256"].items():
        assert hashlib.sha256((VOCAB / "en" / name).read_bytes()).hexdigest() == digest
    assert manifest["licence"] == "CC BY-SA 4.0"
    assert {"settings", "seed", "versions", "sources"} <= set(manifest)
    assert english.vectors.shape == (manifest["words"], manifest["dimensions"])
    assert len(english.digest) == 64


def test_size_and_order(english: Embeddings) -> None:
    assert 28_000 <= english.n <= 33_000
    assert english.d == 100
    assert english.counts is not None
    assert len(english.counts) == english.n
    assert english.counts.min() >= 1
    assert (np.diff(english.counts) <= 0).all()
    assert sum((VOCAB / "en" / name).stat().st_size for name in ("words.tsv", "vectors.npy")) < 8e6


def test_words_are_what_is_looked_up(english: Embeddings) -> None:
    assert len(set(english.index_to_key)) == english.n
    for word in english.index_to_key:
        *_, spelling = lookup_keys(word)
        assert spelling == word


def test_vectors_are_finite_distinct_and_not_zero(english: Embeddings) -> None:
    assert np.isfinite(english.vectors).all()
    assert (np.linalg.norm(english.vectors, axis=1) > 0.9).all()
    assert len(np.unique(english.vectors, axis=0)) == english.n


def test_words_that_personal_data_is_made_of(english: Embeddings) -> None:
    known = english.key_to_index
    wanted = [str(number) for number in range(101)] + [str(year) for year in range(1950, 2026)]
    wanted += [f"{day}th" for day in (4, 11, 12, 13, 20, 30)] + ["1st", "2nd", "3rd", "31st"]
    wanted += [
        "january",
        "may",
        "december",
        "monday",
        "sunday",
        "john",
        "mary",
        "maria",
        "smith",
        "garcia",
        "o'brien",
    ]
    wanted += [
        "london",
        "chicago",
        "berlin",
        "france",
        "china",
        "don't",
        "can't",
        "it's",
        "i'm",
        "n't",
    ]
    assert [word for word in wanted if word not in known] == []


def test_no_addresses_or_markup(english: Embeddings) -> None:
    junk = {"http", "https", "www", "nbsp", "href", "colspan", "margin-left", "quot"}
    assert junk.isdisjoint(english.key_to_index)
    assert not any("/" in word or "@" in word or "_" in word for word in english.index_to_key)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("monday", {"tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}),
        (
            "january",
            {
                "february",
                "march",
                "april",
                "june",
                "july",
                "august",
                "september",
                "october",
                "november",
                "december",
            },
        ),
        (
            "seven",
            {
                "one",
                "two",
                "three",
                "four",
                "five",
                "six",
                "eight",
                "nine",
                "ten",
                "eleven",
                "twelve",
            },
        ),
        ("7", {str(number) for number in range(32)}),
        ("1985", {str(year) for year in range(1950, 2022)}),
        ("john", {"william", "james", "thomas", "george", "andrew", "paul", "matthew", "samuel"}),
        ("chicago", {"boston", "detroit", "philadelphia", "york", "cleveland", "baltimore"}),
        ("germany", {"austria", "poland", "hungary", "belgium", "france", "denmark", "prussia"}),
        ("mother", {"father", "grandmother", "daughter", "wife", "sister", "parents"}),
        ("doctor", {"physician", "doctors", "surgeon", "psychiatrist", "dentist", "physicians"}),
        ("diabetes", {"asthma", "cancer", "hypertension", "epilepsy", "obesity", "disease"}),
        ("coffee", {"tea", "drink", "beer", "drinks", "wine", "cocoa", "chocolate", "milk"}),
        ("euros", {"euro", "usd", "dollars", "pounds", "million", "cents", "francs"}),
    ],
)
def test_neighbours(english: Embeddings, nearest: np.ndarray, word: str, kind: set[str]) -> None:
    near = [english.index_to_key[at] for at in nearest[english.key_to_index[word], :10]]
    assert len(kind.intersection(near)) >= min(3, len(kind)), near


@pytest.mark.parametrize(
    ("word", "opposite"), [("good", "bad"), ("hot", "cold"), ("happy", "sad"), ("rich", "poor")]
)
def test_opposites_are_not_neighbours(
    english: Embeddings, nearest: np.ndarray, word: str, opposite: str
) -> None:
    rows = english.key_to_index
    assert rows[opposite] not in nearest[rows[word]]
    assert rows[word] not in nearest[rows[opposite]]


def test_no_hub(english: Embeddings, nearest: np.ndarray) -> None:
    share = np.bincount(nearest.ravel(), minlength=english.n) / english.n
    worst = int(share.argmax())
    assert share[worst] <= HUB_SHARE, english.index_to_key[worst]


@pytest.mark.parametrize("script", ["build.py", "measure.py"])
def test_help_of_the_scripts(script: str) -> None:
    done = subprocess.run(
        [sys.executable, str(VOCAB / script), "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "usage" in done.stdout


def test_quick_does_not_replace_the_shipped_vocabulary() -> None:
    done = subprocess.run(
        [sys.executable, str(VOCAB / "build.py"), "--quick"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "--out" in done.stderr


@pytest.mark.slow
def test_quick_build_loads(shared: Path, tmp_path: Path) -> None:
    out = tmp_path / "quick"
    command = [sys.executable, str(VOCAB / "build.py"), "--quick", "--out", str(out)]
    command += ["--corpus", str(shared / "corpus"), "--constraints", str(shared / "constraints")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    built = load_bundled(place=out)
    assert 3_000 <= built.n <= 4_000
    assert built.counts is not None
    assert (np.diff(built.counts) <= 0).all()
    assert len(np.unique(built.vectors, axis=0)) == built.n
    assert {"the", "restaurant", "congress", "7", "monday"} <= set(built.index_to_key)
