"""``dpsan headers``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpsan.cli.command import argument
from dpsan.cli.options import Json, Reading
from dpsan.cli.output import echo, print_json, say
from dpsan.errors import printable


@dataclass(frozen=True, kw_only=True)
class Headers(Reading, Json):
    """List the columns of a table, or the paths of JSON and Parquet, as --field takes them.

    Examples:
        dpsan headers tickets.csv
        dpsan headers chats.jsonl
        dpsan headers --json survey.parquet
    """

    file: Path = argument("FILE")
    """Its first row, or its first 1,000 records, are read."""

    def run(self) -> int:
        """Print a name a line."""
        self.check_files()

        from dpsan.formats.csv import other_delimiter
        from dpsan.formats.registry import format_class, headers

        names = headers(self.file, self.format_, self.read_options())
        if self.as_json:
            print_json(names)
        for name in () if self.as_json else names:
            echo(printable(name))
        table = format_class(self.format_, str(self.file)).takes_delimiter
        if table and (hint := other_delimiter([name.encode() for name in names], b"")):
            say(hint)
        return 0
