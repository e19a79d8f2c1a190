"""Plain sentences about an LDP epsilon."""

from __future__ import annotations

import math
from typing import Final

from dpsan.sanitize.warnings import RANDOM
from dpsan.text.numerals import number

_MOST: Final = 34.0
"""Exponent above which a factor has no name."""


def odds(epsilon: float) -> str:
    """Return e^epsilon as people read it: ``e^8 = 2,981``.

    Args:
        epsilon: finite, in nats.
    """
    power = f"e^{number(epsilon)}"
    if epsilon > _MOST:
        return power
    factor = math.exp(epsilon)
    digits = 0 if factor >= 100 else 1 if factor >= 10 else 2
    bound = math.ceil(factor * 10**digits - 1e-9) / 10**digits  # a bound is never rounded down
    return f"{power} = {number(int(bound)) if not digits else f'{bound:g}'}"


def plain_meaning(epsilon: float, words: str = "any one word", delta: float = 0.0) -> str:
    """Say in a sentence what an LDP epsilon bounds.

    Args:
        epsilon: in nats; may be infinite.
        words: whose odds.
        delta: probability that the bound leaves out.
    """
    if math.isinf(epsilon):
        return f"Nothing bounds how far the text can raise the odds of {words}."
    if epsilon <= 0:
        return f"The text says nothing about {words}."
    but = f", but for a delta of {number(delta)}" if delta else ""
    told = f"Whoever sees the text can raise the odds of {words} by at most {odds(epsilon)}{but}."
    return f"{told} What is drawn is nearly random." if round(epsilon, 3) < RANDOM else told


def cosine_and_bound(achieved: float, bound: float) -> str:
    """Describe a mean cosine, and the bound for every mechanism of this epsilon."""
    most = math.ceil(bound * 10_000) / 10_000  # a bound is never rounded down
    return f"{achieved:.4f}; with this LDP epsilon no more than {most:.4f} is possible"
