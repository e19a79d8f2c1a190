"""Who reads natural case back: evaluate, audits and verify see words, not letters."""

import json

import numpy as np

from dpsan import load_embeddings
from dpsan.analysis.evaluate.pairs import Inputs, read_pairs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.embeddings.base import Embeddings
from dpsan.sanitize.sanitizer import Sanitizer

LINES = """The doctor told Maria Gonzalez in Paris that she was ill. "Is she?" asked an old man.
It took an hour. IBM's iPhone broke, and I don't know a better one!
paris
An apple a day; a university: an FBI agent, zzyqx and YouTube's X-ray.
"""


def test_audit_and_evaluate_agree_on_what_is_unchanged(tmp_path, dpsan):
    """Capitals change no word; an a that had to become an does, for both."""
    original, sanitized, audit = (tmp_path / name for name in ("in.txt", "out.txt", "a.jsonl"))
    original.write_text(LINES * 40)
    command = "rewrite -q -e 11 -o out.txt -a a.jsonl --audit-originals in.txt"
    done = dpsan(*command.split(), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    rows = [json.loads(row) for row in audit.read_text().splitlines()]
    assert rows[0]["case"] == "natural"
    words = [row for row in rows if row["type"] == "word"]
    lines = sanitized.read_text().split("\n")
    assert all(lines[row["line"] - 1][row["start"] : row["end"]] == row["out"] for row in words)
    pairs = read_pairs(original, [sanitized], Inputs(), Vocabulary(load_embeddings(), "unicode"))
    assert pairs.unaligned == 0
    assert pairs.same.tolist() == [row["unchanged"] for row in words]
    assert 0.1 < pairs.same.mean() < 0.9
    cased = [row for row in words if row["unchanged"] and row["in"] != row["out"]]
    assert {row["out"] for row in cased} & {"Paris", "The"}


def test_verify_knows_the_words_it_sees():
    words = [f"w{n}" for n in range(6)]
    vectors = np.random.default_rng(3).normal(size=(6, 3)).astype(np.float32)
    embeddings = Embeddings(words, vectors, "x", "x", spellings=[w.upper() for w in words])
    found = verify(Sanitizer("krr", epsilon=3.0, embeddings=embeddings), draws=20_000)
    assert found.verdict is Verdict.KEPT
    assert found.exposures == ()
    assert found.event
    assert set(found.event) <= {w.upper() for w in words}
    assert found.other == 0
