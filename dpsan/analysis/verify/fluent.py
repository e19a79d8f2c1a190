"""Check that fluent output is a function of the drawn words and their layout (non-interference).

Lines of vocabulary words and OOV strings are rewritten with and without decoding, under one key.
The draws must be equal.  Then the lines that were written without decoding are decoded as ``dpsan
smooth`` does, which has nothing else: the result must be the fluent output, byte by byte.  A word
of a class may be written only where it was drawn.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dpsan.analysis.verify.base import Check, unknown_strings, words_at_random
from dpsan.mechanisms.optimal.groups import words_in_groups
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.sanitizer import Sanitizer

_WORDS: Final = 600
_LINE: Final = 12
"""Words of a line."""
_GAPS: Final = (" ", " ", " ", ", ", " ", ". ", " ", " ", "; ", " ", "! ")


def _lines(sanitizer: Sanitizer, key: bytes) -> list[str]:
    """Return lines of words that are drawn, with OOV strings among them."""
    keys = sanitizer.embeddings.index_to_key
    rows = words_at_random(sanitizer, 2 * _WORDS, derive_key(key, "words")).tolist()
    strings, known = unknown_strings(sanitizer, 8), range(len(keys))
    # The most frequent words too: of these a decoder knows most.
    pairs = zip(map(keys.__getitem__, rows), keys, strict=False)
    both = (word for pair in pairs for word in pair if word.isalpha())
    words = [word for word in both if sanitizer.input_of(word) in known][:_WORDS]
    out = []
    for at in range(0, len(words), _LINE):
        some = words[at : at + _LINE]
        if strings and at % (2 * _LINE):
            some[len(some) // 2] = strings[at // _LINE % len(strings)]
        gaps = [_GAPS[(at + each) % len(_GAPS)] for each in range(len(some) - 1)]
        out.append("".join(w + gap for w, gap in zip(some, [*gaps, ""], strict=True)))
    return out


def fluent_check(sanitizer: Sanitizer, plain: Sanitizer, *, key: bytes) -> Check:
    """Compare fluent output with what the filter makes of the drawn text.

    Args:
        sanitizer: the program under test, with decoding.
        plain: the same without.
        key: fresh.
    """
    name, own = "fluent", derive_key(key, "run")
    lines = _lines(sanitizer, key)
    if not lines:
        return Check(name, None, "no word is known that could be compared")
    found = sanitizer.sanitize(lines, own, audit=True)
    drawn = plain.sanitize(lines, own, audit=True)
    assert found.records is not None  # noqa: S101 - requested
    assert drawn.records is not None  # noqa: S101 - requested
    figures: dict[str, float] = {"lines": len(lines), "words": len(drawn.records)}
    same = np.array_equal(found.records.output_ids, drawn.records.output_ids)
    if not same or (found.drawn, found.counts) != (drawn.drawn, drawn.counts):
        return Check(name, False, "decoding changes what is drawn or counted", figures)
    smoothed = sanitizer.smooth(drawn.lines)[0]
    differ = sum(a != b for a, b in zip(smoothed, found.lines, strict=True))
    figures["differ"] = differ
    if differ:
        sentence = f"{differ} of {len(lines)} lines are no function of the drawn words"
        return Check(name, False, sentence, figures)
    grouping = sanitizer.grouping
    if grouping is not None:
        rows, before = found.records.usual, drawn.records.output_ids
        real = (rows >= 0) & (before >= 0) & (rows != before)
        within = np.isin(rows, words_in_groups(grouping.groups)) & real
        figures["written"] = written = int(within.sum())
        if written:
            sentence = f"{written} words of a class were written that were not drawn"
            return Check(name, False, sentence, figures)
    changed = sum(a != b for a, b in zip(found.lines, drawn.lines, strict=True))
    figures["changed"] = changed
    many = f"{len(lines)} lines ({changed} of them changed)"
    sentence = f"{many} are what the filter makes of the drawn text alone"
    return Check(name, True, f"the draws are those without decoding, and {sentence}", figures)
