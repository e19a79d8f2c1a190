"""Strings that stand for inputs of a mechanism, and the row numbers that their outputs stand for.

Knows sanitizers.  Must not know what is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import islice

import numpy as np

from dpsan.errors import printable
from dpsan.privacy.randomness import streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids


def words_at_random(sanitizer: Sanitizer, most: int, key: bytes) -> Ids:
    """Rows of so many words, or of all; without those that no single token stands for.

    Those are no input of the mechanism: a text that holds them is several words.
    """
    n, keys = sanitizer.space.n, sanitizer.embeddings.index_to_key
    ids = np.arange(n)
    if n > most:
        chance = streams_for(key, [0], [n]).bits("words")[:, 0]
        ids = np.sort(np.argsort(chance, kind="stable")[:most])
    return np.array([w for w in ids.tolist() if sanitizer.input_of(keys[w]) == w], dtype=np.int64)


def drawn_rows(sanitizer: Sanitizer, texts: Sequence[str], key: bytes) -> Ids:
    """What comes out for texts of one word, through the same code as ``rewrite``, shape (m,).

    -1 where an output is no word of the vocabulary; letter case may be the input's.
    """

    @cache
    def row_of(output: str) -> int:
        row = sanitizer.row_of(output)
        row = sanitizer.row_of(output.lower()) if row is None else row
        return -1 if row is None else row

    lines = sanitizer.sanitize(texts, key).lines
    return np.fromiter(map(row_of, lines), dtype=np.int64, count=len(texts))


def name_of(sanitizer: Sanitizer, row: int) -> str:
    """An input for messages: a word of the public vocabulary, or that it is unknown."""
    keys = sanitizer.embeddings.index_to_key
    return f"the word {printable(keys[row])}" if row < len(keys) else "an unknown word"


def may_hold(sanitizer: Sanitizer, gap: str) -> bool:
    """Whether some output could hold a string."""
    embeddings = sanitizer.embeddings
    return any(gap in word for word in (*embeddings.index_to_key, *(embeddings.spellings or ())))


def unknown_strings(sanitizer: Sanitizer, many: int) -> list[str]:
    """Different strings that the vocabulary lacks, each drawn as one token.

    None where unknown words are not drawn, or not enough are found.
    """
    letters, n = "qzxjkvw", sanitizer.space.n
    digits = (np.base_repr(number, len(letters)) for number in range(50 * many))
    words = ("qzx" + "".join(letters[int(digit)] for digit in each) for each in digits)
    out = list(islice((word for word in words if sanitizer.input_of(word) == n), many))
    return out if len(out) == many else []
