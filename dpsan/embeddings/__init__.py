"""Embedding files: one module per format on disk; ``load`` finds out which and reads it.

Open ``loading`` first.  ``cache`` keeps what was computed from a file, ``training`` makes a
vocabulary of public text.  This package must not know distances, mechanisms or private text.
"""

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.loading import file_digest, load, load_unsafe_pickle

load_embeddings = load

__all__ = ["Embeddings", "file_digest", "load", "load_embeddings", "load_unsafe_pickle"]
