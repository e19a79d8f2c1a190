"""Write output words in natural case, or as the vocabulary has them.

Natural case is free: it reads the words that were drawn and the gaps between them, all of which are
in the output anyway, and no input word.  Whatever is a function of the output alone is
post-processing, and post-processing spends no privacy.  Another input word at one position changes
what is written there, and at most the a or an before it and capitals of a few words beside it;
everything else stays byte for byte.

An article of the input would show how the drawn word after it began.  So :func:`agree` writes it
anew from the output, whichever of a and an it was.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import compress
from typing import Final

import numpy as np

from dpsan.text.batch import MARK, BoundedCache, Ids, Layout, Mask
from dpsan.text.tokens import ARTICLES, TAG


class LetterCase(StrEnum):
    """Policy for capital letters of the output."""

    NATURAL = "natural"
    """The usual spelling of each output word, and a capital where a sentence begins."""
    VOCABULARY = "vocabulary"
    """The spelling under which the vocabulary has the word."""


_LINE_BREAK: Final = re.compile("[\n\v\f\r\x85\u2028\u2029]")
# After a full stop a closing quote ends the sentence; after ? and ! ("is she?" said ...) it need
# not.  Texts split in advance have white space before the quote too.
_END: Final = re.compile(r"""[.…]["'”’»›)\]}]*\s | [!?]\s(?!\s*(?:''|["”’»›])\s)""", re.VERBOSE)
_CONTINUES: Final = ",;:"
_MARKS: Final = frozenset(".!?…")
_MANY: Final = 50_000


def begins_sentence(gap: str) -> bool:
    """Return True if the word after a gap begins a sentence or a line."""
    if gap == " ":
        return False
    if _LINE_BREAK.search(gap):
        return True
    after = max(map(gap.rfind, _CONTINUES)) + 1
    return _END.search(gap, after) is not None


def capitalised(word: str) -> str:
    """Return a word as it begins a sentence; one that has a capital already (iPhone) as it is."""
    return word if word != word.lower() else word[:1].title() + word[1:]


# By sound, not by letter: an hour, an honest; a university, a European, a one-way street.
_SILENT_H: Final = r"h(?:our|onest|onou?r(?!u)|eir)"
_LIKE_Y: Final = r"eu|ew|u(?:bi|ga|k|ly|nesco|ni(?![dmn])|r[aeiu]|s[aeiu]|t(?![mt])|v)"
_LIKE_W: Final = r"one(?:s|self|time)?(?![a-z])|once(?![a-z])|ouija"
_VOWEL: Final = re.compile(rf"{_SILENT_H}|(?!{_LIKE_Y}|{_LIKE_W})[aeiou]|y[^aeiou]")
_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+")
_SYMBOLS: Final = re.compile(r"^[\W_]+")
_LETTER_NAME: Final = "aefhilmnorsx"
"""Letters whose names begin with a vowel: an FBI agent, an X-ray, a UN report."""
_SPELT: Final = 3
"""Longest abbreviation that is read letter by letter although it has a vowel."""


def article_for(word: str) -> str:
    """Return the English article, a or an, that a word takes by its first letter or digit.

    It is a where the sound is not known.
    """
    word = _SYMBOLS.sub("", word)
    first = unicodedata.normalize("NFD", word[:1])[:1]
    if number := _NUMBER.match(word):
        return _article_for_number(number[0])
    if not (first.isascii() and first.isalpha()):
        return "a"
    stem = re.split("['’ -]", word, maxsplit=1)[0]
    spelt = stem.isupper() and (len(stem) <= _SPELT or not re.search("[AEIOUY]", stem))
    if spelt or len(stem) == 1:
        return "an" if first.lower() in _LETTER_NAME else "a"
    small = first.lower() + word[1:].lower()
    return "an" if _VOWEL.match(small) else "a"


def _article_for_number(number: str) -> str:
    """Return an 8, an 80, an 11th, an 18,000, an 1850s house; a 1,800, a 118."""
    digits = number.replace(",", "")
    hundreds = len(digits) == 4 and "," not in number  # eighteen fifty, eleven hundred
    eleven = digits[:2] in ("11", "18") and (len(digits) % 3 == 2 or hundreds)
    return "an" if digits[0] == "8" or eleven else "a"


_ARTICLE_FOR: Final = BoundedCache(article_for, _MANY)


# No article stands before these: "A." and "a)" are labels or initials, "a |" and "a =" are values.
_APART: Final = re.compile(rf"\Z|[.)\]}}:;?!]|\s*[|=/\t]|\s*\n\s*\n|[^{MARK}]*{MARK}")
_CAPITAL_APART: Final = re.compile(r"[,\n\t]")
_NAMED_A: Final = frozenset(
    ["grade", "group", "hepatitis", "influenza", "serie", "type", "vitamin"]
)
"""Words after which a capital A is a name."""


def agree(outputs: list[str], gaps: Sequence[str], drawn: Mask, at: Iterable[int]) -> None:
    """Write a or an as the output after it asks for, if either of both was drawn, in place.

    A capital article is written in capitals where the words around it are.

    Args:
        outputs: what is written for each word.
        gaps: the gaps, one more than words.
        drawn: True for outputs that hide their words.
        at: positions that may be articles.
    """
    for article in at:
        if outputs[article].lower() not in ARTICLES or article + 1 == len(outputs):
            continue
        follows = _word_after(gaps, article)
        if not (drawn[article] or drawn[follows]) or _APART.match(gaps[article + 1]):
            continue
        written = _ARTICLE_FOR[outputs[follows]]
        if outputs[article][0] == "A":
            if _names(outputs, gaps, drawn, article):
                continue
            near = [place for place in (article - 1, article + 2) if 0 <= place < len(outputs)]
            words = [outputs[place] for place in near if not drawn[place]]
            words = [word for word in words if len(word) > 1 and word.upper() != word.lower()]
            loud = words and all(map(str.isupper, words))
            written = written.upper() if loud else written.capitalize()
        outputs[article] = written


def _word_after(gaps: Sequence[str], article: int) -> int:
    """Return the position of the word after an article, and after tags between them."""
    follows, end = article + 1, min(article + TAG, len(gaps) - 1)
    while gaps[follows].endswith("<"):
        closes = (at for at in range(follows + 1, end) if ">" in gaps[at])
        if (position := next(closes, None)) is None:
            return article + 1
        follows = position
    return follows


def _names(outputs: Sequence[str], gaps: Sequence[str], drawn: Mask, article: int) -> bool:
    """Return whether a capital A is a name: Group A, Serie A, a grade of A, ..."""
    if _CAPITAL_APART.match(gaps[article + 1]):
        return True
    after_a_word = article > 0 and gaps[article] == " " and not drawn[article - 1]
    return after_a_word and outputs[article - 1].lower() in _NAMED_A


_PLACES: Final = {"a": 1, "b": 2, "m": 4, "t": 8, "o": 16, "s": 32}
"""Bits of the places of a capital: after a capital (*Oxford University*), before one, between two,
after *the* (*the US*), after *the* and before a word that has it after one (*the Royal Navy*), and
a title, which asks for capitals where it begins a sentence (*Judge Hope*)."""
_BESIDE: Final = np.array([0, 1, 2, 7])
"""Places by whether the words before (1) and after (2) have capitals of their own."""
_ROUNDS: Final = 3
"""Words that one capital can reach: *New South Wales Police Force*."""


def _names_something(word: str) -> bool:
    """Return whether the usual spelling of a word is that of a name: not IBM, I or I'm."""
    return word[:1].isupper() and not word.isupper() and word[:2] not in ("I'", "I’")


class NaturalCase:
    """Writes drawn words with capitals where sentences begin, and in names of several words.

    Args:
        rows: row number of each word of the vocabulary.
        words: how each is written, shape (n,); default: as it is.
        english: whether the vocabulary is known to be English, so that *a* and *an* are articles.
        capitals: word, spelling and places (:data:`_PLACES`) of small words that have capitals.
    """

    def __init__(
        self,
        rows: Mapping[str, int],
        words: Sequence[str] = (),
        *,
        english: bool,
        capitals: Iterable[Sequence[str]] = (),
    ) -> None:
        words = words or [*rows]
        self._spelt: dict[int, str] = {}
        # The last row is that of words that were not drawn.
        self._places = np.zeros(len(words) + 1, dtype=np.int64)
        for word, spelling, letters in capitals:
            if (row := rows.get(word)) is not None:
                self._spelt[row] = spelling
                self._places[row] = sum(map(_PLACES.__getitem__, letters))
        self._named = np.array([*map(_names_something, words), False])
        self._the = rows.get("the", len(words))
        row_of_article = (rows.get(word) for word in ("a", "an") if english)
        self.articles = [row for row in row_of_article if row is not None]
        """Rows of *a* and *an*."""
        self._begins = BoundedCache(begins_sentence, _MANY)
        self._capitalised = BoundedCache(capitalised, _MANY)

    def write(
        self, layout: Layout, outputs: list[str], rows: Ids, *, continued: bool = False
    ) -> Ids:
        """Put the outputs of some texts into natural case, in place.

        A text of one word and no . ! ? … is a value and no sentence: *doctor* in a column of jobs
        stays small.  Words that were not drawn stay as they are.

        Args:
            layout: of the texts, with the gaps that will be written.
            outputs: what is written for each word of all texts, in its usual spelling.
            rows: the row number of each, negative where nothing was drawn, shape (words,).
            continued: whether the only text is a segment of a long one, and not its first.

        Returns:
            The positions of the outputs that may have changed.
        """
        begins = list(self._within(layout, rows, continued=continued))
        if not continued:
            sizes = layout.sizes
            starts = np.cumsum(sizes) - sizes
            begins += starts[sizes > 1].tolist()
            for start in starts[sizes == 1].tolist():
                if not _MARKS.isdisjoint(layout.gaps[start + 1].split(layout.seam)[0]):
                    begins.append(start)
        indices = np.array(begins, dtype=np.int64)
        indices = indices[rows[indices] >= 0]
        named = self._in_names(layout, rows, indices)
        for at in named.tolist():
            outputs[at] = self._spelt[int(rows[at])]
        for at in indices.tolist():
            outputs[at] = self._capitalised[outputs[at]]
        return np.append(indices, named)

    def _in_names(self, layout: Layout, rows: Ids, begins: Ids) -> Ids:
        """Return the positions of small words that have capitals in names.

        It reads drawn words, single spaces between them and public data: no word that was not
        drawn, and no capital of the input.

        Args:
            rows: the row number of each word, negative where nothing was drawn, shape (words,).
            begins: positions that begin a sentence.
        """
        places, named = self._places[rows], self._named[rows]
        spaced = np.ones(len(rows) + 1, dtype=np.bool_)
        spaced[layout.odd] = [layout.gaps[at] == " " for at in layout.odd.tolist()]
        spaced[:1] = spaced[-1:] = False
        before, after = spaced[:-1], spaced[1:]
        the = before & (np.roll(rows, 1) == self._the)
        follows = after & (np.roll(places, -1) & _PLACES["a"] != 0)
        titles = np.zeros_like(named)
        titles[begins] = places[begins] & _PLACES["s"] != 0
        capital = named | titles
        for _ in range(_ROUNDS):
            beside = (before & np.roll(capital, 1)) + 2 * (after & np.roll(capital, -1))
            wanted = np.where(the, _PLACES["o"] * follows, _BESIDE[beside])
            capital |= places & wanted != 0
        loud = the & (places & _PLACES["t"] != 0)  # asks for no capital beside it
        return np.flatnonzero((capital | loud) & ~named & ~titles)

    def _within(self, layout: Layout, rows: Ids, *, continued: bool) -> Iterator[int]:
        """Yield the drawn words that begin a sentence, but for the first of a whole text."""
        gaps, seam = layout.gaps, layout.seam
        inside = layout.odd[layout.odd < len(rows)]
        odd = inside[rows[inside] >= 0].tolist()
        for at in compress(odd, map(self._begins.__getitem__, [gaps[index] for index in odd])):
            # The last full stop of U.S. or p.m. ends no sentence.
            after_stop = at > 0 and gaps[at - 1].split(seam)[-1] == "."
            if (at or continued) and not after_stop and seam not in gaps[at]:
                yield at


_LATIN: Final = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "æ": "ae", "đ": "d", "ı": "i"})
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})


def address_spellings(word: str) -> set[str]:
    """Return how addresses spell a word in small letters that may have accents."""
    bare = (unicodedata.normalize("NFKD", spelt) for spelt in (word, word.translate(_UMLAUTS)))
    return {"".join(filter(str.isascii, spelt.translate(_LATIN))) for spelt in bare}
