"""Print messages and progress on standard error, and JSON and tables on standard output."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from textwrap import fill, wrap
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import typer

from dpsan.errors import failure, printable

if TYPE_CHECKING:
    from dpsan.analysis.pages import Shown

Result = TypeVar("Result")

# Headings of the help.
PRIVACY: Final = "Privacy"
INPUT: Final = "Input"
OUTPUT: Final = "Output"
RUNNING: Final = "Running"
RARE: Final = "Rarely needed"

_ROWS: Final = (Path(__file__).parent / "dropped.tsv").read_text("utf-8").splitlines()[1:]
DROPPED: Final = {
    name: hint for row in _ROWS for names, hint in [row.split("\t")] for name in names.split("|")
}
"""By the word, or the option and its value, as it was typed."""
_WIDTH: Final = 80
"""Columns of lines that are wrapped wherever they are printed."""


def say(message: str) -> None:
    """One line on stderr, whatever a file's name holds; silent when nobody can read it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"dpsan: {printable(message)}\n")
        sys.stderr.flush()


def results(
    paths: Sequence[Path | None], read: Callable[[Any], Result]
) -> tuple[list[Result], bool]:
    """Return the results of files, and whether one failed, which is said; None: the bundled one."""
    out: list[Result] = []
    for path in paths:
        try:
            out.append(read(path))
        except Exception as error:  # noqa: BLE001 - one file's: the others go on
            say(failure(path or "bundled vocabulary", error))
    failed = len(paths) - len(out)
    if failed and len(paths) > 1:
        say(f"{failed} of {len(paths)} files failed")
    return out, failed > 0


def echo(text: str) -> None:
    """Print a line on standard output; a terminal that cannot show a character gets its number."""
    encoding = sys.stdout.encoding or "utf-8"
    typer.echo(text.encode(encoding, "backslashreplace").decode(encoding))


def json_text(value: object, option: int = 0) -> str:
    """Return a value as indented JSON; ``option``: more flags of orjson."""
    import orjson

    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | option).decode()


def print_json(value: object, option: int = 0) -> None:
    """A value as indented JSON on standard output; as :func:`json_text`."""
    typer.echo(json_text(value, option))


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Lines of a table with its columns under each other; those in ``right`` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()
) -> None:
    """Print a table on standard output, one line a row; on a terminal wrapped to its width.

    Args:
        columns: headings; empty for a table without.
        rows: cells.
        right: columns whose cells end together.
    """
    if not sys.stdout.isatty():
        for line in aligned([columns, *rows] if columns else rows, right):
            echo(line)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=bool(columns))
    for at in range(len(columns or rows[0])):
        name = Text(columns[at]) if columns else ""
        side: Literal["right", "left"] = "right" if at in right else "left"
        table.add_column(name, justify=side, no_wrap=not columns and at == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def print_prose(text: str, indent: str = "") -> None:
    """Paragraphs of a docstring on standard output; on a terminal wrapped to its width."""
    text = text.replace("``", "")
    if sys.stdout.isatty():
        from shutil import get_terminal_size

        width = max(get_terminal_size().columns - len(indent), 20)
        parts = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        text = "\n\n".join(fill(part, width, break_on_hyphens=False) for part in parts)
    for line in text.splitlines():
        echo(indent + line if line else "")


def print_result(shown: Shown, *, again: bool = False) -> None:
    """All parts of a result on standard output; ``again``: below those of another one."""
    from dpsan.analysis.pages import Facts, Prose, Section  # heavy import

    print_prose("\n" * again + (shown.title or shown.about))
    for at, part in enumerate(shown.filled()):
        if at or shown.title or shown.about:
            echo("")
        if isinstance(part, Section):
            print_table(part.columns, part.texts(), part.right())
        elif part.heading:
            typer.secho(part.heading, bold=True)
        if isinstance(part, Prose) and part.text:
            print_prose(part.text, "  ")
        if isinstance(part, Facts):
            room = _WIDTH - 4 - max(len(name) for name, *_ in part.rows)
            lines = [
                (f"  {name * (not at)}", line)
                for name, value, _ in part.rows
                for at, line in enumerate(wrap(value, room) or [""])
            ]
            print_table((), lines)
            continue
        for line in part.notes if isinstance(part, Section) else part.lines:
            echo(fill(printable(line), _WIDTH, initial_indent="  ", subsequent_indent="    "))
    if shown.conclusion:
        echo(f"\n{fill(shown.conclusion, _WIDTH)}")


# Progress: bars on a terminal; elsewhere lines in a long step.

_STDIN: Final = Path("-")
PERIOD: Final = 15.0
"""Seconds between two lines of progress where stderr is no terminal."""
_COLUMNS: Final[dict[str, dict[str, object]]] = {
    "Text": {"text_format": "{task.description}", "markup": False},
    "Spinner": {"spinner_name": "line"},
}


Tell = Callable[..., None]
"""Shows what is done now, and the share of all work that was done before it (default 0)."""


class Progress:
    """Progress bars of one command.

    Args:
        quiet: show nothing.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._bars = 0
        """Bars that are shown now: a terminal has room for one."""

    @contextmanager
    def bytes(
        self, inputs: list[Path], *, streams: bool
    ) -> Iterator[tuple[Callable[[int], None] | None, Callable[[int, Path], None]]]:
        """Yield functions for the bytes that are read, and for each input that begins.

        A bar over the bytes of the inputs with rate and time left, on stderr, and the number and
        name of the input if there are several.  Where an input is no file, such as a pipe, a
        counter of bytes with rate and time.  Only where stderr is a terminal that no text comes
        from or goes to.

        Args:
            streams: the text goes to standard output.
        """

        def begin(number: int, path: Path) -> None:
            if update and len(inputs) > 1:
                update(description=f"{number} of {len(inputs)}: {printable(path.name)}")

        shared = (streams and os.isatty(1)) or (_STDIN in inputs and os.isatty(0))
        shown = self._terminal and not self._quiet and not shared
        sizes = [*map(_size, inputs)] if shown else []
        total = None if None in sizes else sum(size or 0 for size in sizes)
        columns = "Bar Download TransferSpeed TimeRemaining Text"
        if total is None:
            columns = "Spinner FileSize TransferSpeed TimeElapsed Text"
        with self._bar(columns, "", total, shown=shown) as update:
            yield update and (lambda done: update(advance=done)), begin

    @contextmanager
    def share(self, what: str) -> Iterator[Callable[[float], None]]:
        """Yield a bar over the share done (0 ... 1); see :meth:`named`."""
        with self.named() as tell:
            tell(what)
            yield partial(tell, what)

    def table(self, what: str) -> AbstractContextManager[Callable[[float], None]]:
        """Return the bar of a table that is made."""
        return self.share(f"{what}: once for each vocabulary, then kept")

    @contextmanager
    def named(self) -> Iterator[Tell]:
        """Yield a bar with what is done now and the share of all work that is done (0 ... 1).

        Where stderr is no terminal, a line every fifteen seconds; on one with another bar nothing.
        """
        last = "", 0.0

        def tell(what: str, share: float = 0.0) -> None:
            nonlocal last
            last = what, share
            if update:
                update(description=what, completed=share)

        def line(seconds: float) -> str:
            done = f"{last[1]:.0%} done" if last[1] else "working"
            return f"{done} after {seconds:.0f} s: {last[0]}".removesuffix(": ")

        columns = "Spinner Text Bar TaskProgress TimeElapsed"
        with self._lines(line), self._bar(columns, shown=not self._bars) as update:
            yield tell

    @contextmanager
    def _lines(self, line: Callable[[float], str]) -> Iterator[None]:
        """Say a line every so many seconds where stderr is no terminal.

        It comes from a thread: a step may take long without a report.
        """
        over, began = Event(), monotonic()

        def work() -> None:
            while not over.wait(PERIOD):
                say(line(monotonic() - began))

        if self._quiet or self._terminal:
            yield
            return
        thread = Thread(target=work, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @contextmanager
    def _bar(
        self, columns: str, what: str = "", total: float | None = 1.0, *, shown: bool = True
    ) -> Iterator[Callable[..., None] | None]:
        """Yield what changes a bar on stderr; None where that is no terminal.

        Args:
            columns: names of columns of the library that draws it, ``Text`` for what is done.
        """
        if self._quiet or not self._terminal or not shown:
            yield None
            return
        from rich import progress
        from rich.console import Console

        names = columns.split()
        made = [getattr(progress, f"{name}Column")(**_COLUMNS.get(name, {})) for name in names]
        with progress.Progress(*made, console=Console(stderr=True), transient=True) as bar:
            self._bars += 1
            try:
                yield partial(bar.update, bar.add_task(what, total=total))
            finally:
                self._bars -= 1


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
