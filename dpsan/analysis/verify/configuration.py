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

from typing import Any, Final, NamedTuple

from dpsan.embeddings.word_lists import BUNDLED
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.out_of_vocabulary import MASK


class Exposure(NamedTuple):
    """A setting with infinite loss, described without any word of a list or text."""

    option: str
    """Name of the setting, as an argument of :class:`Sanitizer`."""
    value: str
    event: str
    """Event that one input can have and another cannot."""
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
        told = {"setting": self.setting, "event": self.event, "stated": self.stated}
        return {"loss": "infinite", **told}


_STRING: Final = "a string of a kind against a word, or a string of another kind"
_NUMBER: Final = "a number against a word, or a number of another form"
_EXPOSURES: Final = {
    "keep": ("keep", "", "a word on the list is always written unchanged, and no other word is"),
    "public": ("public", "", "no other input gives a public word", "public words"),
    "classes=contacts|ids|dates|numbers": (
        *("class", "CLASS", "a string of a recognized kind always gives one of its kind"),
        _STRING,
    ),
    "unknown=mask": ("unknown", "mask", f"an OOV word always gives {MASK}, and no other word does"),
    "numbers=value": ("numbers", "value", "a number always gives one of its form", _NUMBER),
    "consistent": ("consistent", "", "equal words never give different outputs, others do"),
}
"""By the condition under which settings have it (:meth:`Settings.has`)."""
_SPANS: Final = Exposure("spans", "", "a word outside of spans is always written unchanged")


def exposures(sanitizer: Sanitizer, *, spans: bool = False) -> tuple[Exposure, ...]:
    """Return the settings of a sanitizer that have infinite loss.

    Args:
        spans: True if only words in spans would be drawn.
    """
    spec = sanitizer.spec
    named = spec.public and spec.public.name
    values = {"consistent": str(spec.consistent), "public": named if named in BUNDLED else ""}
    those = [Exposure(*row) for condition, row in _EXPOSURES.items() if spec.has(condition)]
    return tuple(
        exposure._replace(value=values.get(exposure.option) or exposure.value)
        for exposure in [*those, *[_SPANS] * spans]
    )
