"""Public classes of words: groups of people, people in general, and words that harm.

In a near set, an output that insults a group, or that says something violent, sexual or bad, must
not stand for the name of a group.  Near sets are public, and a guarantee holds for any of them, so
the classes decide which outputs are taken first: see :func:`tiers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

Classes = NDArray[np.int8]

NEUTRAL: Final = 0
"""No class: most words, and all words of other vocabularies."""
HARM: Final = 1
"""Says something violent, sexual, bad or degrading."""
PERSON: Final = 2
"""Names people and no group: *person*, *citizen*."""
AMBIGUOUS: Final = 3
"""Names a group and often something else: *black*, *old*."""
NAME: Final = 4
"""Names a person: *maria*.  The first group."""
GROUP: Final = 5
"""Names any other group: *muslim*, *woman*.  Each group has a number from here on."""
_NAMED: Final = {"harm": HARM, "person": PERSON, "ambiguous": AMBIGUOUS, "name": NAME}


def read_classes(data: bytes, row_of: Mapping[str, int]) -> Classes:
    """Return the class of each word, shape (n,).

    Args:
        data: lines of word TAB class, in UTF-8; a class that is not named above is a group.
    """
    lines = [line.split("\t") for line in data.decode().removesuffix("\n").split("\n")]
    groups = sorted({name for _, name in lines} - set(_NAMED))
    number = _NAMED | {name: GROUP + at for at, name in enumerate(groups)}
    out = np.zeros(len(row_of), dtype=np.int8)
    for word, name in lines:
        out[row_of[word]] = number[name]
    return out


def tiers(own_class: int, outputs: Classes) -> list[NDArray[np.int64]]:
    """Return the positions of outputs by tier, for words of one class.

    An output of a tier is in a near set only if all outputs of the tiers before it are.

    Args:
        own_class: class of the words.
        outputs: classes of the outputs, shape (k,).
    """
    first: list[tuple[int, ...]] = []
    if own_class >= NAME:
        first = [(own_class,), (PERSON,), (NEUTRAL,)]
    elif own_class in (AMBIGUOUS, HARM):
        first = [(NEUTRAL, PERSON, own_class)]
    chosen = [np.isin(outputs, classes) for classes in first]
    chosen.append(~np.isin(outputs, [number for classes in first for number in classes]))
    return [np.flatnonzero(classes) for classes in chosen if classes.any()]


def in_tiers(
    words: Classes | None, outputs: Classes | None, m: int, k: int
) -> list[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
    """Return the positions of words that share their tiers of outputs, with these tiers.

    Args:
        words: classes of m words; None: nobody has a class.
        outputs: classes of k outputs.
    """
    if words is None or outputs is None:
        return [(np.arange(m), [np.arange(k)])]
    alike = np.where(words == PERSON, NEUTRAL, words)
    return [
        (np.flatnonzero(alike == number), tiers(number, outputs))
        for number in np.unique(alike).tolist()
    ]


def wanted_outputs(classes: Classes, frequent: int) -> NDArray[np.int64]:
    """Return the rows of the words that name a group, and of the names among the frequent words.

    Args:
        frequent: so many words from the first on.
    """
    rare_name = (classes == NAME) & (np.arange(len(classes)) >= frequent)
    return np.flatnonzero((classes >= AMBIGUOUS) & ~rare_name)
