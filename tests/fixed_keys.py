"""Keys that are the same in every run: of a test, a command and a row of the scoreboard."""

from itertools import count
from types import SimpleNamespace

from dpsan.privacy import randomness


def fix_keys(name: str) -> None:
    """Let the new keys of this process follow from a name, so that no test fails by chance."""
    numbers = count()

    def token_bytes(size: int) -> bytes:
        return randomness.seeded_key(f"{name} {next(numbers)}")[:size]

    setattr(randomness, "secrets", SimpleNamespace(token_bytes=token_bytes))  # noqa: B010
