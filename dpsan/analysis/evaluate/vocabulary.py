"""Knowledge of an attacker: the public vocabulary, and the settings of a run from its audit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.embeddings import word_lists
from dpsan.embeddings.words import Embeddings, word_frequencies
from dpsan.errors import InputError, UsageError, refuse
from dpsan.mechanisms.registry import own_file
from dpsan.run.audit import read_header
from dpsan.sanitize.classes import sensitive
from dpsan.sanitize.settings import Settings
from dpsan.text import shape, tokens
from dpsan.text.lookup import Lookup

MASKED: Final = -1
OTHER: Final = -2
"""Codes of outputs that are no row: the mask, and strings that the vocabulary lacks."""
HELD: Final = 200_000
"""Different words whose codes, or kinds, are cached."""
_STOP: Final = 100
_FREQUENT: Final = 5000
_SENTENCE_END: Final = frozenset(".!?:;…\n\"'“‘([")


class WordKind(StrEnum):
    """Kinds of words that are counted apart; a word may be of several."""

    ALL = "all"
    NUMBER = "number"
    """Digits of any script, with separators."""
    CAPITALISED = "capitalised"
    INSIDE = "capitalised inside"
    """Capitalised inside a sentence: not first in a line, nor after . ! ? : ; or a bracket or
    quote; mostly names, and I, I'm, I've."""
    RARE = "rare"
    """Outside the 5,000 most frequent words of the vocabulary, or unknown."""
    UNKNOWN = "unknown"
    STOP = "stop word"
    """The 100 most frequent words of the vocabulary, but for numbers."""
    LISTED = "of a class"
    """In the public lists of names, places, organizations and other classes of words."""


class Vocabulary:
    """Public facts about words."""

    def __init__(self, embeddings: Embeddings, tokenizer: str) -> None:
        self.n, self._embeddings = embeddings.n, embeddings
        self.words = embeddings.index_to_key
        self.tokenizer, self.split = tokenizer, tokens.TOKENIZERS[tokenizer]
        self._rows = embeddings.key_to_index
        self.lookup = Lookup(self.split, self._rows, (), self.n)
        """Finds words as the sanitizer does."""
        self.longest = max([len(tokens.MASK), *map(len, self.words)])
        numbers: dict[str, int] = {}
        rows = [numbers.setdefault(tokens.folded(word), row) for row, word in enumerate(self.words)]
        self.fold = np.array([*rows, -1])
        """Row of the first word of the same spelling but for case, (n + 1,); -1 for ⊥, the last."""
        self.frequencies = word_frequencies(self.n, embeddings.counts)
        self.counted = embeddings.counts is not None
        self.is_number = lru_cache(maxsize=HELD)(self._is_number)
        """True if the tokenizer takes a word for a number."""
        stop = [row for row in range(min(self.n, 4 * _STOP)) if not self.is_number(self.words[row])]
        self._stop = {int(self.fold[row]) for row in stop[:_STOP]}

    @cached_property
    def _class_of(self) -> Callable[[str, int], str | None]:
        """Tells the class of a word; none for a vocabulary that the lists do not fit."""
        try:
            return sensitive(self._embeddings)
        except UsageError:
            return lambda _word, _code: None

    def inputs(self, text: str) -> tuple[list[str], list[int]]:
        """Return a text split as the sanitizer does: alternating pieces; a row or n for each
        word.
        """
        split, _, codes = self.lookup.texts([text])
        return split[0], codes.tolist()

    def of_classes(self, text: str) -> list[bool]:
        """Return for each word of a text whether a class has it."""
        _, words, codes = self.lookup.texts([text])
        return [self._class_of(*pair) is not None for pair in zip(words, codes, strict=True)]

    def row(self, word: str) -> int | None:
        """Return the row of a word in the best of its spellings, or None."""
        return word_lists.row_of(self._rows, word)

    def code(self, word: str) -> int:
        """Return the row of an output word, or one of the other codes."""
        if (row := self.row(word)) is not None:
            return row
        return MASKED if word == tokens.MASK else OTHER

    def _is_number(self, word: str) -> bool:
        return self.split(word) == ["", word, ""] and shape.is_number(word)

    def classes(self, gaps: Sequence[str], words: Sequence[str], codes: Sequence[int]) -> list[int]:
        """Return the classes of each word of a line, as a sum of ``1 << position in WordKind``."""
        out = []
        first = True
        for at, (word, code) in enumerate(zip(words, codes, strict=True)):
            gap = gaps[at].rstrip(" \t")
            first = (first and at == 0) or (bool(gap) and gap[-1] in _SENTENCE_END)
            listed = 0 <= code < self.n
            capital = word[:1].isupper()
            number = self.is_number(word)
            out.append(
                1
                | number << 1
                | capital << 2
                | (capital and not first) << 3
                | (not listed or code >= _FREQUENT) << 4
                | (not listed) << 5
                | (listed and not number and int(self.fold[code]) in self._stop) << 6
                | (self._class_of(word, code) is not None) << 7
            )
        return out


# The settings of a run, as the header of its audit has them.
#
# Only the first row of the audit is read.


@dataclass(frozen=True)
class Run:
    """The run that made a sanitized text."""

    header: dict[str, Any]
    """Header of its audit."""

    def settings(self, public: Path | None = None, files: Sequence[str] = ()) -> Settings:
        """Return the settings; the mechanism of the user's own, if it had one, is loaded already.

        Args:
            public: file of public words, where they are no list of dpsan.
            files: names of the files of classes of the user's own.

        Raises:
            UsageError: mechanism, public words or classes are not those of the run.
            InputError: a file cannot be read.
        """
        row = self.header
        if (user_file := row["own"]) is not None:
            file = own_file(row["mechanism"])
            other = f"the audit was made with a mechanism of {user_file['file']}"
            hint = f"give -m {user_file['file']}:{user_file['class']}, the same file"
            refuse(file is None or file.sha256 != user_file["sha256"], other, hint)
        return replace(
            Settings.of_header(row),
            mechanism=row["mechanism"],
            epsilon=row["epsilon"],
            parameters={name: x for name, x in row["parameters"].items() if x is not None},
            public=self._public(public),
            classes=self._classes(files),
            allow_unproved=True,
        )

    def of_table(self) -> Settings:
        """Return the same of a run whose words all follow the table of its mechanism.

        Raises:
            UsageError: they do not.
        """
        row = self.header
        Settings.check_table(row)
        refuse(row["spans"], "cannot estimate: the text has words outside spans", "--spans")
        several = "cannot estimate: each text was written several times"
        refuse(row["copies"] > 1, several, "--copies")
        return self.settings()

    def check(self, digest: str) -> None:
        """Raise UsageError if these embeddings are not those of the run."""
        embeddings = self.header["embeddings"]
        other = f"the audit was made with other embeddings ({embeddings['source']})"
        hint = "give the same --embeddings and --vocab-size"
        refuse(digest != embeddings["digest"], other, hint)

    def _public(self, path: Path | None) -> word_lists.PublicWords | None:
        listed = self.header["public"] or {}
        bundled = [name for name in word_lists.BUNDLED if name == listed.get("list")]
        name = path or next(iter(bundled), None)
        words = None if name is None else word_lists.public_words(str(name))
        other = "the audit was made with other public words"
        wrong = listed.get("sha256") != (words and words.sha256)
        refuse(wrong, other, "give --public, as rewrite had it")
        return words

    def _classes(self, files: Sequence[str]) -> tuple[word_lists.WordClass, ...]:
        every = [*map(word_lists.WordClass, word_lists.CLASSES)]
        every += chain.from_iterable(map(word_lists.word_classes, files))
        chosen: list[word_lists.WordClass] = []
        for row in self.header["classes"] or ():
            name, digest = row["class"], row["sha256"]
            same = [kind for kind in every if kind.name == name and kind.sha256 == digest]
            other = f"the audit was made with another list of the class {name}"
            refuse(not same, other, f"give --class {name}, the file of the run")
            chosen += same
        return tuple(chosen)


def read_run(path: Path) -> Run:
    """Return the run of an audit.

    Raises:
        InputError: it cannot be read or is not an audit.
    """
    row = read_header(path)
    if row["only"] is not None:
        what = "an audit of --only: no mechanism drew its words"
        raise InputError(path, what, "dpsan report counts them by class")
    return Run(row)
