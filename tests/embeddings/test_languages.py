"""The recipe of docs/languages.md for German, French and Spanish, on a page of an old book each.

tests/languages has the beginnings of *Die Verwandlung*, *Madame Bovary* and *Don Quijote*.
"""

import json

import numpy as np
import pytest
from support import ROOT

from dpsan.embeddings.loading import load
from dpsan.embeddings.word_lists import public_words
from dpsan.text.tokens import TOKENIZERS

LETTERS = {"de": "Traum Zimmer", "fr": "Proviseur garçon", "es": "hidalgo Mancha"}


@pytest.mark.parametrize("language", LETTERS)
def test_a_vocabulary_is_trained_and_used(dpsan, tmp_path, language):
    page = (ROOT / "tests" / "languages" / f"{language}.txt").read_text(encoding="utf-8")
    common = sorted(public_words(f"function-{language}").words)
    mixed = np.random.default_rng(3).permutation(common * 3).tolist()
    (tmp_path / "public.txt").write_text(page * 20 + " ".join(mixed) + "\n", encoding="utf-8")
    (tmp_path / "letter.txt").write_text(page + "Maria Qzx\n", encoding="utf-8")
    trained = ("train", "-q", "--words", "600", "--least", "2", "--epochs", "1", "public.txt")
    done = dpsan(*trained, "-o", "own.npz", "--json", cwd=tmp_path, status=0)
    assert json.loads(done.stdout)["known"] > 0.5
    spelled = set(load(tmp_path / "own.npz").index_to_key)
    assert {each.lower() for each in LETTERS[language].split()} <= spelled
    run = ("rewrite", "-e", "8", "-E", "own.npz", "--public", f"function-{language}", "letter.txt")
    done = dpsan(*run, cwd=tmp_path, status=0)
    assert b"public words" in done.stderr
    out = done.stdout.decode()
    assert out.count("\n") == page.count("\n") + 1
    assert "Qzx" not in out
    if language == "de":  # nouns keep their capitals
        assert sum(word[:1].isupper() for word in TOKENIZERS["unicode"](out)[1::2]) > 8


def test_segmented_text_is_cut_where_it_was(dpsan, tmp_path):
    """Japanese, segmented by another tool: whose cuts depend on the text, as the run says."""
    words = [f"{one}{two}" for one in "私彼東京大阪行住" for two in "はにでてへを駅者村川海山人時"]
    vectors = np.random.default_rng(3).normal(size=(len(words), 4))
    np.savez(tmp_path / "own.npz", words=np.array(words), vectors=vectors)
    run = ("rewrite", "-v", "-e", "8", "-E", "own.npz", "--tokenizer", "whitespace")
    done = dpsan(*run, stdin="私は 東京 に 行き まし た 。\n".encode(), cwd=tmp_path)
    assert len(done.stdout.decode().split()) == 7
    assert done.stdout.decode().endswith(" 。\n")
    assert "word boundaries" in " ".join(done.stderr.decode().split())
