"""What the tests of embeddings share."""

import os

import pytest


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """Waiting for the disk is most of the time of the cache, and not the matter."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)
