"""What the tests of mechanisms share."""

import pytest

from dpsan.mechanisms import registry


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    """No test leaves a mechanism of its own in the registry."""
    monkeypatch.setattr(registry, "_OWN", dict(registry._OWN))
