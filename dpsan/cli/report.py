"""``dpsan report``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpsan.cli.command import argument
from dpsan.cli.options import Page
from dpsan.cli.output import results


@dataclass(frozen=True, kw_only=True)
class Report(Page):
    """Summarize audit files. The summary contains no text.

    Examples:
        dpsan report audit.jsonl
        dpsan report --html report.html *.jsonl
        dpsan report --json audit.jsonl
    """

    audits: list[Path] = argument("AUDIT...")
    """Files of --audit."""

    def run(self) -> int:
        """Print the summary; 1 if a file failed."""
        self.check_files()
        from dpsan.analysis.report import read_audit

        reports, failed = results(self.audits, read_audit)
        from dpsan.analysis.report.page import shown

        signed = self.html is not None
        pages = [shown(report, signed=signed) for report in reports]
        self.show([report.as_json() for report in reports], pages)
        return int(failed)
