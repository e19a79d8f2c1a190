"""Runs of ``dpsan rewrite`` with a known outcome, and what may be there if one is disturbed."""

import gzip
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoreboard import fork
from scoreboard.base import TWO, Row, environment, tree
from scoreboard.trap import Trap, calls

_BODIES = {"txt": b"here there\nhere\n\n" * 20, "jsonl": b'{"t":"here there","n":1.10}\n' * 20}
_BODIES |= {"csv": b't,n\n"here\nthere",1\n' + b"here,2\n" * 20}
COMMON = "rewrite -q -e 0.05 -m laplace -E two.txt --seed s"
_REQUESTS = "out/.dpsan-request"
_CREATED = re.compile(rb'"created":"[^"]*"')


@dataclass(frozen=True)
class Job:
    """A command: the suffix of its inputs, and ``O``, ``o``, ``i`` or ``-`` (standard output)."""

    kind: str
    mode: str
    more: str = ""

    @property
    def inputs(self) -> list[str]:
        both = [f"a.{self.kind}", f"b.{self.kind}.gz"]
        return both if self.mode in "Oi" else both[:1]

    @property
    def arguments(self) -> list[str]:
        """Behind ``dpsan``."""
        where = {"O": "-O out", "o": f"-o one.{self.kind}.gz", "i": "-i", "-": ""}
        chosen = "" if self.kind == "txt" else "-k t"
        options = f"{COMMON} {chosen} -a audit {where[self.mode]} {self.more}"
        return [*options.split(), *self.inputs]


class Known:
    """A job, and what it does when nothing disturbs it: it is run twice, to fill the cache."""

    def __init__(self, job: Job, folder: Path, row: Row) -> None:
        self.job, self.folder, self.env = job, folder, environment(folder)
        self.work = folder / "run" / "work"
        self.before: dict[str, bytes] = {}
        log = folder / "log"
        for _ in range(2):
            log.unlink(missing_ok=True)
            done = self.run(Trap(self.work, log=log).install)
            self.after, self.trace, self.out = tree(self.work), calls(log), done.out
            row.count("undisturbed run failed", done.status != 0 or not [*self.new, done.out])
        out = self.out + b"".join(self.after[name] for name in self.new)
        same = out == b"".join(self.before.values())
        row.count("undisturbed run changed nothing", same)

    @property
    def new(self) -> list[str]:
        """The outputs, without the audit."""
        return [n for n, d in self.after.items() if self.before.get(n) != d and n != "audit"]

    def run(self, before: Callable[[], None] | None = None) -> fork.Done:
        """The job in its folder, made anew; ``before`` is called in the new process first."""
        shutil.rmtree(self.work.parent, ignore_errors=True)
        self.work.mkdir(parents=True)
        (self.work / "two.txt").write_text(TWO)
        body = _BODIES[self.job.kind]
        for name in self.job.inputs:
            data = gzip.compress(body, mtime=0) if name.endswith(".gz") else body
            (self.work / name).write_bytes(data)
        self.before = tree(self.work)
        return fork.run(self.job.arguments, self.work, self.env, before)

    def trapped(self, number: int, act: Callable[[], None], **how: Any) -> fork.Done:
        """The job with something that happens at its n-th call."""
        return self.run(Trap(self.work, number, act, **how).install)


_LINES = rb'\{"key":[^\n]*\}\}\n(?:\{"key":[^\n]*\}\}\n|\{"output":\d+,"input":\d+\}\n)*'


def judge(row: Row, it: Known, done: fork.Done) -> bool:
    """Count what must not be there; returns whether everything is there."""
    now = tree(it.work)
    others = {name for name, _ in now.items() ^ it.after.items()}
    complete = others <= {"audit", _REQUESTS} and done.out == it.out
    for name, data in now.items():
        private = (it.work / name).stat().st_mode & 0o077 == 0
        if name not in it.before and name not in it.after:
            row.count("temporary left", True)
        elif name == "audit":
            wrong = _audit_wrong(it, data, done.status, complete=complete)
            row.count("audit says what is not so", wrong)
            row.count("audit open to others", not private)
        elif name == _REQUESTS:  # a line for each run and output; without the cache, none
            whole = re.fullmatch(_LINES, data)
            row.count("the file of requests is damaged", whole is None)
            row.count("requests open to others", not private)
        else:
            wrong = data not in (it.before.get(name), it.after.get(name))
            row.count("partial or wrong file under the final name", wrong)
    row.count("input or vocabulary lost", any(name not in now for name in it.before))
    there = list(now.values())
    lost = it.job.mode != "i" and any(it.before[each] not in there for each in it.job.inputs)
    row.count("original lost", lost)
    row.count("output cut or wrong", not it.out.startswith(done.out))
    row.count("hung", done.hung)
    return complete


def _audit_wrong(it: Known, data: bytes, status: int, *, complete: bool) -> bool:
    """Whole and true after a success; else a beginning that does not claim to be all."""
    if status == 0:
        return _CREATED.sub(b"", data) != _CREATED.sub(b"", it.after["audit"])
    return not complete and re.search(rb'"complete":true.*\n', data) is not None  # of a whole row


def again(row: Row, it: Known) -> None:
    """What a user does next: the same command, which must succeed and finish the work."""
    outputs = [name for name in it.new if name != _REQUESTS]
    before = {n: os.stat(it.work / n).st_ino for n in it.new if (it.work / n).exists()}
    more = ["--force"] + ["--resume"] * (it.job.mode == "O")
    done = fork.run([*it.job.arguments, *more], it.work, it.env)
    row.count("next run failed", done.status != 0 or not done.clear)
    if it.job.mode == "O":
        now = tree(it.work)
        row.count("next run incomplete", any(now.get(n) != it.after[n] for n in outputs))
        twice = any(os.stat(it.work / n).st_ino != inode for n, inode in before.items())
        row.count("finished output made again", twice)
