"""Settings that let a reader tell inputs apart with certainty, whatever the mechanism draws.

Knows what each setting writes.  Must not know mechanisms or certificates.

A certificate is about words that are drawn.  Each setting below writes something fixed for some
inputs, so there is an event, a set of outputs, that one input gives and another never gives: the
loss is infinite, and the guarantee of the mechanism is not that of the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from dpsan.outcomes.intervals import clopper_pearson
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.lookup import KEPT
from dpsan.text.out_of_vocabulary import MASK, UnknownPolicy

__all__ = ["Exposure", "exposures", "unknown_words"]

_DRAWS: Final = 1000
"""Draws of each input that show that the event is no mere possibility."""
_LETTERS: Final = ("zqvxkjq", "wjqzxvk")


@dataclass(frozen=True)
class Exposure:
    """One setting with infinite loss, described without any word of a list or text."""

    option: str
    """Name of the setting, as an argument of :class:`Sanitizer`."""
    value: str
    pair: tuple[str, str]
    """Descriptions of the input that gives the event and of the one that never does."""
    event: str
    """Description of the outputs."""
    probability: float
    """Lower confidence bound for the event under the first input."""


@dataclass(frozen=True)
class _Rule:
    option: str
    value: str
    pair: tuple[str, str]
    event: str
    inputs: tuple[str, str]
    occurs: Callable[[str], bool]


def unknown_words(sanitizer: Sanitizer) -> list[str]:
    """Two strings that the vocabulary and the keep-list lack, each one token."""
    known = {None, KEPT}
    out = []
    for letters in _LETTERS:
        word = letters
        while (code := sanitizer.input_of(word)) in known or 0 <= (code or 0) < sanitizer.space.n:
            word += "qx"
        out.append(word)
    return out


def _rules(sanitizer: Sanitizer) -> Iterator[_Rule]:
    """The rule of every setting in use that has one."""
    spec, keys = sanitizer.spec, sanitizer.embeddings.index_to_key
    missing = unknown_words(sanitizer)
    drawn = [*keys, *missing]

    def is_drawn(word: str) -> bool:
        code = sanitizer.input_of(word)
        return code is not None and code >= 0

    other = next(filter(is_drawn, drawn), missing[1])
    kept = next((word for word in sorted(spec.keep) if sanitizer.input_of(word) == KEPT), None)
    if kept is not None:
        yield _Rule(
            "keep",
            "",
            ("a word that is not on the list", "a word on the list"),
            "any output but the word on the list, which is always written unchanged",
            (other, kept),
            lambda output: output != kept,
        )
    if spec.unknown is UnknownPolicy.KEEP:
        yield _Rule(
            "unknown",
            "keep",
            ("a word of the vocabulary", "an unknown word"),
            "any output but the unknown word, which is always written unchanged",
            (other, missing[0]),
            lambda output: output != missing[0],
        )
    if spec.unknown is UnknownPolicy.MASK:
        yield _Rule(
            "unknown",
            "mask",
            ("a word of the vocabulary", "an unknown word"),
            f"any output but {MASK}, which is always written for an unknown word",
            (other, missing[0]),
            lambda output: output != MASK,
        )
    if spec.case == "input" and any(word != word.upper() for word in keys):
        small = next(
            (w for w in drawn if w != w.upper() and is_drawn(w) and is_drawn(w.upper())), other
        )
        yield _Rule(
            "case",
            "input",
            ("a word in small letters", "the same word in capitals"),
            "an output with a small letter, which an input in capitals never gives",
            (small, small.upper()),
            lambda output: output != output.upper(),
        )


def exposures(sanitizer: Sanitizer, confidence: float) -> tuple[Exposure, ...]:
    """The settings of a sanitizer that have infinite loss.

    Draws through the same code as ``rewrite`` show how likely the event is at least.

    Args:
        confidence: that no bound is too high.
    """
    rules = list(_rules(sanitizer))
    out = []
    for rule in rules:
        first, second = (
            list(map(str, sanitizer.sanitize([text] * _DRAWS, randomness.new_key()).lines))
            for text in rule.inputs
        )
        # Were the event seen under the second input, the rule would not hold here.
        hits = 0 if any(map(rule.occurs, second)) else sum(map(rule.occurs, first))
        low, _ = clopper_pearson(hits, _DRAWS, (1 - confidence) / len(rules))
        out.append(Exposure(rule.option, rule.value, rule.pair, rule.event, low))
    return tuple(out)
