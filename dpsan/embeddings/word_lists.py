"""Lists of words, of dpsan and of users: public words, classes of words."""

import difflib
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from dpsan.embeddings.loading import directory
from dpsan.errors import InputError, UsageError, check_name, name_or_count, refuse
from dpsan.text.tokens import SEVERAL, folded, lookup_keys, read_word_list


def row_of(rows: Mapping[str, int], word: str) -> int | None:
    """Return the row of a word in the best of its spellings, or None."""
    if (row := rows.get(word)) is not None:  # as most often, and sooner
        return row
    return next((rows[key] for key in lookup_keys(word) if key in rows), None)


# Public words: those that need no protection, from a list that comes with dpsan or from a file.
#
# A listed word is looked up as a word of a text is; what the vocabulary lacks is ⊥, and protected.

BUNDLED: Final[Mapping[str, tuple[str, ...]]] = {
    "function": ("function",),
    "common": ("function", "common"),
    **{f"function-{language}": (f"function-{language}",) for language in ("de", "fr", "es")},
}
"""Names of the lists that come with dpsan, and the files ``vocab/public/*.txt`` of each."""


_LEAST: Final = 0.5
"""Share of the function words of a language that a vocabulary of that language has."""


@dataclass(frozen=True)
class PublicWords:
    """A list of public words; picklable."""

    name: str
    """A key of :data:`BUNDLED`, or ``list`` for words of the user's own."""
    words: frozenset[str] = field(repr=False)

    def rows(self, key_to_index: Mapping[str, int]) -> tuple[int, ...]:
        """Return the row numbers of the listed words that a vocabulary has, ascending.

        Raises:
            UsageError: it has none of them, or they are of another language.
        """
        if self.name in BUNDLED and not _has(key_to_index, BUNDLED[self.name][0]):
            lacks = f"lacks most function words of the language of {self.name}"
            hint = "name a FILE of your own words, or another list"
            raise UsageError(f"the vocabulary {lacks}", hint)
        numbers = {row_of(key_to_index, word) for word in self.words}
        rows = sorted(row for row in numbers if row is not None)
        refuse(not rows, "none of the public words is in the vocabulary")
        return tuple(rows)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the sorted words, one on each line (hex)."""
        text = "".join(f"{word}\n" for word in sorted(self.words))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _has(key_to_index: Mapping[str, int], name: str) -> bool:
    """Return True if a vocabulary has half of the words of a list or more."""
    words = _bundled(name)
    count = sum(row_of(key_to_index, word) is not None for word in words)
    return count >= _LEAST * len(words)


def check_english(key_to_index: Mapping[str, int], what: str) -> None:
    """Raise UsageError if a vocabulary for which English lists are named is not English."""
    if not _has(key_to_index, "function"):
        lacks = "the vocabulary lacks most English function words"
        hint = "name a FILE of your own words instead"
        raise UsageError(f"{what} are English, and {lacks}", hint)


def _bundled(name: str) -> frozenset[str]:
    """Return the words of a list that comes with dpsan."""
    folder = directory().parent / "public"
    files = [folder / f"{stem}.txt" for stem in BUNDLED[name]]
    return frozenset(word for file in files for word in read_word_list(file))


def public_words(given: str | Path) -> PublicWords:
    """Return a list of :data:`BUNDLED` by its name, else from a file of the grammar of --keep.

    Raises:
        InputError: the file is missing, not UTF-8 or lists no word.
    """
    if given in BUNDLED:
        return PublicWords(str(given), _bundled(str(given)))
    path = Path(given)
    if not path.exists() and (near := difflib.get_close_matches(str(given), BUNDLED, n=1)):
        raise InputError(path, "no such file", f"did you mean --public {near[0]}?")
    words = frozenset(read_word_list(path))
    if not words:
        raise InputError(path, "lists no word")
    return PublicWords("list", words)


def chosen_words(given: str | Iterable[str]) -> PublicWords:
    """Return a list of dpsan by its name, or words.  Raises UsageError: another name."""
    if not isinstance(given, str):
        return PublicWords("list", frozenset(given))
    check_name("list of public words", given, BUNDLED)
    return public_words(given)


# Public classes of words: those of the lists that come with dpsan, and a user's own.
#
# A class has one group of words or more.  With ``--class`` all words of a group are read as the
# same input, so which of them stood in a text is hidden completely; the group of a word is a
# property of the word alone.  With ``--only`` the rules of ``dpsan/only`` choose a group.

CONTACTS: Final = "contacts"
"""E-mail addresses, telephone numbers and the like: strings of a recognized kind, and no words."""
NUMBERS: Final = "numbers"
NAMES: Final = "names"
IDS: Final = "ids"
DATES: Final = "dates"
STRINGS: Final = (CONTACTS, IDS, DATES, NUMBERS)
"""Classes that hold strings; contacts and ids hold no words."""
FORMED: Final = 1 + len(STRINGS)
"""Input codes after that of ⊥ for strings that are drawn by their form: numbers by value, and the
strings of each class."""
SENSITIVE: Final = "sensitive"
"""All classes together."""
CLASSES: Final = (*("names", "places", "organizations", "nationalities", *STRINGS, "health"),)
"""Names of the classes that come with dpsan."""
SPANS: Final = "spans"
"""Stands alone in ``--only``: no class, only what spans and fields of a class hold."""
PHRASE: Final = 4
"""Most words of a line of a list of ``--only``."""
_LISTED: Final = ("names", "given", "surname", *CLASSES[1:4], "health")
"""Classes and groups of whose words those of a file may become."""
FIELD_CLASSES: Final = (*CLASSES, "given", "surname", "city", "country", "state", "medicine")
"""Classes and groups of which each word of a field can be drawn."""
PRESETS: Final = {
    SENSITIVE: CLASSES,
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
    english: bool = True
    """True for the lists of dpsan."""
    drawn: str = ""
    """Class whose words replace those of a file, ``FILE:names``; empty: the file's own do."""

    @property
    def sha256(self) -> str:
        """SHA-256 (hex) of its words, or of the rules and lists of dpsan with its name."""
        if self.english:
            return f"{lists_digest()} {self.name}"
        words = repr((self.drawn, self.groups) if self.drawn else self.groups)
        return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()


def word_classes(
    given: str, tokenizer: str | None = None, *, typed: bool = False
) -> tuple[WordClass, ...]:
    """Return the classes of ``CLASS,…``, in the order in which a word is looked up.

    Args:
        typed: whether a file may have the class of its words behind it, ``FILE:names``.
        tokenizer: every word of a file must be one token of it; default: any string.

    Raises:
        UsageError: an unknown class, a class named twice, or one with an epsilon of its own.
        InputError: a file that is missing, not UTF-8, lists no word, or a word of several tokens.
    """
    user_lists: list[WordClass] = []
    chosen: list[str] = []
    if given.rstrip().endswith(","):
        raise UsageError(f"classes end with a comma ({given})", "names,places has no space")
    for name in filter(None, map(str.strip, given.split(","))):
        numbered = re.fullmatch(r"(.+)[=:]\s*(?:[\d.]+|nan|inf)", name)
        if numbered and not Path(name).exists():
            raise UsageError(
                f"the class {numbered[1]} needs no epsilon: which word of its group stood there is "
                "hidden completely",
                f"write {numbered[1]}",
            )
        if name in (*CLASSES, *PRESETS):
            chosen += PRESETS.get(name, (name,))
        else:
            path, _, drawn = name.rpartition(":")
            as_class = typed and path and drawn in _LISTED and not Path(name).exists()
            file = (path, drawn) if as_class else (name, "")
            user_lists.append(_own(*file, tokenizer, PHRASE if typed else 1))
    names = [*(word_class.name for word_class in user_lists), *chosen]
    refuse(not names, "no class of words is named", f"such as {SENSITIVE}, or {NAMES}")
    refuse(len(set(names)) < len(names), f"the class {max(names, key=names.count)} is named twice")
    return (*user_lists, *(WordClass(name) for name in CLASSES if name in chosen))


def only_classes(given: str, tokenizer: str | None = None) -> tuple[WordClass, ...]:
    """Return the classes of ``--only CLASS,…``: files of one's own first.

    Raises:
        UsageError, InputError: as :func:`word_classes`.
    """
    if given.strip() == SPANS:
        return (WordClass(SPANS),)
    classes = word_classes(given, tokenizer, typed=True)
    for word_class in classes:
        words = () if word_class.english or word_class.drawn else word_class.groups[0]
        if words and len(set(map(folded, words))) < 2:
            what = f"{word_class.name} has one word, and nothing could replace it"
            hint = f"for other names: {word_class.name}:{NAMES}; or list more words"
            raise UsageError(what, hint)
    return classes


@cache
def lists_digest() -> str:
    """Return the SHA-256 (hex) of the rules and lists of dpsan."""
    rules = files("dpsan.only").joinpath("rules.tsv").read_bytes()
    lists = directory().parent / "only" / "lists" / "manifest.json"
    return hashlib.sha256(rules + lists.read_bytes()).hexdigest()


def _meant(word: str) -> str:
    """Return the class or preset that a word in small letters may stand for, else nothing."""
    rows = files("dpsan.embeddings").joinpath("other_names.tsv").read_text("utf-8").splitlines()
    named = {
        alias: name
        for name, words in (row.split("\t") for row in rows[1:])
        for alias in words.split()
    }
    near = difflib.get_close_matches(word, (*CLASSES, *PRESETS), n=1, cutoff=0.75)
    return named.get(word, "") or "".join(near)


def _own(name: str, drawn: str, tokenizer: str | None, most: int) -> WordClass:
    path = Path(name)
    if not path.exists():
        names = (*CLASSES, *PRESETS)
        meant = [_meant(part) for part in re.findall(r"[\w-]+", name.lower())]
        hint = f"did you mean {','.join(dict.fromkeys(filter(None, meant)))}?"
        taken = name[0] in "-!^~"
        if not all(meant) or not meant or taken:
            hint = f"{'none is taken away; ' * taken}classes: {', '.join(names)}"
            if name.istitle():
                hint = "if it is a name: write it into a FILE, one a line; --only FILE:names"
        if Path(name.rpartition(":")[0]).is_file():
            hint = f"behind a list stands {', '.join(_LISTED[:-1])} or {_LISTED[-1]}"
        file = name.partition(" ")[2]
        if file and Path(file).exists():
            hint = f"did you mean --only {name}?"
        raise UsageError(f"no class and no file '{name_or_count(name)}'", hint)
    try:
        words = tuple(read_word_list(path, tokenizer, most))
    except InputError as error:
        if error.what == SEVERAL:
            a_line = "one word a line"
            if most > 1:
                a_line = "a line has up to four words, no digit and no address"
            error.hint = f"{a_line}; if it is the text: --only {SENSITIVE} {name}"
        raise
    if not words:
        raise InputError(path, "lists no word")
    return WordClass(path.name, (words,), english=False, drawn=drawn)
