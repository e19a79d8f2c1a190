"""Embedding files: one module per format on disk; ``load`` finds out which and reads it."""

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.gensim_pickle import load_unsafe_pickle
from dpsan.embeddings.loading import file_digest, load

load_embeddings = load

__all__ = ["Embeddings", "file_digest", "load", "load_embeddings", "load_unsafe_pickle"]
