"""Explanations as plain data.

Messages name an argument or a line by its number, since a line may be private.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.optimal.optimum import Optimum
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy.guarantee import Guarantee
from dpsan.sanitize.sanitizer import Sanitizer

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


@dataclass(frozen=True)
class Explanation:
    """Output distribution of one word under one mechanism."""

    word: str
    """Word as it was given."""
    input: str | None
    """The word of the vocabulary that it is to the mechanism; None for ⊥."""
    mechanism: Mechanism
    guarantee: Guarantee
    public: bool
    """It is a public word: nothing is promised for it."""
    epsilon_ldp: float | None
    """Certified LDP epsilon; None where no finite value holds."""
    optimum: Optimum | None
    """Mean cosine over all words, and the most that this epsilon allows, where it is known."""
    exact: bool
    """From the distribution itself, not from draws."""
    draws: int
    """0 if exact."""
    unchanged: Estimate
    """N_w: the output is the word itself; never for ⊥."""
    close: Estimate | None
    """The output is one of the 100 nearest other words; None for ⊥."""
    distant: Estimate | None
    distinct: float
    """S_w: expected number of distinct outputs in ``distinct_draws`` draws."""
    distinct_draws: int
    outputs: tuple[Output, ...]
    neighbors: tuple[tuple[str, float], ...]
    """The nearest other words and their distances."""
    posterior: tuple[Posterior, ...]
    posterior_note: str
    observer_success: float | None
    """Share of words, by frequency, that an optimal observer of single outputs names."""


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
