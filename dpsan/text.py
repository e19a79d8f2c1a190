"""Lines and tokens: what is a word, and how a line is put together again.

Knows Unicode and English clitics.  Must not know vocabularies, vectors or privacy.

The one invariant: a split is an alternating list ``[gap, word, gap, word, ..., gap]`` and
``"".join(split(line)) == line`` for every string.  Gaps (white space, punctuation) pass through
unprotected, so everything that can carry content is on the word side: letters and marks of every
script, digits, emoji, private-use and unassigned code points, tag characters, Braille, enclosed
alphanumerics.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import regex

__all__ = ["TOKENIZERS", "Kind", "Token", "Tokenizer", "lookup_keys", "subwords"]


class Kind(StrEnum):
    """What a token is; words and numbers are protected, the rest is passed through."""

    WORD = "word"
    NUMBER = "number"
    SPACE = "space"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True, slots=True)
class Token:
    """A slice of a line."""

    text: str
    kind: Kind


# Characters of words.  Tag characters (invisible, can spell ASCII) and enclosed alphanumerics are
# symbols by category but can write names, so they count as letters.
_LETTER: Final = (
    r"[\p{L}\p{M}\p{N}\p{Co}\p{Cn}\p{Cs}\U000E0000-\U000E007F\u2460-\u24FF\U0001F3FB-\U0001F3FF]"
)
# Inner joiners: apostrophes, hyphens, soft hyphen, zero-width (non-)joiners; between digits . and ,
_JOINER: Final = r"(?:['’‐‑\u00AD\u200C\u200D\-]|(?<=\p{Nd})[.,](?=\p{Nd}))"
# Symbols that are punctuation to a reader; all other "other symbols" (emoji, Braille) are words.
_PASSED_SYMBOL: Final = r"°©®™℠¦\u2190-\u21FF\u2500-\u25FF\uFFFC\uFFFD"
_SYMBOL: Final = (
    rf"(?![{_PASSED_SYMBOL}])\p{{So}}(?:[\p{{M}}\U0001F3FB-\U0001F3FF\U000E0020-\U000E007F]"
    rf"|\u200D\p{{So}})*"
)
_UNICODE: Final = regex.compile(rf"({_LETTER}+(?:{_JOINER}{_LETTER}+)*|{_SYMBOL})")
# The same rule restricted to ASCII, for the standard library's faster engine.
_ASCII: Final = re.compile(r"([A-Za-z0-9]+(?:(?:['\-]|(?<=[0-9])[.,](?=[0-9]))[A-Za-z0-9]+)*)")
_CHUNK: Final = re.compile(r"(\S+)")
_NUMBER: Final = regex.compile(r"\p{N}+(?:[.,]\p{N}+)*")
_GAP: Final = re.compile(r"\s+|[^\s]")

_POSSESSIVE: Final = re.compile(r"(.+)(['’][sS])\Z", re.DOTALL)
# Penn Treebank clitics and the fused words it takes apart.
_CLITIC: Final = re.compile(r"(.+?)(n['’]t|['’](?:s|m|d|ll|re|ve))\Z", re.IGNORECASE | re.DOTALL)
_FUSED: Final = re.compile(r"(can)(not)|(gim|lem)(me)|(gon|wan)(na)|(got)(ta)", re.IGNORECASE)
_INNER: Final = regex.compile(r"([‐‑\-]|(?<=\p{Nd})[.,](?=\p{Nd}))")
_APOSTROPHES: Final = str.maketrans({"’": "'", "‐": "-", "‑": "-", "\u00ad": None})


def _split_unicode(line: str) -> list[str]:
    return (_ASCII if line.isascii() else _UNICODE).split(line)


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
                number = _NUMBER.fullmatch(piece) is not None
                out.append(Token(piece, Kind.NUMBER if number else Kind.WORD))
            else:
                for match in _GAP.finditer(piece):
                    text = match.group()
                    out.append(Token(text, Kind.SPACE if text.isspace() else Kind.PUNCTUATION))
        return out


TOKENIZERS: Final[dict[str, Tokenizer]] = {
    "unicode": Tokenizer("unicode", _split_unicode),
    "ptb": Tokenizer("ptb", _split_ptb),
    "whitespace": Tokenizer("whitespace", _split_whitespace),
}


def lookup_keys(word: str) -> Iterator[str]:
    """The spellings under which a word is looked up, best first: exact, NFC, lower-cased.

    The last spelling is the one the bundled vocabulary is trained on: NFC, lower case, straight
    apostrophes and hyphens, no soft hyphens.
    """
    yield word
    if word.isascii():
        plain = word
    else:
        plain = unicodedata.normalize("NFC", word)
        if plain != word:
            yield plain
        straight = plain.translate(_APOSTROPHES)
        if straight != plain:
            yield straight
        plain = straight
    lower = plain.lower()
    if lower != plain:
        yield lower if lower.isascii() else unicodedata.normalize("NFC", lower)


def subwords(word: str) -> list[str] | None:
    """How to split a word that a vocabulary lacks, as an alternating list; None if in no way.

    A possessive ending becomes a gap (it is grammar, passed like punctuation) so that "Maria's"
    protects "Maria"; other contractions give two words; hyphens and number separators become gaps;
    a chunk with punctuation (whitespace tokenizer) is split by the unicode rule.
    """
    if match := _POSSESSIVE.fullmatch(word):
        return ["", match[1], match[2]]
    inner = _split_unicode(word)
    if len(inner) > 3 or inner[0] or inner[-1]:
        return inner if len(inner) > 1 else None
    if match := _CLITIC.fullmatch(word):
        return ["", match[1], "", match[2], ""]
    parts = _INNER.split(word)
    if len(parts) == 1:
        return None
    out = [""]
    for at in range(0, len(parts), 2):
        out += (parts[at], parts[at + 1] if at + 1 < len(parts) else "")
    return out
