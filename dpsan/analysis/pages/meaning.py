"""What an LDP epsilon means, in one sentence."""

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
    return f"{power} = {number(round(factor)) if factor >= 100 else f'{factor:.3g}'}"


def plain_meaning(epsilon: float, words: str = "any one word") -> str:
    """Say in a sentence what an LDP epsilon bounds.

    Args:
        epsilon: in nats; may be infinite.
        words: whose odds.
    """
    if math.isinf(epsilon):
        return f"Nothing bounds how far the text can raise the odds of {words}."
    if epsilon <= 0:
        return f"The text says nothing about {words}."
    told = f"Whoever sees the text can raise the odds of {words} by at most {odds(epsilon)}."
    return f"{told} The output is nearly random." if round(epsilon, 3) < RANDOM else told
