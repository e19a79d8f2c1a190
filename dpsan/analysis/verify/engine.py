"""Documents of public words through the whole program, as ``rewrite`` would do it.

Knows files, formats and runs.  Must not know what is checked.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from itertools import count

from dpsan.analysis.verify.inputs import may_hold
from dpsan.files.atomic_files import Sink
from dpsan.files.source import FileSource
from dpsan.formats.base import ReadOptions
from dpsan.run.stream import Plan, Work, rewrite_stream
from dpsan.run.workers import Workers
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.sanitizer import Sanitizer


def rewritten(
    sanitizer: Sanitizer,
    documents: Sequence[bytes],
    key: bytes,
    *,
    format: str = "text",  # noqa: A002 - the name it has everywhere
    fields: tuple[str, ...] = (),
    copies: int = 1,
    workers: Workers | None = None,
    batch: int = 1 << 14,
    files: Iterable[int] | None = None,
    totals: Accountant | None = None,
) -> list[bytes]:
    """Rewrite each document as a file of one run, without an audit log.

    Args:
        key: of the run.
        workers: processes; default this one.
        batch: records that are sanitized at once.
        files: number of each file in the run; default 1, 2, 3 ...
        totals: the totals of all files are added to these.
    """
    plan = Plan(format, ReadOptions(fields=fields), copies, batch=batch)
    work = Work(sanitizer, plan, key, workers=workers)
    out = []
    for number, document in zip(files or count(1), documents, strict=False):
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
            source.write(document)
            source.seek(0)
            sink = Sink("verify", target.fileno())
            given = FileSource("verify", source.fileno())
            outcome = rewrite_stream(given, sink, work, file=number)
            if totals is not None:
                totals.merge(outcome.totals)
            sink.finish()
            target.seek(0)
            out.append(target.read())
    return out


def between(sanitizer: Sanitizer) -> str | None:
    """A gap that is passed through and that no output can hold, None where there is none.

    It ends no sentence, and no article agrees with the word behind it.
    """
    return next((gap for gap in (" | ", " / ", " = ") if not may_hold(sanitizer, gap)), None)


def words_of(text: str, gaps: Sequence[str]) -> list[str] | None:
    """The words between gaps that none of them holds; None where the gaps are not there."""
    out, at = [], 0
    for gap in gaps:
        end = text.find(gap, at)
        if end < 0:
            return None
        out.append(text[at:end])
        at = end + len(gap)
    return [*out, text[at:]]
