"""Settings that let an attacker tell inputs apart with certainty, whatever the mechanism draws.

A certificate is about drawn words.  Each setting below writes something fixed for some inputs.  So
there is an event, a set of outputs, that one input gives and another never gives.  The loss is
infinite, and the guarantee of the mechanism is not that of the configuration.  Tests draw each
event (tests/analysis/test_verify.py).

Some events are part of the stated guarantee.  With public words the guarantee is for all other
inputs.  Where only classes of words are drawn it is for two words of one group.  With numbers by
value it is for two numbers of one form, and for two words that are not numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dpsan.embeddings.word_lists import BUNDLED
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.out_of_vocabulary import MASK


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
    left_out: str = ""
    """Pairs of inputs that the guarantee leaves out, if it says so."""

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
        names = ("setting", "pair", "event", "stated")
        return {"loss": "infinite", **{name: getattr(self, name) for name in names}}


_EXPOSURES: Final[Mapping[str, Exposure]] = {
    "keep": Exposure(
        "keep",
        "",
        ("a word that is not on the list", "a word on the list"),
        "any output but the word on the list, which is always written unchanged",
    ),
    "public": Exposure(
        "public",
        "",
        ("a public word", "any other word"),
        "that public word, which no other input gives",
        "public words",
    ),
    "classes=contacts|ids|dates|numbers": Exposure(
        "class",
        "CLASS",
        ("a word", "a string of a recognized kind"),
        "any output but a string of its kind, which is always written for it",
        "a string of a kind against a word, or a string of another kind",
    ),
    "unknown=mask": Exposure(
        "unknown",
        "mask",
        ("a word of the vocabulary", "an OOV word"),
        f"any output but {MASK}, which is always written for an OOV word",
    ),
    "numbers=value": Exposure(
        "numbers",
        "value",
        ("a word that is no number", "a number"),
        "any output but a number of its form, which is always written for a number",
        "a number against a word, or a number of another form",
    ),
    "consistent": Exposure(
        "consistent",
        "",
        ("two different words", "the first of them twice"),
        "two different outputs, which equal words never give: the guarantee is for a distinct "
        "word, not for one occurrence",
    ),
}
"""By the condition under which settings have it (:meth:`Settings.has`)."""
_SPANS: Final = Exposure(
    "spans",
    "",
    ("a word in a span", "another word outside of spans"),
    "any output but the word outside, which is always written unchanged",
)


def exposures(sanitizer: Sanitizer, *, spans: bool = False) -> tuple[Exposure, ...]:
    """Return the settings of a sanitizer that have infinite loss.

    Args:
        spans: True if only words in spans would be drawn.
    """
    spec = sanitizer.spec
    named = spec.public and spec.public.name
    values = {"consistent": str(spec.consistent), "public": named if named in BUNDLED else ""}
    those = [exposure for condition, exposure in _EXPOSURES.items() if spec.has(condition)]
    every = [*those, *[_SPANS] * spans]
    return tuple(
        replace(exposure, value=values.get(exposure.option) or exposure.value) for exposure in every
    )
