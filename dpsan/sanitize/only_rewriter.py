"""The rewriter of a request that replaces words of some classes alone."""

from __future__ import annotations

from dpsan.only.alone import rules_text
from dpsan.sanitize.guarantee_and_sampler import Built
from dpsan.sanitize.numbers_by_value import NumberPolicy, Numbers
from dpsan.sanitize.replacing import OnlyRewriter


def only_rewriter(built: Built) -> OnlyRewriter:
    """Return what replaces the words of some classes."""
    spec = built.spec
    own = {each.name: each.groups[0] for each in spec.only if not each.english}
    numbers = None
    if spec.numbers == NumberPolicy.VALUE:
        numbers = Numbers(built.guarantee.epsilon_ldp, spec.consistent)
    return OnlyRewriter(
        rules_text(),
        [each.name for each in spec.only if each.english],
        own,
        sorted(spec.keep),
        spec.consistent,
        numbers,
        mapped=spec.mapped,
    )
