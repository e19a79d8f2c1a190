"""Check that classes are drawn whole, and that an output says nothing about the word of its group.

A word of a class must be drawn in every letter case: a class that is looked up before the case is
folded would pass *MARIA*.  The output must depend on the group alone, that of a made-up string on
the kind alone: two words of one group have the same output under the same key.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dpsan.analysis.verify.base import Check, in_random_order
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.classes import Grouping
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.lookup import KEPT

_WORDS: Final = 6
"""Words of each group that are drawn."""
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


def classes(sanitizer: Sanitizer, *, key: bytes) -> Check:
    """Look up the words of each class, draw pairs of words of a group, pairs of strings of a kind.

    Args:
        sanitizer: with classes of words, or strings that are drawn by their kind.
        key: fresh.
    """
    name, passed, words, n = "classes", 0, 0, sanitizer.space.n
    grouping = sanitizer.grouping or Grouping((), -1)
    kinds = grouping.kinds(n)
    of_class = np.array([class_name is not None for class_name in grouping.classes])
    for word_class in (*sanitizer.spec.only, *sanitizer.spec.classes):
        for word in {word for group in word_class.groups for word in group}:
            spellings = {word, word.lower(), word.capitalize(), word.upper()}
            codes = {sanitizer.input_of(spelling) for spelling in spellings}
            drawn = [code for code in codes if code not in (None, KEPT)]
            words += 1
            passed += any(code < 0 or not of_class[kinds[code]] for code in drawn)
    single = sanitizer.by_text()
    pairs = [pair for pair in _PAIRS if all((single.input_of(text) or 0) > n for text in pair)]
    strings = len(pairs)
    keys = sanitizer.embeddings.index_to_key
    for at, group in enumerate(grouping.rows):
        order = in_random_order(len(group.rows), derive_key(key, "group", at))
        members = [keys[group.rows[index]] for index in order[:_WORDS].tolist()]
        members = [word for word in members if single.input_of(word) in group.rows]
        pairs += [(members[0], word) for word in members[1:]]
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
        sentence = f"the output depends on which word of its group or kind it replaces: {differ[0]}"
        return Check(name, False, sentence, figures)
    sentence = f"all {words:,} words of the lists are drawn in every letter case; under one key "
    sentence += f"{len(pairs) - strings} pairs of words of one group and {strings} of strings of "
    return Check(name, True, f"{sentence}one kind have the same output", figures)
