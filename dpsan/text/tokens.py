"""Lines and tokens: what is a word, and how a line is put together again.

Knows Unicode and English clitics.  Must not know vocabularies, vectors or privacy.

The one invariant: a split is an alternating list ``[gap, word, gap, word, ..., gap]`` and
``"".join(split(line)) == line`` for every string.  Gaps (white space, punctuation) pass through
unprotected, so everything that can carry content is on the word side: letters and marks of every
script, digits, emoji, private-use and unassigned code points, Braille, enclosed alphanumerics.
What a reader cannot see could carry a watermark: inside a word it belongs to the word, which is
replaced as a whole, and in a gap it is not written (:func:`gaps_to_write`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

import regex

from dpsan.text.patterns import compiled
from dpsan.text.whole_tokens import (
    NUMBER_MARKS,
    WHOLE_ASCII,
    is_number,
    is_numeric,
    may_have_ascii,
    whole_unicode,
)


class Kind(StrEnum):
    """What a token is: words and numbers are protected, what is invisible is dropped, the rest is
    passed through.
    """

    WORD = "word"
    NUMBER = "number"
    SPACE = "space"
    PUNCTUATION = "punctuation"
    INVISIBLE = "invisible"


@dataclass(frozen=True, slots=True)
class Token:
    """A slice of a line."""

    text: str
    kind: Kind


# Format and control characters but for white space, and what Unicode calls default ignorable:
# variation selectors, tags that can spell ASCII, Hangul fillers.
_UNSEEN: Final = r"[[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]--\p{White_Space}]"
INVISIBLE: Final = regex.compile(_UNSEEN, regex.V1)
"""One character that shows nothing to a reader."""
# Characters of words.  Enclosed alphanumerics are symbols by category but can write names.
_LETTER: Final = (
    r"[[\p{L}\p{M}\p{N}\p{Co}\p{Cn}\p{Cs}\u2460-\u24FF\U0001F3FB-\U0001F3FF]"
    r"--\p{Default_Ignorable_Code_Point}]"
)
# Inner joiners: apostrophes, hyphens, between digits . , : / and anywhere what is invisible.
_MARK: Final = rf"(?:['’‐‑\-]|(?<=\p{{Nd}})[{NUMBER_MARKS}](?=\p{{Nd}}))"
_JOINER: Final = rf"(?:{_MARK}{_UNSEEN}*+|{_UNSEEN}++(?:{_MARK}{_UNSEEN}*+)?)"
# Symbols that are punctuation to a reader; all emoji, whatever they are made of, and all other
# "other symbols" (Braille, musical notation) are words.
_PASSED_SYMBOL: Final = r"[°¦\u2190-\u21FF\u2500-\u25FF\uFFFC\uFFFD]"
_PICTURE: Final = rf"[\p{{Extended_Pictographic}}[\p{{So}}--{_PASSED_SYMBOL}]]"
_SYMBOL: Final = (
    rf"(?:[\U0001F1E6-\U0001F1FF]{{2}}|[#*]\uFE0F?\u20E3|{_PICTURE})"  # flags, keycaps, pictures
    rf"(?:[\p{{M}}\U0001F3FB-\U0001F3FF\U000E0020-\U000E007F]|\u200D{_PICTURE})*"
)
_WHOLE: Final = whole_unicode(_LETTER)
_UNICODE: Final = rf"({_WHOLE}|{_LETTER}+(?:{_JOINER}{_LETTER}+)*|{_SYMBOL})"
# The same rule where all is ASCII and visible, for the standard library's faster engine; and for
# lines without anything that looks like an address, an amount or a telephone number.
_ASCII_WORD: Final = rf"[A-Za-z0-9]+(?:(?:['\-]|(?<=[0-9])[{NUMBER_MARKS}](?=[0-9]))[A-Za-z0-9]+)*"
_ASCII: Final = compiled(rf"({WHOLE_ASCII}|{_ASCII_WORD})")
_ASCII_WORDS: Final = re.compile(f"({_ASCII_WORD})")
_UNSEEN_ASCII: Final = re.compile(r"[\x00-\x08\x0E-\x1F\x7F]")
# Unicode's white space: str.isspace and \s of re take U+001C to U+001F for it.
_CHUNK: Final = re.compile(r"([^\t-\r \x85\xA0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]+)")
_GAP: Final = regex.compile(rf"(\s+)|({_UNSEEN}+)|.", regex.V1 | regex.DOTALL)

_POSSESSIVE: Final = re.compile(r"(.+)(['’][sS])\Z", re.DOTALL)
# Penn Treebank clitics and the fused words it takes apart.
_CLITIC: Final = re.compile(r"(.+?)(n['’]t|['’](?:s|m|d|ll|re|ve))\Z", re.IGNORECASE | re.DOTALL)
_FUSED: Final = re.compile(r"(can)(not)|(gim|lem)(me)|(gon|wan)(na)|(got)(ta)", re.IGNORECASE)
_HYPHENS: Final = regex.compile(r"([‐‑\-])")
_INNER: Final = regex.compile(rf"((?<=\p{{Nd}})[{NUMBER_MARKS}](?=\p{{Nd}}))")
# A number with its unit or ending: 5bn, 00am.
_MEASURE: Final = regex.compile(r"(\p{Nd}+)(\p{L}+)")
_BEHIND: Final = ',.;:!?)"'
_APOSTROPHES: Final = str.maketrans({"’": "'", "‐": "-", "‑": "-"})


@cache
def _compiled(pattern: str) -> Any:
    """When the first line asks for it: 12 ms for each of the two, at every start."""
    return regex.compile(pattern, regex.V1)


def _seen(text: str) -> bool:
    """Whether nothing in it is invisible."""
    if text.isascii():  # most often, and with a faster engine
        return text.isprintable() or not _UNSEEN_ASCII.search(text)
    return not INVISIBLE.search(text)


def _split_unicode(line: str) -> list[str]:
    word = line.rstrip(_BEHIND)
    if word.isalnum() and word.isascii():  # one word, as most often when pieces are looked up
        return ["", word, line[len(word) :]]
    if not (line.isascii() and _seen(line)):
        pieces: list[str] = _compiled(_UNICODE).split(line)
        return pieces
    return (_ASCII if may_have_ascii(line) else _ASCII_WORDS).split(line)


def _split_ptb(line: str) -> list[str]:
    pieces = _split_unicode(line)
    out = [pieces[0]]
    for at in range(1, len(pieces), 2):
        word = pieces[at]
        match = _FUSED.fullmatch(word) or _CLITIC.fullmatch(word)
        if match is None:
            out.append(word)
        else:
            stem, clitic = (part for part in match.groups() if part is not None)
            out += (stem, "", clitic)
        out.append(pieces[at + 1])
    return out


def _split_whitespace(line: str) -> list[str]:
    pieces = _CHUNK.split(line)
    out = [pieces[0]]
    for at in range(1, len(pieces), 2):
        chunk = pieces[at]
        if len(_split_unicode(chunk)) > 1:
            out += (chunk, pieces[at + 1])
        else:  # punctuation only
            out[-1] += chunk + pieces[at + 1]
    return out


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A named way to split a line into words and what stands between them."""

    name: str
    split: Callable[[str], list[str]]
    """line -> alternating list: gaps at even positions, words at odd ones; lossless."""

    def tokens(self, line: str) -> list[Token]:
        """All tokens of a line in order; their texts concatenate to the line."""
        out: list[Token] = []
        for at, piece in enumerate(self.split(line)):
            if at % 2:
                out.append(Token(piece, Kind.NUMBER if is_number(piece) else Kind.WORD))
            else:
                for match in _GAP.finditer(piece):
                    kind = (Kind.PUNCTUATION, Kind.SPACE, Kind.INVISIBLE)[match.lastindex or 0]
                    out.append(Token(match.group(), kind))
        return out


TOKENIZERS: Final[dict[str, Tokenizer]] = {
    "unicode": Tokenizer("unicode", _split_unicode),
    "ptb": Tokenizer("ptb", _split_ptb),
    "whitespace": Tokenizer("whitespace", _split_whitespace),
}


def lookup_keys(word: str) -> Iterator[str]:
    """The spellings under which a word is looked up, best first: exact, NFC, lower-cased.

    The last spelling is the one the bundled vocabulary is trained on: NFC, lower case, straight
    apostrophes and hyphens, nothing invisible.
    """
    yield word
    if word.isascii() and _seen(word):
        plain = word
    else:
        plain = unicodedata.normalize("NFC", word)
        if plain != word:
            yield plain
        straight = INVISIBLE.sub("", plain.translate(_APOSTROPHES))
        if straight != plain:
            yield straight
        plain = straight
    lower = plain.lower()
    if lower != plain:
        yield lower if lower.isascii() else unicodedata.normalize("NFC", lower)


def folded(word: str) -> str:
    """A word without letter case, in the spelling that comparisons use: the last to look up."""
    *_, last = lookup_keys(word)
    return last


def subwords(word: str) -> list[str] | None:
    """How to split a word that a vocabulary lacks, as an alternating list; None if in no way.

    A possessive ending becomes a gap (it is grammar, passed like punctuation) so that "Maria's"
    protects "Maria", but one ending only: a row of them could say something.  An address, a
    telephone number, an amount or a number with separators stays whole.  Other contractions and a
    number with its unit (5bn) give two words; hyphens become gaps; a chunk with punctuation
    (whitespace tokenizer) is split by the unicode rule.
    """
    match = _POSSESSIVE.fullmatch(word)
    if match and not _POSSESSIVE.fullmatch(INVISIBLE.sub("", match[1])):
        return ["", match[1], match[2]]
    if is_numeric(INVISIBLE.sub("", word)) or _compiled(_WHOLE).fullmatch(word):
        return None
    inner = _split_unicode(word)
    if len(inner) > 3 or inner[0] or inner[-1]:
        return inner if len(inner) > 1 else None
    if match := _CLITIC.fullmatch(word):
        return ["", match[1], "", match[2], ""]
    parts = _HYPHENS.split(word)  # first: the number in 3.5-inch is one token
    if len(parts) == 1:
        parts = _INNER.split(word)
    if len(parts) == 1:
        measure = _MEASURE.fullmatch(word)
        return ["", measure[1], "", measure[2], ""] if measure else None
    out = [""]
    for at in range(0, len(parts), 2):
        out += (parts[at], parts[at + 1] if at + 1 < len(parts) else "")
    return out


def gaps_to_write(gaps: list[str]) -> tuple[list[str], str, int]:
    """What is written between the words of a line.

    Nothing invisible is written; two words without a gap get a space, as nobody could tell their
    outputs apart; a possessive ending is written small, as letter case belongs to the word.

    Args:
        gaps: of the split line, the first before its first word.

    Returns:
        The gaps to write (the same list if they are the same), the visible characters of all gaps,
        and the number of invisible ones left out.
    """
    dropped = 0
    passed = "".join(gaps)
    if not _seen(passed):
        gaps = [INVISIBLE.sub("", gap) for gap in gaps]
        dropped = len(passed)
        passed = "".join(gaps)
        dropped -= len(passed)
    if "S" in passed:
        gaps = [gap.replace("S", "s") for gap in gaps]
    if "" in gaps[1:-1]:
        gaps = [gaps[0], *(gap or " " for gap in gaps[1:-1]), gaps[-1]]
    return gaps, passed, dropped


def write_gaps(pieces: list[str]) -> tuple[str, int]:
    """Turn the gaps of a split line into what is written between its words, in place.

    Returns:
        The visible characters of all gaps, and the number of invisible ones left out.
    """
    pieces[::2], passed, dropped = gaps_to_write(pieces[::2])
    return passed, dropped


def wordless(text: str) -> bool:
    """Whether nothing in a text is drawn or dropped."""
    return len(TOKENIZERS["unicode"].split(text)) == 1 and not INVISIBLE.search(text)
