"""Check that fluent output is a function of the drawn words and their layout (non-interference).

Lines of vocabulary words and OOV strings are rewritten with and without decoding, under one key.
The draws must be equal.  Then the words of the lines are exchanged, and the sampler is given the
words that stood there before, so that it draws the same outputs from another text: the fluent
output must be the same, byte by byte.  A word of a class may be written only where it was drawn.
A text is decoded as where other lines follow it, and one above 1 MiB as a short one.
"""

from copy import copy
from dataclasses import replace
from itertools import islice

import numpy as np

from dpsan.analysis.verify.checks import unknown_strings, words_at_random
from dpsan.mechanisms.tables import Sampler
from dpsan.mechanisms.tables.near_sets import words_in_groups
from dpsan.privacy.randomness import Streams, derive_key
from dpsan.sanitize.rewriting import Rewriter
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids

_WORDS = 600
_LINE = 12
"""Words of a line."""
_ALONE = 100
"""Texts of one word."""
_CHARACTERS = 5 << 18
"""Number of characters of a long text: above 1 MiB."""
_GAPS = (" ", " ", " ", ", ", " ", ". ", " ", " ", "; ", " ", "! ")


class _Exchanged(Sampler):
    """Draws for each word as another sampler draws for a second word.

    Args:
        sampler: the other.
        second: row of the second word of each, shape (n + 1,).
    """

    def __init__(self, sampler: Sampler, second: Ids) -> None:
        self._sampler, self._second = sampler, second
        self.batch_words = sampler.batch_words

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        return self._sampler.sample(self._second[ids], streams)


def _lines(sanitizer: Sanitizer, key: bytes) -> tuple[list[str], list[str], Ids]:
    """Return lines of words that are drawn, with OOV strings among them.

    Returns:
        The lines, the same with exchanged words, and the row that each word was before.
    """
    keys = sanitizer.embeddings.index_to_key
    rows = words_at_random(sanitizer, 2 * _WORDS, derive_key(key, "words")).tolist()
    strings, known = unknown_strings(sanitizer, 8), range(len(keys))
    # The most frequent words too: of these a decoder knows most.
    pairs = zip(map(keys.__getitem__, rows), keys, strict=False)
    both = (word for pair in pairs for word in pair if word.isalpha())
    grouped = set[int]()
    if sanitizer.grouping.classed:
        grouped.update(words_in_groups(sanitizer.grouping.groups).tolist())
    rows_of = sanitizer.embeddings.key_to_index
    words = [word for word in dict.fromkeys(both) if sanitizer.input_of(word) in known][:_WORDS]
    before = np.arange(len(keys) + 1)
    # A word of a group stays.  Every other word becomes the next one, the last one an OOV string,
    # and OOV strings become words that stand nowhere else.
    free = [word for word in words if rows_of[word] not in grouped]
    spare, free = free[: len(strings)], free[len(strings) :]
    words = [word for word in words if word not in spare]
    other = dict(zip(words, words, strict=True))
    other |= dict(zip(free, [*free[1:], *(strings[:1] or free[:1])], strict=True))
    other |= dict(zip(strings, spare, strict=True))
    for word, second in other.items():
        before[rows_of.get(second, -1)] = rows_of.get(word, len(keys))
    lines: tuple[list[str], list[str]] = [], []
    for at in range(0, len(words), _LINE):
        some = words[at : at + _LINE]
        if strings and at % (2 * _LINE):
            some[len(some) // 2] = strings[at // _LINE % len(strings)]
        gaps = [_GAPS[(at + each) % len(_GAPS)] for each in range(len(some) - 1)]
        for out, written in zip(lines, (some, map(other.__getitem__, some)), strict=True):
            out.append("".join(w + gap for w, gap in zip(written, [*gaps, ""], strict=True)))
    for out, written in zip(lines, (words, map(other.__getitem__, words)), strict=True):
        out.extend(islice(written, _ALONE))
    return *lines, before


def fluent(sanitizer: Sanitizer, plain: Sanitizer, key: bytes) -> str:
    """Compare fluent output with that of another text from which the same words are drawn.

    Args:
        sanitizer: the program under test, with decoding.
        plain: the same without.
        key: fresh.
    """
    run = derive_key(key, "run")
    lines, exchanged, before = _lines(sanitizer, key)
    decoded = sanitizer.sanitize(lines, run, audit=True)
    drawn = plain.sanitize(lines, run, audit=True)
    index, was = sanitizer.embeddings.key_to_index, drawn.records.output_ids
    rows = np.array([index.get(word.lower(), -1) for word in decoded.records.outputs])
    same = np.array_equal(decoded.records.output_ids, was)
    if not same or (decoded.drawn, decoded.counts) != (drawn.drawn, drawn.counts):
        return "decoding changes what is drawn or counted"
    other, built = copy(sanitizer), sanitizer._rewriter._built
    other._rewriter = Rewriter(replace(built, sampler=_Exchanged(sanitizer.sampler, before)))
    again = other.sanitize(exchanged, run).lines
    if differ := sum(a != b for a, b in zip(again, decoded.lines, strict=True)):
        return f"{differ} of {len(lines)} lines are no function of the drawn words"
    if not _alike(sanitizer, lines, run):
        return "a text of one word or one above 1 MiB is decoded otherwise"
    if sanitizer.grouping.classed:
        real = (rows >= 0) & (was >= 0) & (rows != was)
        if (np.isin(rows, words_in_groups(sanitizer.grouping.groups)) & real).any():
            return "words of a class were written that were not drawn"
    changed = sum(a != b for a, b in zip(decoded.lines, drawn.lines, strict=True))
    return "" if changed >= 5 else "decoding changes nothing"


def _alike(sanitizer: Sanitizer, lines: list[str], key: bytes) -> bool:
    """Return whether texts are decoded alike if a line follows, and if there is much white space.

    A text of one word begins no sentence, so letter case is ignored.
    """
    last, single, some = lines[0], sanitizer.by_text(), lines[1:]
    alone = single.sanitize(some, key).lines
    followed = single.sanitize([f"{line}\n\n{last}" for line in some], key).lines
    whole = " ".join(line for line in lines if " " in line)
    wide = " " * (_CHARACTERS // whole.count(" "))
    texts = whole, whole.replace(" ", wide)
    short, long = (single.sanitize([text], key).lines[0] for text in texts)
    pairs = zip(alone, followed, strict=True)
    begun = all(other.casefold().startswith(f"{one}\n".casefold()) for one, other in pairs)
    return begun and short.casefold().split() == long.casefold().split()
