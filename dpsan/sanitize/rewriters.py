"""What rewrites the texts of a request: a mechanism, or rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpsan.sanitize.guarantee_and_sampler import Built
from dpsan.sanitize.rewriting import Rewriter

if TYPE_CHECKING:
    from dpsan.sanitize.replacing import OnlyRewriter


def rewriter_of(built: Built) -> Rewriter | OnlyRewriter:
    """Return what rewrites texts; rules and lists are loaded where they are needed."""
    if not built.spec.only:
        return Rewriter(built)
    from dpsan.sanitize.only_rewriter import only_rewriter

    return only_rewriter(built)
