"""Files that appear, change, shrink or are replaced by others while a run goes on."""

# ruff: noqa: SIM905

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoreboard import fork
from scoreboard.base import Row, Size, embedding_file, environment, tree
from scoreboard.jobs import Job, Known, disturbed, known
from scoreboard.patterns import mutants
from scoreboard.trap import Trap

_MINE: Final = b"what somebody else wrote\n"


def _appear(name: str) -> Callable[[], None]:
    """A file is made, if there is none."""

    def act() -> None:
        try:
            with open(name, "xb") as out:
                out.write(_MINE)
            Path("done").touch()
        except OSError:
            pass

    return act


def _replace(name: str) -> Callable[[], None]:
    """Another file gets the name."""

    def act() -> None:
        Path("other").write_bytes(_MINE)
        Path("other").rename(name)
        Path("done").touch()

    return act


def _append(name: str) -> Callable[[], None]:
    def act() -> None:
        with open(name, "ab") as out:
            out.write(_MINE)
        Path("done").touch()

    return act


def _shrink(name: str) -> Callable[[], None]:
    def act() -> None:
        os.truncate(name, 7)
        Path("done").touch()

    return act


def _vanish(name: str) -> Callable[[], None]:
    def act() -> None:
        shutil.rmtree(name, ignore_errors=True)
        Path(name).unlink(missing_ok=True)
        Path("done").touch()

    return act


_EVENTS: Final = {
    # What happens: (the job, the act, the file it is done to, its content that must stay)
    "an output appears": (Job("txt", "O"), _appear, "out/a.txt", _MINE),
    "a common output appears": (Job("csv", "o"), _appear, "one.csv.gz", _MINE),
    "a backup appears": (Job("txt", "i"), _appear, "a.txt.orig", _MINE),
    "an input in place is replaced": (Job("txt", "i"), _replace, "a.txt", _MINE),
    "an input in place grows": (Job("txt", "i"), _append, "a.txt", _MINE),
    "an input grows": (Job("txt", "O"), _append, "a.txt", _MINE),
    "an input shrinks": (Job("jsonl", "O"), _shrink, "a.jsonl", None),
    "a compressed input shrinks": (Job("txt", "O"), _shrink, "b.txt.gz", None),
    "an input vanishes": (Job("txt", "O"), _vanish, "a.txt", None),
    "the output folder vanishes": (Job("txt", "O"), _vanish, "out", None),
    "the vocabulary vanishes": (Job("txt", "O"), _vanish, "two.txt", None),
}


def moving_files(size: Size, folder: Path) -> Row:
    """What others write meanwhile stays; what is published is whole; the rest is told."""
    row = Row(
        "files that appear, change, shrink, vanish or are replaced during a run / lost", "≥ 50 / 0"
    )
    fork.preload()
    for number, (what, (job, make, name, stays)) in enumerate(_EVENTS.items()):
        own = folder / f"e{number}"
        own.mkdir()
        it = known(job, own, row)
        first = next(at for at, call in enumerate(it.trace, 1) if call.path.endswith("audit"))
        steps = [*range(first, len(it.trace) + 1, size.of(5, 4, 1))]
        for call in steps:
            here = it.trace[call - 1]
            if make is _replace and here.name == "rename" and here.new == str(it.traced / name):
                continue  # between the last look at a file and its replacement nobody can look
            _one(row, it, what, make(name), name, stays, call)
    row.note = "not in the one call that replaces an input in place"
    _vocabulary(row, size, folder / "vocabulary")
    return row


def _one(
    row: Row,
    it: Known,
    what: str,
    act: Callable[[], None],
    name: str,
    stays: bytes | None,
    call: int,
) -> None:
    work, done = disturbed(it, lambda work: Trap(work, call, act).install)
    if not (work / "done").exists():  # it was too late, or too early
        shutil.rmtree(work.parent)
        return
    now = tree(work)
    row.tried += 1
    if stays is not None:
        # It may have got another name (a backup), but must be somewhere.
        row.count(f"lost: {what}", not any(data.endswith(stays) for data in now.values()))
    if what.endswith("appears"):
        published = now.get(name) == it.after.get(name)
        row.count(f"silent: {what}", done.status == 0 and not published)
        row.count(f"replaced: {what}", now.get(name) != _MINE)
    if what in ("a compressed input shrinks", "an input vanishes"):
        cut = done.status == 0 and now.get(f"out/{name}") != it.after.get(f"out/{name}")
        row.count(f"silent: {what}", cut)
    row.count("traceback, internal error or unclear", done.traced or not done.clear)
    row.count("hung", done.hung)
    for each, data in now.items():
        if each.startswith("out/") and each != name:
            # Of an input that changed meanwhile, what was read is written, or nothing.
            partial = data != it.after.get(each) and not _changed(each, name)
            row.count(f"partial output: {what}", partial)
        row.count("temporary left", each.endswith(".tmp"))
    shutil.rmtree(work.parent)


def _changed(output: str, name: str) -> bool:
    return Path(output).name == name


def _vocabulary(row: Row, size: Size, folder: Path) -> None:
    """The embedding file is replaced between two openings: no mixture, and none in the cache."""
    folder.mkdir()
    old = embedding_file(folder / "old.txt", 60, 4).read_bytes()
    new = b"".join(line.replace(b"w", b"v", 1) + b"\n" for line in old.splitlines()[::-1])
    command = "rewrite -q -e 1 -m laplace -E e.txt --seed s".split()
    text = b"w1 w2 w3 v4 v5\n" * 30

    def fresh(name: str, data: bytes) -> tuple[Path, dict[str, str]]:
        own = folder / name
        own.mkdir()
        (own / "e.txt").write_bytes(data)
        return own, environment(own)

    truth = []
    for name, data in (("first", old), ("second", new)):
        own, env = fresh(name, data)
        truth.append(fork.run(command, own, env, None, text).out)
    row.count("two vocabularies with the same words", truth[0] == truth[1])
    for number in size.of([3, 6], [2, 5, 8], [*range(1, 10)]):
        for make in (True, False):
            own, env = fresh(f"v{number}{make}", old)

            def act(own: Path = own, rename: bool = make) -> None:
                if rename:
                    (own / "new").write_bytes(new)
                    (own / "new").rename(own / "e.txt")
                else:
                    (own / "e.txt").write_bytes(new)
                (own / "done").touch()

            trap = Trap(own / "e.txt", number, act, only=("open", "preadv", "read"))
            done = fork.run(command, own, env, trap.install, text)
            if not (own / "done").exists():
                continue
            row.tried += 1
            mixed = done.status == 0 and done.out not in truth
            row.count("a mixture of two vocabularies", mixed or done.traced)
            for data, right in ((old, truth[0]), (new, truth[1])):
                (own / "e.txt").write_bytes(data)
                later = fork.run(command, own, env, None, text)
                row.count("a wrong vocabulary stays in the cache", later.out != right)


MUTANTS: Final = mutants(
    "moving",
    r"""
a backup that appears is replaced @ Original._back_up
- if self._force: ...
+ if True: ...
what a vocabulary is called and what it is @ _build
- embeddings.digest != digest
+ False
compressed data that end too early are taken for whole @ _Decompressed.read
- self._frame is not None
+ False
an input that vanished is no error @ open_input
- raise InputError(path, problem, hint if hints else "")
+ return os.open(os.devnull, os.O_RDONLY)
a file is written where the folder was @ rewrite_file
- target.parent
+ target.parent.parent
an output that appears is replaced @ publish
- os.link(temporary, target, follow_symlinks=False)
+ temporary.rename(target)
+ return
""",
)
