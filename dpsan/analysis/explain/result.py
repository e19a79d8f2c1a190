"""Explanations as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.optimal.optimum import Optimum
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy.guarantee import Guarantee


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
