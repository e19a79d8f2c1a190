"""Explain words: output distributions, nearest words, and the posterior of an attacker.

Only the public vocabulary is looked at, and draws use public keys: nothing here is private or
needs to be, and results are repeatable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Final

import numpy as np

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.cache.store import Store
from dpsan.errors import UsageError, check_name
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.description import finite
from dpsan.mechanisms.optimal.optimum import Optimum
from dpsan.mechanisms.registry import check_base, mechanism_class
from dpsan.outcomes.calibrate import calibrate
from dpsan.outcomes.calibrate.target import Draft, Target
from dpsan.outcomes.distributions import distributions, draw, has_distribution
from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.one_word import (
    Figures,
    Observer,
    figures_of,
)
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Guarantee
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings
from dpsan.space.metric_space import MetricSpace

UNKNOWN: Final = "⊥"
"""The one input that every unknown word becomes."""


@dataclass(frozen=True, slots=True)
class Output:
    """One possible output."""

    word: str
    probability: Estimate
    distance: float | None
    """From the input word; None for ⊥, which has no vector."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """The inputs that one output points to, likeliest first."""

    output: str
    inputs: tuple[tuple[str, bool, Estimate], ...]
    """Word, whether it is ⊥, and its probability given the output."""


@dataclass(frozen=True, kw_only=True)
class Explanation(Figures):
    """Output distribution of one word under one mechanism."""

    word: str
    """Word as it was given."""
    input: str | None
    """The word of the vocabulary that it is to the mechanism; None for ⊥."""
    mechanism: Mechanism
    guarantee: Guarantee
    public: bool
    """It is a public word: nothing is promised for it."""
    optimum: Optimum | None
    """Mean cosine over all words, and the most that this epsilon allows, where it is known."""
    outputs: tuple[Output, ...]
    neighbors: tuple[tuple[str, float], ...]
    """The nearest other words and their distances."""
    posterior: tuple[Posterior, ...]
    posterior_note: str
    observer_success: float | None
    """Share of words, by frequency, that an optimal observer of single outputs names."""

    @property
    def epsilon_ldp(self) -> float | None:
        """Certified LDP epsilon; None where no finite value holds."""
        return finite(self.guarantee.epsilon_ldp)


@dataclass(frozen=True, slots=True)
class Word:
    """A word requested."""

    text: str = field(repr=False)
    id: int
    """Row number; n for ⊥."""


def read(sanitizer: Sanitizer, texts: Iterable[tuple[str, str]]) -> list[Word]:
    """Look words up as ``rewrite`` does.

    Args:
        sanitizer: with unknown words drawn as ⊥.
        texts: the position of each word, for messages, and its text; :data:`UNKNOWN` is ⊥ itself.

    Raises:
        UsageError: a text that is not one word to the tokenizer.
    """
    out = []
    for position, text in texts:
        found = sanitizer.space.n if text == UNKNOWN else sanitizer.input_of(text)
        if found is None:
            raise UsageError(f"{position}: not a single word", "give its words one by one")
        out.append(Word(text, found))
    return out


DRAWS = 10_000
"""Draws for a word whose distribution is not known."""
_NEIGHBOURS = 10
_POINTED = 3
"""Outputs whose posterior is given."""
_ALL: Final = "all inputs, by their public frequencies"


def explain(
    sanitizer: Sanitizer,
    words: Sequence[Word],
    *,
    top: int = 10,
    draws: int = DRAWS,
    posterior: bool = True,
) -> list[Explanation]:
    """Return the output distribution of each word under one mechanism.

    Args:
        words: from :func:`dpsan.analysis.explain.read`.
        top: outputs to list, most likely first.
        draws: for each word where the distribution is not known.
        posterior: also ask which inputs the most likely outputs point to.
    """
    space, mechanism = sanitizer.space, sanitizer.mechanism
    sampler = mechanism.prepare(space)
    ids = list(dict.fromkeys(word.id for word in words))
    posterior = posterior and top > 0
    known = has_distribution(sampler)
    key = randomness.seeded_key("dpsan explain")
    figures: dict[int, Figures] = {}
    for each in ids:
        if known:
            distribution = distributions(sampler, np.array([each]))[0]
            figures[each] = figures_of(space, each, distribution, 0, top)
        else:
            own, repeated = randomness.derive_key(key, "word", each), np.full(draws, each)
            counts = np.bincount(draw(sampler, repeated, own), minlength=space.n)
            figures[each] = figures_of(space, each, counts.astype(np.float64), draws, top)
    observer = Observer.build(mechanism, sampler, space) if known and posterior else None
    keys = [*sanitizer.embeddings.index_to_key, UNKNOWN]
    guarantee, optimum = sanitizer.guarantee, mechanism.optimum(space, quick=True)

    def posteriors(row: int) -> tuple[Posterior, ...]:
        if observer is None:
            return ()
        pointed = {u.id: observer.inputs_of(u.id) for u in figures[row].rows[:_POINTED]}
        return tuple(
            Posterior(keys[u], tuple((keys[w.id], w.id == space.n, w.probability) for w in inputs))
            for u, inputs in pointed.items()
        )

    def explanation(word: Word, found: Figures) -> Explanation:
        return Explanation(
            **{each.name: getattr(found, each.name) for each in fields(found)},
            word=word.text,
            input=None if word.id == space.n else keys[word.id],
            mechanism=mechanism,
            guarantee=guarantee,
            public=word.id in sanitizer.public,
            optimum=optimum,
            outputs=tuple(Output(keys[o.id], o.probability, o.distance) for o in found.rows),
            neighbors=_neighbors(space, word.id, keys),
            posterior=posteriors(word.id),
            posterior_note=_ALL if observer else "",
            observer_success=None if observer is None else observer.success,
        )

    return [explanation(word, figures[word.id]) for word in words]


def _neighbors(space: MetricSpace, row: int, keys: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """Return the nearest other words of a word, and their distances; nothing for ⊥."""
    if row == space.n:
        return ()
    ids, distances = space.search(space.points(np.array([row])), min(_NEIGHBOURS + 1, space.n))
    pairs = zip(ids[0].tolist(), distances[0].tolist(), strict=True)
    return tuple((keys[each], far) for each, far in pairs if each != row)[:_NEIGHBOURS]


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
            check_base(kind, "public words")
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
    spec: Settings,
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
        free = () if spec.public is None else spec.public.rows(opened[0].key_to_index)
        draft = replace(draft, public=free)
        found = calibrate(draft, opened[1], *at, progress)
        spec = replace(spec, epsilon=found.mechanism.epsilon)
    return Sanitizer.from_spec(spec, store, opened=lambda: opened)
