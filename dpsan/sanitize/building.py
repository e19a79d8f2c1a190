"""From a request to everything that drawing words needs: vocabulary, mechanism, guarantee, sampler.

Opens the vocabulary, the only I/O of this room.  Must not know texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.word_lists import WordLists
from dpsan.errors import Hint, UnprovedError
from dpsan.mechanisms.base import Mechanism, Sampler
from dpsan.outcomes.calibrate import Draft, epsilon_for_ldp
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.sanitize.request import RunSpec
from dpsan.space.metric_space import MetricSpace

__all__ = ["Built", "Opened", "build"]

Opened = Callable[[], tuple[Embeddings, MetricSpace]]
"""Opens a vocabulary, as :func:`dpsan.space.library.open_space` does."""


@dataclass(frozen=True)
class Built:
    """What one request has become on one vocabulary."""

    spec: RunSpec
    """The request, with the epsilon that was found for its ``epsilon_ldp``."""
    embeddings: Embeddings
    space: MetricSpace
    mechanism: Mechanism
    guarantee: Guarantee
    sampler: Sampler


def build(spec: RunSpec, opened: Opened, progress: Callable[[str], None] = lambda _: None) -> Built:
    """Open the vocabulary and prepare the mechanism on it.

    Args:
        spec: the request.
        opened: opens the vocabulary; called after the request was checked.
        progress: told of each epsilon that is tried for ``epsilon_ldp``.

    Raises:
        UsageError: a value outside its domain.
        UnprovedError: the guarantee is not proved, and the request does not allow that.
        EmbeddingError: the vocabulary cannot be used.
    """
    wanted = spec.epsilon_ldp if spec.epsilon is None else None
    kind = spec.kind()
    given = spec.build() if wanted is None else None  # before the slow part: usage errors first
    embeddings, space = opened()
    if wanted is not None:
        draft = Draft(kind, spec.parameters, embeddings.key_to_index)
        # Workers get the value that was found here.
        spec = replace(spec, epsilon=epsilon_for_ldp(draft, space, wanted, progress))
    mechanism = given or spec.build()
    mechanism = mechanism.with_vocabulary(WordLists(lambda: embeddings.key_to_index)).resolved(
        space
    )
    guarantee = _guarantee(mechanism, space, math.inf if wanted is None else wanted)
    if guarantee.status is not Status.PROVED and not spec.allow_unproved:
        raise UnprovedError(
            f"{mechanism.name} is {guarantee.status}: {guarantee.summary()}; {guarantee.why}",
            Hint(
                "allow_unproved=True runs it all the same",
                "--allow-unproved runs it all the same",
            ),
        )
    return Built(spec, embeddings, space, mechanism, guarantee, mechanism.prepare(space))


def _guarantee(mechanism: Mechanism, space: MetricSpace, certified: float) -> Guarantee:
    """The mechanism's guarantee, or the certified LDP epsilon where that is smaller."""
    guarantee = mechanism.guarantee(space)
    if certified >= guarantee.epsilon_ldp:
        return guarantee
    why = f"{guarantee.why}; the LDP epsilon by an exact certificate"
    return replace(guarantee, epsilon_ldp=certified, why=why)
