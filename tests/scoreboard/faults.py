"""Calls of the operating system fail, in the real command line."""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path
from typing import Final

from scoreboard import fork
from scoreboard.base import Row, Size
from scoreboard.jobs import Job, Known, again, disturbed, judge, known
from scoreboard.patterns import mutants
from scoreboard.trap import Trap, fails, sprung, undurable

_CODES: Final = [
    errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.EACCES, errno.EROFS, errno.ENFILE,
    errno.ETIMEDOUT,
]  # fmt: skip


def faults(size: Size, folder: Path) -> Row:
    """The n-th call fails, for every n: status, message, files and audit must all say so."""
    row = Row(
        "n-th-call faults injected (open, read, write, sync, rename, link, memory ...), by command",
        "≥ 2,000",
    )
    fork.preload()
    jobs = [Job("txt", "O")]
    if size is not Size.MUTANT:
        jobs += [Job("csv", "o"), Job("jsonl", "i"), Job("txt", "-"), Job("jsonl", "O")]
    else:
        jobs += [Job("txt", "i"), Job("csv", "-")]
    if size is Size.FULL:
        jobs += [Job(kind, mode) for kind in ("txt", "csv") for mode in "Oi"]
    for number, job in enumerate(jobs):
        own = folder / f"job{number}"
        own.mkdir()
        it = known(job, own, row)
        for name in it.new:
            why = undurable(it.trace, str(it.traced / name))
            row.count(f"a power cut: {why}", bool(why) and ".orig" not in name)
        _audit_synced(row, it)
        codes = _CODES if size is Size.FULL else _CODES[number % 2 :][:1]  # each job has another
        for code in codes:
            _every_call(row, it, code, size)
        _short_writes(row, it)
        _memory(row, it, size)
    if size is not Size.MUTANT:
        own = folder / "cold"
        own.mkdir()
        it = known(Job("txt", "O"), own, row, cold=True)
        _cache_calls(row, it)
        _two_workers(row, folder / "two", size)
    return row


def _every_call(row: Row, it: Known, code: int, size: Size) -> None:
    sticky = code == errno.ENOSPC  # a full disk stays full
    tried = set()
    for number, known_call in enumerate(it.trace, start=1):
        kind = known_call.name, re.sub("[0-9a-f]{16}", "", known_call.path)
        if size is Size.MUTANT and (
            kind in tried or (it.job.mode != "O" and "b." in known_call.path)
        ):
            continue
        work, done = disturbed(
            it, lambda work, n=number: Trap(work, n, fails(code), sticky=sticky).install
        )
        call = sprung(work)
        if call is None:
            shutil.rmtree(work.parent)
            continue
        tried.add(kind)
        row.tried += 1
        complete = judge(row, it, work, done)
        row.count("unclear message or traceback", not done.clear)
        # Whoever makes a folder that is there already may ignore the error; and whoever looks
        # which files are read before they are; and a name that cannot be a link is given anew.
        look = call.name == "mkdir" or (call.name == "open" and call.path.endswith("/two.txt"))
        look |= call.name == "link" and code == errno.EACCES
        silent = done.status == 0 and not (look and complete)
        row.count("silent: a call failed and the status is 0", silent)
        row.count("another status than 1 or 2", done.status not in (0, 1, 2))
        # What has nothing to do with the second input must not keep it from being done.
        other = f"out/b.{it.job.kind}.gz"
        alone = Path(call.path).name.lstrip(".").startswith("a.") and call.name != "mkdir"
        if it.job.mode == "O" and alone and not sticky:
            row.count("a fault of one file ended the batch", not (work / other).exists())
        if not complete and (size is not Size.MUTANT or call.name in ("write", "rename")):
            again(row, it, work)
        shutil.rmtree(work.parent)


def _short_writes(row: Row, it: Known) -> None:
    """The system may always write less than it was given."""
    write = os.write

    def install() -> None:
        os.write = lambda descriptor, data: write(descriptor, bytes(data)[: 1 + len(data) // 2])

    work, done = disturbed(it, lambda _: install)
    row.tried += 1
    row.count("short writes lose data", not judge(row, it, work, done) or done.status != 0)
    shutil.rmtree(work.parent)


def _memory(row: Row, it: Known, size: Size) -> None:
    """Memory is short where words are drawn, for the first, the second ... batch."""
    from dpsan.sanitize.sanitizer import Sanitizer

    real = Sanitizer.sanitize

    for number in range(1, size.of(2, 4, 12)):
        left = number

        def hungry(*arguments: object, **more: object) -> object:
            nonlocal left
            left -= 1
            if left == 0:
                raise MemoryError
            return real(*arguments, **more)

        def install(hungry: object = hungry) -> None:
            Sanitizer.sanitize = hungry  # type: ignore[method-assign,assignment]

        work, done = disturbed(it, lambda _, install=install: install)
        row.tried += 1
        complete = judge(row, it, work, done)
        row.count("unclear message or traceback", not done.clear)
        row.count("silent: no memory and the status is 0", done.status == 0 and not complete)
        shutil.rmtree(work.parent)
        if complete:
            break


def _audit_synced(row: Row, it: Known) -> None:
    at = [n for n, call in enumerate(it.trace) if call.path.endswith("/audit")]
    last = [it.trace[n].name for n in at if it.trace[n].name in ("write", "fsync", "fdatasync")]
    row.count("a power cut: the audit is not synced", last[-1:] == ["write"])


def _cache_calls(row: Row, it: Known) -> None:
    """A cache that fails costs time, never the run."""
    for number in range(1, len(it.trace) + 1):
        cache = it.folder / "cache"
        shutil.rmtree(cache)
        cache.mkdir()
        work, done = disturbed(
            it, lambda _, n=number, cache=cache: Trap(cache, n, fails(errno.EIO)).install
        )
        row.tried += 1
        row.count("a failing cache failed the run", not judge(row, it, work, done) or done.status)
        shutil.rmtree(work.parent)


def _two_workers(row: Row, folder: Path, size: Size) -> None:
    """The same with two workers; faults are those of the main process."""
    folder.mkdir()
    it = known(Job("txt", "O", ("-j", "2")), folder, row)
    steps = range(1, len(it.trace) + 1, size.of(20, 8, 1))
    for number in steps:
        work, done = disturbed(it, lambda work, n=number: Trap(work, n, fails(errno.EIO)).install)
        row.tried += 1
        complete = judge(row, it, work, done)
        row.count("unclear message or traceback", not done.clear)
        row.count("silent: a call failed and the status is 0", not (done.status or complete))
        shutil.rmtree(work.parent)


MUTANTS: Final = mutants(
    "faults",
    r"""
outputs are not synced @ AtomicFile.sync
- os.fsync(self.descriptor)
+ pass
the directory is not synced @ sync_directory
- os.fsync(directory)
+ pass
the output is renamed before it is synced @ AtomicFile.sync
- os.fsync(self.descriptor)
+ self._temporary.rename(self.target)
+ os.fsync(self.descriptor)
+ os.link(self.target, self._temporary)
temporaries stay @ AtomicFile._forget
- self._temporary.unlink(missing_ok=True)
+ pass
an error of writing is swallowed @ write_all
- raise OutputError(f"{name}: cannot write: {os_reason(error)}") from None
+ return
+ raise OutputError(f"{name}: cannot write: {os_reason(error)}") from None
a short write is taken for a whole one @ write_all
- view = view[os.write(descriptor, view) :]
+ os.write(descriptor, view)
+ view = view[len(view) :]
an error of reading is taken for the end @ FileSource.read
- raise InputError(self.name, f"cannot read: {os_reason(error)}") from None
+ data = b""
status 0 though inputs failed @ say_result
- 1 if result.failed or not enough else 0
+ 0
one input that fails ends the batch @ Run._files
- isinstance(error, BudgetError)
+ error
an error of writing the audit is swallowed @ AuditWriter._write_all
- write_all(self._descriptor, rows, self._path)
+ try:
+     write_all(self._descriptor, rows, self._path)
+ except OutputError:
+     return
the audit always says complete @ Run.execute
- not result.failed
+ True
the audit is not synced @ AuditWriter.totals
- os.fsync(self._descriptor)
+ pass
the audit is open to others @ create_private
- os.fchmod(descriptor, 0o600)
+ os.fchmod(descriptor, 0o644)
no backup @ rewrite_file
- path.with_name(path.name + target.backup) if target.backup else None
+ None
finished outputs are made again @ Run._files
- self.resume and isinstance(target, Path) and is_finished(path, target)
+ False
two inputs, one of them twice @ Run._files
- rewrite_file(path, target, self, file)
+ rewrite_file(self.inputs[0], target, self, file)
""",
)
