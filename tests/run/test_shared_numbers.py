"""Files, copies, lines and workers of a run have random numbers of their own, far into the run."""

from itertools import pairwise

import numpy as np
import pytest
from support import make_embeddings

from dpsan.analysis.verify.checks import rewritten
from dpsan.embeddings import file_digest
from dpsan.embeddings.store import Store
from dpsan.run.workers import Pool
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings

KEY = b"k" * 32
WORDS = [f"word{row}" for row in range(40)]
LINE = f"{' '.join(WORDS)}\n".encode()
"""Two outputs of it are equal by chance once in 10^50: every draw is nearly uniform."""


@pytest.fixture(scope="module")
def sanitizer():
    return Sanitizer("krr", epsilon=0.5, embeddings=make_embeddings(n=40, d=4), case="vocabulary")


def test_no_copy_or_file_is_written_like_another(sanitizer):
    (written,) = rewritten(sanitizer, [LINE], KEY, copies=70)
    assert len(set(written.splitlines())) == 70
    files = [1, 2, 3, 4, 5, 64, 65, 5000]
    assert len(set(rewritten(sanitizer, [LINE] * 8, KEY, files=files))) == 8


def test_no_part_of_a_long_line_is_written_like_another(sanitizer):
    """256 words share a stream: 20 of them, and a line above 1 MiB in several stretches."""
    many = WORDS[:32] * 160
    plain, wide = (gap.join(many).encode() for gap in (" ", " " * 300))
    assert len(wide) > 1 << 20
    outputs = [rewritten(sanitizer, [line], KEY)[0].split() for line in (plain, wide)]
    assert outputs[0] == outputs[1]
    rows = np.array(outputs[0]).reshape(-1, 256)
    assert (len(rows), len(np.unique(rows, axis=0))) == (20, 20)
    for first, second in pairwise(outputs[0][at:] for at in range(0, 1024, 256)):
        assert np.mean([one == other for one, other in zip(first, second, strict=False)]) < 0.2


def test_workers_write_what_one_process_writes(tmp_path):
    """The same words, records and epsilon: two records a batch, in many batches."""
    path = tmp_path / "v.txt"
    path.write_text("".join(f"{word} {at} 1\n" for at, word in enumerate(WORDS)))
    spec, store = Settings(3.0, "krr", embeddings=path), Store(tmp_path / "cache")
    alone = rewritten(Sanitizer.from_spec(spec, store), [LINE * 64], KEY)
    with Pool(spec, store.root, 2, file_digest(path)) as pool:
        shared = rewritten(
            Sanitizer.from_spec(spec, store), [LINE * 64], KEY, workers=pool, batch=2
        )
    assert (shared, len(set(alone[0].splitlines()))) == (alone, 64)
