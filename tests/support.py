"""What tests in every folder import: made-up words, streams, a statistical test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import stats

from dpsan import rng
from dpsan.embeddings.base import Embeddings

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "data"
ALPHA = 1e-9
"""Significance of statistical tests: a sound program fails one in 10^9 runs per test."""


def make_embeddings(n: int = 60, d: int = 5, seed: int = 7) -> Embeddings:
    """n made-up words with Gaussian vectors and Zipf counts."""
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(n, d)).astype(np.float32)
    words = [f"word{row}" for row in range(n)]
    counts = (1e6 / (np.arange(n) + 1)).astype(np.int64)
    return Embeddings(words, vectors, "made-up", f"made-up-{n}-{d}-{seed}", counts)


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
