"""Settings that let an attacker tell inputs apart with certainty, whatever the mechanism draws.

A certificate is about drawn words.  Each setting below writes something fixed for some inputs.  So
there is an event, a set of outputs, that one input gives and another never gives.  The loss is
infinite, and the guarantee of the mechanism is not that of the configuration.

Some events are part of the stated guarantee.  With public words the guarantee is for all other
inputs.  Where only classes of words are drawn it is for two words of one group.  With numbers by
value it is for two numbers of one form, and for two words that are not numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dpsan.embeddings.word_lists import BUNDLED
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.privacy import randomness
from dpsan.sanitize.numbers_by_value import NumberPolicy
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.lookup import KEPT
from dpsan.text.out_of_vocabulary import MASK
from dpsan.text.spanned_tokens import Spans
from dpsan.text.tokens import lookup_keys

_DRAWS: Final = 1000
"""Draws of each input, which show that the event does happen."""
_LETTERS: Final = ("zqvxkjq", "wjqzxvk")
_ENDINGS: Final = ("'s", "'ll", "n't")
_STRINGS: Final = (("maria.g@example.com", "@"), ("10.5", "."))
"""Strings of recognized kinds, and a character that strings of the kind have."""
_NUMBER: Final = "408-555-0123"


@dataclass(frozen=True)
class Exposure:
    """A setting with infinite loss, described without any word of a list or text."""

    option: str
    """Name of the setting, as an argument of :class:`Sanitizer`."""
    value: str
    pair: tuple[str, str]
    """Descriptions of the input that gives the event and of the input that never does."""
    event: str
    """Description of the event."""
    inputs: tuple[str, str] = field(repr=False)
    """Two texts that stand for the pair."""
    occurs: Callable[[str], bool] = field(repr=False)
    """Whether an output has the event."""
    spans: tuple[Spans | None, Spans | None] = (None, None)
    """Spans of each text that are drawn; default all."""
    left_out: str = ""
    """Pairs of inputs that the guarantee leaves out, if it says so."""
    probability: float = 0.0
    """Lower confidence bound of the event under the first input."""

    @property
    def setting(self) -> str:
        """Return the option as it is typed."""
        return f"--{self.option} {self.value or 'FILE'}"

    @property
    def stated(self) -> bool:
        """True if the guarantee leaves such pairs out, and says so."""
        return bool(self.left_out)

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        names = ("setting", "pair", "event", "probability", "stated")
        return {"loss": "infinite", **{name: getattr(self, name) for name in names}}


def unknown_words(sanitizer: Sanitizer) -> list[str]:
    """Return two strings outside the vocabulary and the keep list, each one token."""
    # Of the lists alone: a program that drew no OOV word at all would call every string kept.
    keep = {key for word in sanitizer.spec.keep for key in lookup_keys(word)}
    out = []
    for letters in _LETTERS:
        word = letters
        while word in sanitizer.embeddings.key_to_index or word in keep:
            word += "qx"
        out.append(word)
    return out


def _rules(sanitizer: Sanitizer, *, spans: bool) -> Iterator[Exposure]:
    """Yield every setting in use that has infinite loss."""
    spec, keys = sanitizer.spec, sanitizer.embeddings.index_to_key
    missing = unknown_words(sanitizer)
    drawn = [*keys, *missing]

    def is_drawn(word: str) -> bool:
        code = sanitizer.input_of(word)
        return code is not None and 0 <= code <= sanitizer.space.n  # not a number by value

    other = next(filter(is_drawn, drawn), missing[1])
    # The list may have a word in a spelling that is no token, such as with what is invisible.
    spellings = [key for word in sorted(spec.keep) for key in lookup_keys(word)]
    kept = next((word for word in spellings if sanitizer.input_of(word) == KEPT), None)
    first, second = other, kept
    if kept is None:
        # A tokenizer may cut endings off: 's is a word only after another word.
        ended = {word: sanitizer.inputs_of(other + word)[1:] for word in (*spellings, *_ENDINGS)}
        kept = next((word for word in spellings if ended[word] == [(word, KEPT)]), None)
        ends = (word for word in _ENDINGS if len(ended[word]) == 1 and ended[word][0][1] >= 0)
        first, second = other + next(ends, ""), f"{other}{kept}"
    if kept is not None:
        yield Exposure(
            "keep",
            "",
            ("a word that is not on the list", "a word on the list"),
            "any output but the word on the list, which is always written unchanged",
            (first, str(second)),
            lambda output: not output.endswith(kept),
        )
    public = {keys[row] for row in sanitizer.public}
    seen = next((word for word in keys if word in public and is_drawn(word)), None)
    if spec.public is not None and seen is not None:
        yield Exposure(
            "public",
            spec.public.name if spec.public.name in BUNDLED else "",
            ("a public word", "any other word"),
            "that public word, which no other input gives",
            (seen, next((word for word in drawn if word not in public and is_drawn(word)), other)),
            lambda output: output.lower() == str(seen).lower(),
            left_out="public words",
        )
    kinds = [each for each in _STRINGS if (sanitizer.input_of(each[0]) or 0) > sanitizer.space.n]
    if kinds and spec.classes:
        string, mark = kinds[0]
        yield Exposure(
            "class",
            "CLASS",
            ("a word", "a string of a recognized kind"),
            "any output but a string of its kind, which is always written for it",
            (other, string),
            lambda output: mark not in output,
            left_out="a string of a kind against a word, or a string of another kind",
        )
    if spec.unknown == "mask":
        yield Exposure(
            "unknown",
            str(spec.unknown),
            ("a word of the vocabulary", "an OOV word"),
            f"any output but {MASK}, which is always written for an OOV word",
            (other, missing[0]),
            lambda output: output != MASK,
        )
    if spec.numbers == NumberPolicy.VALUE:
        yield Exposure(
            "numbers",
            str(spec.numbers),
            ("a word that is no number", "a number"),
            "any output but a number of its form, which is always written for a number",
            (other, _NUMBER),
            lambda output: list(map(len, output.split("-"))) != [3, 3, 4],
            left_out="a number against a word, or a number of another form",
        )
    if spans:
        yield Exposure(
            "spans",
            "",
            ("a word in a span", "another word outside of spans"),
            "any output but the word outside, which is always written unchanged",
            (other, next(word for word in missing if word != other)),
            lambda output: output not in missing,
            ([(0, len(other))], []),
        )
    if spec.consistent is not None:
        second = next((word for word in drawn if word != other and is_drawn(word)), missing[0])
        yield Exposure(
            "consistent",
            spec.consistent,
            ("two different words", "the first of them twice"),
            "two different outputs, which equal words never give: the guarantee is for a "
            "distinct word, not for one occurrence",
            (f"{other} {second}", f"{other} {other}"),
            _two_outputs,
        )


def _two_outputs(output: str) -> bool:
    """Return whether the outputs of two words differ; an output may contain spaces."""
    parts = output.lower().split(" ")  # the first one has a capital as a sentence has
    half = len(parts) // 2
    return parts[:half] != parts[half:]


def _lines(sanitizer: Sanitizer, text: str, spans: Spans | None) -> list[str]:
    """Draw a text often."""
    own = None if spans is None else [spans] * _DRAWS
    return sanitizer.sanitize([text] * _DRAWS, randomness.new_key(), spans=own).lines


def exposures(
    sanitizer: Sanitizer, confidence: float, *, spans: bool = False
) -> tuple[Exposure, ...]:
    """Return the settings of a sanitizer that have infinite loss.

    Draws by the code of ``rewrite`` bound the probability of the event from below.

    Args:
        confidence: probability that no bound is too high.
        spans: True if only words in spans would be drawn.
    """
    rules, single = list(_rules(sanitizer, spans=spans)), sanitizer.by_text()
    out = []
    for rule in rules:
        inputs = zip(rule.inputs, rule.spans, strict=True)
        first, second = (_lines(single, text, spanned) for text, spanned in inputs)
        # Were the event seen under the second input, the rule would not hold here.
        hits = 0 if any(map(rule.occurs, second)) else sum(map(rule.occurs, first))
        low, _ = clopper_pearson(hits, _DRAWS, (1 - confidence) / len(rules))
        out.append(replace(rule, probability=low))
    return tuple(out)
