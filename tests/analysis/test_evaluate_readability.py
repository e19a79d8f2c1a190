"""Readability: perplexities by hand, and what they tell of order, case and unknown words."""

import json
import math

import numpy as np
import pytest
import read_back
from support import skip_without_extra

from dpsan.analysis.evaluate.readability import readability
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.outcomes.language.symbols import Gap

LANGUAGE = [" ".join(f"w{(start + step) % 9}" for step in range(12)) for start in range(9)] * 20
VOCABULARY = Vocabulary(read_back.small([1] * 9), "unicode")


def learn(lines):
    return read_back.learn(lines, VOCABULARY)


def judge(original, sanitized):
    return readability(original, sanitized, VOCABULARY, learn(LANGUAGE))


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
    again = judge(LANGUAGE, [" ".join(rng.permutation(line.split())) for line in LANGUAGE])
    assert again.sanitized == pytest.approx(found.shuffled, rel=0.05)
    assert again.shuffled == found.shuffled  # a public key
    uniform = [" ".join(f"w{word}" for word in rng.integers(0, 9, 12)) for _ in LANGUAGE]
    worse = judge(LANGUAGE, uniform)
    assert worse.sanitized > worse.shuffled
    assert worse.verdict == "no more readable than the original's words in random order"


def test_table_json_and_page(dpsan, tmp_path):
    """The mechanism need not be known; without public text there is a note instead."""
    vectors = "".join(f"w{i} {i % 3} {i // 3} {i * i % 5}\n" for i in range(9))
    (tmp_path / "v.txt").write_text(vectors)
    for name in ("public.txt", "o.txt"):
        (tmp_path / name).write_text("\n".join(LANGUAGE) + "\n")
    base = ("rewrite", "-q", "-E", "v.txt", "-m", "krr", "--seed", "x", "o.txt")
    assert dpsan(*base, "-e", "9", "-o", "near.txt", cwd=tmp_path).returncode == 0
    broken = "w0 w1 w5 w6 w2 w3 w7 w8 w4 w5 w0 w1\n"  # what follows two words never does
    (tmp_path / "far.txt").write_text(broken * len(LANGUAGE))

    def run(*arguments):
        done = dpsan("evaluate", "-E", "v.txt", *arguments, cwd=tmp_path)
        skip_without_extra(done.stderr.decode())
        assert done.returncode == 0, done.stderr.decode()
        return done

    public = ("--language-model", "public.txt", "o.txt")
    shown = run(*public, "far.txt").stdout.decode()
    assert "perplexity" in shown
    assert "no more readable than the original's words in random order" in shown
    assert max(map(len, shown.splitlines())) <= 80
    near = run(*public, "near.txt", "--json", "--html", "page.html", "--force")
    found = json.loads(near.stdout)["readability"]
    assert found["perplexity"]["sanitized"] < found["perplexity"]["original_shuffled"]
    assert found["verdict"] is None
    assert found["public_words"] == sum(len(line.split()) for line in LANGUAGE)
    assert "times the original&#x27;s" in (tmp_path / "page.html").read_text()
    without = run("o.txt", "far.txt")
    assert b"perplexity" not in without.stdout
    note = b"no readability: this vocabulary has no language model (--language-model)"
    assert note in without.stderr
    known = run("-m", "krr", "-e", "9", "o.txt", "near.txt", "--json")
    assert json.loads(known.stdout)["readability"] is None
    assert b"no attack that reads context" not in known.stderr  # --json has the notes
    assert "and no attack that reads context" in json.loads(known.stdout)["notes"][0]
