"""Calls of the operating system fail, in the real command line."""

import errno
import os
import re
from pathlib import Path
from typing import Any

from dpsan.sanitize.sanitizer import Sanitizer
from scoreboard import fork
from scoreboard.base import Row, Size, row
from scoreboard.jobs import Job, Known, again, judge
from scoreboard.trap import concerns, fails, sprung, undurable

_NAMES = "EIO ENOSPC EDQUOT EMFILE EACCES EROFS ENFILE ETIMEDOUT"
_CODES = [getattr(errno, name) for name in _NAMES.split()]


@row(
    "faults",
    "n-th-call faults injected (open, read, write, sync, rename, link, memory ...), by command",
    "≥ 2,000",
)
def faults(row: Row, size: Size, folder: Path) -> None:
    """The n-th call fails, for every n: status, message, files and audit must all say so."""
    fork.preload()
    quick = [("txt", "O"), ("csv", "o"), ("jsonl", "i"), ("txt", "-"), ("jsonl", "O")]
    full = [*quick, ("txt", "O"), ("txt", "i"), ("csv", "O"), ("csv", "i")]
    jobs = size.of([("txt", "O"), ("txt", "i"), ("csv", "-")], quick, full)
    for number, (kind, mode) in enumerate(jobs):
        it = Known(Job(kind, mode), folder / f"job{number}", row)
        for name in it.new:
            why = undurable(it.trace, str(it.work / name))
            row.count(f"a power cut: {why}", bool(why))
        audit = [call.name for call in it.trace if concerns(call, "audit")]
        last = [name for name in audit if name in ("write", "fsync", "fdatasync")]
        row.count("a power cut: the audit is not synced", last[-1:] in ([], ["write"]))
        # Each job has another code.
        for code in _CODES if size is Size.FULL else _CODES[number % 2 :][:1]:
            _every_call(row, it, code, size, few=size is Size.QUICK and number > 0)
        _short_writes(row, it)
        _memory(row, it, size)
    if size is not Size.MUTANT:
        # Two workers; faults are those of the main process.
        it = Known(Job("txt", "O", "-j 2"), folder / "two", row)
        for number in range(1, len(it.trace) + 1, size.of(20, 16, 1)):
            _judged(row, it, it.trapped(number, fails(errno.EIO)), "a call failed")


def _judged(row: Row, it: Known, done: fork.Done, what: str) -> bool:
    row.tried += 1
    complete = judge(row, it, done)
    row.count("unclear message or traceback", not done.clear)
    row.count(f"silent: {what} and the status is 0", done.status == 0 and not complete)
    return complete


def _every_call(row: Row, it: Known, code: int, size: Size, *, few: bool) -> None:
    sticky = code == errno.ENOSPC  # a full disk stays full
    tried = set()
    for number, known_call in enumerate(it.trace, start=1):
        kind = known_call.name, re.sub("[0-9a-f]{16}", "", known_call.path)
        if few and kind in tried:
            continue
        second = it.job.mode != "O" and "b." in known_call.path
        if size is Size.MUTANT and (kind in tried or second):
            continue
        done = it.trapped(number, fails(code), sticky=sticky)
        call = sprung(it.work)
        if call is None:
            continue
        tried.add(kind)
        complete = _judged(row, it, done, "a call failed")
        # Whoever makes a folder that is there already may ignore the error; and whoever looks
        # which files are read before they are; and a name that cannot be a link is given anew.
        look = call.name == "mkdir" or (call.name == "open" and call.path.endswith("/two.txt"))
        look |= call.name == "link" and code == errno.EACCES
        row.count("silent: a call failed and the status is 0", done.status == 0 and not look)
        row.count("another status than 1 or 2", done.status not in (0, 1, 2))
        # What has nothing to do with the second input must not keep it from being done.
        other = it.work / f"out/b.{it.job.kind}.gz"
        alone = Path(call.path).name.lstrip(".").startswith("a.") and call.name != "mkdir"
        if it.job.mode == "O" and alone and not sticky:
            row.count("a fault of one file ended the batch", not other.exists())
        if not complete and (size is not Size.MUTANT or call.name in ("write", "rename")):
            again(row, it)


def _short_writes(row: Row, it: Known) -> None:
    """The system may always write less than it was given."""
    write = os.write

    def install() -> None:
        os.write = lambda descriptor, data: write(descriptor, bytes(data)[: 1 + len(data) // 2])

    done = it.run(install)
    row.tried += 1
    row.count("short writes lose data", not judge(row, it, done) or done.status != 0)


def _memory(row: Row, it: Known, size: Size) -> None:
    """Memory is short where words are drawn, for the first, the second ... batch."""
    real = Sanitizer.sanitize
    left = 0

    def hungry(*arguments: Any, **more: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            raise MemoryError
        return real(*arguments, **more)

    for number in range(1, size.of(2, 4, 12)):
        left = number
        done = it.run(lambda: setattr(Sanitizer, "sanitize", hungry))
        if _judged(row, it, done, "no memory"):
            break
