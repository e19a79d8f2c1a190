"""Progress: bars on a terminal; elsewhere lines in a long step."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event, Thread, Timer
from time import monotonic
from typing import TYPE_CHECKING, Final

from dpsan.cli.output import say
from dpsan.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

_STDIN: Final = Path("-")
_SOON: Final = 3.0
_LONG: Final = 15.0
"""Seconds before a search, and before the making of a table, says that it goes on."""
PERIOD: Final = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""
_GOES_ON: Final = "still looking; this can take minutes, once for each vocabulary"
_DESCRIPTION: Final = "{task.description}"
_open: Final[list[object]] = []
"""The bars that are shown now: a terminal has room for one."""


@contextmanager
def byte_progress(
    quiet: bool, inputs: list[Path], *, streams: bool
) -> Iterator[tuple[Callable[[int], None] | None, Callable[[int, Path], None]]]:
    """Yield functions for the bytes that are read, and for each input that begins.

    A bar over the bytes of the inputs with rate and time left, on stderr, and the number and name
    of the input if there are several.  Where an input is no file, such as a pipe, a counter of
    bytes with rate and time.  Only where stderr is a terminal that no text comes from or goes to.

    Args:
        streams: the text goes to standard output.
    """

    def label(number: int, path: Path) -> str:
        return f"{number} of {len(inputs)}: {printable(path.name)}" if len(inputs) > 1 else ""

    shared = (streams and os.isatty(1)) or (_STDIN in inputs and os.isatty(0))
    if quiet or shared or not sys.stderr.isatty():
        yield None, lambda number, path: None
        return
    sizes = [_size(path) for path in inputs]
    total = None if None in sizes else sum(each or 0 for each in sizes)
    del sizes
    from rich import progress

    shown: tuple[ProgressColumn, ...] = (progress.BarColumn(), progress.DownloadColumn())
    time: ProgressColumn = progress.TimeRemainingColumn()
    if total is None:
        shown = (progress.SpinnerColumn("line"), progress.FileSizeColumn())
        time = progress.TimeElapsedColumn()
    with _bar((*shown, progress.TransferSpeedColumn(), time, _DESCRIPTION)) as bar:
        task = bar.add_task("", total=total)
        yield (
            lambda done: bar.update(task, advance=done),
            lambda number, path: bar.update(task, description=label(number, path)),
        )


def _size(path: Path) -> int | None:
    """Bytes still to be read of an input; None where nobody knows."""
    try:
        status = os.fstat(0) if path == _STDIN else path.stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        # Whoever opened standard input may have read some of it.
        return status.st_size - (os.lseek(0, 0, os.SEEK_CUR) if path == _STDIN else 0)
    except OSError:  # the error is raised where the file is opened
        return None


@contextmanager
def count_progress(
    what: str, total: float, quiet: bool
) -> Iterator[Callable[[float], None] | None]:
    """Yield a bar over steps, or over parts that add up to 1.0, with time left, on stderr if it is
    a terminal.
    """
    with _steps(what, total, quiet) as update:
        yield update and (lambda done: update(advance=done))


@contextmanager
def share_progress(what: str, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """Yield a bar over the share done (0 ... 1) with time left, on stderr if it is a terminal."""
    with _steps(what, 1.0, quiet) as update:
        yield update and (lambda share: update(completed=share))


@contextmanager
def _steps(what: str, total: float, quiet: bool) -> Iterator[Callable[..., None] | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress

    done = progress.TaskProgressColumn if total == 1.0 else progress.MofNCompleteColumn
    with _bar((what, progress.BarColumn(), done(), progress.TimeRemainingColumn())) as bar:
        yield partial(bar.update, bar.add_task(what, total=total))


@contextmanager
def table_progress(what: str) -> Iterator[Callable[[float], None] | None]:
    """Yield a bar over a table that is made, on a terminal without another; elsewhere a line, if
    long.
    """
    if sys.stderr.isatty():
        if _open:
            yield None
            return
        with share_progress(what, False) as bar:
            yield bar
        return
    with _line(_LONG, what, "once for each vocabulary, then kept"):
        yield None


@contextmanager
def search_progress(what: str, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show the number and the time of each try of a search, on stderr if it is a terminal.

    This is for searches of unknown length. Without a terminal print one line, after a while.
    """
    if quiet:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        with _line(_SOON, what, _GOES_ON):
            yield lambda _: None
        return
    from rich.progress import SpinnerColumn, TimeElapsedColumn

    with _bar((SpinnerColumn("line"), _DESCRIPTION, TimeElapsedColumn())) as bar:
        task, tries = bar.add_task(what), count(1)
        yield lambda tried: bar.update(task, description=f"{what}: try {next(tries)}, {tried}")


@contextmanager
def named_progress(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Yield a bar with what is done now and the share of all work that is done (0 ... 1).

    Where stderr is no terminal, a line every ten seconds.
    """
    if quiet:
        yield lambda what, share: None
        return
    if not sys.stderr.isatty():
        with _lines() as tell:
            yield tell
        return
    from rich.progress import BarColumn, TaskProgressColumn, TimeElapsedColumn

    with _bar((_DESCRIPTION, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)


@contextmanager
def _lines() -> Iterator[Callable[[str, float], None]]:
    """Lines with what was last reported, from a thread: a step may take long without a report."""
    last = "", 0.0
    over, began = Event(), monotonic()

    def work() -> None:
        while not over.wait(PERIOD):
            what, share = last
            say(f"{share:.0%} done after {monotonic() - began:.0f} s: {what}")

    def tell(what: str, share: float) -> None:
        nonlocal last
        last = what, share

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        over.set()
        thread.join()


@contextmanager
def _line(seconds: float, what: str, line: str) -> Iterator[None]:
    """One line, if the body is not over after so many seconds."""
    timer = Timer(seconds, say, (f"{what}: {line}",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _bar(columns: tuple[ProgressColumn | str, ...]) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    texts = [TextColumn(each, markup=False) if isinstance(each, str) else each for each in columns]
    with Progress(*texts, console=Console(stderr=True), transient=True) as bar:
        _open.append(bar)
        try:
            yield bar
        finally:
            _open.remove(bar)
