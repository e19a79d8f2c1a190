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
from threading import Event, Thread
from time import monotonic
from typing import Final

from dpsan.cli.output import say
from dpsan.errors import printable

_STDIN: Final = Path("-")
_SOON: Final = 3.0
_LONG: Final = 15.0
"""Seconds before a search, and before the making of a table, says that it goes on."""
PERIOD: Final = 10.0
"""Seconds between two lines of progress where stderr is no terminal."""
_GOES_ON: Final = "still looking; this can take minutes, once for each vocabulary"
_COLUMNS: Final[dict[str, dict[str, object]]] = {
    "Text": {"text_format": "{task.description}", "markup": False},
    "Spinner": {"spinner_name": "line"},
}
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

    def begin(number: int, path: Path) -> None:
        if update and len(inputs) > 1:
            update(description=f"{number} of {len(inputs)}: {printable(path.name)}")

    shared = (streams and os.isatty(1)) or (_STDIN in inputs and os.isatty(0))
    quiet = quiet or shared or not sys.stderr.isatty()
    sizes = [] if quiet else [*map(_size, inputs)]
    total = None if None in sizes else sum(each or 0 for each in sizes)
    columns = "Bar Download TransferSpeed TimeRemaining Text"
    if total is None:
        columns = "Spinner FileSize TransferSpeed TimeElapsed Text"
    with _bar(quiet, columns, "", total) as update:
        yield update and (lambda done: update(advance=done)), begin


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
    """Yield a bar over steps with time left, on stderr if it is a terminal."""
    with _bar(quiet, "Text Bar MofNComplete TimeRemaining", what, total) as update:
        yield update and (lambda done: update(advance=done))


@contextmanager
def share_progress(what: str, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """Yield a bar over the share done (0 ... 1) with time left, on stderr if it is a terminal."""
    with _bar(quiet, "Text Bar TaskProgress TimeRemaining", what) as update:
        yield update and (lambda share: update(completed=share))


@contextmanager
def table_progress(what: str) -> Iterator[Callable[[float], None] | None]:
    """Yield a bar over a table that is made, on a terminal without another; elsewhere a line, if
    long.
    """
    line = f"{what}: once for each vocabulary, then kept"
    with (
        _lines(sys.stderr.isatty(), _LONG, lambda _: line, again=False),
        share_progress(what, bool(_open)) as bar,
    ):
        yield bar


@contextmanager
def search_progress(what: str, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show the number and the time of each try of a search, on stderr if it is a terminal.

    This is for searches of unknown length. Without a terminal print one line, after a while.
    """
    tries = count(1)

    def tell(tried: str) -> None:
        if update:
            update(description=f"{what}: try {next(tries)}, {tried}")

    silent = quiet or sys.stderr.isatty()
    with (
        _lines(silent, _SOON, lambda _: f"{what}: {_GOES_ON}", again=False),
        _bar(quiet, "Spinner Text TimeElapsed", what, None) as update,
    ):
        yield tell


@contextmanager
def named_progress(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """Yield a bar with what is done now and the share of all work that is done (0 ... 1).

    Where stderr is no terminal, a line every ten seconds.
    """
    last = "", 0.0

    def tell(what: str, share: float) -> None:
        nonlocal last
        last = what, share
        if update:
            update(description=what, completed=share)

    def line(seconds: float) -> str:
        return f"{last[1]:.0%} done after {seconds:.0f} s: {last[0]}"

    with (
        _lines(quiet or sys.stderr.isatty(), PERIOD, line),
        _bar(quiet, "Text Bar TaskProgress TimeElapsed") as update,
    ):
        yield tell


@contextmanager
def _lines(
    silent: bool, seconds: float, line: Callable[[float], str], *, again: bool = True
) -> Iterator[None]:
    """Say a line every so many seconds, from a thread: a step may take long without a report."""
    over, began = Event(), monotonic()

    def work() -> None:
        while not over.wait(seconds):
            say(line(monotonic() - began))
            if not again:
                return

    thread = Thread(target=work, daemon=True)
    if not silent:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if not silent:
            thread.join()


@contextmanager
def _bar(
    quiet: bool, columns: str, what: str = "", total: float | None = 1.0
) -> Iterator[Callable[..., None] | None]:
    """Yield what changes a bar on stderr; None where that is no terminal.

    Args:
        columns: names of columns of the library that draws it, ``Text`` for what is done.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    names = columns.split()
    made = [getattr(progress, f"{name}Column")(**_COLUMNS.get(name, {})) for name in names]
    with progress.Progress(*made, console=Console(stderr=True), transient=True) as bar:
        _open.append(bar)
        try:
            yield partial(bar.update, bar.add_task(what, total=total))
        finally:
            _open.remove(bar)
