"""Turn a request into the guarantee and the sampler of its mechanism on its vocabulary.

This is where a run's guarantee is computed, and refused if it is not proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.word_lists import lists_digest
from dpsan.errors import Hint, UnprovedError, UsageError, refuse
from dpsan.mechanisms.base import BaseResponse, Mechanism
from dpsan.mechanisms.optimal.group_response import GroupResponse
from dpsan.mechanisms.registry import is_own, own_file, space_for
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.tables.near_sets import words_in_groups
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.sanitize.classes import Grouping, class_rows
from dpsan.sanitize.numbers_by_value import check_numbers
from dpsan.sanitize.settings import Settings
from dpsan.space.metric_space import MetricSpace

if TYPE_CHECKING:
    from dpsan.outcomes.language.decoding import Tables

Opened = Callable[[], tuple[Embeddings, MetricSpace]]
"""Opens a vocabulary, as :func:`dpsan.space.cached_index.open_space` does."""


@dataclass(frozen=True)
class Built:
    """Mechanism, guarantee and sampler of one request on one vocabulary."""

    spec: Settings
    embeddings: Embeddings
    space: MetricSpace
    mechanism: Mechanism
    guarantee: Guarantee
    sampler: Sampler | None
    """None where words of some classes are replaced, and no mechanism draws."""
    grouping: Grouping
    """Groups of words that are one input."""
    public: tuple[int, ...] = ()
    """Row numbers of public words, ascending."""
    decoding: Tables | None = None
    """The decoder's tables if the drawn words are decoded, else None."""
    language_model: str | None = None
    """SHA-256 of the file of the model that they have."""


def build(spec: Settings, opened: Opened) -> Built:
    """Open the vocabulary and prepare the mechanism on it.

    Args:
        spec: the request.
        opened: opens the vocabulary; called after the request was checked, if that needs one.

    Raises:
        UsageError: a value outside its domain.
        UnprovedError: the guarantee is not proved, and the request does not allow that.
        EmbeddingError: the vocabulary cannot be used.
    """
    kind = spec.kind()
    if spec.only:
        # Rules and lists say what is drawn: no vectors are read.
        words = Embeddings([], np.zeros((0, 1), np.float32), "lists", lists_digest())
        space = MetricSpace(words, centroid=np.zeros(1))
        replacing = GroupResponse(spec.epsilon or 0.0)
        promise = replacing.guarantee(space)
        check_numbers(spec.numbers, promise)
        return Built(spec, words, space, replacing, promise, None, Grouping((), 0))
    user_file = own_file(kind.name)
    if user_file is not None:  # workers may run in another directory
        spec = replace(spec, mechanism=user_file.name, own_sha256=user_file.sha256)
    reviewed = not is_own(kind.name)
    mechanism = spec.build()  # before the slow part: usage errors first
    embeddings, space = opened()
    space = space_for(space, kind.name)
    public = () if spec.public is None else spec.public.rows(embeddings.key_to_index)
    groups = Grouping(class_rows(spec.classes, embeddings), space.n, bool(spec.classes))
    mechanism = mechanism.with_public(public).resolved(space)
    if isinstance(mechanism, BaseResponse) and spec.classes:  # others were refused
        mechanism = mechanism.with_groups(groups.groups)
    guarantee = replace(_guarantee(mechanism, space, reviewed), groups=groups.sizes)
    if guarantee.status is not Status.PROVED and not spec.allow_unproved:
        raise UnprovedError(
            f"{mechanism.name} is {guarantee.standing}: {guarantee.why}",
            Hint(
                "allow_unproved=True runs it all the same",
                "--allow-unproved runs it all the same",
            ),
        )
    check_numbers(spec.numbers, guarantee)
    sampler = mechanism.prepare(space)
    built = Built(spec, embeddings, space, mechanism, guarantee, sampler, groups, public)
    return _decoding(built) if spec.fluent else built


def _decoding(built: Built) -> Built:
    """Return the same with tables by which drawn words are decoded.

    Raises:
        UsageError: this mechanism cannot be decoded, or the vocabulary has no language model.
    """
    from dpsan.outcomes.language.decoding import LEAST_EPSILON, tables_for
    from dpsan.outcomes.language.ngrams import model_for

    model = model_for(built.embeddings)
    if model is None:
        need = "fluent output needs the bundled vocabulary, which has a language model"
        raise UsageError(need, "without fluent output any vocabulary will do")
    epsilon = built.guarantee.epsilon_ldp
    need = f"fluent output needs an LDP epsilon of {LEAST_EPSILON:g} or more (got {epsilon:g})"
    refuse(epsilon < LEAST_EPSILON, need, "below it a decoder invents the text")
    rows = words_in_groups(getattr(built.mechanism, "groups", ()))
    tables = tables_for(built.mechanism, built.space, model[0], epsilon, rows)
    return replace(built, decoding=tables, language_model=model[1])


def _guarantee(mechanism: Mechanism, space: MetricSpace, reviewed: bool) -> Guarantee:
    """Return the mechanism's guarantee; nobody has reviewed that of a user's own file."""
    guarantee = mechanism.guarantee(space)
    if not reviewed:
        status = guarantee.status
        if status is Status.PROVED:  # which is for what docs/proofs.md proves
            status = Status.CLAIMED if mechanism.status is Status.PROVED else mechanism.status
        guarantee = replace(guarantee, status=status, reviewed=False)
    return guarantee
