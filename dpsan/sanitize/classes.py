"""Classes of words of a request: the mechanism that draws within them, and the rules of look-up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.class_lists import CONTACTS, NAMES, NUMBERS, class_rows
from dpsan.errors import UsageError
from dpsan.mechanisms.optimal.class_response import ClassResponse, part
from dpsan.sanitize.request import RunSpec
from dpsan.text.lookup import ClassRules


def class_response(spec: RunSpec, embeddings: Embeddings) -> ClassResponse:
    """Return the mechanism of a request with classes.

    Raises:
        UsageError: no epsilon, or classes that the vocabulary cannot have.
    """
    if spec.epsilon is None and any(each.epsilon is None for each in spec.only):
        raise UsageError("epsilon is required: it is your decision")
    default = spec.epsilon or 0.0
    rows = class_rows(spec.only, embeddings.key_to_index)
    parts = tuple(part(r.name, r.epsilon or default, r.rows, r.outputs) for r in rows)
    if not parts:
        raise UsageError(
            "out-of-vocabulary words need a class of words to be drawn from", f"add {NAMES}"
        )
    names = [each.name for each in parts]
    epsilons = {each.name: each.epsilon or default for each in spec.only}
    strings = [(CONTACTS, 0.0)] if CONTACTS not in epsilons else []
    strings += [(name, 0.0) for name in epsilons if name == CONTACTS]
    strings += [(name, epsilon) for name, epsilon in epsilons.items() if name == NUMBERS]
    return ClassResponse(
        max(epsilons.values()),
        parts=parts,
        unknown=names.index(NAMES) if NAMES in names else 0,
        strings=tuple(strings),
    )


@dataclass(frozen=True, eq=False)
class ClassCodes:
    """The class of each input code."""

    kinds: tuple[tuple[str, float], ...]
    """Name and LDP epsilon, in nats, of each kind of input."""
    kind: NDArray[np.int64]
    """Kind of each code 0 ... n + 3, shape (n + 4,); -1 without a class."""


def class_codes(mechanism: ClassResponse, n: int) -> ClassCodes:
    """Return the class and epsilon of words, ⊥, numbers by value and made-up strings."""
    parts = mechanism.parts
    kinds = [*((each.name, each.epsilon) for each in parts)]
    kinds += [(NUMBERS, number_epsilon(mechanism)), (CONTACTS, 0.0), (NUMBERS, 0.0)]
    kind = np.full(n + 4, -1, dtype=np.int64)
    for at, each in enumerate(parts):
        kind[list(each.rows)] = at
    kind[n:] = [mechanism.unknown, len(parts), len(parts) + 1, len(parts) + 2]
    return ClassCodes(tuple(kinds), kind)


def class_rules(spec: RunSpec, mechanism: ClassResponse, n: int) -> ClassRules:
    """Return which words and strings are drawn."""
    words = frozenset(row for each in mechanism.parts for row in each.rows)
    return ClassRules(words, draws_numbers(spec), n + 2)


def draws_numbers(spec: RunSpec) -> bool:
    """Return whether numbers are among the classes of a request."""
    return any(each.name == NUMBERS for each in spec.only)


def number_epsilon(mechanism: ClassResponse) -> float:
    """Return the LDP epsilon between two numbers of one form; 0 where none is drawn."""
    return dict(mechanism.strings).get(NUMBERS, 0.0)
