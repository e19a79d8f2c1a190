"""Readability: perplexities by hand, and what they tell of order, case and unknown words."""

import itertools
import json
import math

import numpy as np
import pytest
from support import skip_without_extra

from dpsan.analysis.evaluate.readability import Readability, readability
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.base import Embeddings
from dpsan.outcomes.language.kneser_ney import Counts, estimated, symbols_of_lines
from dpsan.outcomes.language.symbols import Gap

LANGUAGE = [" ".join(f"w{(start + step) % 9}" for step in range(12)) for start in range(9)] * 20


def vocabulary_of(words):
    vectors = np.eye(len(words), dtype=np.float32)
    return Vocabulary(
        Embeddings(words, vectors, "small", "small", np.ones(len(words), dtype=np.int64)), "unicode"
    )


VOCABULARY = vocabulary_of([f"w{row}" for row in range(9)])


def judge(original, sanitized, vocabulary=VOCABULARY, public=LANGUAGE):
    return readability(original, sanitized, vocabulary, learn(public, vocabulary))


def learn(lines, vocabulary=VOCABULARY):
    counts = Counts(vocabulary.n)
    for symbols in symbols_of_lines(lines, vocabulary.lookup, vocabulary.n):
        counts.add(symbols)
    return estimated(counts)


def log(model, *symbols):
    """ln p(last|two before it)."""
    one, two, three = (np.array([each]) for each in symbols)
    below, _ = model.pairs(two, three)
    return float(model.triples(model.pairs(one, two)[1], three, below)[0])


def test_perplexity_by_hand():
    """Four words: the first of a text behind the end of a line, an unknown one is a symbol too."""
    model = learn(["w0 w1, x w1", "w0 w2"])
    n = VOCABULARY.n
    line, clause = n + Gap.LINE, n + Gap.CLAUSE
    steps = [(line, line, 0), (line, 0, 1), (1, clause, n), (n, line, 2)]
    logs = [log(model, *each) for each in steps]
    found = readability(["W0 w1, unheard!", "w2"], ["", "..."], VOCABULARY, model)
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
    model = learn(LANGUAGE)
    end = VOCABULARY.n + Gap.LINE
    orders = itertools.permutations(range(3))
    logs = [
        [log(model, *each) for each in zip((end, end, a), (end, a, b), (a, b, c), strict=True)]
        for a, b, c in orders
    ]
    mean = np.mean(logs)
    assert judge(["w0 w1 w2"], [""]).shuffled == pytest.approx(math.exp(-mean), rel=0.05)


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
    assert dpsan(*base, "-e", "9", "-o", "near.txt", cwd=folder).returncode == 0
    broken = "w0 w1 w5 w6 w2 w3 w7 w8 w4 w5 w0 w1\n"  # what follows two words never does
    (folder / "far.txt").write_text(broken * len(LANGUAGE))
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
    assert (
        b"no readability: this vocabulary has no language model (--language-model)"
        in without.stderr
    )
    known = run(dpsan, folder, "-m", "krr", "-e", "9", "o.txt", "near.txt", "--json")
    assert json.loads(known.stdout)["readability"] is None
    assert b"no attack that reads context" not in known.stderr  # --json has the notes
    assert "and no attack that reads context" in json.loads(known.stdout)["notes"][0]
