"""Write output words in natural case, as the vocabulary has them, or like the input.

Natural case is free: it reads the words that were drawn and the gaps between them, all of which are
in the output anyway, and no input word.  Whatever is a function of the output alone is
post-processing, and post-processing spends no privacy.  Another input word at one position changes
what is written there, and at most the a or an before it; everything else stays byte for byte.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import compress
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.text.batch import Batch
from dpsan.text.bounded_cache import BoundedCache


class LetterCase(StrEnum):
    """Policy for capital letters of the output."""

    NATURAL = "natural"
    """The usual spelling of each output word, and a capital where a sentence begins."""
    VOCABULARY = "vocabulary"
    """The spelling under which the vocabulary has the word."""
    INPUT = "input"
    """The capital pattern of the input word, which leaks it."""


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


def recased(original: str, output: str) -> str:
    """Return the output with the capital pattern of the original (all, first or none)."""
    if len(original) > 1 and original.isupper():
        return output.upper()
    if original[:1].isupper():
        return output[:1].upper() + output[1:]
    return output


# By sound, not by letter: an hour, an honest; a university, a European, a one-way street.
_SILENT_H: Final = r"h(?:our|onest|onou?r(?!u)|eir)"
_LIKE_Y: Final = r"eu|ew|u(?:bi|ga|k|ly|nesco|ni(?![dmn])|r[aeiu]|s[aeiu]|t(?![mt])|v)"
_LIKE_W: Final = r"one(?:s|self|time)?(?![a-z])|once(?![a-z])|ouija"
_VOWEL: Final = re.compile(rf"{_SILENT_H}|(?!{_LIKE_Y}|{_LIKE_W})[aeiou]|y[^aeiou]")
_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+")
_LETTER_NAME: Final = "aefhilmnorsx"
"""Letters whose names begin with a vowel: an FBI agent, an X-ray, a UN report."""
_SPELT: Final = 3
"""Longest abbreviation that is read letter by letter although it has a vowel."""


def article_for(word: str) -> str | None:
    """Return the English article, a or an, that a word takes; None if its sound is not known."""
    first = unicodedata.normalize("NFD", word[:1])[:1]
    if number := _NUMBER.match(word):
        return _article_for_number(number[0])
    if not (first.isascii() and first.isalpha()):
        return None
    stem = re.split("['’-]", word, maxsplit=1)[0]
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
ARTICLES: Final = frozenset({"a", "an"})


def agree_before(outputs: list[str], gaps: Sequence[str], before: Sequence[int]) -> None:
    """Write a or an, where one passes before a drawn word, as that word asks for, in place.

    The article of the input would show how the word there began.  A capital A after a mere space
    is no article but a name: Group A, hepatitis A.

    Args:
        outputs: what is written for each word.
        gaps: the gaps, one more than words.
        before: positions of words that pass before a drawn word.
    """
    for at in before:
        named = outputs[at] == "A" and gaps[at] == " "
        if not named and gaps[at + 1].isspace() and outputs[at].lower() in ARTICLES:
            article = _ARTICLE_FOR[outputs[at + 1]] or outputs[at]
            outputs[at] = article.capitalize() if outputs[at][0] == "A" else article


class NaturalCase:
    """Writes drawn words as readers expect them: capitals where sentences begin, and a or an.

    Args:
        rows: row number of each word of the vocabulary.
        english: whether the vocabulary is known to be English, so that *a* and *an* are articles.
    """

    def __init__(self, rows: Mapping[str, int], *, english: bool) -> None:
        found = (rows.get(word) for word in ("a", "an") if english)
        self.articles = [row for row in found if row is not None]
        """Rows of *a* and *an*."""
        self._begins = BoundedCache(begins_sentence, _MANY)
        self._capitalised = BoundedCache(capitalised, _MANY)

    def write(
        self,
        batch: Batch,
        outputs: list[str],
        rows: NDArray[np.int64],
        previous: str | None = None,
        following: tuple[str, str] | None = None,
    ) -> NDArray[np.int64]:
        """Put the outputs of some texts into natural case, in place.

        A text of one word and no . ! ? … is a value and no sentence: *doctor* in a column of jobs
        stays small.  Words that were not drawn stay as they are.

        Args:
            batch: the texts, with the gaps that will be written.
            outputs: what is written for each word of all texts, in its usual spelling.
            rows: the row number of each, negative where nothing was drawn, shape (words,).
            previous: of the only text, which continues another: the gap before that one's last
                word.
            following: of the only text, which is continued: the gap and the output after it.

        Returns:
            The positions of the outputs that may have changed.
        """
        articles = self._agree(batch.gaps, outputs, rows, following)
        begins = list(self._within(batch, rows, previous))
        if previous is None:
            sizes = batch.sizes
            starts = np.cumsum(sizes) - sizes
            begins += starts[sizes > 1].tolist()
            for start in starts[sizes == 1].tolist():
                after = batch.gaps[start + 1].split(batch.seam)[0]
                if following or not _MARKS.isdisjoint(after):
                    begins.append(start)
        indices = np.array(begins, dtype=np.int64)
        indices = indices[rows[indices] >= 0]
        for at in indices.tolist():
            outputs[at] = self._capitalised[outputs[at]]
        return np.concatenate([articles, indices])

    def _within(self, batch: Batch, rows: NDArray[np.int64], previous: str | None) -> Iterator[int]:
        """Yield the drawn words that begin a sentence, but for the first of a whole text."""
        gaps, seam = batch.gaps, batch.seam
        inside = batch.odd[batch.odd < len(batch.codes)]
        odd = inside[rows[inside] >= 0].tolist()
        for at in compress(odd, map(self._begins.__getitem__, [gaps[index] for index in odd])):
            before = gaps[at - 1].split(seam)[-1] if at else previous
            # The last full stop of U.S. or p.m. ends no sentence.
            if before not in (None, ".") and seam not in gaps[at]:
                yield at

    def _agree(
        self,
        gaps: Sequence[str],
        outputs: list[str],
        rows: NDArray[np.int64],
        following: tuple[str, str] | None,
    ) -> NDArray[np.int64]:
        """Write a or an, where one was drawn, as the output word after it asks for.

        Returns:
            Those positions.
        """
        drawn = [np.flatnonzero(rows == row) for row in self.articles]
        indices = np.concatenate([np.empty(0, dtype=np.int64), *drawn])
        for at in indices.tolist():
            if at + 1 < len(outputs):
                gap, word = gaps[at + 1], outputs[at + 1]
            else:
                gap, word = following or ("", "")
            if gap == " ":
                outputs[at] = _ARTICLE_FOR[word] or outputs[at]
        return indices
