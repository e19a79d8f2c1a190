"""What all tests share: a small vocabulary, the real data if it is there, a command runner."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpsan import rng
from dpsan.cache import Store
from dpsan.embeddings.base import Embeddings
from dpsan.space import MetricSpace

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
ALPHA = 1e-9
"""Significance of statistical tests: a sound program fails one in 10^9 runs per test."""


@pytest.fixture(scope="session")
def shared() -> Path:
    """The real data of the developers; tests that need it are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip(f"real data not present: {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache directory for the whole session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def store(cache: Path) -> Store:
    return Store(cache)


def make_embeddings(n: int = 60, d: int = 5, seed: int = 7) -> Embeddings:
    """n made-up words with Gaussian vectors and Zipf counts."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(n, d)).astype(np.float32)
    words = [f"word{row}" for row in range(n)]
    counts = (1e6 / (np.arange(n) + 1)).astype(np.int64)
    return Embeddings(words, vectors, "made-up", f"made-up-{n}-{d}-{seed}", counts)


@pytest.fixture(scope="session")
def embeddings() -> Embeddings:
    return make_embeddings()


@pytest.fixture(scope="session")
def space(embeddings: Embeddings) -> MetricSpace:
    return MetricSpace(embeddings)


@pytest.fixture(scope="session")
def glove(shared: Path, store: Store) -> tuple[Embeddings, MetricSpace]:
    """GloVe 840B, 9,910 words in 300 dimensions."""
    from dpsan.library import open_space

    return open_space(shared / "embeddings" / "glove840B_300d_10k_int8.w2v.txt.gz", None, store)


def streams(m: int, key: bytes = b"k" * 32, first: int = 0) -> rng.Streams:
    """Streams of m words, ten to a record."""
    full, rest = divmod(m, 10)
    words = [10] * full + ([rest] if rest else [])
    return rng.streams_for(key, range(first, first + len(words)), words)


def fits(observed: np.ndarray, law: np.ndarray) -> bool:
    """Chi-square test at ALPHA of counts against a law; rare outcomes are pooled."""
    total = observed.sum()
    expected = law * total
    rare = expected < 10
    if (observed[law == 0] > 0).any():
        return False
    pooled_observed = np.append(observed[~rare], observed[rare].sum())
    pooled_expected = np.append(expected[~rare], expected[rare].sum())
    keep = pooled_expected > 0
    statistic = ((pooled_observed - pooled_expected)[keep] ** 2 / pooled_expected[keep]).sum()
    return bool(stats.chi2.sf(statistic, max(keep.sum() - 1, 1)) > ALPHA)


@pytest.fixture(scope="session")
def dpsan(cache: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run the command line in a process of its own, without the caller's DPSAN_ variables."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}

    def run(
        *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None, **more: object
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "dpsan", *arguments],
            input=stdin,
            capture_output=True,
            timeout=120,
            env={**clean, "DPSAN_CACHE_DIR": str(cache), "COLUMNS": "100", **(env or {})},
            **more,
        )

    return run
