"""``dpsan report``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpsan.cli.command import argument
from dpsan.cli.options import Page
from dpsan.cli.output import say
from dpsan.errors import failure

if TYPE_CHECKING:
    from dpsan.analysis.report import Report as Summary


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

        reports: list[Summary] = []
        failed = 0
        for path in self.audits:
            try:
                reports.append(read_audit(path))
            except Exception as error:  # noqa: BLE001 - one file's: the others go on
                failed += 1
                say(failure(path, error))
        from dpsan.analysis.report.page import shown

        signed = self.html is not None
        results = [shown(report, signed=signed) for report in reports]
        self.show([report.as_json() for report in reports], results)
        if failed and len(self.audits) > 1:
            say(f"{failed} of {len(self.audits)} files failed")
        return 1 if failed else 0
