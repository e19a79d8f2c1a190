"""Files that appear, change, shrink or are replaced by others while a run goes on."""

import os
import shutil
from functools import partial
from pathlib import Path

from dpsan.run.same_request import NAME
from scoreboard import fork
from scoreboard.base import Row, Size, row, tree
from scoreboard.jobs import Job, Known
from scoreboard.trap import concerns

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
