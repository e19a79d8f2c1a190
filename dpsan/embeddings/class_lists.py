"""Public classes of words: the lists that come with dpsan, and a user's own.

A class has one group of words or more.  All words of a group are read as the same input, so which
of them stood in a text is hidden completely.  The group of a word is a property of the word alone:
it is that of the first class that lists it.  With ``--only``, an out-of-vocabulary word that no
class lists belongs to names, or to the first class if names is not chosen; a public list holds
out-of-vocabulary words of ordinary English, which have no class and pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from dpsan.embeddings.bundled import directory
from dpsan.embeddings.public_words import check_english
from dpsan.embeddings.word_lists import row_of
from dpsan.errors import InputError, UsageError, check_name
from dpsan.text.out_of_vocabulary import read_utf8, read_word_list
from dpsan.text.tokens import folded

CONTACTS: Final = "contacts"
"""E-mail addresses, telephone numbers and the like: strings of a recognized kind, and no words."""
NUMBERS: Final = "numbers"
NAMES: Final = "names"
NONE: Final = "none"
"""Written in place of a class for words that pass with ``--only``."""
CLASSES: Final = (CONTACTS, NUMBERS, "health", NAMES, "places", "organizations", "nationalities")
"""Names of the classes that come with dpsan, in the order in which a word is looked up."""
SENSITIVE: Final = "sensitive"
"""All of these together."""
ONLY: Final = (
    *("names", "places", "organizations", "nationalities", "contacts", "ids", "dates"),
    *("numbers", "health"),
)
"""Names of the classes of ``--only``."""
PRESETS: Final = {
    SENSITIVE: ONLY,
    "people": ("names", "places", "contacts", "ids"),
    "identifiers": ("names", "places", "contacts", "ids", "dates", "numbers"),
}
"""Names for several of these; ``identifiers`` holds the eighteen kinds of identifiers of the Safe
Harbor method, 45 CFR 164.514(b)(2)."""


@dataclass(frozen=True)
class WordClass:
    """One class of words; picklable."""

    name: str
    """One of :data:`CLASSES`, or the name of the user's file."""
    groups: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    """Its words by group."""
    outputs: frozenset[str] = field(default=frozenset(), repr=False)
    """Words that are drawn; empty: all words of the class."""
    english: bool = True
    """True for the lists of dpsan."""

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of its words, groups and outputs, and of the ordinary words."""
        if self.name in ONLY and self.english and not self.groups:
            return f"{_only_digest()} {self.name}"
        content = repr((self.groups, sorted(self.outputs), sorted(ordinary_words((self,)))))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Words of one group on a vocabulary."""

    name: str
    """Name of the class."""
    rows: tuple[int, ...]
    """Row numbers of the words, ascending."""
    outputs: tuple[int, ...]
    """Row numbers of the outputs, all among ``rows``, ascending."""
    lacking: tuple[str, ...] = ()
    """Words of the group that the vocabulary lacks."""


def word_classes(given: str, tokenizer: str | None = None) -> tuple[WordClass, ...]:
    """Return the classes of ``CLASS,…``, in the order in which a word is looked up.

    Args:
        tokenizer: every word of a file must be one token of it; default: any string.

    Raises:
        UsageError: an unknown class, a class named twice, or one with an epsilon of its own.
        InputError: a file that is missing, not UTF-8, lists no word, or a word of several tokens.
    """
    return _parsed(given, tokenizer, CLASSES, {SENSITIVE: CLASSES}, bundled_class)


def only_classes(given: str, tokenizer: str | None = None) -> tuple[WordClass, ...]:
    """Return the classes of ``--only CLASS,…``: files of one's own first.

    Raises:
        UsageError, InputError: as :func:`word_classes`.
    """
    classes = _parsed(given, tokenizer, ONLY, PRESETS, WordClass)
    for word_class in classes:
        if not word_class.english and len(set(map(folded, word_class.groups[0]))) < 2:
            what = f"{word_class.name} has one word, and nothing could replace it"
            raise UsageError(what, "list common words beside it")
    return classes


def _parsed(
    given: str,
    tokenizer: str | None,
    classes: Sequence[str],
    presets: Mapping[str, Sequence[str]],
    bundled: Callable[[str], WordClass],
) -> tuple[WordClass, ...]:
    """Return the classes of ``CLASS,…``: files of the user's own, then bundled ones in order."""
    own: list[WordClass] = []
    chosen: list[str] = []
    for name in filter(None, map(str.strip, given.split(","))):
        before, equals, value = name.rpartition("=")
        if equals and _is_number(value) and not Path(name).exists():
            raise UsageError(
                f"the class {before} needs no epsilon: which word of its group stood there is "
                "hidden completely",
                f"write {before}",
            )
        if name in classes or name in presets:
            chosen += presets.get(name, (name,))
        else:
            own.append(_own(name, tokenizer, (*classes, *presets)))
    names = [*(word_class.name for word_class in own), *chosen]
    if len(set(names)) < len(names):
        raise UsageError(f"the class {max(names, key=names.count)} is named twice")
    if not names:
        raise UsageError("no class of words is named", f"such as {SENSITIVE}, or {NAMES}")
    return (*own, *(bundled(name) for name in classes if name in chosen))


@cache
def _only_digest() -> str:
    """Return the SHA-256 (hex) of the rules and lists of ``--only``."""
    rules = files("dpsan.only").joinpath("rules.tsv").read_bytes()
    lists = directory().parent / "only" / "lists" / "manifest.json"
    return hashlib.sha256(rules + lists.read_bytes()).hexdigest()


def bundled_class(name: str) -> WordClass:
    """Return a class that comes with dpsan."""
    if name == CONTACTS:
        return WordClass(name)
    folder = directory().parent / "classes"
    listed = folder / f"{name}-outputs.txt"
    outputs = (word for group in _groups(listed) for word in group) if listed.exists() else ()
    return WordClass(name, tuple(_groups(folder / f"{name}.txt")), frozenset(outputs))


def listed_words(name: str) -> list[str]:
    """Return the words of a class that comes with dpsan, or the words that pass for ``none``.

    Raises:
        UsageError: an unknown class, or contacts, which are no words.
    """
    check_name("class of words", name, (*CLASSES, SENSITIVE, NONE))
    if name == NONE:
        return sorted(_ordinary())
    chosen = CLASSES if name == SENSITIVE else (name,)
    words = [word for one in chosen for group in bundled_class(one).groups for word in group]
    if not words:
        raise UsageError(f"the class {name} has no words", "see docs/strings.md")
    return words


def class_rows(
    classes: tuple[WordClass, ...], key_to_index: Mapping[str, int]
) -> tuple[ClassRows, ...]:
    """Return the rows of each group of each class on a vocabulary; a word counts once.

    All rows that fold to a listed word belong to its group: *maria* and *Maria*.

    Raises:
        UsageError: English classes for a vocabulary that is not English, or a class with fewer
            than two words of the vocabulary.
    """
    if any(each.english for each in classes):
        check_english(key_to_index, "the classes of dpsan")
    spelt: dict[str, list[int]] = {}
    for word, row in key_to_index.items():
        if not (word.islower() and word.isascii()) and (small := folded(word)) != word:
            spelt.setdefault(small, []).append(row)

    def rows_of(word: str) -> set[int]:
        small = folded(word)
        rows = {row_of(key_to_index, word), key_to_index.get(small), *spelt.get(small, ())}
        return {row for row in rows if row is not None}

    taken: set[int] = set()
    out: list[ClassRows] = []
    for word_class in classes:
        groups: list[tuple[set[int], list[str]]] = []
        for group in word_class.groups:
            rows_by_word = {word: rows_of(word) for word in group}
            rows = {row for rows in rows_by_word.values() for row in rows} - taken
            lacking = [word for word, rows in rows_by_word.items() if not rows]
            taken |= rows
            if groups and 1 in (len(rows), len(groups[-1][0])):  # alone, a word would never change
                groups[-1][0].update(rows)
                groups[-1][1].extend(lacking)
            elif rows:
                groups.append((rows, lacking))
        if word_class.groups and not groups:
            raise UsageError(f"no word of the class {word_class.name} is in the vocabulary")
        if groups and len(groups[0][0]) == 1:
            only = f"only one word of the class {word_class.name} is in the vocabulary"
            hint = "use more words" if word_class.english else "list common words beside it"
            raise UsageError(f"{only}, and nothing could replace it", hint)
        wanted = {row for word in word_class.outputs for row in rows_of(word)}
        for rows, lacking in groups:
            members, outputs = (tuple(sorted(some)) for some in (rows, rows & wanted or rows))
            out.append(ClassRows(word_class.name, members, outputs, tuple(lacking)))
    return tuple(out)


def ordinary_words(classes: tuple[WordClass, ...]) -> frozenset[str]:
    """Return the out-of-vocabulary words, in lower case, that pass with ``--only``.

    Words of the user's lists do not pass.  No word passes if names is not chosen: the user may want
    a class of another language.
    """
    if not any(each.english and each.name == NAMES for each in classes):
        return frozenset()
    own = own_words(classes)
    return _ordinary() - own if own else _ordinary()


@cache
def _ordinary() -> frozenset[str]:
    path = directory().parent / "classes" / "ordinary.txt"
    return frozenset().union(*_groups(path))


def own_words(classes: tuple[WordClass, ...]) -> frozenset[str]:
    """Return the words of the user's lists, in lower case."""
    own = (each.groups for each in classes if not each.english)
    return frozenset(folded(word) for groups in own for group in groups for word in group)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _own(name: str, tokenizer: str | None, listed: tuple[str, ...]) -> WordClass:
    path = Path(name)
    if not path.exists():
        known = ", ".join(listed)
        raise UsageError(f"no class and no file '{name}'", f"classes: {known}")
    words = tuple(read_word_list(path, tokenizer))
    if not words:
        raise InputError(path, "lists no word")
    return WordClass(path.name, (words,), english=False)


def _groups(path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the groups of a list of dpsan: words between blank lines."""
    for block in read_utf8(path).split("\n\n"):
        lines = [line for line in block.split("\n") if not line.startswith("#")]
        if words := tuple(" ".join(lines).split()):
            yield words
