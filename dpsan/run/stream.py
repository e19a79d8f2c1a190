"""From files and streams through a sanitizer to files and streams."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from itertools import accumulate, chain, islice, repeat
from math import inf
from typing import TYPE_CHECKING, Final

from dpsan.errors import InputError
from dpsan.files.atomic_files import AtomicFile, Sink
from dpsan.files.compression import decompressed
from dpsan.files.source import FileSource
from dpsan.formats import kinds, passing, span_file
from dpsan.formats.base import Record
from dpsan.privacy import randomness
from dpsan.run import plan as planning
from dpsan.run.workers import Answer, Inline, Workers, decided, sanitized
from dpsan.sanitize import consistent, result
from dpsan.sanitize.decided import Shared
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.spanned_tokens import Spans

if TYPE_CHECKING:
    from dpsan.restore.map_file import MapWriter
    from dpsan.run.audit.writer import AuditWriter
    from dpsan.run.records import History
    from dpsan.run.side_outputs import Review
    from dpsan.run.units import RunUnits

_RENDERED: Final = 1 << 20
"""Output bytes that are collected before they are written."""
_SAMPLES: Final = 3


@dataclass
class Work:
    """Sanitizer, keys, history and observers for every input of a run."""

    sanitizer: Sanitizer
    plan: planning.Plan
    key: bytes
    """Key of the run; each file and each copy derives keys from it."""
    _: KW_ONLY
    workers: Workers | None = None
    """Default this process."""
    audit: AuditWriter | None = None
    progress: Callable[[int], None] | None = None
    """Called with the number of input bytes read since the last call."""
    history: History | None = None
    """Memo, ledger and budget; each batch is committed to it before it is written."""
    units: RunUnits | None = None
    """The units of the run, where records name them and no memo has them."""
    map: MapWriter | None = None
    """Gets what each replacement stands for, before it is written."""
    review: Review | None = None
    """Counts the words of each batch."""
    samples: list[str] | None = None
    """Gets the first texts with a drawn word, as they come out; of a long one its beginning."""


def rewrite_stream(
    source: FileSource, sink: Sink, work: Work, outcome: planning.Outcome | None = None
) -> planning.Outcome:
    """Sanitize one input; records keep their order and nothing is lost.

    Records are taken in batches while input is plentiful and at once when it is not.  If reading
    fails, all records before the failure are written first.

    Args:
        outcome: a new one by default; it tells what was written also after an error.

    Raises:
        InputError: the input cannot be read, was written to meanwhile, or a record would cost more
            than its budget; all before it are written.
        OutputError: the output cannot be written.
    """
    sanitizer, plan = work.sanitizer, work.plan
    outcome = outcome or planning.Outcome(planning.Task(), sanitizer.accountant())
    kind = kinds.format_for(plan.format, source.name)
    outcome.name = source.name
    records = kind.read(decompressed(source), kind.suited(plan.options))
    if plan.spans is not None:
        only = sanitizer.replacing
        records = span_file.with_spans(records, plan.spans, None if only is None else only.marks)
    # A text or a document is one unit; where records have a history, each of them is one.
    one_unit = sanitizer.spec.only and work.history is None and (kind.one_text or kind.one_document)
    if one_unit:
        records = planning.contexts(records, lines=kind.one_text, line_buffered=plan.line_buffered)
    unit = sanitizer.spec.consistent
    where = ("run",) if unit is consistent.Unit.RUN else ("file", outcome.task.file - 1)
    keys = [randomness.derive_key(work.key, *where, "copy", copy) for copy in range(plan.copies)]
    workers = work.workers or Inline(sanitizer)
    flow = _Flow(work, source, sink, workers, keys, outcome)
    if one_unit and unit in (None, consistent.Unit.RECORD):
        flow.units = [Shared(0) for _ in keys]
    with planning.few_searches():
        try:
            # Several processes need many batches, and an audit lists copies batch by batch: its
            # order must not depend on the time taken.
            at_rest = source.descriptor() is not None and workers.window == 0 and plan.copies == 1
            # Each rule of --only is looked up once in a batch, however large that is.
            sizes = planning.FileBatchSize() if at_rest else planning.BatchSize(plan.copies == 1)
            sizes.fast = inf if sanitizer.spec.only else sizes.fast
            for batch, urgent in planning.batches(
                records, plan.batch, sizes, line_buffered=plan.line_buffered
            ):
                if batch:
                    flow.submit(batch)
                flow.finish(everything=urgent)
                if not batch:
                    workers.idle()
        except InputError:
            flow.finish(everything=True)
            source.check_unchanged()  # the likelier cause
            raise
        else:
            flow.finish(everything=True)
        finally:
            outcome.passing.add(flow.fields)
    source.check_unchanged()
    outcome.sha256 = source.sha256, sink.sha256
    return outcome


def _spans_of(batch: Sequence[Record]) -> list[Spans] | None:
    """Return the spans of each text; of a field of a class all of it.  None: no spans."""
    if not any(record.kinds or record.spans is not None for record in batch):
        return None
    return [
        [*[(0, len(text), kind)] * bool(kind and text), *(record.spans or ())]
        for record in batch
        for text, kind in zip(record.texts, record.kinds or repeat(""), strict=False)
    ]


@dataclass
class _Flow:
    """Batches on their way: sanitized in any order, written in the order of the input."""

    work: Work
    source: FileSource
    sink: Sink
    workers: Workers
    keys: list[bytes]
    outcome: planning.Outcome
    texts: int = 0
    """Number of texts so far: the number of a text under the key does not depend on batches."""
    fields: list[passing.Fields] = field(default_factory=list)
    _seen: int = 0
    _waiting: deque[tuple[list[Record], int, list[Answer]]] = field(default_factory=deque)
    """Records, number of their first text, and what the workers make of them."""
    units: list[Shared] | None = None
    """Replacements of the file so far, by copy, where its records are parts of one unit."""

    def submit(self, batch: list[Record]) -> None:
        """Hand a batch to the workers.

        Raises InputError: its header is not that of the others, or a record has no unit.
        """
        for record in batch:
            self.fields += record.fields
            if record.part == "header" and self.sink.header not in (None, record.render([])):
                what = "other columns than the first file", "-O DIR writes one output for each"
                raise InputError(self.source.name, *what, line=record.line)
            if record.texts and self.work.plan.options.unit_field and not record.unit:
                what = "no name in the field of units", "each record needs one"
                raise InputError(self.source.name, *what, line=record.line)
        self._waiting.append((batch, self.texts, self._start(batch, self.texts)))
        self.texts += sum(len(record.texts) for record in batch)

    def _start(self, batch: list[Record], first: int) -> list[Answer]:
        texts = [text for record in batch for text in record.texts]
        numbers: Sequence[int] = range(first, first + len(texts))
        spec = self.work.sanitizer.spec
        if spec.consistent or spec.only:  # a record has the number of its first text
            sizes = [len(record.texts) for record in batch]
            numbers = list(chain(*map(repeat, accumulate(sizes, initial=first), sizes)))
        audited = self.work.audit is not None or self.work.review is not None
        spans = _spans_of(batch)
        undrawn = self.units is not None or self.work.units is not None
        copies = [result.Texts(texts, key, numbers, audited, spans, undrawn) for key in self.keys]
        if history := self.work.history:
            units = self._names(batch) if spec.consistent is consistent.Unit.UNIT else []
            return [history.submit(self.workers, part, units) for part in copies]
        return [self.workers.submit(part) for part in copies]

    def finish(self, *, everything: bool) -> None:
        """Write the oldest batches: all, or as many as are too many to be in hand."""
        audit, progress, history = self.work.audit, self.work.progress, self.work.history
        while self._waiting and (everything or len(self._waiting) > self.workers.window):
            batch, first, answers = self._waiting.popleft()
            # The entries of a batch are on the disk before any of it is written.
            with history.turn(answers) if history else nullcontext():
                results = self._results(batch, answers)
                ending = None
                if history:
                    paying = self.source.name, self.outcome.totals
                    affordable, ending = history.payable(batch, results, *paying)
                    while len(affordable) < len(batch):
                        # Of the same texts, the same key and numbers give the same words: no second
                        # draw.  Without some of its records a batch may cost the others more.
                        batch, answers = affordable, self._start(affordable, first)
                        results = self._results(batch, answers)
                        if not ending:
                            affordable, ending = history.payable(batch, results, *paying)
                    history.commit(batch, answers, results, self.outcome.totals)
            sizes = [len(record.texts) for record in batch]
            self.outcome.totals.add(results, sizes)
            for copy, done in enumerate(results if audit else [], start=1):
                if audit and done.records is not None:
                    lines, table = planning.lines_and_rows(done.records, done.lines, batch)
                    audit.words(self.outcome.task.file, lines, table, copy, done.remembered)
            if self.work.review and results[0].records is not None:
                self.work.review.add(results[0].records)
                self._review_again(batch, results[0])
            if self.work.samples is not None:
                pairs = zip(results[0].lines, results[0].drawn, strict=True)
                drawn = (line for line, count in pairs if count)
                self.work.samples += islice(drawn, _SAMPLES - len(self.work.samples))
            if rows := self.work.map:
                for unit, replaced in zip(self._names(batch), results[0].replaced, strict=True):
                    rows.add(unit, replaced)
            self._write(batch, results)
            if progress:
                progress(self.source.bytes_read - self._seen)
                self._seen = self.source.bytes_read
            if ending:
                self._waiting.clear()
                raise ending

    def _review_again(self, batch: list[Record], done: result.Sanitized) -> None:
        """Let the review have the words of messages whose first outputs are written again."""
        texts, spans = [text for record in batch for text in record.texts], _spans_of(batch)
        whole = result.Texts(texts, b"", range(len(texts)), True, spans)
        for at in done.remembered:
            table = self.work.sanitizer.survey(whole.part(at, at + 1)).records
            assert self.work.review and table is not None  # noqa: S101, PT018
            self.work.review.add(table)

    def _names(self, batch: list[Record]) -> list[str]:
        """Return the name of the unit of each text, also where no field has one."""
        name, one_unit = self.source.name, self.units is not None
        return [
            self.work.plan.unit or record.unit or (name if one_unit else f"{name}:{record.line}")
            for record in batch
            for _ in record.texts
        ]

    def _results(self, batch: list[Record], answers: list[Answer]) -> list[result.Sanitized]:
        """Return what became of a batch, for each copy."""
        replacing = self.work.sanitizer.replacing
        if units := self.work.units:
            return [units.replaced(decided(answer), self._names(batch)) for answer in answers]
        if replacing is None or self.units is None:
            return [*map(sanitized, answers)]
        return [
            replacing.in_units(decided(answer), key, [unit])
            for answer, key, unit in zip(answers, self.keys, self.units, strict=True)
        ]

    def _send(self, pieces: list[bytes]) -> None:
        """Write output, whose rows of the audit and of the map come first."""
        if pieces and self.work.map:
            self.work.map.sync()
        if pieces and self.work.audit and not isinstance(self.sink, AtomicFile):
            self.work.audit.place()
        for piece in pieces:
            self.sink.write(piece)

    def _write(self, batch: list[Record], results: list[result.Sanitized]) -> None:
        sink, outcome = self.sink, self.outcome
        out: list[bytes] = []
        at = size = 0
        for record in batch:
            end = at + len(record.texts)
            is_record = record.part == "record"
            for done in results if is_record else results[:1]:
                if not is_record and not self._wanted(record, begun=sink.begun or bool(out)):
                    continue
                piece = record.render(done.lines[at:end])
                if piece and sink.owed:
                    out.append(sink.owed)
                    sink.owed = b""
                if piece:
                    out.append(piece)
                sink.owed = record.owes or sink.owed
                size += len(piece)
            if record.noted:
                outcome.passing.add(noted=record.noted)
            if is_record:
                texts = zip(record.texts, results[0].lines[at:end], strict=True)
                outcome.renamed += any(a == record.unit != b for a, b in texts if record.unit)
                outcome.totals.records += len(record.lines) or 1
                outcome.totals.invalid += record.invalid
                outcome.bare += record.bare
                alone = record.spans is not None and not record.spans and not record.lines
                outcome.totals.unmarked += record.unmarked + alone
            at = end
            if size > _RENDERED:
                *before, last = out
                self._send([b"".join(before), last])  # it may be large: it is not copied
                out, size = [], 0
        if out:
            self._send([b"".join(out)])

    def _wanted(self, record: Record, *, begun: bool) -> bool:
        """Return True if a piece is written here: an output of several inputs leaves some out."""
        if record.part == "mark":
            return not begun
        if record.part == "header":
            if self.sink.header is not None:
                return False
            self.sink.header = record.render([])
        return True
