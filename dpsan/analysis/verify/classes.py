"""Check that each class keeps its own epsilon and is drawn whole; made-up strings say nothing.

The certificate is about the largest loss.  Each class has an epsilon of its own, which the integers
of its words must not exceed.

A word of a class must be drawn in every letter case: a class that is looked up before the case is
folded would pass *MARIA*.  A made-up string must depend on the kind alone: two strings of one kind
have the same output under the same key.
"""

from __future__ import annotations

from typing import Final

from dpsan.analysis.verify.base import Check
from dpsan.mechanisms.optimal.class_response import ClassResponse, ClassSampler
from dpsan.mechanisms.optimal.two_level_response import TwoLevelResponse, TwoLevelSampler
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.classes import ClassCodes
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.lookup import ARTICLE, PLAIN

_ROUNDING: Final = 1e-9
"""Nats by which rounding may exceed an epsilon that is equal."""
_PAIRS: Final = (
    ("maria.g@example.com", "qzx9@mail.example.net"),
    ("@maria_g", "@qzx"),
    ("https://example.com/a?b=1", "http://qzx.example/9"),
    ("www.example.com", "www.qzx.example/9"),
    ("192.168.1.1", "10.200.30.4"),
    ("555-0199", "408-1234"),
    ("(408) 555-0123", "(212) 987-6543"),
    ("+44 20 7946 0123", "+1 212 987 6543"),
    ("4511 8170 8658 0174", "3700 0000 0000 002"),
    ("123-45-6789", "987-65-4321"),
    ("GB29NWBK60161331926819", "DE89370400440532013000"),
    ("12345678", "98765432"),
    ("5km", "9mg"),
    ("31st", "82nd"),
    ("103rd", "975th"),
    ("70s", "40s"),
    ("1990s", "2010s"),
    ("abc12", "xyz98"),
    ("MP3", "AB7"),
)
"""Strings of one kind each."""


def _without_class(known: ClassCodes | None, code: int | None) -> bool:
    """Return whether an input code has no class."""
    if known is None or code is None or code < 0:
        return code in (PLAIN, ARTICLE)
    kind = int(known.kind[code])
    return kind < 0 or known.kinds[kind][0] is None


def classes(sanitizer: Sanitizer, *, key: bytes) -> Check:
    """Compare each class with its epsilon, look up its words, draw pairs of strings of a kind.

    Args:
        sanitizer: with classes of words.
        key: fresh.
    """
    name, passed, words = "classes", 0, 0
    sampler, mechanism = sanitizer.sampler, sanitizer.mechanism
    if isinstance(mechanism, ClassResponse | TwoLevelResponse):
        assert isinstance(sampler, ClassSampler | TwoLevelSampler)  # noqa: S101 - it made them
        for part, loss in zip(mechanism.parts, sampler.class_losses(), strict=True):
            if loss > part.epsilon + _ROUNDING:
                sentence = f"two words of {part.name} lose {loss:.6f}: {part.epsilon:g} is stated"
                return Check(name, False, sentence, {"loss": loss, "stated": part.epsilon})
    known = sanitizer.class_codes
    for each in (*sanitizer.spec.only, *sanitizer.spec.classes):
        for word in {word for group in each.groups for word in group}:
            spellings = {word, word.lower(), word.capitalize(), word.upper()}
            codes = {sanitizer.input_of(spelling) for spelling in spellings}
            words += 1
            passed += any(_without_class(known, code) for code in codes)
    single, n = sanitizer.by_text(), sanitizer.space.n
    pairs = [pair for pair in _PAIRS if all((single.input_of(text) or 0) > n for text in pair)]
    differ = []
    for at, pair in enumerate(pairs):
        own = derive_key(key, "pair", at)
        if len({single.sanitize([text], own).lines[0] for text in pair}) > 1:
            differ.append(pair[0])
    figures = {"words": words, "passed": passed, "pairs": len(pairs), "differ": len(differ)}
    if passed:
        sentence = f"{passed:,} of {words:,} words of the classes are not drawn in their class"
        return Check(name, False, sentence, figures)
    if differ:
        sentence = f"made-up strings depend on the string that they replace: {differ[0]}"
        return Check(name, False, sentence, figures)
    sentence = f"each class keeps its epsilon, all {words:,} words of the lists are drawn in every"
    alike = f"{len(pairs)} pairs of strings of one kind have one made-up string"
    return Check(name, True, f"{sentence} letter case, and {alike}", figures)
