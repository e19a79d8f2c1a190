"""The rewriter of a request that replaces words of some classes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpsan.embeddings.class_lists import WordClass
from dpsan.only.rules import rules_text
from dpsan.sanitize.guarantee_and_sampler import Built
from dpsan.sanitize.numbers_by_value import NumberPolicy, Numbers
from dpsan.sanitize.replacing import OnlyRewriter


def only_rewriter(built: Built) -> OnlyRewriter:
    """Return what replaces the words of some classes."""
    spec, numbers = built.spec, None
    if spec.numbers == NumberPolicy.VALUE:
        numbers = Numbers(built.guarantee.epsilon_ldp, spec.consistent)
    return rewriter_of_classes(
        spec.only,
        keep=sorted(spec.keep),
        scope=spec.consistent,
        numbers=numbers,
        roles=spec.roles == "on",
        mapped=spec.mapped,
    )


def rewriter_of_classes(classes: Sequence[WordClass], **more: Any) -> OnlyRewriter:
    """Return what replaces the words of these classes; ``more``: of :class:`OnlyRewriter`."""
    own = {each.name: each.groups[0] for each in classes if not each.english}
    return OnlyRewriter(rules_text(), [each.name for each in classes if each.english], own, **more)
