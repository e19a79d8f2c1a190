"""Words that are one token: those that a line's end cuts, and listed phrases."""

import re
from collections.abc import Callable
from itertools import product
from typing import Final

import numpy as np

from dpsan.only.characters import BETWEEN, BLANK, NEWLINE, Block, folded
from dpsan.only.hashes import BASE, Hashes, Words64
from dpsan.only.lexicon import Lexicon
from dpsan.only.view import COLUMN, LOWER, TITLE, UPPER, Array, Flags, Indices, Labels, among

Words = dict[str, Array]
"""Arrays over the words of a block, before phrases and strings are put in."""


def cut_words(lexicon: Lexicon, code: dict[str, int], text: str, words: Words) -> None:
    """Make one token of a word that a hyphen cuts at the end of a line."""
    start, end = words["start"], words["after"]
    if "-\n" not in text:
        return
    near = (start[1:] - end[:-1] == 2).nonzero()[0]
    dead = np.zeros(len(start), bool)
    for i in near.tolist():
        if text[end[i] : start[i + 1]] != "-\n" or words["caps"][i + 1] != LOWER:
            continue
        whole = text[words["start"][i] : end[i]] + text[start[i + 1] : words["end"][i + 1]]
        small = folded(whole)
        second = text[start[i + 1] : words["end"][i + 1]]
        label = lexicon.label(small, int(COLUMN[words["caps"][i]]))
        first = text[words["start"][i] : end[i]].lower()
        plain = lexicon.plain(second) and lexicon.plain(first)
        if label is None:
            label = "plain" if plain else lexicon.unlisted(small, int(words["caps"][i]))
        words["label"][i] = code["surname" if label.endswith("?") else label]
        words["row"][i] = -1
        words["end"][i], words["after"][i] = words["end"][i + 1], words["after"][i + 1]
        words["possessive"][i] = words["possessive"][i + 1]
        words["hash"][i] = Hashes.of_words([small])[0]
        dead[i + 1] = True
    words["dead"] = dead


_SIZES: Final = (4, 3, 2)
"""Words of a phrase."""
_BLANKS: Final = re.compile(r"[^\S\n\x1c-\x1f]{1,8}|[^\S\n\x1c-\x1f]{0,8}\n[^\S\n\x1c-\x1f]{0,8}")
"""White space in a phrase of a request: of one line, or with one line's end."""


def join_phrases(
    lexicon: Lexicon,
    code: dict[str, int],
    closed: Flags,
    block: Block,
    words: Words,
    requested: Callable[[Words64], tuple[Indices, Labels]] | None,
) -> Indices:
    """Make listed phrases, with blanks or hyphens, one token; returns the words that stay.

    Args:
        requested: returns which hashes are those of a request, and their labels; None: none is.
            These phrases come first, with any white space between their words.
    """
    start, end, after = words["start"], words["end"], words["after"]
    keep = ~words.pop("dead", np.zeros(len(start), bool))
    blank = (block.bits.take(after) & BLANK != 0) | (block.small.take(after) == ord("-"))
    blank &= np.append(start[1:], 0) - after == 1
    spaced = blank & (block.small.take(after) != ord(BETWEEN))
    wide = (block.bits.take(after[:-1]) & (BLANK | NEWLINE) != 0) & ~blank[:-1]
    for i in wide.nonzero()[0].tolist() if requested else ():
        spaced[i] = _BLANKS.fullmatch(block.text, after[i], start[i + 1]) is not None
    places = [code[c] for c in ("city", "region", "state", "cityen", "citygb")]
    for own, size in product((True, False) if requested else (False,), _SIZES):
        joins = spaced if own else blank
        at = (joins if own else lexicon.opens_phrase.take(words["row"]) & blank).nonzero()[0]
        at = at[at + size <= len(start)]
        for step in range(1, size - 1):
            at = at[joins.take(at + step)]
        if own and requested:
            hashes = _hashes(block, words, at, size)
            listed, labels = requested(hashes)
            at, hashes = at[listed], hashes[listed]
        else:
            hashes = block.hashes.of(start[at], end[at + size - 1])
            rows = lexicon.phrases.rows(hashes)
            at, labels = at[rows >= 0], lexicon.phrase_codes[rows[rows >= 0]]
            hashes = hashes[rows >= 0]
            small = words["caps"][at] == LOWER
            common = small & closed[words["label"][at]] & among(labels, places)
            at, labels, hashes = at[~common], labels[~common], hashes[~common]
        free = np.ones(len(at), bool)
        for step in range(size):
            # A word of a request is no part of a phrase of the lists.
            free &= keep[at + step] & (own | (words["label"][at + step] < len(lexicon.labels)))
        at, labels, hashes = at[free], labels[free], hashes[free]
        if not len(at):
            continue
        apart = np.append(True, np.diff(at) >= size)
        at, labels = at[apart], labels[apart]
        words["hash"][at] = hashes[apart]
        words["label"][at] = labels
        words["row"][at] = -1
        small = words["caps"][at] == LOWER
        upper = words["caps"][at + size - 1] == UPPER
        words["caps"][at] = np.where(
            small, LOWER, np.where(upper & (words["caps"][at] == UPPER), UPPER, TITLE)
        )
        end[at], after[at] = end[at + size - 1], after[at + size - 1]
        words["possessive"][at] = words["possessive"][at + size - 1]
        for step in range(1, size):
            keep[at + step] = False
        blank[at] = spaced[at] = False
    return keep.nonzero()[0]


def _hashes(block: Block, words: Words, at: Indices, size: int) -> Words64:
    """Return the hashes of phrases, with one blank for all white space between two words."""
    start, after, last = words["start"], words["after"], at + size - 1
    out = block.hashes.of(start[last], words["end"][last])
    for word in (at + step for step in reversed(range(size - 1))):
        hyphen = block.small.take(after[word]) == ord("-")
        rest = np.where(hyphen, ord("-"), ord(" ")).astype(np.uint64) + np.uint64(1)
        rest += out * np.uint64(BASE)
        out = block.hashes.of(start[word], after[word])
        out += rest * block.hashes.powers[after[word] - start[word]]
    return out
