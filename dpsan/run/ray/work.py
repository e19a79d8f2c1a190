"""What a worker does to a piece: count its texts, or rewrite them into files.

Knows pieces, formats and sanitizers.  Must not know who runs it.  Answers are numbers, names of
temporary files and messages of :mod:`dpsan.errors`: never text.  Where distinct words of a file or
run are counted, they include the marks of the words, which are as secret as the key of the run.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from dpsan import __version__
from dpsan.embeddings.cache.store import Store
from dpsan.errors import DpsanError, InputError, UnexpectedError, UsageError
from dpsan.files.atomic_files import Sink
from dpsan.files.compression import packer_for
from dpsan.files.source import FileSource, decompressed
from dpsan.formats.base import ReadOptions, Record
from dpsan.formats.fields import optional
from dpsan.formats.registry import format_for
from dpsan.run.audit import AuditWriter
from dpsan.run.paths import opened_input
from dpsan.run.ray.pieces import Piece, remove, stretch
from dpsan.run.stream import Plan, Work, rewrite_stream
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.consistent import Distinct
from dpsan.sanitize.request import RunSpec
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer

Row = dict[str, Any]
"""Plain values by name: what a cluster passes on."""

TRIES: Final = 10
"""How often a piece is tried: a worker that died leaves its unfinished file behind."""

_UNKNOWN_LINE: Final = 2
"""First line of a piece from the middle of a file, before anybody has counted."""


@dataclass(frozen=True)
class Job:
    """Everything that workers share; picklable, and secret for its key."""

    spec: RunSpec
    cache: Path
    digest: str
    """Of the embeddings: a worker's must be the driver's."""
    plan: Plan
    key: bytes = field(repr=False)
    parts: Path
    """Directory of the pieces' outputs."""
    audits: Path | None = None
    """Directory of the pieces' audits."""
    originals: bool = False
    version: str = __version__


def guarded(work: Callable[[], Row]) -> Row:
    """The answer of some work, or what went wrong: a message without text, and a line.

    Whatever a library raises could quote what it was given, and Ray would print it.
    """
    try:
        return {"error": "", "input": False, "line": 0, **work()}
    except InputError as error:
        # In parts: only the driver knows the line within the whole file.
        return {"error": f"{error.what}\n{error.hint}", "input": True, "line": error.line or 0}
    except DpsanError as error:
        return {"error": str(error), "input": False, "line": 0}
    except Exception as error:  # noqa: BLE001 - the wall between text and Ray's logs
        unexpected = UnexpectedError(error)
        told = f"{unexpected.message}\n{unexpected.hint}"
        return {"error": told, "input": True, "line": 0}  # the driver names the file


def prepared(job: Job) -> Sanitizer:
    """The sanitizer of a worker.

    Raises:
        UsageError: this machine would not draw the driver's words.
    """
    if job.version != __version__:
        raise UsageError(f"a worker has dpsan {__version__}, the driver {job.version}")
    sanitizer = Sanitizer.from_spec(job.spec, Store(job.cache))
    if sanitizer.embeddings.digest != job.digest:
        raise UsageError("a worker's embedding file is not the driver's")
    return sanitizer


def count(job: Job, piece: Piece) -> Row:
    """How many lines and texts a piece has.

    Raises:
        InputError: as reading the whole file would; lines are counted from :data:`_UNKNOWN_LINE`
            unless the piece is the first.
    """
    if piece.start == 0 and not piece.groups:
        # What a reader asks of a whole file, such as that it has the field, is asked here.
        with opened_input(piece.path) as source:
            kind = format_for(job.plan.format, source.name)
            for record in kind.read(source, kind.suited(job.plan.options)):
                if record is not None and record.part == "record":
                    break
    first = 1 if piece.start == 0 else _UNKNOWN_LINE
    lines = texts = 0
    with ExitStack() as stack:
        _, records = _reading(stack, job.plan, piece, first)
        for record in records:
            if record is not None and record.part == "record":
                lines = record.line - first + 1
                texts += len(record.texts)
    return {"piece": piece.number, "lines": lines, "texts": texts}


def rewrite(job: Job, sanitizer: Sanitizer, piece: Piece) -> Row:
    """Rewrite a piece into a new file, whose name no other attempt has.

    Raises:
        DpsanError: too many workers died of it.
        InputError: it cannot be read, or is not what was counted.
        OutputError: the file cannot be written.
    """
    if sum(1 for _ in job.parts.glob(f"{piece.number:08d}-*")) >= TRIES:
        raise DpsanError(
            f"{piece.path}: a piece of it ended its worker {TRIES} times",
            "out of memory? fewer workers with -j",
        )
    descriptor, name = tempfile.mkstemp(".part", f"{piece.number:08d}-", job.parts)
    part = Path(name)
    with ExitStack() as stack:
        stack.callback(os.close, descriptor)
        failed = stack.enter_context(ExitStack())
        failed.callback(remove, part)
        audit = None
        if job.audits is not None:
            rows = part_audit(job.audits, part.name)
            failed.callback(remove, rows)
            writer = AuditWriter(
                rows, sanitizer, originals=job.originals, copies=job.plan.copies, part=True
            )
            audit = stack.enter_context(writer)
        source, records = _reading(stack, job.plan, piece, piece.first_line)
        packer = packer_for(piece.path.name) if piece.whole else None
        sink = Sink("temporary file", descriptor, packer)
        outcome = rewrite_stream(
            source,
            sink,
            Work(sanitizer, job.plan, job.key, audit=audit),
            file=piece.file,
            records=records,
            first=piece.first_text,
        )
        sink.finish()
        if piece.texts >= 0 and outcome.texts != piece.texts:
            # Its neighbour's texts would have the same random numbers as the last of these.
            raise InputError(piece.path, "changed while it was read")
        failed.pop_all()
    done = outcome.totals
    return {
        "piece": piece.number,
        "part": part.name,
        "bare": outcome.bare,
        "passing": outcome.passing.plain(),
        **{each: getattr(done, each) for each in _FIGURES},
        **{str(action): done.counts[action] for action in Action},
        "distinct": done.distinct and _counted(done.distinct),
        "distinct_public": _counted(done.distinct_public),
    }


_FIGURES: Final = (
    "draws",
    "public",
    "texts",
    "largest_record",
    "records",
    "invalid",
    "invisible",
)


def totals(row: Row, sanitizer: Sanitizer) -> Accountant:
    """The totals that an answer of :func:`rewrite` tells."""
    return Accountant(
        sanitizer.guarantee,
        sanitizer.mechanism.epsilon,
        {action: int(row[str(action)]) for action in Action},
        **{each: int(row[each]) for each in _FIGURES},
        distinct=row["distinct"] and _distinct(row["distinct"]),
        distinct_public=_distinct(row["distinct_public"]),
    )


def _counted(words: Distinct) -> list[int]:
    return [words.count, *words.marks]


def _distinct(counted: list[int]) -> Distinct:
    return Distinct({*counted[1:]}, counted[0])


def part_audit(directory: Path, part: str) -> Path:
    """Where the audit of a piece's output is."""
    return directory / f"{part}.audit"


def _reading(
    stack: ExitStack, plan: Plan, piece: Piece, first_line: int
) -> tuple[FileSource, Iterator[Record | None]]:
    """A piece's source and records."""
    if piece.whole:
        source = stack.enter_context(opened_input(piece.path))
        kind = format_for(plan.format, source.name)
        return source, kind.read(decompressed(source), kind.suited(plan.options))
    options = _part_options(plan, piece, first_line)
    if piece.groups:
        from dpsan.formats.parquet_groups import read_groups  # pyarrow is an extra

        source = stack.enter_context(opened_input(piece.path))
        return source, read_groups(source, options, range(piece.start, piece.end))
    source = stack.enter_context(stretch(piece, options))
    return source, format_for(plan.format, source.name).read(source, options)


def _part_options(plan: Plan, piece: Piece, first_line: int) -> ReadOptions:
    """How a piece is read: it need not have every field, which its file must have."""
    kind = format_for(plan.format, str(piece.path))
    options = replace(kind.suited(plan.options), first_line=first_line)
    if kind.divisible and kind.needs_fields:
        options = replace(options, fields=tuple(map(optional, options.fields)))
    return options
