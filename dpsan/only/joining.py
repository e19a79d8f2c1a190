"""Words that are one token: those that a line's end cuts, and listed phrases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpsan.only.characters import BLANK, Block, folded
from dpsan.only.hashes import Hashes
from dpsan.only.view import COLUMN, LOWER, TITLE, UPPER, Flags, among

if TYPE_CHECKING:
    from dpsan.only.lexicon import Lexicon

Words = dict[str, NDArray[Any]]
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


def join_phrases(
    lexicon: Lexicon, code: dict[str, int], closed: Flags, block: Block, words: Words
) -> NDArray[np.intp]:
    """Make listed phrases, with blanks or hyphens, one token; returns the words that stay."""
    start, end, row = words["start"], words["end"], words["row"]
    n = len(start)
    keep = ~words.pop("dead", np.zeros(n, bool))
    hashes, after = block.hashes, words["after"]
    blank = (block.bits.take(after) & BLANK != 0) | (block.small.take(after) == ord("-"))
    blank &= np.append(start[1:], 0) - after == 1
    opens = (lexicon.opens_phrase.take(row) & blank).nonzero()[0]
    towns = [code[name] for name in ("city", "region", "state", "cityen", "citygb")]
    for size in (4, 3, 2):
        at = opens[opens + size <= n]
        for step in range(size - 1):
            at = at[blank.take(at + step)]
        if not len(at):
            continue
        phrases = lexicon.phrases.rows(hashes.of(start[at], end[at + size - 1]))
        at, phrases = at[phrases >= 0], phrases[phrases >= 0]
        if not len(at):
            continue
        common = (words["caps"][at] == LOWER) & closed[words["label"][at]]
        common &= among(lexicon.phrase_codes[phrases], towns)
        at, phrases = at[~common], phrases[~common]
        free = np.ones(len(at), bool)
        for step in range(size):
            # A word of a request is no part of a phrase.
            free &= keep[at + step] & (words["label"][at + step] < len(lexicon.labels))
        at, phrases = at[free], phrases[free]
        if len(at) > 1:
            apart = np.append(True, np.diff(at) >= size)
            at, phrases = at[apart], phrases[apart]
        words["hash"][at] = hashes.of(start[at], end[at + size - 1])
        words["label"][at] = lexicon.phrase_codes[phrases]
        words["row"][at] = -1
        small = words["caps"][at] == LOWER
        upper = (words["caps"][at] == UPPER) & (words["caps"][at + size - 1] == UPPER)
        words["caps"][at] = np.where(small, LOWER, np.where(upper, UPPER, TITLE))
        words["end"][at], words["after"][at] = end[at + size - 1], words["after"][at + size - 1]
        words["possessive"][at] = words["possessive"][at + size - 1]
        for step in range(1, size):
            keep[at + step] = False
        blank[at] = False
    return keep.nonzero()[0]
