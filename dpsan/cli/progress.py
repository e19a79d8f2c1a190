"""Progress bars on a terminal; nothing anywhere else.

Knows rich.  Must not know what is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

__all__ = ["byte_progress", "count_progress", "search_progress", "share_progress"]


@contextmanager
def byte_progress(
    mode: str, quiet: bool, inputs: list[Path], *, streams: bool
) -> Iterator[Callable[[int], None] | None]:
    """A bar over the bytes of the inputs with rate and time left, on stderr.

    With ``auto`` only where stderr is a terminal that the text does not go to as well, and all
    inputs are files.

    Args:
        streams: the text goes to standard output.
    """
    sizes = [path.stat().st_size if path.is_file() else None for path in inputs]
    shared = streams and sys.stdout.isatty()
    auto = sys.stderr.isatty() and not shared and None not in sizes and not quiet
    if mode == "off" or (mode == "auto" and not auto):
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    total = None if None in sizes else sum(each or 0 for each in sizes)
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, advance=done)


@contextmanager
def count_progress(what: str, total: int, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """A bar over a known number of steps with time left, on stderr if it is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, advance=done)


@contextmanager
def share_progress(what: str, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """A bar over the share done (0 ... 1) with time left, on stderr if it is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    columns = (what, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


@contextmanager
def search_progress(what: str, quiet: bool) -> Iterator[Callable[[str], None]]:
    """What is tried, which try it is, and the time spent, on stderr if it is a terminal.

    For searches that nobody knows the end of.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn("line"), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, tries = bar.add_task(what), count(1)
        yield lambda tried: bar.update(task, description=f"{what}: try {next(tries)}, {tried}")
