"""Files that change during a run: inputs that are read, and what others write beside them."""

# ruff: noqa: SIM905

import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from docx_files import document, paragraph

from dpsan.run.side_outputs import NAME
from scoreboard import fork
from scoreboard.base import TWO, Row, Size, environment, row, tree
from scoreboard.jobs import Job, Known
from scoreboard.trap import Trap, calls, concerns

_COMMON = "rewrite -q -e 0.05 -m laplace -E two.txt --seed s".split()
_MODES = {"-": [], "-o": ["-o", "out"], "-O": ["-O", "tree"], "-i": ["-i"]}
_READS = ("open", "read", "readv", "pread")
_ACTS = ("grows", "shrinks", "is written over", "is replaced", "is removed")


class _Input:
    """An input of one container, before and after others write to it."""

    def __init__(self, suffix: str) -> None:
        self.name = f"a.{suffix}"
        self.options = ["-k", "t"] * (suffix in ("jsonl", "json", "csv", "parquet"))
        old = [f"{'here there ' * (at % 5)}here" for at in range(40)]
        new = ["there " + old[-1][6:], *old[-2::-1]]
        self.old, self.new = map(_MAKERS[suffix], (old, new))

    def after(self, act: str) -> bytes | None:
        """The content that the input has after an act; None for no input."""
        if act == "is removed":
            return None
        cut = len(self.old) // 2
        return {"grows": self.old + self.new, "shrinks": self.old[:cut]}.get(act, self.new)

    def act(self, act: str, path: Path) -> None:
        """Do to the file what an editor, a copy or a download does."""
        data = self.after(act)
        if data is None:
            path.unlink()
        elif act == "is replaced":
            path.with_name("replacement").write_bytes(data)
            path.with_name("replacement").rename(path)
        else:
            with path.open("r+b") as file:
                file.truncate(min(len(self.old), len(data)))
                file.write(data)
        (path.parent.parent / "done").touch()


def _parquet(texts: list[str]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table({"t": texts}), out, row_group_size=10)
    return out.getvalue()


def _lines(begin: str, texts: Iterable[str], between: str = "\n", end: str = "\n") -> bytes:
    return f"{begin}{between.join(texts)}{end}".encode()


def _rows(texts: list[str]) -> Iterator[str]:
    return (json.dumps({"t": text}) for text in texts)


_MAKERS: dict[str, Callable[[list[str]], bytes]] = {
    "txt": lambda texts: _lines("", texts),
    "jsonl": lambda texts: _lines("", _rows(texts)),
    "json": lambda texts: _lines("[", _rows(texts), ",\n", "]\n"),
    "csv": lambda texts: _lines("t\n", texts),
    "html": lambda texts: _lines("<p>", texts, end="\n</p>"),
    "eml": lambda texts: _lines("Subject: here\n\n", texts),
    "docx": lambda texts: document("".join(map(paragraph, texts))),
    "parquet": _parquet,
}


@row(
    "live",
    "runs whose input grows, shrinks, is written over, replaced or removed while it is read, to"
    " stdout, -o, -O and -i / incomplete outputs",
    "≥ 200 / 0",
)
def live_files(row: Row, size: Size, folder: Path) -> None:
    """An output is the rewriting of one whole state of its input, or the run fails and says so."""
    fork.preload()
    import dpsan.files.source

    dpsan.files.source._CHUNK = 300  # an input of few bytes is read in several pieces
    for suffix in [*_MAKERS][: size.of(1, 3, None)]:
        for mode in _MODES:
            _one_mode(row, size, _Input(suffix), mode, folder / f"{suffix}{mode}")


def _one_mode(row: Row, size: Size, item: _Input, mode: str, folder: Path) -> None:
    env = environment(folder)
    work = folder / "run" / "work"
    path = work / "in" / item.name

    def run(data, *given, **options):
        """The outcome, and what stands under the final name."""
        shutil.rmtree(work.parent, ignore_errors=True)
        path.parent.mkdir(parents=True)
        (work / "two.txt").write_text(TWO)
        path.write_bytes(data)
        arguments = [*_COMMON, *item.options, *_MODES[mode], f"in/{item.name}"]
        trap = Trap(path.parent, *given, only=_READS, **options)
        done = fork.run(arguments, work, env, trap.install)
        place = {"-o": "out", "-O": f"tree/in/{item.name}", "-i": f"in/{item.name}"}.get(mode)
        return done, done.out if place is None else tree(work).get(place)

    def undisturbed(data: bytes, **options: Path) -> bytes | None:
        done, found = run(data, **options)
        return found if done.status == 0 else None

    log = folder / "log"
    first = undisturbed(item.old, log=log)
    row.count("an undisturbed run failed", not first)
    reads = [number for number, call in enumerate(calls(log), 1) if call.path == str(path)]
    row.count("the input was read in less than two pieces", len(reads) < 4)
    for act in _ACTS:
        changed = item.after(act)
        second = None if changed is None else undisturbed(changed)
        row.count("two contents, one output", first == second)
        for number in range(1, reads[-1] + 1, size.of(3, 11, 1)):
            late = number % 2 == 0
            done, found = run(item.old, number, partial(item.act, act, path), after=late)
            if not (work / "done").exists():
                continue
            row.tried += 1
            row.count("hung", done.hung)
            row.count("traceback, internal error or unclear", done.traced or not done.clear)
            if done.status == 0:
                whole = found is not None and found in (first, second)
                row.count(f"incomplete, and status 0: {mode} {act}", not whole)
            elif mode == "-i":
                row.count("an input in place was lost", found != changed)
            elif mode != "-":
                row.count(f"incomplete, under the final name: {mode} {act}", found is not None)
            row.count("temporary left", any(name.endswith(".tmp") for name in tree(work)))


# Files that appear, change, shrink or are replaced by others while a run goes on.


_MINE = b"what somebody else wrote\n"


def _replace(name, data=_MINE):
    """Another file gets the name."""
    Path("other").write_bytes(data)
    Path("other").rename(name)


def _write(name, mode="ab"):
    with open(name, mode) as out:
        out.write(_MINE)


def _appear(name):
    _write(name, "xb")


def _vanish(name):
    shutil.rmtree(name, ignore_errors=True)
    Path(name).unlink(missing_ok=True)


def _acts(act, name, hidden=False):
    """Done in a folder; what cannot be done, too early or too late, may be ``hidden``."""

    def once():
        try:
            act(name)
            Path("done").touch()
        except OSError:
            if not hidden:
                raise

    return once


_EVENTS = [
    # (what happens, the job, the act, the file it is done to)
    ("an output appears", "txt O", _appear, "out/a.txt"),
    ("a common output appears", "csv o", _appear, "one.csv.gz"),
    ("an input in place is replaced", "txt i", _replace, "a.txt"),
    ("an input in place grows", "txt i", _write, "a.txt"),
    ("an input grows", "txt O", _write, "a.txt"),
    ("an input shrinks", "jsonl O", partial(os.truncate, length=7), "a.jsonl"),
    ("a compressed input shrinks", "txt O", partial(os.truncate, length=7), "b.txt.gz"),
    ("an input vanishes", "txt O", _vanish, "a.txt"),
    ("the output folder vanishes", "txt O", _vanish, "out"),
    ("the vocabulary vanishes", "txt O", _vanish, "two.txt"),
]


@row(
    "moving",
    "files that appear, change, shrink, vanish or are replaced during a run / lost",
    "≥ 50 / 0",
)
def moving_files(row: Row, size: Size, folder: Path) -> None:
    """What others write meanwhile stays; what is published is whole; the rest is told."""
    fork.preload()
    for what, job, act, name in _EVENTS:
        it = Known(Job(*job.split()), folder / what, row)
        # What is there before an input in place is opened is that input, which is replaced.
        begins = name if job == "txt i" else "audit"
        first = next(at for at, call in enumerate(it.trace, 1) if concerns(call, begins))
        first += job == "txt i"
        for number in range(first, len(it.trace) + 1, size.of(5, 7, 1)):
            here = it.trace[number - 1]
            if here.name == "rename" and here.new == str(it.work / name):
                continue  # between the last look at a file and its replacement nobody can look
            done = it.trapped(number, _acts(act, name, hidden=act is _appear))
            if (it.work / "done").exists():  # else it was too late, or too early
                _judge(row, it, done, what, name)
    row.note = "not in the one call that replaces an input in place"


def _judge(row: Row, it: Known, done: fork.Done, what: str, name: str) -> None:
    now = tree(it.work)
    row.tried += 1
    if what.endswith(("appears", "replaced", "grows")):
        row.count(f"lost: {what}", not any(data.endswith(_MINE) for data in now.values()))
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
        if each.startswith("out/") and each != name and Path(each).name != NAME:
            # Of an input that changed meanwhile, what was read is written, or nothing.
            partial = data != it.after.get(each) and Path(each).name != name
            row.count(f"partial output: {what}", partial)
        row.count("temporary left", each.endswith(".tmp"))
