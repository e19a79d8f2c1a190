"""Fixed keys for the tests of ``verify``."""

import itertools

import pytest

from dpsan.privacy import randomness


@pytest.fixture
def fixed_keys(request, monkeypatch):
    """Draw the same numbers in every run of a test; with ``-m slow`` draw anew."""
    if request.node.get_closest_marker("slow") is None:
        keys = (randomness.seeded_key(f"verify {number}") for number in itertools.count())
        monkeypatch.setattr(randomness, "new_key", keys.__next__)
