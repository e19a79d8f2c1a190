"""Characters of a block: their classes, patterns of capitals, gaps, and where strings may stand."""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.only.hashes import Hashes, Words64, salted
from dpsan.only.view import (
    GAP,
    LOWER,
    MIXED,
    NONE,
    ONE,
    TITLE,
    UPPER,
    Codes,
    Flags,
    Indices,
    Ints,
    Points,
    changes,
    distinct,
)

LETTER, CAPITAL, DIGIT, BLANK, NEWLINE, APOSTROPHE, OPENER, ODD = (1 << bit for bit in range(8))
"""Classes of characters."""
ODDS: Final = "@\\&\x1b-.:>"
"""Characters of the class ODD: strings may have them."""
BEHIND: Final = 10
"""Characters of a chunk behind a number that may belong to it: 5 p.m."""
BETWEEN: Final = "\x1e"
"""Stands between texts; white space for every pattern."""


_BEYOND: Final = 0x201A
"""First code point behind those of marks."""
_MARKS: Final = np.full((2, _BEYOND + 1), GAP["other"], np.uint8)
"""Class of a gap with one mark, with white space and without, by the mark; an opening quotation
mark ends its gap."""
for _mark, _wide, _narrow in (
    ("-", "dash", "hyphen"),
    (".", "stop", "dot"),
    *((",", "comma", "comma"), (":", "colon", "colon"), ("/", "slash", "slash")),
    *(("&", "amp", "amp"), ("\u2013", "dash", "dash"), ("@", "at", "at"), ("|", "bar", "bar")),
    *((_quote, "open", "open") for _quote in "'\u2018\u2019`"),
):
    _MARKS[:, ord(_mark)] = GAP[_wide], GAP[_narrow]
_BITS: Final = np.arange(256)
_BLANKS: Final = np.select(
    [_BITS & NEWLINE != 0, _BITS & BLANK != 0], [GAP["line"], GAP["space"]], GAP["other"]
).astype(np.uint8)
"""Class of a gap of one character, by the classes of that."""


def folded(word: str) -> str:
    """Return a word in small letters, with straight apostrophes."""
    return word.lower().replace("’", "'").replace("‘", "'").replace("`", "'")


def spellings(word: str) -> set[str]:
    """Return a listed word, and as capitals (Weiß, WEISS) and decomposed accents write it."""
    forms = {word, word.upper().lower()}
    return forms | {unicodedata.normalize("NFD", form) for form in forms}


@dataclass(frozen=True, eq=False)
class Block:
    """The characters of texts (n), with :data:`BETWEEN` around each text."""

    text: str
    points: Points
    small: Points
    """Folded code points."""
    bits: Codes
    """Classes of the characters."""
    hashes: Hashes
    capitals: Ints
    """Number of capitals before each place, (n + 1)."""
    marks: Indices
    """Where apostrophes stand, ascending."""
    edges: Ints
    """Where the texts begin and end, ascending."""


def zones(block: Block, letters: Flags) -> tuple[Indices, Indices]:
    """Return where runs of chunks between white space that may hold strings begin and end, with
    the short chunk behind.  No run goes on in another text: long ones are cut in pieces, and where
    depends on nothing but the text.
    """
    points, spots = block.points, (block.bits & (DIGIT | ODD) != 0).nonzero()[0]
    char, before, behind = points[spots], letters[spots - 1], letters[spots + 1]
    dot, hyphen = (char == ord(".")) | (char == ord(":")), char == ord("-")
    odd = np.where(dot, before & (behind | (points[spots + 1] == ord("/"))), ~hyphen)
    odd |= hyphen & before & (points[spots - 2] == ord("-"))  # K-E-A
    if "-->" not in block.text:
        odd &= char != ord(">")
    if not odd.any():
        return spots[:0], spots[:0]
    blanks = (block.bits & (BLANK | NEWLINE) != 0).nonzero()[0]
    at = blanks.searchsorted(spots[odd])
    at = at[changes(at)]
    first, last = blanks[at - 1] + 1, blanks[at]
    ends = points[last] == ord(BETWEEN)
    # The bank of an account stands between country and digits: GB29 NWBK 6016.
    bank = (first[1:] - last[:-1] == 6) & (at[1:] - at[:-1] == 2) & (last - first == 4)[:-1]
    # A slash or a dash between the two parts of a telephone number: 0251 / 48 12 77.
    marked = (first[1:] - last[:-1] == 3) & np.isin(points[last[:-1] + 1], [47, 0x2013])
    apart = np.append((first[1:] - last[:-1] > 1) & ~(bank | marked) | ends[:-1], True)
    heads, tails = first[np.append(True, apart[:-1])[: len(at)]], last[apart[: len(at)]]
    behind = blanks[np.minimum(at[apart[: len(at)]] + 1, len(blanks) - 1)]
    short = (behind > tails + 1) & (behind < tails + BEHIND) & ~ends[apart[: len(at)]]
    return heads, np.where(short, behind, tails)


def running(flags: Flags) -> Ints:
    """Return the number of true flags before each place, (n + 1)."""
    out = np.zeros(len(flags) + 1, np.int32)
    flags.cumsum(out=out[1:])
    return out


def pattern(block: Block, start: Ints, end: Ints) -> Codes:
    """Return the pattern of capitals of each word."""
    bits, upper = block.bits, block.capitals.take(end) - block.capitals.take(start)
    length = end - start
    first = bits.take(start) & CAPITAL != 0
    second = bits.take(np.minimum(start + 1, end - 1))
    title = first & (second & CAPITAL == 0) | first & (second & APOSTROPHE != 0)
    code = np.arange(NONE, dtype=np.uint8)
    caps: Codes = np.where(title, code[TITLE], code[MIXED])
    caps = np.where(upper == 0, code[LOWER], np.where(upper == length, code[UPPER], caps))
    near = ((upper == length - 1) & (upper > 1)).nonzero()[0]
    marks = block.marks.searchsorted([start[near], end[near]])
    caps[near[marks[1] > marks[0]]] = UPPER
    caps[((length == 1) & first).nonzero()[0]] = ONE
    return caps


def gaps(block: Block, start: Ints, end: Ints) -> Codes:
    """Return the class of each gap."""
    bits, points = block.bits, block.points
    length = end - start
    out = np.full(len(start), GAP["other"], np.uint8)
    np.copyto(out, _BLANKS.take(bits.take(start)), where=length == 1)
    out[(length <= 0).nonzero()[0]] = GAP["none"]
    rest = (out == GAP["other"]).nonzero()[0]
    if not len(rest):
        return out
    size = length[rest]
    last = size.cumsum()
    first = last - size
    inside = np.arange(last[-1]) + np.repeat(start[rest] - first, size)
    chars, classes = points.take(inside), bits.take(inside)

    def many(flags: Flags) -> Ints:
        """Return the number of true flags of each gap."""
        return np.add.reduceat(flags, first, dtype=np.int32)

    marks = classes & (BLANK | NEWLINE) == 0
    count, line = many(marks), many(classes & NEWLINE != 0)
    where = np.append(marks.nonzero()[0], 0)
    mark = chars[where[count.cumsum() - count]]
    result = np.full(len(rest), GAP["other"], np.uint8)
    result[count == 0] = GAP["space"]
    result[(count == 0) & (size > 1)] = GAP["open"]  # columns of a page
    alone_in_gap = count == 1
    alone = size == 1
    single = _MARKS[alone.view(np.uint8), np.minimum(mark, _BEYOND)]
    result[alone_in_gap] = single[alone_in_gap]
    result[alone_in_gap & (single == GAP["open"]) & (chars[last - 1] != mark)] = GAP["other"]
    result[(count > 1) & (many(chars == 46) > 0)] = GAP["stop"]
    result[(count > 1) & (many(chars == 45) > 1)] = GAP["open"]
    opening = (many(classes & OPENER != 0) > 0) & ~(alone_in_gap & np.isin(mark, (58, 124)))
    result[opening | (many((chars == 9) | (chars == 0x2014)) > 0)] = GAP["open"]
    for char, name in ((ord("("), "call"), (ord("_"), "under")):
        result[alone_in_gap & alone & (mark == char)] = GAP[name]
    result[many(chars == ord("\\")) == size] = GAP["backslash"]  # two in a string of a program
    result[line > 0] = GAP["line"]
    out[rest] = result
    return out


def firsts(hashed: Words64, stem: Words64, unit: Ints, wanted: Flags) -> tuple[Ints, Ints]:
    """Return the first token of the unit with the same word, and with the same stem."""
    n = len(hashed)
    equal = np.arange(n, dtype=np.int32)
    at = wanted.nonzero()[0]
    keys = salted(hashed.take(at), unit.take(at))
    first, inverse = distinct(keys)
    equal[at] = at.take(first).take(inverse)
    stems = equal.copy()
    plural = at[stem.take(at) != hashed.take(at)]
    if len(plural):
        words, keys = at[first], keys[first]  # ascending by key
        stem_keys = salted(stem[plural], unit[plural])
        spot = np.minimum(keys.searchsorted(stem_keys), len(keys) - 1)
        same = keys[spot] == stem_keys
        stems[plural[same]] = words[spot[same]]
    return equal, stems


def camel(word: str) -> tuple[str, ...]:
    """Return the parts of a word with capitals inside, folded; none if it is no such word."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", word)
    return (
        tuple(part.lower() for part in parts) if len(parts) > 1 and "".join(parts) == word else ()
    )
