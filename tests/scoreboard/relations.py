"""One file in two roles: what is read is never removed, replaced or written to."""

# ruff: noqa: SIM905

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoreboard import fork
from scoreboard.base import TWO, Row, Size, environment
from scoreboard.patterns import mutants

_RUN: Final = "rewrite -q -e 1 -m laplace -E two.txt --keep keep.txt"
_EVALUATE: Final = "evaluate -q --no-scores -e 1 -m laplace -E two.txt"
_RELATIONS: Final = {
    # What it is: (the file that is read, the command; {} is another name of that file).
    "output = input": ("a.txt", f"{_RUN} a.txt -o {{}}"),
    "output = second input": ("b.txt", f"{_RUN} a.txt b.txt -o {{}}"),
    "output = vocabulary": ("two.txt", f"{_RUN} a.txt -o {{}}"),
    "output = keep-list": ("keep.txt", f"{_RUN} a.txt -o {{}}"),
    "audit = input": ("a.txt", f"{_RUN} a.txt -o new.txt -a {{}}"),
    "audit = input of stdout": ("a.txt", f"{_RUN} a.txt -a {{}}"),
    "audit = vocabulary": ("two.txt", f"{_RUN} a.txt -o new.txt -a {{}}"),
    "audit = keep-list": ("keep.txt", f"{_RUN} a.txt -o new.txt -a {{}}"),
    "audit = output": ("old.txt", f"{_RUN} a.txt -o old.txt -a {{}}"),
    "audit = output below -O": ("out/a.txt", f"{_RUN} a.txt -O out -a {{}}"),
    "audit = backup": ("a.txt.orig", f"{_RUN} -i --backup .orig a.txt -a {{}}"),
    "audit = input in place": ("a.txt", f"{_RUN} -i a.txt -a {{}}"),
    "in place twice": ("a.txt", f"{_RUN} -i a.txt {{}}"),
    "backup = another input": ("a.txt.orig", f"{_RUN} -i --backup .orig a.txt {{}}"),
    "vocabulary in place": ("two.txt", f"{_RUN} -i {{}}"),
    "keep-list in place": ("keep.txt", f"{_RUN} -i {{}}"),
    "page = original": ("a.txt", f"{_EVALUATE} a.txt b.txt --html {{}}"),
    "page = sanitized": ("b.txt", f"{_EVALUATE} a.txt b.txt --html {{}}"),
    "page = vocabulary": ("two.txt", f"{_EVALUATE} a.txt b.txt --html {{}}"),
    "page = audit": ("audit.jsonl", "report audit.jsonl --html {}"),
    "picture = vocabulary": (
        "two.txt", "explain here -e 1 -m laplace -E two.txt --plot {}",
    ),
}  # fmt: skip
_NAMES: Final[dict[str, Callable[[Path, str], str]]] = {
    "itself": lambda work, name: name,
    "another path": lambda work, name: (
        f"{Path(name).parent}/../{work.name}/{name}" if "/" not in name else f"./{name}"
    ),
    "absolute": lambda work, name: str(work / name),
    "symbolic link": lambda work, name: _linked(work, name, os.symlink),
    "hard link": lambda work, name: _linked(work, name, os.link),
}


def _linked(work: Path, name: str, link: Callable[[str, Path], None]) -> str:
    suffix = ".svg" if name == "two.txt" else Path(name).suffix
    place = work / f"link{suffix}"
    link(str(work / name), place)
    return place.name


def same_file(size: Size, folder: Path) -> Row:
    """Refused before anything is opened, with and without --force, by every name of the file."""
    row = Row(
        "same-file relations × names × --force, devices, FIFOs and folders / lost", "≥ 100 / 0"
    )
    fork.preload()
    env = environment(folder)
    audit = _audit(folder, env)
    number = 0
    for what, (name, command) in _RELATIONS.items():
        for alias, make in _NAMES.items():
            if size is Size.MUTANT and alias not in ("itself", "symbolic link"):
                continue
            for force in (False, True):
                number += 1
                work = folder / f"r{number}"
                _lay(work, audit)
                arguments = command.format(make(work, name)).split() + ["--force"] * force
                _tried(row, work, env, arguments, what, force=force)
                shutil.rmtree(work)
    for what in ("-O out a.txt", "-o new.txt -a old.txt a.txt", "-o old.txt a.txt"):
        work = folder / f"there-{what[1]}{len(what)}"
        _lay(work, audit)
        arguments = f"{_RUN} {what}".split()
        _tried(
            row, work, env, arguments, f"exists, no --force, {what[:2]}", force=False, special=True
        )
        shutil.rmtree(work)
    for alias in ("symbolic link", "hard link"):
        work = folder / alias.replace(" ", "-")
        _lay(work, audit)
        arguments = f"{_RUN} -i --force {_NAMES[alias](work, 'b.txt')}".split()
        _tried(row, work, env, arguments, f"in place by a {alias}", force=True, special=True)
    for what, place in (("device", "null"), ("FIFO", "fifo"), ("folder", "out")):
        for where in ("-a {} a.txt -o new.txt", "-o {} a.txt", "-i {}", "-O {} a.txt"):
            if where.startswith("-O") and what == "folder":
                continue
            if where.startswith("-o") and what != "folder":
                continue  # that is how one writes to a device
            number += 1
            work = folder / f"r{number}"
            _lay(work, audit)
            arguments = f"{_RUN} {where.format(place)} --force".split()
            _tried(row, work, env, arguments, f"{what} {where[:2]}", force=True, special=True)
            shutil.rmtree(work)
    return row


def _audit(folder: Path, env: dict[str, str]) -> bytes:
    work = folder / "audit"
    work.mkdir()
    (work / "two.txt").write_text(TWO)
    (work / "a.txt").write_text("here there\n")
    command = "rewrite -q -e 1 -m laplace -E two.txt a.txt -a audit.jsonl".split()
    fork.run(command, work, env)
    return (work / "audit.jsonl").read_bytes()


def _lay(work: Path, audit: bytes) -> None:
    (work / "out").mkdir(parents=True)
    (work / "two.txt").write_text(TWO)
    (work / "keep.txt").write_text("kept\n")
    (work / "audit.jsonl").write_bytes(audit)
    for name in ("a.txt", "b.txt", "a.txt.orig", "old.txt", "out/a.txt"):
        (work / name).write_text(f"here there, {name}\n")
    os.mkfifo(work / "fifo")
    try:
        os.mknod(work / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except OSError:  # not allowed here: a FIFO has to do
        os.mkfifo(work / "null")


def _state(work: Path) -> dict[str, object]:
    """Kind, number and content of everything."""
    out: dict[str, object] = {}
    for path in sorted(work.rglob("*")):
        about = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
        out[str(path.relative_to(work))] = (stat.S_IFMT(about.st_mode), about.st_ino, content)
    return out


def _tried(
    row: Row,
    work: Path,
    env: dict[str, str],
    arguments: list[str],
    what: str,
    *,
    force: bool,
    special: bool = False,
) -> None:
    before = _state(work)
    done = fork.Forked(arguments, work, env).wait(10)
    after = _state(work)
    row.tried += 1
    row.count(f"lost: {what}", any(after.get(name) != about for name, about in before.items()))
    if special:  # it may be written to, or refused, but must be there as it was
        return
    row.count(f"not refused: {what}", done.status == 0)
    # Without --force it may also be told that the file exists.
    row.count(f"another status than 2: {what}", done.status not in ((2,) if force else (1, 2)))
    row.count(f"something was made: {what}", set(after) - set(before) != set())
    row.count(f"unclear or hung: {what}", done.hung or not done.clear)


MUTANTS: Final = mutants(
    "relations",
    r"""
input and output are not compared @ FileUses._take
- identity is None
+ True
hard links are rewritten in place @ Original.__init__
- self._status.st_nlink > 1 + own
+ False
what exists is replaced @ rewrite_file
- AtomicFile(target, force=force, packer=...)
+ AtomicFile(target, force=True, packer=...)
an audit replaces what exists @ create_private
- if force: ...
+ if True: ...
only the paths are compared @ _identity
- (status.st_dev, status.st_ino)
+ (os.path.abspath(path),)
""",
)
