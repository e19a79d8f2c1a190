"""Plan of a run and its outcomes; records on their way, in contexts and batches of some seconds.

A context is what a rule of ``--only`` may look at.  Lines of a text are one up to an empty line
behind some KiB, texts of a document up to some 64 KiB.  No output depends on the size of a batch.
"""

import gc
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Final

from dpsan.errors import InputError, failure
from dpsan.files.atomic_files import AtomicFile
from dpsan.formats.base import ReadOptions, Record
from dpsan.formats.passing import Passing
from dpsan.sanitize.accountant import Accountant, Lacking, LedgerTotals, MemoTotals
from dpsan.sanitize.result import AuditTable, recut
from dpsan.text.spanned_tokens import CONTEXT


@dataclass(frozen=True)
class Plan:
    """Options for every input of a run."""

    format: str = "auto"
    options: ReadOptions = field(default_factory=ReadOptions)
    copies: int = 1
    line_buffered: bool = False
    force: bool = False
    """Replace existing files."""
    seeded: bool = False
    """True if the random numbers are public."""
    memo: bool = False
    """True if equal messages are drawn once."""
    unit: str = ""
    """Name of the unit of all records; default that of each record."""
    beside: tuple[str, ...] = ()
    """What the run keeps that can tell originals: a map, a memo, a review."""
    originals: bool = False
    """True if the audit has the input words, too."""
    policy: str | None = None
    """SHA-256 (hex) of the policy file."""
    spans: Path | None = None
    """Names what of the texts of the one input is sanitized; default all."""
    batch: int = 1 << 14
    """Most records sanitized at once; no result depends on it."""


@dataclass(frozen=True)
class Task:
    """An input of a run."""

    file: int = 1
    """Number of the input within the run, from 1, which decides its key."""
    path: Path = Path("-")
    target: Path | None = None
    """Output of this input alone; None for the input itself, or where the output is shared."""


@dataclass
class Outcome:
    """Result of one input; grows while it is read."""

    task: Task
    totals: Accountant
    name: str = ""
    sha256: tuple[str, str] = ("", "")
    """Digests of input and output."""
    bare: int = 0
    """Structured records without any of the chosen fields, written unchanged."""
    renamed: int = 0
    """Records in which the name of their unit was replaced, too."""
    passing: Passing = field(default_factory=Passing)
    """Text that passed unchanged so far, also if the input failed."""
    error: Exception | None = None
    skipped: bool = False
    """True if its output was there already (``--resume``)."""
    sink: AtomicFile | None = None
    """Complete output that has no name yet."""
    replaced: os.stat_result | None = None
    """The input as it was opened, if the output replaces it."""

    @property
    def status(self) -> str:
        """Return ``complete``, ``failed`` or ``skipped``."""
        return "failed" if self.error else "skipped" if self.skipped else "complete"


@dataclass
class Result:
    """Result of a run."""

    totals: Accountant
    done: int = 0
    """Inputs that were rewritten."""
    renamed: int = 0
    """Records with another name of their unit, see :class:`Outcome`."""
    bare: int = 0
    """Structured records that were written unchanged, see :class:`Outcome`."""
    passing: Passing = field(default_factory=Passing)
    """Text that passed unchanged in the inputs that were read, also in those that failed."""
    lacking: Lacking = field(default_factory=Lacking)
    failed: list[str] = field(default_factory=list)
    """One line for each input that failed."""
    memo: MemoTotals | None = None
    """Totals of the memo, if there is one."""
    ledger: LedgerTotals | None = None
    """The same of the ledger."""
    skipped: int = 0
    """Inputs whose output was there already (``--resume``)."""

    def add(self, outcome: Outcome) -> None:
        """Take in what became of an input."""
        if outcome.error:
            self.failed.append(failure(outcome.task.path, outcome.error))
        self.skipped += outcome.status == "skipped"
        if outcome.status != "complete":
            return
        totals = outcome.totals
        self.done += 1
        self.bare += outcome.bare
        self.renamed += outcome.renamed
        self.lacking.add(outcome.name, totals.counts, totals.foreign)
        self.totals.merge(totals)


_FIRST_CHARACTERS: Final = 1 << 12
"""Size of the first batch: its output is there soon after the start, however slow the mechanism."""

_ALLOCATED: Final = 1 << 17
"""Objects between two searches of the garbage collector."""


@contextmanager
def few_searches() -> Iterator[None]:
    """Meanwhile Python looks for cycles of objects seldom: a tenth of the time, and finds none."""
    thresholds = gc.get_threshold()
    gc.set_threshold(max(_ALLOCATED, thresholds[0]) if thresholds[0] else 0, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


class BatchSize:
    """Size of batches whose output somebody waits for.

    Args:
        adaptive: by the time that they take; else always the same.
    """

    records = 1
    """Times the most records of a plan."""
    most = 1 << 18
    growth = 2
    """Largest ratio of the next batch to the last."""
    aim = 2.0
    """Seconds that a batch should take at most; batches shrink where they take twice as many."""
    fast: float = 1_500_000
    """Characters a second from which larger batches are no gain: they leave the caches."""
    clocks: tuple[Callable[[], float], ...] = (time.monotonic,)

    def __init__(self, adaptive: bool = True) -> None:
        self._adaptive = adaptive
        self._started: list[float] = []
        self.limit = _FIRST_CHARACTERS if adaptive else self.most

    def start(self) -> None:
        """A batch begins."""
        self._started = [clock() for clock in self.clocks]

    def seconds(self) -> float:
        """Return the elapsed time in seconds."""
        return min(clock() - begin for clock, begin in zip(self.clocks, self._started, strict=True))

    def took(self, seconds: float, size: int, *, full: bool) -> None:
        """Learn from a batch of ``size`` characters."""
        room = int(min(self.aim / max(seconds, 1e-3), self.growth))
        if full and room >= 2:
            most = max(self.limit, self.most)
            if size > self.fast * seconds:
                most = BatchSize.most
            self.limit = min(room * self.limit, most)
        elif seconds > 2 * self.aim and self._adaptive:
            self.limit = max(self.limit // 2, _FIRST_CHARACTERS)


class FileBatchSize(BatchSize):
    """The same where all of the input is there and the output is read when it is complete.

    What words of a batch share is computed once, so larger batches are less work in all.
    """

    records = 4
    most = 1 << 23
    growth = 16
    aim = 6.0  # a progress bar moves after each
    # What else the machine does must not make batches small: that would be more work for it.
    clocks = (time.monotonic, time.process_time)


def batches(
    records: Iterator[Record | None], most: int, batch_size: BatchSize, *, line_buffered: bool
) -> Iterator[tuple[list[Record], bool]]:
    """Yield records in groups, and whether somebody waits; held records come before an error.

    Args:
        most: records of a small batch.
        line_buffered: whether somebody waits for each record.
    """
    batch: list[Record] = []
    size, most = 0, most * batch_size.records
    try:
        for record in records:
            if record is not None:
                batch.append(record)
                size += record.size + sum(map(len, record.texts))
            full = size >= batch_size.limit or len(batch) >= most
            urgent = record is None or line_buffered
            if (batch and full) or urgent:
                batch_size.start()
                yield batch, urgent
                batch_size.took(batch_size.seconds(), size, full=full)
                batch, size = [], 0
    except InputError:
        if batch:
            yield batch, True
        raise
    if batch:
        yield batch, True


# --- contexts ------------------------------------------------------------------------------

_ARTICLE: Final = re.compile(r"(?i)\ban?\Z")
_LETTER: Final = 1 << 12
"""Characters from which an empty line ends a context: dates of a letter or note keep their order in
all of it."""


def _lines(records: Sequence[Record], texts: list[str]) -> bytes:
    """Return the bytes of lines that are one context, from the text of the context.

    Lines that are rendered alike are rendered at once.
    """
    parts = texts[0].split("\n")
    out, at = [], 0
    for render, alike in groupby(records, attrgetter("render")):
        run = [*alike]
        end = at + sum(1 + record.texts[0].count("\n") for record in run)
        out += [render(["\n".join(parts[at:end])]), run[-1].owes]
        at = end
    assert at == len(parts)  # noqa: S101 - each line of the input has one of the output
    return b"".join(out[:-1])  # what the last line owes is owed by the context


def _texts(records: Sequence[Record], texts: list[str]) -> bytes:
    """Return the bytes of texts of a document that are one context."""
    left = iter(texts)
    return b"".join(record.render([*islice(left, len(record.texts))]) for record in records)


def part(records: list[Record]) -> Record:
    """Return some texts of a document as one record."""
    texts = [*chain.from_iterable(record.texts for record in records)]
    return joined(records, texts, partial(_texts, records))


def contexts(
    records: Iterator[Record | None], *, lines: bool, line_buffered: bool = False
) -> Iterator[Record | None]:
    """Yield the texts of an input by context; what is no text as it is.

    Args:
        lines: whether records are the lines of one text, or texts of a document.  No context of a
            document ends behind an article.
        line_buffered: each line is a context of its own, as somebody waits for it.
    """
    joining = context if lines else part
    waiting: list[Record] = []
    size = 0
    for record in records:
        line = record is not None and record.part == "record" and len(record.texts) == 1
        if record is None or not (line if lines else waiting or record.texts):
            if lines and waiting and record is not None:
                yield joining(waiting)
                waiting, size = [], 0
            yield record
            continue
        length = sum(map(len, record.texts)) + lines
        if lines and waiting and size + length > CONTEXT:
            yield joining(waiting)
            waiting, size = [], 0
        waiting.append(record)
        size += length
        if lines:
            ends = line_buffered or (size > _LETTER and not record.texts[0].strip())
        else:
            last = record.texts[-1].rstrip()[-3:] if record.texts else "a"  # no end: a frame
            ends = size > CONTEXT and not _ARTICLE.search(last)
        if ends:
            yield joining(waiting)
            waiting, size = [], 0
    if waiting:
        yield joining(waiting)


def context(records: list[Record]) -> Record:
    """Return some lines as one record."""
    texts = [record.texts[0] for record in records]
    context = joined(records, ["\n".join(texts)], partial(_lines, records))
    if records[0].spans is not None:
        starts = accumulate((len(text) + 1 for text in texts), initial=0)
        context.spans = [
            (start + at, end + at, *kind)
            for record, at in zip(records, starts, strict=False)
            for start, end, *kind in record.spans or ()
        ]
    return context


def joined(records: list[Record], texts: list[str], render: Callable[[list[str]], bytes]) -> Record:
    """Return some records as one."""
    first, noted = records[0], Counter[str]()
    for record in records:
        if record.noted:
            noted.update(record.noted)
    return Record(
        first.line,
        texts,
        render,
        invalid=sum(record.invalid for record in records),
        owes=records[-1].owes,
        size=sum(record.size for record in records),
        noted=noted or None,
        fields=first.fields,
        lines=[record.line for record in records for _ in record.texts],
        unmarked=sum(record.spans is not None and not record.spans for record in records),
    )


def lines_and_rows(
    table: AuditTable, outputs: Sequence[str], batch: Sequence[Record]
) -> tuple[list[int], AuditTable]:
    """Return the line of each text of a batch, and its audit; of contexts those of their lines."""
    counts = [
        (len(record.lines) or 1) if len(record.texts) == 1 else 1
        for record in batch
        for _ in record.texts
    ]
    lines = [line for record in batch for line in record.lines or [record.line] * len(record.texts)]
    if max(counts, default=1) == 1:
        return lines, table
    begins, at = [], 0
    for text, count in zip(outputs, counts, strict=True):
        sizes = [len(line) + 1 for line in text.split("\n")] if count > 1 else [len(text)]
        begins += [*accumulate(sizes, initial=at)][:-1]
        at += len(text)
    return lines, recut(table, [*map(len, outputs)], begins)
