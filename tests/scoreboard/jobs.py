"""Small runs of ``dpsan rewrite`` with a known outcome, and what may be there if one is disturbed.

Every run has a seed, so its outputs are known to the byte, and an audit.  Whatever happened to it,
each output must be absent or complete, each input whole, and nothing else may be there.
"""

# ruff: noqa: SIM905

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scoreboard import fork
from scoreboard.base import TWO, Row, environment, tree
from scoreboard.trap import Call, Trap, calls

BODIES: Final = {
    "txt": b"here there\nhere\n\n" * 20,
    "jsonl": b'{"t":"here there","n":1.10}\n' * 20,
    "csv": b't,n\n"here\nthere",1\n' + b"here,2\n" * 20,
}
COMMON: Final = "rewrite -q -e 0.05 -m laplace -E two.txt --seed s".split()


_REQUESTS: Final = "out/.dpsan-request"


@dataclass(frozen=True)
class Job:
    """A command in a folder of its own.

    Args:
        kind: suffix of the inputs.
        mode: ``O``, ``o``, ``i`` or ``-`` (standard output).
        more: further arguments.
    """

    kind: str
    mode: str
    more: tuple[str, ...] = ()

    def lay(self, folder: Path) -> None:
        """Write the inputs."""
        folder.mkdir(parents=True)
        (folder / "two.txt").write_text(TWO)
        for name in self.inputs:
            packed = name.endswith(".gz")
            body = BODIES[self.kind]
            (folder / name).write_bytes(gzip.compress(body, mtime=0) if packed else body)

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs."""
        both = [f"a.{self.kind}", f"b.{self.kind}.gz"]
        return both if self.mode in "Oi" else both[:1]

    @property
    def arguments(self) -> list[str]:
        """Behind ``dpsan``."""
        where = {"O": "-O out", "o": f"-o one.{self.kind}.gz", "i": "-i --backup .orig", "-": ""}
        chosen = [] if self.kind == "txt" else ["-k", "t"]
        return [
            *COMMON, *chosen, "-a", "audit", *where[self.mode].split(), *self.more, *self.inputs,
        ]  # fmt: skip


@dataclass
class Known:
    """A job, and what it does when nothing disturbs it."""

    job: Job
    folder: Path
    env: dict[str, str]
    before: dict[str, bytes] = field(default_factory=dict)
    after: dict[str, bytes] = field(default_factory=dict)
    out: bytes = b""
    trace: list[Call] = field(default_factory=list)
    """The calls below the folder, or below the cache."""
    traced: Path = Path()
    """Where that was."""
    made: int = 0

    def fresh(self) -> Path:
        """A folder with the inputs, anew."""
        self.made += 1
        work = self.folder / f"{self.job.kind}-{self.job.mode}-{self.made}" / "work"
        self.job.lay(work)
        return work

    @property
    def new(self) -> list[str]:
        """The outputs, without the audit."""
        return [n for n, d in self.after.items() if self.before.get(n) != d and n != "audit"]


def known(job: Job, folder: Path, row: Row, *, cold: bool = False) -> Known:
    """Run a job undisturbed, twice: the first fills the cache.

    Args:
        cold: trace the calls below an empty cache instead of those below the folder.
    """
    env = environment(folder)
    found = Known(job, folder, env)
    for turn in (0, 1):
        work = found.fresh()
        found.before = tree(work)
        if cold:
            shutil.rmtree(folder / "cache")
        log = folder / f"log-{found.made}"
        log.touch()
        below = folder / "cache" if cold else work
        done = fork.run(job.arguments, work, env, Trap(below, log=log).install)
        found.after, found.trace, found.out = tree(work), calls(log), done.out
        found.traced = work
        row.count("undisturbed run failed", done.status != 0 or not [*found.new, done.out])
        if turn:
            row.count("undisturbed run changed nothing", found.out + b"".join(
                found.after[name] for name in found.new) == b"".join(found.before.values())
            )  # fmt: skip
        log.unlink()
    return found


def disturbed(
    it: Known, trap: Callable[[Path], Callable[[], None]], more: tuple[str, ...] = ()
) -> tuple[Path, fork.Done]:
    """Run the job with a trap in it."""
    work = it.fresh()
    return work, fork.run([*it.job.arguments, *more], work, it.env, trap(work))


def judge(row: Row, it: Known, work: Path, done: fork.Done) -> bool:
    """Count what must not be there; returns whether everything is there."""
    now = tree(work)
    complete = _without_audit(now) == _without_audit(it.after) and done.out == it.out
    for name, data in now.items():
        if name not in it.before and name not in it.after:
            row.count("temporary left", True)
        elif name == "audit":
            row.count(
                "audit says what is not so", _audit_wrong(it, data, done.status, complete=complete)
            )
            row.count("audit open to others", (work / name).stat().st_mode & 0o077 != 0)
        elif name == _REQUESTS:  # a line for each run; without the cache, none
            whole = re.fullmatch(rb'(?:\{"epsilon":[^\n]*"\}\n)+', data)
            row.count("the file of requests is damaged", whole is None)
            row.count("requests open to others", (work / name).stat().st_mode & 0o077 != 0)
        else:
            row.count(
                "partial or wrong file under the final name",
                data not in (it.before.get(name), it.after.get(name)),
            )
    row.count("input, vocabulary or backup lost", any(name not in now for name in it.before))
    originals = [d for n, d in it.before.items() if n in it.job.inputs]
    there = list(now.values())
    row.count("original lost", any(each not in there for each in originals))
    row.count("output cut or wrong", not it.out.startswith(done.out))
    row.count("hung", done.hung)
    return complete


def _without_audit(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name not in ("audit", _REQUESTS)}


def _audit_wrong(it: Known, data: bytes, status: int, *, complete: bool) -> bool:
    """Whole and true after a success; else a beginning that does not claim to be all."""
    whole = [_without_time(line) for line in it.after["audit"].splitlines()]
    if status == 0:
        return [_without_time(line) for line in data.splitlines()] != whole or data[-1:] != b"\n"
    lines = data.split(b"\n")[:-1]  # what a cut left of the last row is no row
    return not complete and any(b'"complete":true' in line for line in lines)


def _without_time(line: bytes) -> object:
    row = json.loads(line)
    row.pop("created", None)
    return row


def again(row: Row, it: Known, work: Path) -> None:
    """What a user does next: the same command, which must succeed and finish the work."""
    before = {n: os.stat(work / n).st_ino for n in it.after if n in it.new and (work / n).exists()}
    more = ["--force"] + (["--resume"] if it.job.mode == "O" else [])
    done = fork.run([*it.job.arguments, *more], work, it.env)
    row.count("next run failed", done.status != 0 or not done.clear)
    if it.job.mode == "O":
        now = tree(work)
        outputs = [n for n in it.new if n != _REQUESTS]
        row.count("next run incomplete", any(now.get(n) != it.after[n] for n in outputs))
        twice = [n for n, inode in before.items() if os.stat(work / n).st_ino != inode]
        row.count("finished output made again", bool(twice))
