"""The user's cache, as commands open it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsan.cli.output import say

if TYPE_CHECKING:
    from dpsan.embeddings.cache.store import Store


def open_cache(quiet: bool = False) -> Store:
    """The cache; complaints about it, and the progress of what is made for it, go to stderr."""
    from dpsan.embeddings.cache.store import Store

    if quiet:
        return Store()
    from dpsan.cli.progress import table_progress

    return Store(note=say, watch=table_progress)
