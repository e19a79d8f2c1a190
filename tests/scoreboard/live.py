"""Inputs that grow, shrink, are written over, replaced or removed while a run reads them."""

# ruff: noqa: SIM905

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoreboard import fork
from scoreboard.base import TWO, Row, Size, environment, row, tree
from scoreboard.patterns import mutants
from scoreboard.trap import Trap, calls

_COMMON = "rewrite -q -e 0.05 -m laplace -E two.txt --seed s".split()
_MODES = {"-": [], "-o": ["-o", "out"], "-O": ["-O", "tree"], "-i": ["-i"]}
_READS = ("open", "read", "readv", "pread")
_ACTS = ("grows", "shrinks", "is written over", "is replaced", "is removed")


@dataclass(frozen=True)
class _Input:
    """An input of one container, before and after others write to it."""

    name: str
    old: bytes
    new: bytes
    options: tuple[str, ...] = ()

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


def _inputs(size: Size, folder: Path) -> list[_Input]:
    lines = [f"{'here there ' * (at % 5)}here\n" for at in range(40)]
    old, new = "".join(lines), "there " + "".join(reversed(lines))[6:]
    rows = [[json.dumps({"t": line}) for line in text.splitlines()] for text in (old, new)]
    items = [_Input("a.txt", old.encode(), new.encode())]
    if size is Size.MUTANT:
        return items
    for name, begin, between, end in (
        ("a.jsonl", "", "\n", "\n"),
        ("a.json", "[", ",\n", "]\n"),
    ):
        both = [f"{begin}{between.join(each)}{end}".encode() for each in rows]
        items.append(_Input(name, both[0], both[1], ("-k", "t")))
    if size is Size.QUICK:
        return items
    items += [
        _Input("a.csv", f"t\n{old}".encode(), f"t\n{new}".encode(), ("-k", "t")),
        _Input("a.html", f"<p>{old}</p>".encode(), f"<p>{new}</p>".encode()),
        _Input(
            "a.eml",
            f"Subject: here\n\n{old}".encode(),
            f"Subject: here\n\n{new}".encode(),
        ),
    ]
    from docx_files import document, paragraph

    both = [document("".join(map(paragraph, text.splitlines()))) for text in (old, new)]
    items.append(_Input("a.docx", both[0], both[1]))
    items.append(_parquet(old.splitlines(), new.splitlines(), folder))
    return items


def _parquet(old: list[str], new: list[str], folder: Path) -> _Input:
    import pyarrow as pa
    import pyarrow.parquet as pq

    both = []
    for texts in (old, new):
        pq.write_table(pa.table({"t": texts}), folder / "table", row_group_size=10)
        both.append((folder / "table").read_bytes())
    return _Input("a.parquet", both[0], both[1], ("-k", "t"))


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
    for item in _inputs(size, folder):
        for mode in _MODES:
            _one_mode(row, size, item, mode, folder / f"{item.name}{mode}")


def _one_mode(row: Row, size: Size, item: _Input, mode: str, folder: Path) -> None:
    folder.mkdir()
    env = environment(folder)

    def run(before: Callable[[Path], Callable[[], None] | None], data: bytes) -> Any:
        work = folder / "run" / "work"
        shutil.rmtree(work.parent, ignore_errors=True)
        (work / "in").mkdir(parents=True)
        (work / "two.txt").write_text(TWO)
        (work / "in" / item.name).write_bytes(data)
        arguments = [*_COMMON, *item.options, *_MODES[mode], f"in/{item.name}"]
        return work, fork.run(arguments, work, env, before(work))

    def output(work: Path, done: fork.Done) -> bytes | None:
        """What stands under the final name."""
        place = {"-o": "out", "-O": f"tree/in/{item.name}", "-i": f"in/{item.name}"}.get(mode)
        return done.out if place is None else tree(work).get(place)

    def undisturbed(data: bytes) -> bytes | None:
        work, done = run(lambda _: None, data)
        return output(work, done) if done.status == 0 else None

    first = undisturbed(item.old)
    row.count("an undisturbed run failed", not first)
    log = folder / "log"
    work, _ = run(lambda work: Trap(work / "in", log=log, only=_READS).install, item.old)
    path = str(work / "in" / item.name)
    reads = [number for number, call in enumerate(calls(log), 1) if call.path == path]
    row.count("the input was read in less than two pieces", len(reads) < 4)
    for act in _ACTS:
        changed = item.after(act)
        second = None if changed is None else undisturbed(changed)
        row.count("two contents, one output", first == second)
        for number in range(1, reads[-1] + 1, size.of(3, 8, 1)):

            def trap(work: Path, number: int = number, act: str = act) -> Callable[[], None]:
                path = work / "in" / item.name
                late = number % 2 == 0
                spring = Trap(
                    work / "in", number, lambda: item.act(act, path), after=late, only=_READS
                )
                return spring.install

            work, done = run(trap, item.old)
            if not (work / "done").exists():
                continue
            row.tried += 1
            found = output(work, done)
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


mutants(r"""live
nobody looks whether an input has changed @ FileSource.check_unchanged
- self._state() != self._opened
+ False
an input may be written over by one of the same size @ FileSource._state
- status.st_mtime_ns
+ 0
""")
