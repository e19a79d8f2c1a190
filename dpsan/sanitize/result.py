"""Result of a call: output texts, and an audit of each word."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, chain, compress
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.word_lists import FORMED
from dpsan.text.batch import Ids
from dpsan.text.lookup import KEPT, MASKED, OUTSIDE
from dpsan.text.spanned_tokens import Spans


class Action(StrEnum):
    """Action on a word."""

    DRAWN = "drawn"
    """A word of the vocabulary: its output was drawn, and may be the same word."""
    UNKNOWN = "unknown"
    """Not in the vocabulary: its output was drawn as that of ⊥."""
    NUMBER = "number"
    """A number whose output was drawn by value (``numbers=value``)."""
    STRING = "string"
    """A string of a recognized kind that became a made-up string of the kind (``only``)."""
    MASKED = "masked"
    """Not in the vocabulary and written as a mask (``unknown=mask``)."""
    KEPT = "kept"
    """On the keep-list: written unchanged, not protected."""
    REMEMBERED = "remembered"
    """Word of a message whose earlier output is written again: drawn earlier, and not now."""
    OUTSIDE = "outside"
    """Outside the spans that were requested, and written unchanged: not protected."""
    PLAIN = "plain"
    """Word of no drawn class, written unchanged (``only``): not protected."""


ACTIONS: Final = tuple(Action)
CODES: Final = {action: code for code, action in enumerate(ACTIONS)}
"""Positions in :data:`ACTIONS`."""
DRAWN: Final = frozenset({Action.DRAWN, Action.UNKNOWN, Action.NUMBER, Action.STRING})
"""Actions of words whose output is drawn now."""
UNDRAWN: Final = tuple(action for action in Action if action not in DRAWN)


class Texts(NamedTuple):
    """Texts of one call, see :meth:`dpsan.sanitize.sanitizer.Sanitizer.sanitize`."""

    texts: Sequence[str]
    key: bytes
    numbers: Sequence[int]
    """Number of the record of each text under the key."""
    audit: bool = False
    spans: Sequence[Spans] | None = None
    undrawn: bool = False
    """True if it is only decided what is replaced: one process draws for all parts of a unit."""

    def chosen(self, indices: Sequence[int]) -> "Texts":
        """Return some of the texts, by their indices."""
        texts, numbers = [self.texts[at] for at in indices], [self.numbers[at] for at in indices]
        spans = None if self.spans is None else [self.spans[at] for at in indices]
        return self._replace(texts=texts, numbers=numbers, spans=spans)

    def part(self, first: int, last: int) -> "Texts":
        """Return some of the texts."""
        return self.chosen(range(first, last))


@dataclass(frozen=True, eq=False, repr=False)
class AuditTable:
    """Audit of the words of a call, in columns.

    An object for each word would cost more than drawing the word.
    """

    sizes: NDArray[np.int64]
    """Words in each text, shape (texts,)."""
    gaps: NDArray[np.int64]
    """Code points of the gap before each word in its output text, shape (words,), as all that
    follow."""
    read: NDArray[np.int64]
    """The same in its input text."""
    actions: NDArray[np.int64]
    """Positions in :data:`ACTIONS`."""
    originals: Sequence[str]
    outputs: list[str]
    input_ids: NDArray[np.int64]
    """Row number of each input, n for ⊥, more as :class:`dpsan.sanitize.classes.Grouping` says,
    negative if nothing was drawn."""
    output_ids: NDArray[np.int64]
    """Row number of each output, negative if it is no drawn word."""
    first: NDArray[np.bool_] | None = None
    """True for the first of equal words in its record, where equal words share a draw; with
    ``only`` for numbers by value that are charged."""
    drawn: list[str | None] | None = None
    """The drawn words where outputs were decoded, None where nothing was drawn."""
    reasons: list[tuple[str, str] | None] | None = None
    """Group and rule of each drawn word (``only``), None of others."""
    passes: list[str | None] | None = None
    """The list or rule by which each other word passes."""
    labels: NDArray[np.uint16] | None = None
    """Code of the label of each word (``only``)."""

    def __len__(self) -> int:
        return len(self.outputs)

    def spread(self, indices: Sequence[int], chosen: Sequence[bool], texts: int) -> "AuditTable":
        """Return the rows of the chosen texts, in a table for more texts, of which the others have
        none.
        """
        sizes = np.zeros(texts, dtype=np.int64)
        sizes[np.array(indices, dtype=np.int64)] = np.where(chosen, self.sizes, 0)
        rows = np.repeat(np.array(chosen, dtype=np.bool_), self.sizes)
        columns: dict[str, Any] = {}
        for name in (column.name for column in fields(self)[1:]):
            column = getattr(self, name)
            array = isinstance(column, np.ndarray)
            columns[name] = column[rows] if array else column and [*compress(column, rows)]
        return AuditTable(sizes=sizes, **columns)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First character of each word in its input text."""
        return self._starts(self.read, np.fromiter(map(len, self.originals), dtype=np.int64))

    def output_starts(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """First character of each output in its output text, by the code points of all outputs."""
        return self._starts(self.gaps, lengths)

    def _starts(self, gaps: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each word where it starts in its text, by the lengths of gaps and words."""
        ends = np.cumsum(gaps + lengths)
        starts = ends - lengths
        sizes = self.sizes[self.sizes > 0]
        first = np.cumsum(sizes) - sizes
        return np.asarray(starts - np.repeat(starts[first] - gaps[first], sizes))


@dataclass(frozen=True, slots=True)
class Forms:
    """Totals over strings that were drawn by their form."""

    smallest: int = 0
    """Fewest strings of one form; 0: nothing was drawn by its form."""
    unchanged: float = 0.0
    """Expected number of strings that stay unchanged."""

    def __add__(self, other: "Forms") -> "Forms":
        sizes = [forms.smallest for forms in (self, other) if forms.smallest]
        return Forms(min(sizes, default=0), self.unchanged + other.unchanged)


@dataclass(frozen=True, slots=True)
class Sanitized:
    """Result of one call: the texts and what was done."""

    lines: list[str] = field(repr=False)
    drawn: list[int]
    """Words drawn by the mechanism in each text; each distinct word of a record once where equal
    words have the same draw."""
    charged: list[int]
    """Those that have a privacy loss: all, but words that are drawn in their group alone."""
    counts: dict[Action, int]
    records: AuditTable | None = field(default=None, repr=False)
    public: int = 0
    """Drawn words that were public, a function of the text: for the audit alone."""
    invisible: int = 0
    """Invisible characters that were dropped."""
    marks: NDArray[np.uint64] | None = field(default=None, repr=False)
    """Mark of each word that ``drawn`` counts. Equal words of a file or run have equal marks, where
    they share a draw."""
    public_marks: NDArray[np.uint64] | None = field(default=None, repr=False)
    """Those of public words."""
    remembered: dict[int, dict[Action, int]] = field(default_factory=dict)
    """By its position, the words of each text whose earlier output is written again."""
    by_kind: Counter[int] = field(default_factory=Counter)
    """Drawn words of each kind of :class:`dpsan.sanitize.classes.Grouping`."""
    forms: Forms = field(default_factory=Forms)
    reused: int = 0
    """Replacements that another word of their unit has too, as their group was used up."""
    plain_names: int = 0
    """Words that pass with a capital, and are names too."""
    foreign: int = 0
    """Positive if the texts are hardly English, which rules and lists are made for (``only``)."""
    replaced: list[list[tuple[str, str, str]]] = field(default_factory=list, repr=False)
    """Of each text the original, the replacement and the class of drawn words, for a map."""


_NOTHING: Final = Sanitized([], [], [], {})


def together(parts: Sequence[Sanitized]) -> Sanitized:
    """Merge the results of successive texts, with their audits."""
    if len(parts) == 1:
        return parts[0]
    counts = {action: sum(part.counts[action] for part in parts) for action in Action}
    return replace(_NOTHING, **_columns(parts) | {"counts": counts})


def _columns(parts: Sequence[Any]) -> dict[str, Any]:
    """Return the fields of results or audits of successive texts, each put together."""
    out: dict[str, Any] = {}
    for column in fields(parts[0]) if parts else ():
        values = [value for part in parts if (value := getattr(part, column.name)) is not None]
        first = values[0] if values else None
        if isinstance(first, np.ndarray):
            out[column.name] = np.concatenate(values)
        elif isinstance(first, list):
            out[column.name] = [*chain(*values)]
        elif isinstance(first, AuditTable):
            out[column.name] = AuditTable(**_columns(values))
        elif isinstance(first, int | Forms | Counter):
            out[column.name] = sum(values, type(first)())
    return out


def recut(table: AuditTable, lengths: Sequence[int], begins: Sequence[int]) -> AuditTable:
    """Return the audit of words in texts that begin elsewhere.

    Args:
        lengths: characters of each output text, as the table has them.
        begins: where each text begins instead, in all of them together.
    """
    words = np.fromiter(map(len, table.outputs), np.int64, len(table))
    of_texts = np.array(lengths, np.int64)
    starts = np.repeat(np.cumsum(of_texts) - of_texts, table.sizes) + table.output_starts(words)
    text = np.searchsorted(begins, starts, "right") - 1
    first = np.diff(text, prepend=-1) != 0
    gaps = starts - np.where(first, np.array(begins, np.int64)[text], np.roll(starts + words, 1))
    sizes = np.bincount(text, minlength=len(begins)).astype(np.int64)
    return replace(table, sizes=sizes, gaps=gaps, read=table.read + gaps - table.gaps)


def joined(done: Sanitized, counts: Sequence[int]) -> Sanitized:
    """Put the parts of each text together.

    Args:
        done: a line for each part.
        counts: parts of each text.
    """
    if len(done.lines) == len(counts):
        return done
    ends = [*accumulate(counts)]
    bounds = [*zip([0, *ends], ends, strict=False)]
    table = done.records
    if table is not None:
        lengths = [*map(len, done.lines)]
        begins = [0, *accumulate(lengths)]
        table = recut(table, lengths, [begins[first] for first, _ in bounds])
    return replace(
        done,
        lines=["".join(done.lines[first:end]) for first, end in bounds],
        drawn=[sum(done.drawn[first:end]) for first, end in bounds],
        charged=[sum(done.charged[first:end]) for first, end in bounds],
        replaced=[[*chain(*done.replaced[first:end])] for first, end in bounds],
        records=table,
    )


_ACTIONS: Final = {KEPT: Action.KEPT, MASKED: Action.MASKED, OUTSIDE: Action.OUTSIDE}
_INDICES: Final = np.array([CODES[_ACTIONS[code]] for code in sorted(_ACTIONS)])
"""Index in ACTIONS of each negative code, indexed by the code."""


def sums_of_runs(values: NDArray[Any], sizes: Ids) -> Ids:
    """Sums of consecutive runs of values, of these sizes."""
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    ends = np.cumsum(sizes)
    return np.asarray(total[ends] - total[ends - sizes], dtype=np.int64)


def actions_of(codes: Ids, n: int) -> Ids:
    """Return the action on each word, as indices of ACTIONS.

    Args:
        n: words of the vocabulary; codes from n on are those of
            :class:`dpsan.sanitize.classes.Grouping`.
    """
    which = [codes < n, (codes == n) | (codes > n + FORMED), codes == n + 1]
    drawn = [CODES[action] for action in (Action.DRAWN, Action.UNKNOWN, Action.NUMBER)]
    kinds = np.select(which, drawn, CODES[Action.STRING])
    return np.asarray(np.where(codes >= 0, kinds, _INDICES[np.minimum(codes, -1)]), dtype=np.int64)


def counts_of(actions: Ids) -> dict[Action, int]:
    """Return the number of words of each action."""
    return dict(zip(Action, np.bincount(actions, minlength=len(Action)).tolist(), strict=True))


def merged(
    texts: Sequence[str],
    indices: Sequence[int],
    done: Sanitized,
    earlier: Mapping[int, str],
    survey: Callable[[int], Sanitized],
) -> Sanitized:
    """Return the result for all texts of a batch.

    Args:
        texts: the batch.
        indices: positions in it of the texts that were sanitized; ascending.
        done: what became of these.
        earlier: outputs that are written instead, by position: for every text that is not in
            ``indices``, and for texts whose output another run wrote meanwhile.  The new draws of
            the latter are not published, so they do not count.
        survey: counts the words of a text, by its index, without drawing any.
    """
    fresh, table = [index not in earlier for index in indices], done.records
    counts, public, invisible = Counter(done.counts), done.public, done.invisible
    by_kind, unpublished = Counter(done.by_kind), earlier.keys() & {*indices}
    rows = dict(zip(indices, zip(done.lines, done.drawn, done.charged, strict=True), strict=True))
    remembered = {}
    for index, output in sorted(earlier.items()):
        counted = survey(index)
        if index in unpublished:
            counts.subtract(counted.counts)
            by_kind.subtract(counted.by_kind)
            public -= counted.public
            invisible -= counted.invisible
        rows[index] = output, 0, 0
        now = {action: 0 if action in DRAWN else counted.counts[action] for action in Action}
        now[Action.REMEMBERED] = sum(counted.counts[action] for action in DRAWN)
        remembered[index] = now
        counts.update(now)
        invisible += counted.invisible
    return replace(
        done,
        lines=[rows[index][0] for index in range(len(texts))],
        drawn=[rows[index][1] for index in range(len(texts))],
        charged=[rows[index][2] for index in range(len(texts))],
        by_kind=by_kind,
        counts={action: counts[action] for action in Action},
        records=None if table is None else table.spread(indices, fresh, len(texts)),
        public=public,
        invisible=invisible,
        remembered=remembered,
    )
