"""Word vectors from the training text: dpsan's own training, which ``dpsan train`` does too."""

from __future__ import annotations

from dpsan.embeddings.training.skipgram import Training, train_vectors

__all__ = ["Training", "train_vectors"]
