"""``dpsan preview``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpsan.cli.command import argument, option
from dpsan.cli.options import Page, Texts, Vocabulary, positive_numbers
from dpsan.cli.output import PRIVACY


@dataclass(frozen=True, kw_only=True)
class Preview(Page, Texts, Vocabulary):
    """Show your own text at several epsilons, and what an attacker reads back.

    The samples must not be published. Only --html writes a file, for its owner alone.

    Examples:
        dpsan preview notes.txt
        dpsan preview -k body tickets.csv --html preview.html
        dpsan preview -e 6,8 notes.txt
    """

    file: Path = argument("FILE")
    """The text. About 1,000 words from all over it are measured."""
    epsilon: list[str] | None = option("-e, --epsilon LIST", panel=PRIVACY)
    """Epsilons with commas between them. Default: 4,6,8,10,12."""

    def run(self) -> int:
        """Draw, read back and print."""
        self.check_files()
        epsilons = positive_numbers("--epsilon", self.epsilon or ["4,6,8,10,12"])
        inputs = self.inputs(self.file, force_text=False)
        self.check_page()

        from dpsan.analysis.preview import preview, shown

        store = self.store()
        opened = self.open_space(store)
        with self.progress.named() as report:
            result = preview(self.file, inputs, opened, store, epsilons, report)
        self.show(result.as_json(), [shown(result)], private=True)
        return 0
