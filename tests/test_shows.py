"""What the issues promise on the real data; skipped loudly where it is absent."""

import pytest

from dpsan.mechanisms import MECHANISMS
from dpsan.sanitize.sanitizer import Sanitizer


@pytest.mark.long
@pytest.mark.parametrize("file", ["glove6B_50d_merged.w2v.txt.gz", None])
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_sanitizes_real_text(name, file, shared, store):
    """Issue 4, on the 50d GloVe file and on the bundled vocabulary."""
    lines = (shared / "eval" / "sst2" / "dev.tsv").read_text().split("\n")
    # Inside every domain; that of tgumbel-paper begins far out.
    special = {"gaussian-classical": 1.0, "trlaplace-paper": 1.0, "tgumbel-paper": 400.0}
    known = MECHANISMS[name].parameters()
    more = {"allow_unproved": True, "cache": store, "epsilon": special.get(name, 8.0)}
    more["parameters"] = {key: about.example for key, about in known.items() if about.required}
    sanitizer = Sanitizer(name, embeddings=file and shared / "embeddings" / file, **more)
    out = sanitizer.rewrite(lines)
    assert len(out) == len(lines)
    # Exponential changes 784 of 874 lines on the 50d file, with a deviation of 9.
    assert sum(a != b for a, b in zip(out, lines, strict=True)) > 700


def test_refuted_mechanism_is_refused(dpsan):
    """Issue 4: exit 2, REFUTED, the true delta, and the flag that runs it anyway."""
    asked = ("rewrite", "-m", "trlaplace-paper", "-e", "1")
    done = dpsan(*asked, "-q", stdin=b"hello\n", status=2)
    for told in (b"REFUTED", b"true delta is 0.8", b"--allow-unproved"):
        assert told in done.stderr
    done = dpsan(*asked, "--allow-unproved", stdin=b"hello\n", status=0)
    assert b"REFUTED" in done.stderr
    assert b"NOT GUARANTEED" in done.stderr
