"""``dpsan report``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Final

import typer

from dpsan.cli.command import argument
from dpsan.cli.options import Page
from dpsan.cli.output import print_fields, print_json, print_sections, say
from dpsan.errors import failure, printable
from dpsan.text.numerals import number

if TYPE_CHECKING:
    from dpsan.analysis.report import Report as Summary

_WIDTH: Final = 100


@dataclass(frozen=True, kw_only=True)
class Report(Page):
    """Summarize audit files. The summary contains no text.

    Examples:
        dpsan report audit.jsonl
        dpsan report --html report.html *.jsonl
        dpsan report --json audit.jsonl
    """

    audits: list[Path] = argument("AUDIT...", "Files of --audit.")

    def run(self) -> int:
        """Print the summary; 1 if a file failed."""
        self.check_files()
        from dpsan.analysis.report import read_audit

        reports: list[Summary] = []
        failed = 0
        for path in self.audits:
            try:
                reports.append(read_audit(path))
            except Exception as error:  # noqa: BLE001 - one file's: the others go on
                failed += 1
                say(failure(path, error))
        if self.html is not None and reports:
            from dpsan.analysis.report.page import page
            from dpsan.files.atomic_files import write_whole

            write_whole(self.html, page(reports).encode(), force=self.force)
        if self.as_json:
            print_json([each.as_json() for each in reports])
        elif self.html is None:
            for each in reports:
                _print(each)
        if failed and len(self.audits) > 1:
            say(f"{failed} of {len(self.audits)} files failed")
        return 1 if failed else 0


def _print(report: Summary) -> None:
    from dpsan.analysis.report import ACTIONS, BY_CLASS  # numpy comes with it
    from dpsan.analysis.report.page import complaints, figures, files, parameters, reasons

    typer.echo(printable(report.path))
    for each in complaints(report):
        typer.echo(fill(each, _WIDTH, initial_indent="  ", subsequent_indent="    "))
    shown = [each for each in ACTIONS if report.counts[each] or each not in BY_CLASS]
    counts = ", ".join(f"{number(report.counts[each])} {each}" for each in shown)
    about = [(name, value) for name, value, _ in (*figures(report), *parameters(report))]
    rows = [("words", f"{number(sum(report.counts.values()))}: {counts}"), *about]
    room = _WIDTH - 4 - max(len(name) for name, _ in rows)
    narrow = []
    for name, value in rows:
        first, *more = wrap(value, room)
        narrow += [(name, first), *(("", each) for each in more)]
    print_fields(narrow)
    print_sections(each for each in reasons(report) if each.rows)
    # The totals show a column of zeros.
    print_sections(each.without_zeros(ACTIONS) for each in files(report))
    hidden = f"not protected: {'; '.join(report.as_json()['not_protected'])}"
    typer.echo("\n" + fill(hidden, _WIDTH, subsequent_indent="  "))
