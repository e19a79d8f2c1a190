"""Mechanisms put side by side: at one epsilon each, or where they do the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.cache.store import Store
from dpsan.errors import UsageError, check_name
from dpsan.mechanisms import check_public, mechanism_class
from dpsan.outcomes.calibrate import calibrate
from dpsan.outcomes.calibrate.target import Draft, Target
from dpsan.sanitize.request import RunSpec
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

_AT: Final = {"ldp": Target.EPSILON_LDP, "unchanged": Target.UNCHANGED}
"""Quantities in which mechanisms can be made equal."""


def parse_at(text: str) -> tuple[Target, float]:
    """Return a target that every mechanism has to meet: ``ldp=8``.  Raises UsageError."""
    name, _, number = text.partition("=")
    try:
        target, value = _AT[name], float(number)
    except (KeyError, ValueError):
        raise UsageError(f"--at must be ldp=X or unchanged=X (got {text})") from None
    target.check(value)
    return target, value


def candidates(
    names: Sequence[str], values: Mapping[str, str], *, public: bool = False
) -> list[Draft]:
    """Return the mechanisms to compare; each takes the parameters that it has.

    Raises:
        UsageError: an unknown name, a parameter that none of them has, or ``public`` words that one
            of them has not.
    """
    out: dict[str, Draft] = {}
    for name in names:
        kind = mechanism_class(name)
        if public:
            check_public(kind)
        own = kind.parameters()
        out[kind.name] = Draft(kind, {key: each for key, each in values.items() if key in own})
    known = dict.fromkeys(key for each in out.values() for key in each.kind.parameters())
    for key in values:
        if not known:
            raise UsageError(f"{', '.join(out)}: no parameter besides epsilon")
        check_name(f"parameter of {', '.join(out)}:", key, known)
    return list(out.values())


def prepare(
    draft: Draft,
    spec: RunSpec,
    at: tuple[Target, float] | None,
    store: Store,
    opened: tuple[Embeddings, MetricSpace],
    progress: Callable[[str], None] = lambda _: None,
) -> Sanitizer:
    """Return the sanitizer of one mechanism, whatever its status: it is looked at, not run on text.

    Args:
        spec: what all mechanisms have in common; without an epsilon where there is ``at``.
        at: find the epsilon, on the private side.
        opened: the vocabulary, opened once for all mechanisms.

    Raises:
        UsageError: a value outside its domain or out of reach.
    """
    own = dict(draft.values)
    spec = replace(spec, mechanism=draft.kind.name, parameters=own, allow_unproved=True)
    if at is not None:
        rows = opened[0].key_to_index
        free = () if spec.public is None else spec.public.rows(rows)
        draft = replace(draft, key_to_index=rows, public=free)
        found = calibrate(draft, opened[1], *at, progress)
        spec = replace(spec, epsilon=found.mechanism.epsilon)
    return Sanitizer.from_spec(spec, store, opened=lambda: opened)
