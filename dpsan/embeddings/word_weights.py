"""Sensitivity of words from public sources: a list, or corpus frequency.

Knows the list's grammar (word TAB weight, one a line, blank lines left out; UTF-8) and row
numbers.  Must not know mechanisms.  A weight is in [0, 1): 0 is plain, near 1 is sensitive.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.frequencies import word_frequencies
from dpsan.errors import InputError, UsageError
from dpsan.errors import reason as os_reason
from dpsan.text.tokens import lookup_keys

__all__ = ["FREQUENCY", "NO_WEIGHTS", "TOP_WEIGHT", "frequency", "load", "resolve"]

NO_WEIGHTS: Final = "none"
FREQUENCY: Final = "frequency"
TOP_WEIGHT: Final = 0.9
"""Weight of the rarest word by frequency."""

Floats = NDArray[np.float64]


def load(path: Path | str, key_to_index: Mapping[str, int]) -> Floats:
    """Weights of all words from a file, shape (n,); words that it does not list have 0.

    Listed words that the vocabulary lacks are left out; two spellings of one word give the larger
    weight.

    Raises:
        InputError: missing, not UTF-8, or a line that is not "word TAB weight in [0, 1)"; names
            file and line only.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else os_reason(error)
        raise InputError(path, str(reason)) from None
    except UnicodeDecodeError:
        raise InputError(path, "not UTF-8") from None
    out = np.zeros(len(key_to_index))
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        word, tab, value = line.rstrip("\r").rpartition("\t")
        if not tab or not word.strip():
            raise InputError(path, "needs a word, a tab and a weight", line=number)
        weight = _weight(value)
        if weight is None:
            raise InputError(path, "the weight must be a number >= 0 and < 1", line=number)
        for key in lookup_keys(word.strip()):
            if key in key_to_index:
                row = key_to_index[key]
                out[row] = max(out[row], weight)
                break
    return out


def _weight(text: str) -> float | None:
    try:
        weight = float(text)
    except ValueError:
        return None
    return weight if 0 <= weight < 1 else None


def frequency(counts: NDArray[np.int64] | None, n: int) -> Floats:
    """Weights from public corpus counts, shape (n,): 0 for the most frequent, 0.9 for the rarest.

    Linear in the logarithm of the count.

    Args:
        counts: shape (n,) or None, see :func:`word_frequencies`.
    """
    seen = word_frequencies(n, counts)
    rarity = np.log(seen.max() / seen)
    top = float(rarity.max())
    return np.asarray(TOP_WEIGHT * rarity / top if top > 0 else rarity, dtype=np.float64)


def resolve(
    choice: str,
    listed: tuple[float, ...] | None,
    counts: NDArray[np.int64] | None,
    n: int,
) -> Floats:
    """Weights of all inputs, shape (n + 1,); ⊥ has the largest weight of any word.

    Args:
        choice: ``none``, ``frequency`` or a file.
        listed: what :func:`load` found in the file.

    Raises:
        UsageError: a file that was not read for this vocabulary.
    """
    if choice == NO_WEIGHTS:
        words = np.zeros(n)
    elif choice == FREQUENCY:
        words = frequency(counts, n)
    elif listed is None or len(listed) != n:
        raise UsageError("weights from a file need the vocabulary", "call with_vocabulary first")
    else:
        words = np.array(listed)
        if not ((words >= 0) & (words < 1)).all() or not all(map(math.isfinite, listed)):
            raise UsageError("weights must be >= 0 and < 1")
    return np.append(words, words.max(initial=0.0))
