"""The bundled vocabulary: what is shipped, and the recipe that made it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import faiss
import numpy as np
import pytest

from dpsan import Embeddings, load_embeddings
from dpsan.embeddings.bundled import load_bundled
from dpsan.text.tokens import lookup_keys

ROOT = Path(__file__).resolve().parent.parent
VOCAB = ROOT / "vocab"
HUB_SHARE = 0.01


@pytest.fixture(scope="module")
def english() -> Embeddings:
    return load_embeddings()


@pytest.fixture(scope="module")
def nearest(english: Embeddings) -> np.ndarray:
    """The 20 nearest words of every word, nearest first, itself left out."""
    index = faiss.IndexFlatL2(english.vectors.shape[1])
    index.add(english.vectors)
    _, found = index.search(english.vectors, 21)
    itself = found == np.arange(english.n)[:, None]
    itself[~itself.any(axis=1), -1] = True  # of 22 equal words
    return found[~itself].reshape(english.n, 20)


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


def test_usual_spellings(english: Embeddings) -> None:
    assert english.spellings is not None
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


def in_recipe(program: str) -> list[str]:
    """What a program prints that imports the modules of the recipe."""
    path = {**os.environ, "PYTHONPATH": f"{VOCAB}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=path
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_rule_of_spelling() -> None:
    """What a capital may be due to is not counted; what is beside another counts little."""
    program = """
from collections import Counter
from recipe.corpus import Source
from recipe.spelling import SpellingReader, Spellings, usual_spellings
words = ["paris", "may", "john", "smith", "ibm", "the", "self", "it"]
reader, found = SpellingReader(words), Spellings()
for line in (
    "May it be that we saw Paris and (May) the paris of old. May we see: May it be?",
    "THE PARIS OF JOHN SMITH MAY BE NEAR IBM",
    "may we see john smith in paris some day or other",
    "Paris May Smith",
    "we saw John Smith and Maria’s Paris-based IBM itself in may and it was fine",
):
    reader.read(line, found)
print(sorted(found.alone.items()), sorted(found.beside.items()))
one = Spellings(Counter({"paris": 1, "Paris": 9, "may": 60, "May": 40, "IBM": 3, "Ibm": 2}),
                Counter({"New": 40, "May": 100}))
one.alone["new"] = 10
print(usual_spellings({"s": one}, [Source("s", "", "", 1.0)], ["paris", "may", "ibm", "new", "x"]))
"""
    assert in_recipe(program) == [
        "[('IBM', 1), ('Paris', 1), ('it', 3), ('may', 1), ('paris', 1), ('the', 1)] "
        "[('John', 1), ('Paris', 1), ('Smith', 1)]",
        "['Paris', 'may', 'IBM', 'new', 'x']",
    ]


def test_a_corpus_is_counted_and_mixed(tmp_path: Path) -> None:
    program = """
import lzma, numpy as np
from pathlib import Path
from recipe.corpus import Source, count_source, write_training_text
folder = Path(FOLDER)
with lzma.open(folder / "c.xz", "wt") as file:
    file.write("The cat\\nsat.\\n\\nA dog\\n")
found = count_source(Source("c", "c.xz", "", 1.0), folder, folder / "tokens", 1)
print(found.total_documents, found.total(), found.tokens["cat"], found.documents["the"])
print(write_training_text([folder / "tokens"], folder / "text", np.random.default_rng(1)))
print(sorted((folder / "text").read_text().split()))
"""
    lines = in_recipe(program.replace("FOLDER", repr(str(tmp_path))))
    assert lines == ["2 5 1 1", "5", "['a', 'cat', 'dog', 'sat', 'the']"]


def test_a_new_word_gets_the_vector_of_its_contexts(tmp_path: Path) -> None:
    """A word that stands where words of one kind stand becomes one of them; others stay."""
    program = """
import numpy as np
from pathlib import Path
from recipe.induce import contexts, induced
rng = np.random.default_rng(1)
kinds = [[f"{kind}{at}" for at in range(40)] for kind in "ab"]
marks = [[f"{kind}{at}" for at in range(10)] for kind in "xy"]
words = [*kinds[0], *kinds[1], *marks[0], *marks[1], "new"]
ids = {word: at for at, word in enumerate(words)}
lines = []
for _ in range(6000):
    kind = int(rng.integers(2))
    middle = "new" if kind and rng.random() < 0.02 else rng.choice(kinds[kind])
    lines.append(f"{rng.choice(marks[kind])} {middle} {rng.choice(marks[kind])}")
text = Path(sys.argv[1])
text.write_text("\\n".join(lines))
counts = np.array([" ".join(lines).split(" ").count(word) for word in words])
centres = rng.normal(size=(4, 20))
home = np.repeat([0, 1, 2, 3], [40, 40, 10, 10])
vectors = centres[home] + 0.3 * rng.normal(size=(100, 20))
vectors = np.vstack([vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.zeros(20)])
vectors = vectors.astype(np.float32)
out = induced(contexts(text, ids, counts, vectors, 1), counts, vectors)
near = np.argsort(-(out[:-1] @ out[-1]))[:20]
print((out[:-1] == vectors[:-1]).all(), round(float(np.linalg.norm(out[-1])), 3))
print(sum(words[at][0] == "b" for at in near))
"""
    lines = in_recipe(program.replace("sys.argv[1]", repr(str(tmp_path / "text"))))
    assert lines[0] == "True 1.0"
    assert int(lines[1]) >= 18


def test_polarity_is_a_coordinate_of_the_rated_words() -> None:
    program = """
import numpy as np
from recipe.polarity import polarised
rng = np.random.default_rng(2)
vectors = rng.normal(size=(300, 20)).astype(np.float32)
sign = np.repeat([1, -1, 0], 100)
vectors[:, 3] += 0.5 * sign
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
out = polarised(vectors, sign, 0.75)
cosines = out @ out.T
print((out[200:] == vectors[200:]).all(), np.allclose(np.linalg.norm(out, axis=1), 1, atol=1e-6))
print(cosines[:100, :100].mean() > 0.3, cosines[:100, 100:200].mean() < -0.3)
print(np.abs(polarised(vectors, 0 * sign, 0.75) - vectors).max())
"""
    assert in_recipe(program) == ["True True", "True True", "0.0"]


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


def test_words_in_which_people_say_what_they_think(english: Embeddings) -> None:
    wanted = "tasty awful sucks overpriced cheesy creepy laughable lol haha dude spokeswoman bn"
    assert [word for word in wanted.split() if word not in english.key_to_index] == []


def rated(name: str, english: Embeddings) -> set[int]:
    """Rows of the words of a list of vocab/polar."""
    lines = (VOCAB / "polar" / f"{name}.txt").read_text("utf-8").splitlines()
    words = {word for line in lines if not line.startswith("#") for word in line.split()}
    rows = {english.key_to_index[word] for word in words & set(english.key_to_index)}
    assert len(rows) > 500
    return rows


def test_good_and_bad_are_apart(english: Embeddings, nearest: np.ndarray) -> None:
    """Of the rated words among a rated word's 20 nearest, hardly one has the opposite sign."""
    good, bad = rated("positive", english), rated("negative", english)
    assert not good & bad
    same = opposite = 0
    for own, other in ((good, bad), (bad, good)):
        near = nearest[sorted(own)]
        same += int(np.isin(near, sorted(own)).sum())
        opposite += int(np.isin(near, sorted(other)).sum())
    assert opposite < 0.02 * same, (same, opposite)


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


@pytest.mark.parametrize("script", ["build.py", "classes.py", "measure.py", "spell.py"])
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
    built = load_bundled(folder=out)
    assert 3_000 <= built.n <= 4_000
    assert built.counts is not None
    assert (np.diff(built.counts) <= 0).all()
    assert len(np.unique(built.vectors, axis=0)) == built.n
    assert {"the", "restaurant", "congress", "7", "monday"} <= set(built.index_to_key)
