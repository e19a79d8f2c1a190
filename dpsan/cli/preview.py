"""``dpsan preview``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dpsan.cli.command import argument, option
from dpsan.cli.options import Page, Texts, Vocabulary, positive_numbers
from dpsan.cli.output import print_json, print_prose, print_sections, say
from dpsan.cli.tree import PRIVACY
from dpsan.errors import printable

if TYPE_CHECKING:
    from dpsan.analysis.preview import Preview as Found


@dataclass(frozen=True, kw_only=True)
class Preview(Page, Texts, Vocabulary):
    """Show your own text at several epsilons, and what an attacker reads back.

    The samples must not be published. Only --html writes a file, for its owner alone.

    Examples:
        dpsan preview notes.txt
        dpsan preview -k body tickets.csv --html preview.html
        dpsan preview -e 6,8 notes.txt
    """

    file: Path = argument("FILE", "The text. About 1,000 words from all over it are measured.")
    epsilon: list[str] | None = option(
        "-e, --epsilon LIST",
        "Epsilons with commas between them. Default: 4,6,8,10,12.",
        panel=PRIVACY,
    )

    def run(self) -> int:
        """Draw, read back and print."""
        self.check_files()
        epsilons = positive_numbers("--epsilon", self.epsilon or ["4,6,8,10,12"])
        inputs = self.inputs(self.file)
        if self.html is not None:
            from dpsan.files.atomic_files import check_writable

            check_writable(self.html, force=self.force)

        from dpsan.analysis.preview import preview
        from dpsan.cli.progress import named_progress

        store = self.store()
        opened = self.open_space(store)
        with named_progress(self.quiet) as report:
            found = preview(self.file, inputs, opened, store, epsilons, report)
        from dpsan.analysis.preview.page import WARNING, page

        if self.html is not None:
            from dpsan.files.atomic_files import write_whole

            write_whole(self.html, page(found).encode(), force=self.force, private=True)
        if self.as_json:
            print_json(found.as_json())
        elif self.html is None:
            _print(found)
        if not self.quiet:
            say(WARNING)
        return 0


def _print(found: Found) -> None:
    from dpsan.analysis.preview.page import about, figures, tests

    print_prose(about(found))
    print_sections([figures(found)])
    for each in found.levels:
        typer.echo("")
        typer.secho(each.options, bold=True)
        print_prose(each.meaning, "  ")
        for sentence in each.sentences:
            print_prose(f"- {printable(sentence)}", "  ")
    print_sections([tests(found)])
    typer.echo("")
    print_prose(found.conclusion())
