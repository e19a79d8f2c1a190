"""Progress of long computations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Watch = Callable[[str], AbstractContextManager[Callable[[float], None] | None]]
"""Given what is being made, shows it while the body runs; the body gives the share that is done."""


def unseen(what: str) -> AbstractContextManager[Callable[[float], None] | None]:
    """Show nothing."""
    return nullcontext()
