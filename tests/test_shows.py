"""What the issues promise on the real data; skipped loudly where it is absent."""

import re

import pytest

from dpsan.mechanisms import MECHANISMS
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import TOKENIZERS


def gaps(text):
    return [TOKENIZERS["unicode"].split(line)[::2] for line in text.split("\n")]


def fill(name):
    return {
        key: about.example for key, about in MECHANISMS[name].parameters().items() if about.required
    }


def epsilon_for(name):
    """An epsilon inside every mechanism's domain; tgumbel-paper's begins far out."""
    special = {"gaussian-classical": 1.0, "trlaplace-paper": 1.0, "tgumbel-paper": 400.0}
    return special.get(name, 8.0)


def test_structure_of_real_text_is_kept(shared, store):
    """Issue 3: every character that is not part of a word is equal and in place."""
    text = (shared / "eval" / "sst2" / "dev.tsv").read_text()
    sanitizer = Sanitizer(
        "laplace",
        epsilon=20,
        embeddings=shared / "embeddings" / "glove840B_300d_10k_int8.w2v.txt.gz",
        cache=store,
    )
    lines = text.split("\n")
    result = sanitizer.sanitize(lines, randomness.new_key(), audit=True)
    assert len(result.lines) == len(lines)
    by_record = {}
    for record in result.records:
        by_record.setdefault(record.record, []).append(record)
    for number, line in enumerate(lines):
        at, pieces = 0, []
        for record in by_record.get(number, []):
            pieces += [line[at : record.start], record.output]
            between = line[at : record.start].replace("'s", "").replace("'", "")
            assert not re.search(r"[^\W_]", between)
            at = record.end
        assert "".join([*pieces, line[at:]]) == result.lines[number]


@pytest.mark.slow
@pytest.mark.parametrize("file", ["glove6B_50d_merged.w2v.txt.gz", None])
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_sanitizes_real_text(name, file, shared, store):
    """Issue 4, on the 50d GloVe file and on the bundled vocabulary."""
    lines = (shared / "eval" / "sst2" / "dev.tsv").read_text().split("\n")
    sanitizer = Sanitizer(
        name,
        epsilon=epsilon_for(name),
        parameters=fill(name),
        embeddings=None if file is None else shared / "embeddings" / file,
        allow_unproved=True,
        cache=store,
    )
    out = sanitizer.rewrite(lines)
    assert len(out) == len(lines)
    assert sum(a != b for a, b in zip(out, lines, strict=True)) > 800


def test_refuted_mechanism_is_refused(dpsan):
    """Issue 4: exit 2, REFUTED, the true delta, and the flag that runs it anyway."""
    done = dpsan("rewrite", "-q", "-m", "trlaplace-paper", "-e", "1", stdin=b"hello\n")
    assert done.returncode == 2
    assert b"REFUTED" in done.stderr
    assert b"true delta 0.8" in done.stderr
    assert b"--allow-unproved" in done.stderr
    done = dpsan(
        *("rewrite", "-m", "trlaplace-paper", "-e", "1", "--allow-unproved"), stdin=b"hello\n"
    )
    assert done.returncode == 0
    assert b"REFUTED" in done.stderr
    assert b"NOT GUARANTEED" in done.stderr
