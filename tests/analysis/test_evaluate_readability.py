"""Readability: perplexities by hand, and what they tell of order, case and unknown words."""

import json
import math

import numpy as np
import pytest
from support import skip_without_extra

from dpsan.analysis.evaluate.language import count
from dpsan.analysis.evaluate.readability import Readability, readability
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.base import Embeddings

LANGUAGE = [" ".join(f"w{(start + step) % 9}" for step in range(12)) for start in range(9)] * 20


def vocabulary_of(words):
    vectors = np.eye(len(words), dtype=np.float32)
    return Vocabulary(
        Embeddings(words, vectors, "small", "small", np.ones(len(words), dtype=np.int64)), "unicode"
    )


VOCABULARY = vocabulary_of([f"w{row}" for row in range(9)])


def judge(original, sanitized, vocabulary=VOCABULARY, public=LANGUAGE):
    return readability(original, sanitized, vocabulary, count(public, vocabulary))


def test_perplexity_by_hand():
    """Three words: the first behind the end of a line, an unknown one is a symbol too."""
    counts = count(["w0 w1 x w1", "w0 w2"], VOCABULARY)
    model = counts.model(VOCABULARY.frequencies)
    n = VOCABULARY.n
    steps = [(n + 1, 0), (0, 1), (1, n), (n + 1, 2)]
    logs = [float(model.log(np.array(a), np.array(b))) for a, b in steps]
    # c(w0) = 2 with two types, N = 8 with the ends of lines, mu = 9: p(w1) = (2 + 1)/(8 + 9).
    assert math.exp(logs[1]) == pytest.approx(0.125 + 0.75 * 3 / 17, rel=1e-6)
    found = readability(["W0 w1, unheard!", "w2"], ["", "..."], VOCABULARY, counts)
    assert found.original == pytest.approx(math.exp(-sum(logs) / 4), rel=1e-6)
    assert found.sanitized is None
    assert found.verdict is None
    assert found.public_words == 6


def test_order_is_what_counts():
    """The right words in random order are the anchor: the language itself is far below it."""
    found = judge(LANGUAGE, LANGUAGE)
    assert found.original == found.sanitized < 2
    assert found.shuffled > 4
    assert found.verdict is None
    rng = np.random.default_rng(3)
    shuffled = [" ".join(rng.permutation(line.split())) for line in LANGUAGE]
    again = judge(LANGUAGE, shuffled)
    assert again.sanitized == pytest.approx(found.shuffled, rel=0.05)
    assert again.shuffled == found.shuffled  # a public key
    uniform = [" ".join(f"w{word}" for word in rng.integers(0, 9, 12)) for _ in LANGUAGE]
    worse = judge(LANGUAGE, uniform)
    assert worse.sanitized > worse.shuffled
    assert worse.verdict == "no more readable than the original's words in random order"


def test_words_stay_in_their_text():
    """Two texts of one word each have one order only."""
    found = judge(["w1 w1 w1", "w5"], ["w1", "w5"])
    assert found.shuffled == pytest.approx(found.original)


def test_a_short_text_is_shuffled_until_chance_is_small():
    """Three words have six orders: their mean logarithm, and not one of them."""
    model = count(LANGUAGE, VOCABULARY).model(VOCABULARY.frequencies)
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    end = VOCABULARY.n + 1
    mean = np.mean([model.log(np.array([end, *o[:2]]), np.array(o)).mean() for o in orders])
    assert judge(["w0 w1 w2"], [""]).shuffled == pytest.approx(math.exp(-mean), rel=0.05)


def test_letter_case_is_not_seen():
    """A cased vocabulary: rows of one word in two spellings count as one."""
    cased = vocabulary_of([f"{letter}{row}" for row in range(9) for letter in "wW"])
    public = [line.title() if at % 2 else line for at, line in enumerate(LANGUAGE)]
    plain = judge(LANGUAGE, LANGUAGE, cased, public)
    titled = judge(LANGUAGE, [line.title() for line in LANGUAGE], cased, public)
    assert titled.sanitized == plain.sanitized
    assert plain.original == pytest.approx(judge(LANGUAGE, LANGUAGE).original, rel=0.02)


def test_rows_and_json():
    found = Readability(100.0, 250.0, 200.0, 7)
    assert found.rows == [
        ("original", 100.0, 1.0),
        ("sanitized", 250.0, 2.5),
        ("original shuffled", 200.0, 2.0),
    ]
    shown = found.as_json()
    assert shown["perplexity"] == {
        "original": 100.0,
        "sanitized": 250.0,
        "original_shuffled": 200.0,
    }
    assert shown["verdict"].startswith("no more readable")


@pytest.fixture(scope="module")
def folder(dpsan, tmp_path_factory):
    folder = tmp_path_factory.mktemp("readability")
    (folder / "v.txt").write_text("".join(f"w{i} {i % 3} {i // 3} {i * i % 5}\n" for i in range(9)))
    (folder / "public.txt").write_text("\n".join(LANGUAGE) + "\n")
    (folder / "o.txt").write_text("\n".join(LANGUAGE) + "\n")
    base = ("rewrite", "-q", "-E", "v.txt", "-m", "krr", "--seed", "x", "o.txt")
    for epsilon, name in (("9", "near.txt"), (".001", "far.txt")):
        assert dpsan(*base, "-e", epsilon, "-o", name, cwd=folder).returncode == 0
    return folder


def run(dpsan, folder, *arguments):
    done = dpsan("evaluate", "--no-scores", "-E", "v.txt", *arguments, cwd=folder)
    skip_without_extra(done.stderr.decode())
    assert done.returncode == 0, done.stderr.decode()
    return done


def test_table_json_and_page(dpsan, folder):
    """The mechanism need not be known; without public text there is a note instead."""
    public = ("--language-model", "public.txt", "o.txt")
    shown = run(dpsan, folder, *public, "far.txt").stdout.decode()
    assert "perplexity" in shown
    assert "no more readable than the original's words in random order" in shown
    assert max(map(len, shown.splitlines())) <= 80
    near = run(dpsan, folder, *public, "near.txt", "--json", "--html", "page.html", "--force")
    found = json.loads(near.stdout)["readability"]
    assert found["perplexity"]["sanitized"] < found["perplexity"]["original_shuffled"]
    assert found["verdict"] is None
    assert found["public_words"] == sum(len(line.split()) for line in LANGUAGE)
    assert "times the original&#x27;s" in (folder / "page.html").read_text()
    without = run(dpsan, folder, "o.txt", "far.txt")
    assert b"perplexity" not in without.stdout
    assert b"no readability: it needs public text (--language-model)" in without.stderr
    known = run(dpsan, folder, "-m", "krr", "-e", "9", "o.txt", "near.txt", "--json")
    assert json.loads(known.stdout)["readability"] is None
    assert b"no attack that reads context" not in known.stderr  # --json has the notes
    assert "and no attack that reads context" in json.loads(known.stdout)["notes"][0]
