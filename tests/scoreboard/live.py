"""Inputs that change while they are read."""

# ruff: noqa: SIM905

import io
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from docx_files import document, paragraph

from scoreboard import fork
from scoreboard.base import TWO, Row, Size, environment, row, tree
from scoreboard.trap import Trap, calls

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
