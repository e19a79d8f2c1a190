"""Public texts with listed words in many kinds of places, for tests of ``--only``."""

import re
from collections.abc import Callable, Iterator

from support import tables

_CASES = tables("checks/cases")
PLACES, STRINGS, AROUND = (_CASES[name] for name in ("places", "strings", "around"))
_SLOT = re.compile(r"\{([TlUm])(?:'(\w+))?\}")


def texts(word: str, other: Callable[[str], str]) -> Iterator[str]:
    """Yield a word in all places.

    Args:
        word: folded.
        other: returns some word of a label.
    """
    spelt: dict[str, Callable[[str], str]]
    spelt = {"l": str, "U": str.upper, "T": with_capital, "m": capital_inside}

    def filled(slot: re.Match[str]) -> str:
        return spelt[slot[1]](word if slot[2] is None else other(slot[2]))

    for place in PLACES:
        yield _SLOT.sub(filled, place)


def string_texts() -> Iterator[str]:
    """Yield the strings, each in all texts for strings."""
    for at, string in enumerate(STRINGS):
        for step, around in enumerate(AROUND, 1):
            second = STRINGS[(at + 7 * step) % len(STRINGS)]
            yield around.replace("{S}", string).replace("{S'}", second)


def with_capital(word: str) -> str:
    """Return a word, or the words of a phrase, with a capital."""
    return " ".join(part[:1].upper() + part[1:] for part in word.split(" "))


def capital_inside(word: str) -> str:
    """Return a word with its second letter as its only capital."""
    return word[:1] + word[1:].capitalize()
