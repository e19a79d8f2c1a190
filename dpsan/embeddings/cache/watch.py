"""Progress of long computations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Watch = Callable[[str], AbstractContextManager[Callable[[float], None] | None]]
"""Shows progress: takes a description, and its body gets a function of the share that is done."""


def unseen(what: str) -> AbstractContextManager[Callable[[float], None] | None]:
    """Show nothing."""
    return nullcontext()
