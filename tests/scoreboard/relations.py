"""One file in two roles: what is read is never removed, replaced or written to."""

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

from scoreboard import fork
from scoreboard.base import TWO, Row, Size, environment, row

_RUN = "rewrite -q -e 1 -m laplace -E two.txt --keep keep.txt"
_EVALUATE = "evaluate -q -e 1 -m laplace -E two.txt"
_RELATIONS = {
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
    "audit = input in place": ("a.txt", f"{_RUN} -i a.txt -a {{}}"),
    "in place twice": ("a.txt", f"{_RUN} -i a.txt {{}}"),
    "vocabulary in place": ("two.txt", f"{_RUN} -i {{}}"),
    "keep-list in place": ("keep.txt", f"{_RUN} -i {{}}"),
    "page = original": ("a.txt", f"{_EVALUATE} a.txt b.txt --html {{}}"),
    "page = sanitized": ("b.txt", f"{_EVALUATE} a.txt b.txt --html {{}}"),
    "page = vocabulary": ("two.txt", f"{_EVALUATE} a.txt b.txt --html {{}}"),
    "page = audit": ("audit.jsonl", "report audit.jsonl --html {}"),
    "explained = vocabulary": ("two.txt", "explain here -e 1 -m laplace -E two.txt --html {}"),
}
_NAMES: dict[str, Callable[[Path, str], str]] = {
    "itself": lambda work, name: name,
    "another path": lambda work, name: f"../{work.name}/{name}",
    "absolute": lambda work, name: str(work / name),
    "symbolic link": lambda work, name: _linked(work, name, os.symlink),
    "hard link": lambda work, name: _linked(work, name, os.link),
}


def _linked(work, name, link):
    place = work / ("link.svg" if name == "two.txt" else f"link{Path(name).suffix}")
    link(work / name, place)
    return place.name


@row(
    "relations",
    "same-file relations × names × --force, devices, FIFOs and folders / lost",
    "≥ 100 / 0",
)
def same_file(row: Row, size: Size, folder: Path) -> None:
    """Refused before anything is opened, with and without --force, by every name of the file."""
    fork.preload()
    env = environment(folder)
    work = folder / "work"
    _lay(work, b"")
    command = "rewrite -q -e 1 -m laplace -E two.txt a.txt -a audit.jsonl --force"
    fork.run(command, work, env)
    audit = (work / "audit.jsonl").read_bytes()

    def tried(what, command, name, make, **more):
        _lay(work, audit)
        _tried(row, work, env, command.format(make(work, name)), what, **more)

    for what, (name, command) in _RELATIONS.items():
        for alias, make in _NAMES.items():
            if size is Size.MUTANT and alias not in ("itself", "symbolic link"):
                continue
            tried(what, command, name, make, force=False)
            tried(what, f"{command} --force", name, make, force=True)
    plain = _NAMES["itself"]
    for where in ("-O out a.txt", "-o new.txt -a old.txt a.txt", "-o old.txt a.txt"):
        what = f"exists, no --force, {where[:2]}"
        tried(what, f"{_RUN} {where}", "", plain, force=False, special=True)
    for where in ("-r {} -O tree", "-r . -O tree", "-r {} -O tree/sub/new", "-r {} -O link.d"):
        for force in (False, True):
            tried(f"a tree into itself, {where}", f"{_RUN} {where}", "tree", plain, force=force)
    for alias in ("symbolic link", "hard link"):
        command = f"{_RUN} -i --force {{}}"
        tried(f"in place by a {alias}", command, "b.txt", _NAMES[alias], force=True, special=True)
    for kind, place in (("device", "null"), ("FIFO", "fifo"), ("folder", "out")):
        for where in ("-a {} a.txt -o new.txt", "-o {} a.txt", "-i {}", "-O {} a.txt"):
            # That is how one writes to a device, and below a folder.
            if where[:2] != ("-O" if kind == "folder" else "-o"):
                command = f"{_RUN} {where} --force"
                tried(f"{kind} {where[:2]}", command, place, plain, force=True, special=True)


def _lay(work: Path, audit: bytes) -> None:
    shutil.rmtree(work, ignore_errors=True)
    (work / "out").mkdir(parents=True)
    (work / "tree" / "sub").mkdir(parents=True)
    (work / "tree" / "sub" / "a.txt").write_text("here there\n")
    (work / "link.d").symlink_to("tree/sub")
    (work / "two.txt").write_text(TWO)
    (work / "keep.txt").write_text("kept\n")
    (work / "audit.jsonl").write_bytes(audit)
    for name in ("a.txt", "b.txt", "old.txt", "out/a.txt"):
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


def _tried(row, work, env, arguments, what, *, force, special=False):
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
