"""Fixed keys for the tests of ``verify``."""

import itertools

import pytest

from dpsan.privacy import randomness


@pytest.fixture
def fixed_keys(request, monkeypatch):
    """Draw the same numbers in every run of a test; with ``-m slow`` draw anew."""
    if request.node.get_closest_marker("slow") is None:
        numbers = itertools.count()
        monkeypatch.setattr(
            randomness, "new_key", lambda: randomness.seeded_key(f"verify {next(numbers)}")
        )
