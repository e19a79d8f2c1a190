"""Numbers as people read them: 1,284,105 words, 10.3 million, 8 and not 7.999999999999999.

Numbers that somebody may type again (the epsilon of a ``calibrate``) and JSON keep all their
digits: they do not come here.
"""

from __future__ import annotations

import math
from typing import Final

_LARGE: Final = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"))


def number(value: float | None) -> str:
    """Return a count in full; any other number in five digits, or in three and a word from a
    million on.

    Args:
        value: an int is a count; None stands for infinity, as in the audit.
    """
    if value is None or math.isinf(value):
        return "infinite" if value is None or value > 0 else "-infinite"
    if isinstance(value, int):
        return f"{value:,}"
    rounded = float(f"{value:.5g}") if abs(value) < 1e4 else float(round(value))
    size = abs(rounded)
    if size == 0:
        return "0"
    if size < 1e-3 or size >= 1e15:
        digits, _, exponent = f"{value:.3g}".partition("e")
        return f"{digits}e{int(exponent)}" if exponent else digits
    for unit, name in _LARGE:
        if size >= unit or float(f"{size:.3g}") >= unit:
            return f"{float(f'{value / unit:.3g}'):,g} {name}"
    return f"{rounded:,.0f}" if rounded.is_integer() else f"{rounded:,}"


def counted(count: int, what: str) -> str:
    """Return a count with its noun, whose plural ends in s."""
    return f"{number(count)} {what}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share 0 ... 1 in whole per cent; near the ends a bound, for estimates cannot tell
    them.
    """
    if share < 0.01:
        return "under 1 %"
    return "over 99 %" if share > 0.99 else f"{100 * share:.0f} %"
