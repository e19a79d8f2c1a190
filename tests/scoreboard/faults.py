"""Calls of the operating system fail."""

# ruff: noqa: BLE001, B023

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from scoreboard.base import Row, leftovers


def _inputs(folder: Path, kind: str) -> list[str]:
    body = {
        "text": b"here there\nhere\n\n" * 20,
        "jsonl": b'{"t":"here there","n":1.10}\n' * 20,
        "csv": b't,n\n"here\nthere",1\n' + b"here,2\n" * 20,
    }[kind]
    name = {"text": "txt"}.get(kind, kind)
    (folder / f"a.{name}").write_bytes(body)
    import gzip

    (folder / f"b.{name}.gz").write_bytes(gzip.compress(body, mtime=0))
    return [f"a.{name}", f"b.{name}.gz"]


class _Faults:
    """Makes the n-th call of one function of :mod:`os` fail."""

    def __init__(self, name: str, number: int, code: int) -> None:
        self.name, self.left, self.code, self.hit = name, number, code, False
        self.real = getattr(os, name)

    def __enter__(self) -> _Faults:
        setattr(os, self.name, self)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(os, self.name, self.real)

    def __call__(self, *arguments: object, **more: object) -> object:
        self.left -= 1
        if self.left == 0:
            self.hit = True
            raise OSError(self.code, os.strerror(self.code))
        return self.real(*arguments, **more)


def faults(quick: bool, folder: Path) -> Row:
    """The n-th write, read, sync, rename ... fails, for every n."""
    from identity import identity

    from dpsan.audit import AuditWriter
    from dpsan.batch import Inplace, Plan
    from dpsan.errors import DpsanError
    from dpsan.files import discard_unfinished
    from dpsan.formats.base import ReadOptions
    from dpsan.run import Run

    row = Row(
        "n-th-call faults injected (write, read, open, fsync, fchmod, rename, link, alloc)",
        "≥ 2,000",
    )
    sanitizer = identity()
    real_sanitize = sanitizer.sanitize
    codes = (
        [errno.ENOSPC, errno.EIO]
        if quick
        else [
            errno.ENOSPC,
            errno.EIO,
            errno.EDQUOT,
            errno.EMFILE,
            errno.EACCES,
            errno.EROFS,
            errno.ENFILE,
            errno.ETIMEDOUT,
        ]
    )
    kinds = ["text", "jsonl", "csv"]
    here = os.getcwd()
    calls = ["write", "read", "open", "fsync", "fchmod", "rename", "link", "alloc"]
    for kind, mode, code, call in (
        (k, m, c, f) for k in kinds for m in ("O", "o", "i") for c in codes for f in calls
    ):
        number = 0
        while True:
            number += 1
            work = folder / f"f{row.tried}"
            work.mkdir()
            os.chdir(work)
            names = _inputs(work, kind)
            if mode == "o":
                names = names[:1]
            originals = {name: Path(name).read_bytes() for name in names}

            def run(*, resume: bool, force: bool = False) -> Run:
                output = {"O": Path("out"), "o": Path("one.gz"), "i": Inplace(".orig")}[mode]
                plan = Plan(
                    "auto",
                    ReadOptions(fields=() if kind == "text" else ("t",)),
                    force=force,
                    batch=7,
                )
                inputs = [Path(name) for name in names]
                return Run(sanitizer, plan, b"k" * 32, inputs, output, mode == "O", resume)

            fault = _Faults("getpid" if call == "alloc" else call, number, code)
            left = number
            if call == "alloc":

                def hungry(*arguments: object, **more: object) -> object:
                    nonlocal left
                    left -= 1
                    if left == 0:
                        fault.hit = True
                        raise MemoryError
                    return real_sanitize(*arguments, **more)

                sanitizer.sanitize = hungry  # type: ignore[method-assign]
            lines: list[str] = []
            traced = False
            failed = False
            try:
                with fault:
                    attempt = run(resume=False)
                    with AuditWriter(Path("audit"), sanitizer) as attempt.audit:
                        result = attempt.execute()
                    lines, failed = result.failed, bool(result.failed)
            except (DpsanError, MemoryError, BrokenPipeError) as error:
                lines, failed = [str(error)], True
            except BaseException:
                traced = True
            finally:
                sanitizer.sanitize = real_sanitize  # type: ignore[method-assign]
            discard_unfinished()  # what the guard does last
            if not fault.hit:
                os.chdir(here)
                shutil.rmtree(work)
                break
            row.tried += 1
            row.count("unclear message", any("\n" in line for line in lines) or traced)
            row.count("temporary left", bool(leftovers(work)))
            partial = False
            for name in names:
                if mode == "O" and (work / "out" / name).exists():
                    partial |= _content(work / "out" / name) != _content_of(originals[name], name)
                if mode == "i":
                    partial |= _content(work / name) != _content_of(originals[name], name)
            if mode == "o" and (work / "one.gz").exists():
                partial |= _content(work / "one.gz") != originals[names[0]]
            row.count("partial output", partial)
            try:
                again = run(resume=mode == "O", force=mode != "O")
                with AuditWriter(Path("audit"), sanitizer, force=True) as again.audit:
                    row.count("next run failed", bool(again.execute().failed))
            except BaseException:
                row.count("next run failed", True)
            row.count(
                "silent",
                not failed
                and not traced
                and call not in ("read", "open", "link", "rename", "fchmod", "fsync"),
            )
            os.chdir(here)
            shutil.rmtree(work)
    return row


def _content(path: Path) -> bytes:
    return _content_of(path.read_bytes(), path.name)


def _content_of(data: bytes, name: str) -> bytes:
    import gzip

    return gzip.decompress(data) if name.endswith(".gz") else data
