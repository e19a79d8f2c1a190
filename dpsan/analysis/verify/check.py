"""What a check of the program found: evidence beside certificates and lower bounds.

Knows nothing but names, sentences and figures.  Must not know how anything is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Check:
    """One check of the program that runs.  Its sentence holds no word of an input."""

    name: str
    """What is checked: ``goodness of fit``, ``independence``, ``non-interference``."""
    held: bool | None
    """False: refuted, the verdict is VIOLATED.  None: not judged, the verdict is never KEPT."""
    sentence: str
    """What was seen, of what, with the figure that decided."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Names and values: counts, and the bound on the probability of what was seen."""
