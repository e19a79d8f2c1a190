"""Classes of words of a request: the mechanism that draws within them, and the rules of look-up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.class_lists import (
    CONTACTS,
    NAMES,
    NUMBERS,
    WordClass,
    class_rows,
    ordinary_words,
    own_words,
)
from dpsan.errors import UsageError
from dpsan.mechanisms.base import BaseResponse, Mechanism
from dpsan.mechanisms.optimal.class_response import ClassResponse, part
from dpsan.mechanisms.optimal.two_level_response import TwoLevelResponse
from dpsan.sanitize.request import RunSpec
from dpsan.text.lookup import ClassRules
from dpsan.text.tokens import folded

ByClass = ClassResponse | TwoLevelResponse
Kind = TypeVar("Kind", ClassResponse, TwoLevelResponse)


def class_response(spec: RunSpec, embeddings: Embeddings) -> ClassResponse:
    """Return the mechanism of a request of which only classes are drawn.

    Raises:
        UsageError: no epsilon, or classes that the vocabulary cannot have.
    """
    if spec.epsilon is None and any(each.epsilon is None for each in spec.only):
        raise UsageError("epsilon is required: it is your decision")
    kind = spec.kind()
    assert issubclass(kind, BaseResponse)  # noqa: S101 - the request was checked
    one = ClassResponse(1.0, euclidean=kind.near_by_distance)
    return _with_classes(one, spec.only, spec.epsilon or 0.0, embeddings)


def two_level_response(spec: RunSpec, inner: Mechanism, embeddings: Embeddings) -> TwoLevelResponse:
    """Return the mechanism of a request with classes beside other words.

    Args:
        inner: mechanism at the epsilon between any two words, resolved.

    Raises:
        UsageError: a class without an epsilon, or classes that the vocabulary cannot have.
    """
    assert isinstance(inner, BaseResponse)  # noqa: S101 - the request was checked
    if lacking := [each.name for each in spec.classes if each.epsilon is None]:
        raise UsageError(f"the class {lacking[0]} needs an epsilon", f"such as {lacking[0]}=2")
    one = TwoLevelResponse(inner.epsilon, inner=inner)
    return _with_classes(one, spec.classes, 0.0, embeddings)


def _with_classes(
    one: Kind, classes: tuple[WordClass, ...], default: float, embeddings: Embeddings
) -> Kind:
    """Return a mechanism with classes on a vocabulary."""
    rows = class_rows(classes, embeddings.key_to_index)
    parts = tuple(part(r.name, r.epsilon or default, r.rows, r.outputs) for r in rows)
    if not parts:
        raise UsageError(
            f"{CONTACTS} has no words, and out-of-vocabulary words need a class to be drawn from",
            f"add {NAMES}",
        )
    names = [each.name for each in parts]
    epsilons = {each.name: each.epsilon or default for each in classes}
    if isinstance(one, ClassResponse):
        epsilons = {CONTACTS: 0.0, **epsilons}
    strings = [(name, 0.0) for name in epsilons if name == CONTACTS]
    strings += [(name, epsilon) for name, epsilon in epsilons.items() if name == NUMBERS]
    return replace(
        one,
        epsilon=max(epsilons.values()) if isinstance(one, ClassResponse) else one.epsilon,
        parts=parts,
        unknown=names.index(NAMES) if NAMES in names else 0,
        strings=tuple(strings),
    )


@dataclass(frozen=True, eq=False)
class ClassCodes:
    """The class of each input code."""

    kinds: tuple[tuple[str | None, float], ...]
    """Name and LDP epsilon, in nats, of each kind of input."""
    kind: NDArray[np.int64]
    """Kind of each code 0 ... n + 3, shape (n + 4,); -1 for words that are not drawn."""


def class_codes(mechanism: ByClass, n: int) -> ClassCodes:
    """Return the class and epsilon of words, ⊥, numbers by value and made-up strings."""
    parts = mechanism.parts
    kinds: list[tuple[str | None, float]] = [*((each.name, each.epsilon) for each in parts)]
    kinds += [(NUMBERS, number_epsilon(mechanism)), (CONTACTS, 0.0), (NUMBERS, 0.0)]
    other = -1
    if isinstance(mechanism, TwoLevelResponse):  # words of no class are drawn too
        other = len(kinds)
        kinds.append((None, mechanism.epsilon))
    kind = np.full(n + 4, other, dtype=np.int64)
    for at, each in enumerate(parts):
        kind[list(each.rows)] = at
    kind[n:] = [mechanism.unknown, len(parts), len(parts) + 1, len(parts) + 2]
    return ClassCodes(tuple(kinds), kind)


def class_rules(mechanism: ByClass, spec: RunSpec, rows: Mapping[str, int]) -> ClassRules:
    """Return which words and strings are drawn.

    Args:
        rows: row number of each word of the vocabulary.
    """
    words = None
    if isinstance(mechanism, ClassResponse):
        words = frozenset(row for each in mechanism.parts for row in each.rows)
    strings, own, passing = dict(mechanism.strings), own_words(spec.only), ordinary_words(spec.only)
    # Any word of the group will do: most groups are drawn uniformly.
    found = reversed(class_rows(spec.only or spec.classes, rows))  # a word has the first class
    lacking = {folded(word): each.rows[0] for each in found for word in each.lacking}
    string = len(rows) + 2
    return ClassRules(words, CONTACTS in strings, NUMBERS in strings, string, passing, own, lacking)


def number_epsilon(mechanism: ByClass) -> float:
    """Return the LDP epsilon between two numbers of one form; 0 where none is drawn."""
    return dict(mechanism.strings).get(NUMBERS, 0.0)
