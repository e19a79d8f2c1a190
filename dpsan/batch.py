"""From files and streams through a sanitizer to files and streams.

Knows formats, sinks and totals.  Must not know mechanisms.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dpsan import rng
from dpsan.accounting import Accountant
from dpsan.audit import AuditWriter
from dpsan.errors import InputError, OutputError, UsageError
from dpsan.files import AtomicFile, Sink
from dpsan.formats.base import Format, ReadOptions, Record
from dpsan.formats.registry import format_for
from dpsan.formats.source import FileSource, GzipSource
from dpsan.runspec import Sanitized
from dpsan.sanitizer import Sanitizer
from dpsan.workers import Inline, Workers

__all__ = [
    "Inplace",
    "Outcome",
    "Plan",
    "open_input",
    "plan_outputs",
    "refuse_same",
    "rewrite_file",
    "rewrite_stream",
]

_BATCH_CHARACTERS: Final = 1 << 18
_BATCH_RECORDS: Final = 1 << 14


@dataclass(frozen=True)
class Plan:
    """What is done to every input of a run."""

    format: str = "auto"
    options: ReadOptions = field(default_factory=ReadOptions)
    copies: int = 1
    line_buffered: bool = False
    force: bool = False


@dataclass(frozen=True)
class Inplace:
    """Write over the input; keep the original under another suffix if one is given."""

    backup: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of one input."""

    name: str
    totals: Accountant
    sha256: tuple[str, str]
    """Of input and output."""


def rewrite_stream(
    source: FileSource,
    sink: Sink,
    sanitizer: Sanitizer,
    plan: Plan,
    key: bytes,
    *,
    workers: Workers | None = None,
    file: int = 1,
    audit: AuditWriter | None = None,
    progress: Callable[[int], None] | None = None,
    started: Callable[[Accountant], None] | None = None,
) -> Outcome:
    """Sanitize one input; records come out in order and nothing is lost.

    Records are taken in batches while input is plentiful and at once when it is not.  If reading
    fails, all records before the failure are written first.

    Args:
        key: of the run; the file and each copy get keys of their own from it.
        file: 1-based number of the input within the run.
        progress: called with the number of input bytes read since the last call.
        started: called with the totals, which grow while the input is read.

    Raises:
        InputError: the input cannot be read.
        OutputError: the output cannot be written.
    """
    kind: Format = format_for(plan.format, source.name)
    keys = [rng.derive_key(key, "file", file - 1, "copy", copy) for copy in range(plan.copies)]
    totals = Accountant(sanitizer.guarantee, sanitizer.mechanism.epsilon)
    if started:
        started(totals)
    cells = 0
    seen = 0
    workers = workers or Inline(sanitizer)
    # Batches that workers have in hand, oldest first: output keeps the order of input.
    waiting: deque[tuple[list[Record], list[Future[Sanitized]]]] = deque()

    def submit(batch: list[Record]) -> None:
        nonlocal cells
        texts = [text for record in batch for text in record.texts]
        numbers = range(cells, cells + len(texts))
        cells += len(texts)
        waiting.append(
            (batch, [workers.submit(texts, each, numbers, audit is not None) for each in keys])
        )

    def finish() -> None:
        nonlocal seen
        batch, futures = waiting.popleft()
        results = [future.result() for future in futures]
        lines = [record.line for record in batch for _ in record.texts]
        for copy, done in enumerate(results, start=1):
            totals.add(done)
            if audit and done.records is not None:
                audit.words(file, lines, done.records, copy)
        out = []
        at = 0
        for record in batch:
            end = at + len(record.texts)
            out += [record.render(done.lines[at:end]) for done in results]
            at = end
        sink.write(b"".join(out))
        totals.records += len(batch)
        totals.invalid += sum(record.invalid for record in batch)
        if progress:
            progress(source.bytes_read - seen)
            seen = source.bytes_read

    opened = GzipSource(source) if source.name.endswith(".gz") else source
    try:
        for batch, urgent in _batches(kind.read(opened, plan.options), plan.line_buffered):
            if batch:
                submit(batch)
            while waiting and (urgent or len(waiting) > workers.window):
                finish()
    except InputError:
        while waiting:
            finish()
        raise
    while waiting:
        finish()
    return Outcome(source.name, totals, (source.sha256, sink.sha256))


def _batches(
    records: Iterator[Record | None], line_buffered: bool
) -> Iterator[tuple[list[Record], bool]]:
    """Records in groups, and whether somebody is waiting for the result.

    Whatever is held when the source is idle, ends or fails comes before that.
    """
    batch: list[Record] = []
    characters = 0
    try:
        for record in records:
            if record is not None:
                batch.append(record)
                characters += sum(len(text) for text in record.texts)
            full = characters >= _BATCH_CHARACTERS or len(batch) >= _BATCH_RECORDS
            urgent = record is None or line_buffered
            if (batch and full) or urgent:
                yield batch, urgent
                batch, characters = [], 0
    except InputError:
        if batch:
            yield batch, True
        raise
    if batch:
        yield batch, True


def open_input(path: Path) -> int:
    """A descriptor of an input file.  Raises InputError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InputError(path, "is a directory", "find DIR -type f | xargs dpsan rewrite ...")
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise InputError(path, str(reason)) from None
    return descriptor


def rewrite_file(
    path: Path,
    target: Path | Inplace,
    sanitizer: Sanitizer,
    plan: Plan,
    key: bytes,
    *,
    file: int,
    workers: Workers | None = None,
    audit: AuditWriter | None = None,
    progress: Callable[[int], None] | None = None,
) -> Outcome:
    """Sanitize one file into another, complete or not at all.

    Raises:
        InputError, OutputError: then the target is as it was and no temporary file is left.
    """
    if isinstance(target, Inplace) and path.is_symlink():
        raise OutputError(f"{path}: is a link", "in-place needs the file itself")
    descriptor = open_input(path)
    try:
        if isinstance(target, Inplace):
            sink = AtomicFile(path, force=True, like=path)
        else:
            refuse_same(path, target)
            target.parent.mkdir(parents=True, exist_ok=True)
            sink = AtomicFile(target, force=plan.force)
        try:
            outcome = rewrite_stream(
                FileSource(str(path), descriptor),
                sink,
                sanitizer,
                plan,
                key,
                workers=workers,
                file=file,
                audit=audit,
                progress=progress,
            )
            if isinstance(target, Inplace) and target.backup:
                _back_up(path, target.backup, force=plan.force)
            sink.commit()
        except BaseException:
            sink.discard()
            raise
        return outcome
    except OSError as error:
        raise OutputError(f"{path}: {error.strerror}") from None
    finally:
        os.close(descriptor)


def refuse_same(path: Path, target: Path) -> None:
    """Raise OutputError if both are one file: reading would meet its own output."""
    if target.exists() and path.exists() and target.samefile(path):
        raise OutputError(f"{path}: input and output are the same file", "-i does that")


def _back_up(path: Path, suffix: str, *, force: bool) -> None:
    backup = path.with_name(path.name + suffix)
    if backup.exists() and not force:
        raise OutputError(f"{backup}: exists", "--force replaces it")
    with suppress(FileNotFoundError):
        backup.unlink()
    # A second name for the same file: the original is never absent, whatever happens now.
    os.link(path, backup)


def plan_outputs(paths: list[Path], directory: Path) -> list[Path]:
    """The output of each input below ``directory``, keeping the tree of relative paths.

    Raises:
        UsageError: two inputs would have the same output.
    """
    out: list[Path] = []
    for path in paths:
        clean = Path(os.path.normpath(path))
        inside = not clean.is_absolute() and clean.parts[:1] != ("..",)
        out.append(directory / (clean if inside else clean.name))
    seen: dict[Path, Path] = {}
    for path, target in zip(paths, out, strict=True):
        if target in seen:
            raise UsageError(f"{seen[target]} and {path} would both be written to {target}")
        seen[target] = path
    return out
