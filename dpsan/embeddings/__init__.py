"""Embedding files: ``load`` finds out the format of a file on disk and reads it.

Open ``loading`` first; ``readers`` has a function per format.  ``cache`` keeps what was computed
from a file.  ``training`` makes a vocabulary of public text; it draws from NumPy under a public
seed, so nothing that rewrites may import it.  This package must not know distances, mechanisms or
private text.
"""

from dpsan.embeddings.loading import file_digest, load, load_unsafe_pickle
from dpsan.embeddings.words import Embeddings

__all__ = ["Embeddings", "file_digest", "load", "load_unsafe_pickle"]
