"""Mechanisms put side by side: at one epsilon each, or where they do the same.

Knows sanitizers and calibrations.  Must not know words or command lines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.cache.store import Store
from dpsan.embeddings.public_words import PublicWords
from dpsan.errors import UsageError, check_name
from dpsan.mechanisms import MECHANISMS, check_public
from dpsan.outcomes.calibrate import calibrate
from dpsan.outcomes.calibrate.target import Draft, Target
from dpsan.sanitize.request import RunSpec
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.library import open_space
from dpsan.space.metric_space import MetricSpace

_AT: Final = {"ldp": Target.EPSILON_LDP, "unchanged": Target.UNCHANGED}
"""What mechanisms can be made equal in."""


@dataclass(frozen=True, slots=True)
class At:
    """What every mechanism is to have in common."""

    target: Target
    value: float


def parse_at(text: str) -> At:
    """``ldp=8`` or ``unchanged=.3``.  Raises UsageError."""
    name, _, number = text.partition("=")
    try:
        at = At(_AT[name], float(number))
    except (KeyError, ValueError):
        raise UsageError(f"--at must be ldp=X or unchanged=X (got {text})") from None
    at.target.check(at.value)
    return at


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism with its own share of the parameters."""

    name: str
    parameters: Mapping[str, Any]


def candidates(
    names: Sequence[str], values: Mapping[str, str], *, public: bool = False
) -> list[Candidate]:
    """The mechanisms to compare; each takes the parameters that it has.

    Raises:
        UsageError: an unknown name, a parameter that none of them has, or ``public`` words that one
            of them has not.
    """
    out: dict[str, Candidate] = {}
    for name in names:
        check_name("mechanism", name, MECHANISMS)
        if public:
            check_public(MECHANISMS[name])
        own = MECHANISMS[name].parameters()
        out[name] = Candidate(name, {key: each for key, each in values.items() if key in own})
    known = dict.fromkeys(key for name in out for key in MECHANISMS[name].parameters())
    for key in values:
        if not known:
            raise UsageError(f"{', '.join(out)}: no parameter besides epsilon")
        check_name(f"parameter of {', '.join(out)}:", key, known)
    return list(out.values())


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """One embedding file, opened once for all mechanisms."""

    path: Path | None
    size: int | None
    store: Store
    embeddings: Embeddings
    space: MetricSpace

    @classmethod
    def open(cls, path: Path | None, size: int | None, store: Store) -> Vocabulary:
        """Through the cache.  Raises EmbeddingError."""
        return cls(path, size, store, *open_space(path, size, store))


def prepare(
    candidate: Candidate,
    vocabulary: Vocabulary,
    epsilon: float | None,
    at: At | None,
    public: PublicWords | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Sanitizer:
    """The sanitizer of one mechanism, whatever its status: it is looked at, not run on text.

    Args:
        epsilon: its privacy parameter; None with ``at``.
        at: find the epsilon, on the private side.
        public: words that need no protection.

    Raises:
        UsageError: a value outside its domain or out of reach.
    """
    spec = RunSpec(
        epsilon=epsilon,
        mechanism=candidate.name,
        parameters=dict(candidate.parameters),
        embeddings=vocabulary.path,
        vocab_size=vocabulary.size,
        public=public,
        allow_unproved=True,
    )
    if at is not None:
        rows = vocabulary.embeddings.key_to_index
        free = () if public is None else public.rows(rows)
        draft = Draft(spec.kind(), spec.parameters, rows, free)
        found = calibrate(draft, vocabulary.space, at.target, at.value, progress)
        if at.target is Target.EPSILON_LDP:  # stored with the vocabulary, and found there
            spec = replace(spec, epsilon_ldp=at.value)
        else:
            spec = replace(spec, epsilon=found.mechanism.epsilon)
    opened = (vocabulary.embeddings, vocabulary.space)
    return Sanitizer.from_spec(spec, vocabulary.store, opened=lambda: opened)
