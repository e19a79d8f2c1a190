"""Classes of words of a request: groups on a vocabulary, rules of look-up, and what tokens show."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from dpsan.embeddings import word_lists
from dpsan.embeddings.words import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.tables.near_sets import Group
from dpsan.privacy.guarantee import WordGroup
from dpsan.sanitize import consistent, result
from dpsan.sanitize.settings import Settings
from dpsan.text.batch import Ids
from dpsan.text.lookup import ClassRules
from dpsan.text.tokens import folded

if TYPE_CHECKING:
    from dpsan.only.alone import Alone
    from dpsan.sanitize.replacing import OnlyRewriter


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Words of one group on a vocabulary."""

    name: str
    """Name of the class."""
    rows: tuple[int, ...]
    """Row numbers of the words, ascending."""
    outputs: tuple[int, ...]
    """Row numbers of the outputs, all among ``rows``, ascending."""
    lacking: frozenset[str] = frozenset()
    """Words of the user's list that the vocabulary lacks, in lower case."""
    listed: frozenset[str] = frozenset()
    """Names of its groups in the lists of dpsan."""

    def joined(self, other: ClassRows) -> ClassRows:
        """Return both groups of a class as one."""
        return ClassRows(
            self.name,
            tuple(sorted({*self.rows, *other.rows})),
            tuple(sorted({*self.outputs, *other.outputs})),
            self.lacking | other.lacking,
            self.listed | other.listed,
        )


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of words on a vocabulary of n words, and input and kind of each code.

    Codes are 0 ... n - 1 for words, n for ⊥, n + 1 for numbers by value, the next ones for strings
    of each class of :data:`STRINGS`, and after these one for each group: its OOV words.
    """

    rows: tuple[ClassRows, ...]
    n: int
    classed: bool = False
    """True if there are classes; those of strings have no rows."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """Return the groups as inputs of a mechanism."""
        related: dict[str, set[int]] = {}
        for group in self.rows:
            related.setdefault(group.name, set()).update(group.outputs)
        return tuple(
            Group(group.rows, group.outputs, tuple(sorted(related[group.name])))
            for group in self.rows
        )

    @property
    def sizes(self) -> tuple[WordGroup, ...]:
        """Return the class and the number of words of each group."""
        return tuple(WordGroup(group.name, len(group.rows)) for group in self.rows)

    @property
    def classes(self) -> tuple[str | None, ...]:
        """Return the class of each kind: groups, numbers by value, strings, other words."""
        names = [group.name for group in self.rows]
        return (*names, word_lists.NUMBERS, *word_lists.STRINGS, None) if self.classed else ()

    @property
    def other(self) -> int:
        """Return the kind of words of no group."""
        return len(self.rows) + word_lists.FORMED

    @cached_property
    def inputs(self) -> Ids:
        """The mechanism's input of each code: a row number, or n for ⊥."""
        inputs = np.minimum(np.arange(self.n + 1 + word_lists.FORMED), self.n)
        return np.append(inputs, np.array([group.rows[0] for group in self.rows], dtype=np.int64))

    @cached_property
    def kinds(self) -> Ids:
        """The kind of each code, shape (n + 1 + FORMED + groups,)."""
        many, n = len(self.rows), self.n
        out = np.full(n + 1 + word_lists.FORMED + many, self.other, dtype=np.int64)
        for index, group in enumerate(self.rows):
            out[list(group.rows)] = index
        out[n + 1 : n + 1 + word_lists.FORMED] = many + np.arange(word_lists.FORMED)
        out[n + 1 + word_lists.FORMED :] = np.arange(many)
        return out

    def by_kind(self, codes: Ids) -> Counter[int]:
        """Return the number of drawn words of each kind; empty without groups."""
        if not self.classed:
            return Counter()
        return Counter(dict(enumerate(np.bincount(self.kinds[codes]).tolist())))

    def formed(self, codes: Ids) -> Ids:
        """Return the indices of the strings that are drawn by their form."""
        return np.flatnonzero((codes > self.n) & (codes <= self.n + word_lists.FORMED))


def _lists() -> Alone:
    """Return the lists of dpsan; a run without classes does not pay for their patterns."""
    from dpsan.only.alone import alone

    return alone()


def class_rows(
    classes: tuple[word_lists.WordClass, ...], embeddings: Embeddings
) -> tuple[ClassRows, ...]:
    """Return the rows of each group of each class on a vocabulary; a word counts once.

    Raises:
        UsageError: English classes for a vocabulary that is not English, or a class with fewer
            than two words of the vocabulary.
    """
    rows_of_group: defaultdict[str | None, set[int]] = defaultdict(set)
    if any(kind.english for kind in classes):
        word_lists.check_english(embeddings.key_to_index, "the classes of dpsan")
        for row, name in enumerate(_lists().groups([*map(folded, embeddings.index_to_key)])):
            rows_of_group[name].add(row)
    taken: set[int] = set()
    out: list[ClassRows] = []
    for word_class in classes:
        groups: list[ClassRows] = []
        for listed in _groups(word_class, embeddings, rows_of_group):
            rows = tuple(sorted({*listed.rows} - taken))
            outputs = tuple(sorted({*listed.outputs} - taken))
            taken.update(rows)
            group = replace(listed, rows=rows, outputs=outputs or rows)
            if groups and 1 in (len(rows), len(groups[-1].rows)):
                groups[-1] = groups[-1].joined(group)  # alone, a word would never change
            elif rows:
                groups.append(group)
        if groups and len(groups[0].rows) == 1:
            only = f"only one word of the class {word_class.name} is in the vocabulary"
            hint = "use more words" if word_class.english else "list common words beside it"
            raise UsageError(f"{only}, and nothing could replace it", hint)
        if not groups and word_class.name not in word_lists.STRINGS:
            raise UsageError(f"no word of the class {word_class.name} is in the vocabulary")
        out += groups
    return tuple(out)


def sensitive(embeddings: Embeddings) -> Callable[[str, int], str | None]:
    """Return what tells the class of a word, given its row or any other code; None: no class.

    Raises:
        UsageError: the lists do not fit the vocabulary.
    """
    classes = class_rows(word_lists.word_classes(word_lists.SENSITIVE), embeddings)
    class_of = {row: group.name for group in classes for row in group.rows}
    n, lists = embeddings.n, _lists()

    def class_of_word(word: str, code: int) -> str | None:
        if 0 <= code < n:
            return class_of.get(code)
        return lists.class_of.get(lists.group(folded(word)) or "")

    return class_of_word


def _groups(
    word_class: word_lists.WordClass,
    embeddings: Embeddings,
    rows_of_group: Mapping[str | None, set[int]],
) -> Iterator[ClassRows]:
    """Yield the groups of a class; of a user's list all rows that fold to a listed word."""
    key_to_index = embeddings.key_to_index
    if word_class.english:
        lists = _lists()
        for group in lists.groups_of[word_class.name]:
            members = rows_of_group.get(group, set())
            words = lists.lexicon.outputs.get(group, ())
            outputs = members & {key_to_index.get(word.lower()) for word in words}
            listed = frozenset({group})
            yield ClassRows(word_class.name, (*members,), (*outputs,), listed=listed)
        return
    for words in word_class.groups:
        wanted = set(map(folded, words))
        rows_of = {word_lists.row_of(key_to_index, word) for word in words}
        rows_of |= {row for word, row in key_to_index.items() if folded(word) in wanted}
        rows = {row for row in rows_of if row is not None}
        wanted -= {folded(embeddings.index_to_key[row]) for row in rows}
        yield ClassRows(word_class.name, (*rows,), (*rows,), frozenset(wanted))


def number_rules(n: int) -> ClassRules:
    """Return the rules where no word has a class, and numbers are drawn by value.

    Args:
        n: words of the vocabulary.
    """
    from dpsan.text.number_forms import formed_number  # patterns that take time

    return ClassRules(lambda token: n + 1 if formed_number(token) else None, lambda _: None)


def class_rules(spec: Settings, groups: Grouping, rows: Mapping[str, int]) -> ClassRules:
    """Return which words and strings are drawn.

    Args:
        groups: of the classes of the request.
        rows: row number of each word of the vocabulary.
    """
    from dpsan.text.number_forms import FormedNumber

    n, lists = len(rows), _lists()
    by_value = spec.numbers == consistent.NumberPolicy.VALUE
    chosen = {word_class.name for word_class in spec.classes if word_class.english}
    chosen |= {word_lists.DATES, word_lists.NUMBERS} if by_value else set()
    codes = {name: n + 2 + at for at, name in enumerate(word_lists.STRINGS) if name in chosen}

    def string(token: str) -> int | None:
        form = consistent.kind_or_number(token, by_value=by_value)
        if form is None or isinstance(form, FormedNumber):
            return None if form is None else n + 1
        return codes.get(form.word_class)

    codes_of_own = {
        word: n + 1 + word_lists.FORMED + index
        for index, group in reversed([*enumerate(groups.rows)])
        for word in group.lacking  # a word has the first class
    }
    listed = {
        name: n + 1 + word_lists.FORMED + index
        for index, group in enumerate(groups.rows)
        for name in group.listed
    }

    def lacking(word: str) -> int | None:
        code = codes_of_own.get(word)
        return listed.get(lists.group(word) or "") if code is None and listed else code

    return ClassRules(string, lacking)


COLUMNS: Final = ("token", "label", "class", "group", "rule", "passes", "why")
"""What is told of a token; class, group and rule are None where it passes, and ``passes`` is None
where it is drawn."""


def explained(rewriter: OnlyRewriter, text: str) -> list[dict[str, str | None]]:
    """Return by its name what :data:`COLUMNS` lists of each token of a text; nothing is drawn."""
    why = {rule.name: rule.why for rule in rewriter.rules.rules}
    out = []
    for block in rewriter.decided_unit(result.Texts([text], b"", [0], audit=True)).blocks:
        tokens, drawn = block.tokens, block.decision
        assert tokens is not None and tokens.labels is not None  # noqa: S101, PT018 - requested
        labels = [rewriter.viewer.labels[code] for code in tokens.labels.tolist()]
        columns = (tokens.originals, labels, tokens.output_ids.tolist(), tokens.passes or ())
        for token, label, at, passes in zip(*columns, strict=True):
            word_class = group = rule = None
            if passes is None:
                code = int(drawn.group[at])
                word_class, group = rewriter.classes[code], rewriter.groups[code]
                rule = rewriter.rules.rules[drawn.rule[at]].name
            reason = why.get(rule or str(passes).removeprefix("rule "))
            row = (token, label, word_class, group, rule, passes, reason)
            out.append(dict(zip(COLUMNS, row, strict=True)))
    return out


def expected_plain(rewriter: OnlyRewriter, drawn: Mapping[int, int]) -> float:
    """Return how many drawn names are expected to be ordinary words too, by the pools of names.

    Args:
        rewriter: that drew them.
        drawn: number of draws of each group.
    """
    from dpsan.only.decision import NAMES  # only where classes are replaced

    expected = 0.0
    for group, draws in drawn.items():
        pool = rewriter.outputs.get(rewriter.groups[group], ())
        if draws and pool and rewriter.groups[group] in NAMES:
            plain = sum(rewriter.lexicon.plain(word.lower()) for word in pool)
            expected += draws * plain / len(pool)
    return expected
