"""fastText's ``.bin``: recognised, and refused.

::

    file    = 0x2F4F16BA (int32, little-endian) version arguments dictionary matrix matrix

gensim's ``load_facebook_vectors`` could read it, but allocates the dictionary's and the matrices'
sizes as the header states them, and cannot be told a bound; the vectors of a word must moreover be
summed from its n-grams, so a partial reader would be a wrong one.  ``.vec`` holds the same vectors.

Knows the magic number.  Must not know anything else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dpsan.errors import EmbeddingError

__all__ = ["MAGIC", "refuse"]

MAGIC: Final = (793712314).to_bytes(4, "little")


def refuse(path: Path) -> EmbeddingError:
    """The error for a ``.bin`` file."""
    return EmbeddingError(
        path,
        "fastText .bin is not read",
        "use the .vec, or: fasttext print-word-vectors MODEL.bin < WORDS > MODEL.vec",
    )
