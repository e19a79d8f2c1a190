"""What commands print for people: messages on standard error, JSON and tables on standard output.

Knows terminals and pipes.  Must not know what is printed.
"""

from __future__ import annotations

import contextlib
import sys

from dpsan.errors import printable

__all__ = ["say"]


def say(message: str) -> None:
    """One line on stderr, whatever a file's name holds; silent when nobody can read it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"dpsan: {printable(message)}\n")
        sys.stderr.flush()
