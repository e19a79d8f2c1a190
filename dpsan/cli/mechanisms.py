"""``dpsan mechanisms``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dpsan.cli.command import argument, flag
from dpsan.cli.options import Json, Quiet, mechanism_names
from dpsan.cli.output import OUTPUT, echo

if TYPE_CHECKING:
    from dpsan.analysis.pages.sections import Shown

_COLUMNS: Final = {
    "name": "name",
    "epsilon in": "epsilon_unit",
    "status": "status",
    "what it is": "summary",
}
"""Keys of the values in the table, by heading."""


@dataclass(frozen=True, kw_only=True)
class Mechanisms(Json, Quiet):
    """List the mechanisms and their guarantees, or explain some.

    Examples:
        dpsan mechanisms
        dpsan mechanisms optimal-response trlaplace-paper
        dpsan mechanisms --bibtex laplace krr > papers.bib
    """

    rules: ClassVar = "--bibtex excludes --json"

    names: list[str] | None = argument("[NAME]...", None, autocompletion=mechanism_names)
    """Default: a table of all."""
    bibtex: bool = flag("--bibtex", panel=OUTPUT)
    """Print only the BibTeX entries of what these mechanisms cite, or all of them."""

    def run(self) -> int:
        """Print the table, or what is known of some mechanisms."""
        from dpsan.mechanisms.registry import MECHANISMS, mechanism_class

        if not self.names and not self.bibtex:
            self.show(*_listed())
            return 0
        names = [*dict.fromkeys(mechanism_class(name).name for name in self.names or MECHANISMS)]
        self.check_rules()
        from dpsan.mechanisms.description import bibtex, described, sections

        values = [described(name) for name in names]
        if not self.bibtex:
            self.show(values if len(names) > 1 else values[0], [*map(_shown, values)])
        cited = [
            f"{row['source']} {sections(row['name']).get('Public words', '')}" for row in values
        ]
        for entry in () if self.as_json else bibtex(" ".join(cited)):
            echo(f"{entry}\n" if self.bibtex else f"\n{entry}")
        return 0


def _listed() -> tuple[list[dict[str, Any]], list[Shown]]:
    """Return what the table of all mechanisms says, and the table."""
    from dpsan.analysis.pages.sections import Section, Shown
    from dpsan.mechanisms.registry import brought, list_mechanisms

    values = list_mechanisms()
    rows = [[str(row[key]) for key in _COLUMNS.values()] for row in values]
    others = [f"Of other packages, not reviewed: {', '.join(brought())}"] * bool(brought())
    return values, [Shown("", [Section([*_COLUMNS], rows, others)])]


def _shown(values: dict[str, Any]) -> Shown:
    """Return what is known of a mechanism."""
    from dpsan.analysis.pages.sections import Part, Prose, Shown
    from dpsan.mechanisms.description import parameter_rows, sections

    texts = sections(values["name"])
    title = f"{values['name']} ({values['status']}): {texts.pop('Summary')}"
    texts.pop("Parameters", None)
    parts: list[Part] = [Prose(heading, body) for heading, body in texts.items()]
    lines = [f"epsilon: in {values['epsilon_unit']}, required"]
    for row in parameter_rows(values["name"]):
        value = "required" if row["required"] else f"default {row['value']}"
        unit = f", in {row['unit']}" if row["unit"] else ""
        lines.append(f"{row['name']}: {row['help']}; {row['domain']}{unit}; {value}")
    parts.append(Prose("Parameters", lines=lines))
    parts.append(Prose("", "'dpsan explain WORD -e X' has the guarantee on your vocabulary."))
    return Shown("", parts, title=title)
