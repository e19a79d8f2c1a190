"""Lines and tokens: where a line is cut, and how it is put together again.

The one invariant: a split is an alternating list ``[gap, word, gap, word, ..., gap]`` and
``"".join(split(line)) == line`` for every string.  Gaps (white space, punctuation) pass through
unprotected, so everything that can carry content is on the word side: letters and marks of every
script, digits, emoji, private-use and unassigned code points, Braille, enclosed alphanumerics.

Where a line is cut depends on its shape alone (:mod:`dpsan.text.shape`): the rules below match
shapes and see no letter and no digit.  Invisible characters do not count.  One inside a token is
part of it and replaced with it; one in a gap is not written (:func:`gaps_to_write`), as it could
carry a watermark.

Large batches are cut at spaces first (:mod:`dpsan.text.batch`), which is faster; each piece is
then split by the rules below, and the result is the same.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from dpsan.errors import InputError, check_name, file_reason
from dpsan.text import shape as shapes

LONG: Final = 1 << 20
"""Characters above which a text is split in segments: split whole it takes 20 times its size."""
SEGMENT: Final = 1 << 18
"""Characters that are split at once."""
ARTICLES: Final = frozenset({"a", "an"})
_APART: Final = re.compile(r"[.)\]}:;?!]")
TAG: Final = 16
"""Most words of a tag that stands between an article and its word."""
AHEAD: Final = 1 << 12
"""Characters after a cut that must be known: what follows a word decides where it ends."""
_VISIBLE: Final = {*"PSZ"}
"""Categories of characters that stay in a gap whatever stands beside it."""
RULES: Final = 4
"""Version of the rules below and of those of numbers: outputs that a memo holds depend on them."""
MASK: Final = "<unk>"
"""Written for out-of-vocabulary words with ``--unknown mask``."""
SEVERAL: Final = "not one token, so that it could never be found"
SEVERAL_HINT: Final = "list its parts; spaces, hyphens, punctuation and 's end a token"
LONGEST: Final = 64 << 20
"""Bytes of a list of words: some millions."""
_FILE_OF_WORDS: Final = "a FILE of words, one a line"

_TRAILING: Final = ',.;:!?)"'
_APOSTROPHES: Final = str.maketrans({"’": "'", "‐": "-", "‑": "-"})


def _split(
    line: str, *, literals: shapes.Literals, pattern: re.Pattern[str] | None = None
) -> list[str]:
    """Cut a line into gaps and words.

    Args:
        literals: of the tokenizer.
        pattern: matches the shape of a token; default the tokens of running text.
    """
    if pattern is None:
        word = line.rstrip(_TRAILING)
        # As most often when pieces are looked up; the tokenizer ptb cuts "cannot" in two.
        if word.isalnum() and word.isascii() and not literals.pattern.search(word.lower()):
            return ["", word, line[len(word) :]]
    line_shape, offsets = shapes.shape(line, literals)
    if pattern is None:
        pattern = shapes.tokens_of(line_shape)
    out: list[str] = []
    done = 0
    for match in pattern.finditer(line_shape):
        start, end = match.span()
        if offsets is not None:
            start, end = offsets[start], offsets[end - 1] + 1
        out += line[done:start], line[start:end]
        done = end
    return [*out, line[done:]]


TOKENIZERS: Final[dict[str, Callable[[str], list[str]]]] = {
    "unicode": partial(_split, literals=shapes.POSSESSIVES),
    "ptb": partial(_split, literals=shapes.CLITICS),
    "whitespace": partial(_split, literals=shapes.POSSESSIVES, pattern=shapes.CHUNK),
}
"""Ways to split a line into an alternating list: gaps at even positions, words at odd ones."""


def segments(text: str, split: Callable[[str], list[str]]) -> Iterator[list[str]]:
    """Yield the alternating pieces of a long text, at most some 100,000 words at a time.

    Put together they are those of ``split(text)``, but for empty gaps at the seams: a text is cut
    where something visible stands between two words, and all of a word is seen before it is cut.
    No article of the text is near.  Where the text has a mark that ends a clause, what is written
    on one side of a seam does not depend on the other side.
    """
    start, size = 0, SEGMENT
    while len(text) - start > size:
        pieces = split(text[start : start + size])
        if cut := _last_gap(pieces, size - AHEAD):
            yield [*pieces[:cut], ""]
            start, size = start + sum(map(len, pieces[:cut])), SEGMENT
        else:
            size *= 2
    yield split(text[start:])


def _last_gap(pieces: list[str], limit: int) -> int:
    """Return the index of a visible gap before ``limit`` characters, 0 if there is none.

    The last one with a mark that no article reaches across, else the last one.  No gap with
    letters: a possessive ending is one by the word before it.
    """
    end, last = sum(map(len, pieces)), 0
    for at in range(len(pieces) - 1, 3, -2):
        if end < limit // 2:
            break
        gap = pieces[at]
        if end <= limit and (not last or _APART.match(gap)):
            kinds = {unicodedata.category(character)[0] for character in gap}
            near = {word.lower() for word in pieces[max(at - 2 * TAG - 1, 1) : at + 2 : 2]}
            if kinds & _VISIBLE and "L" not in kinds and near.isdisjoint(ARTICLES):
                if _APART.match(gap) and pieces[at - 2] != ".":
                    return at
                last = last or at
        end -= len(gap) + len(pieces[at - 1])
    return last


def is_token(word: str, tokenizer: str) -> bool:
    """Return whether a tokenizer has a word as one token, alone or at the end of another word."""
    split, word = TOKENIZERS[tokenizer], shapes.INVISIBLE.sub("", word)
    return split(word) == ["", word, ""] or split(f"x{word}")[2:] == ["", word, ""]


def read_word_list(path: Path, tokenizer: str | None = None, most: int = 1) -> list[str]:
    """Read a list of words: one a line, without blank lines and lines that start with #.

    Args:
        tokenizer: every word must be one token of this tokenizer; default: any string.
        most: words of a phrase, with blanks or a hyphen between them and no digit or address.

    Raises:
        InputError: missing, not UTF-8, or a word of several tokens.
    """
    if tokenizer is not None:
        check_name("tokenizer", tokenizer, TOKENIZERS)
    words = []
    for number, line in enumerate(read_utf8(path).split("\n"), 1):
        if (word := line.strip()) and not word.startswith("#"):
            if tokenizer is not None and not is_token(word, tokenizer):
                parts = re.split("[ -]", word := " ".join(word.split()))
                apart = all(is_token(part, tokenizer) for part in parts)
                if not apart or len(parts) > most or re.search(r"[\d@./:]", word):
                    raise InputError(path, SEVERAL, SEVERAL_HINT, line=number)
            words.append(word)
    return words


def read_utf8(path: Path) -> str:
    """Return the text of a file.

    Raises:
        InputError: missing, too long, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise InputError(path, f"longer than {LONGEST} bytes", "is it a list of words?")
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise InputError(path, file_reason(error), _FILE_OF_WORDS) from None
    except UnicodeDecodeError:
        raise InputError(path, "not UTF-8", _FILE_OF_WORDS) from None


def lookup_keys(word: str) -> Iterator[str]:
    """Yield the spellings under which a word is looked up, best first: exact, NFC, lower-cased.

    The last spelling is the one the bundled vocabulary is trained on: NFC, lower case, straight
    apostrophes and hyphens, nothing invisible.
    """
    yield word
    if word.isascii() and shapes.visible(word):
        plain = word
    else:
        plain = unicodedata.normalize("NFC", word)
        if plain != word:
            yield plain
        straight = shapes.INVISIBLE.sub("", plain.translate(_APOSTROPHES))
        if straight != plain:
            yield straight
        plain = straight
    lower = plain.lower()
    if lower != plain:
        yield lower if lower.isascii() else unicodedata.normalize("NFC", lower)


def folded(word: str) -> str:
    """Return a word without letter case, in the spelling that comparisons use."""
    *_, last = lookup_keys(word)
    return last


def gaps_to_write(gaps: list[str]) -> tuple[list[str], int]:
    """Return what is written between the words of a line.

    Nothing invisible is written; two words without a gap get a space, as nobody could tell their
    outputs apart; a possessive ending is written in lower case, as letter case belongs to the word.

    Args:
        gaps: of the split line, the first before its first word.

    Returns:
        The gaps to write (the same list if they are the same), and the number of invisible
        characters left out.
    """
    dropped = 0
    passed = "".join(gaps)
    if not shapes.visible(passed):
        gaps = [shapes.INVISIBLE.sub("", gap) for gap in gaps]
        dropped = len(passed)
        passed = "".join(gaps)
        dropped -= len(passed)
    if "S" in passed:
        gaps = [gap.replace("S", "s") for gap in gaps]
    if "" in gaps[1:-1]:
        gaps = [gaps[0], *(gap or " " for gap in gaps[1:-1]), gaps[-1]]
    return gaps, dropped


def wordless(text: str) -> bool:
    """Return whether nothing in a text is drawn or dropped."""
    return len(TOKENIZERS["unicode"](text)) == 1 and not shapes.INVISIBLE.search(text)
