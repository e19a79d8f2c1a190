"""``dpsan mechanisms``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dpsan.cli.command import argument, flag
from dpsan.cli.options import Epsilon, Json, Vocabulary, mechanism_names, parameters
from dpsan.cli.output import OUTPUT, echo
from dpsan.errors import check_name, refuse

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
class Mechanisms(Json, Vocabulary, Epsilon):
    """List the mechanisms and their guarantees, or explain some.

    With NAME and --epsilon, print the true guarantee on this vocabulary.

    Examples:
        dpsan mechanisms
        dpsan mechanisms optimal-response trlaplace-paper -e 8
        dpsan mechanisms --bibtex laplace krr > papers.bib
    """

    rules: ClassVar = """
        --param and --embeddings need --epsilon
        --bibtex excludes --json and --epsilon
    """

    names: list[str] | None = argument("[NAME]...", None, autocompletion=mechanism_names)
    """Default: a table of all."""
    bibtex: bool = flag("--bibtex", panel=OUTPUT)
    """Print only the BibTeX entries of what these mechanisms cite, or all of them."""

    def run(self) -> int:
        """Print the table, or what is known of some mechanisms."""
        from dpsan.mechanisms import MECHANISMS

        if not self.names and not self.bibtex:
            given = self.epsilon is not None or self.param or self.embeddings
            refuse(given, "--epsilon, --param and --embeddings need a NAME")
            self.show(*_listed())
            return 0
        names = [*dict.fromkeys(self.names or MECHANISMS)]
        for name in names:
            check_name("mechanism", name, MECHANISMS)
        self.check_rules()
        from dpsan.mechanisms.description import bibtex, described, sections

        numbers = self.epsilon is not None and not self.bibtex
        values = [self._numbers(name) if numbers else described(name) for name in names]
        if not self.bibtex:
            shown = [_shown(row, numbers=numbers) for row in values]
            self.show(values if len(names) > 1 else values[0], shown)
        cited = [
            f"{row['source']} {sections(row['name']).get('Public words', '')}" for row in values
        ]
        for entry in () if self.as_json else bibtex(" ".join(cited)):
            echo(f"{entry}\n" if self.bibtex else f"\n{entry}")
        return 0

    def _numbers(self, name: str) -> dict[str, Any]:
        """Return the guarantee on the vocabulary.  Raises DpsanError."""
        epsilon = self.required_epsilon()
        values = parameters(self.param)
        self.check_files()

        from dpsan.mechanisms import MECHANISMS
        from dpsan.mechanisms.description import numbers

        mechanism = MECHANISMS[name].build(epsilon, dict(values))
        _, space = self.open_space()
        return numbers(mechanism.resolved(space), space)


def _listed() -> tuple[list[dict[str, Any]], list[Shown]]:
    """Return what the table of all mechanisms says, and the table."""
    from dpsan.analysis.pages.sections import Section, Shown
    from dpsan.mechanisms.registry import installed, list_mechanisms

    values = list_mechanisms()
    rows = [[str(row[key]) for key in _COLUMNS.values()] for row in values]
    others = [f"Of other packages, not reviewed: {', '.join(installed())}"] * bool(installed())
    return values, [Shown("", [Section([*_COLUMNS], rows, others)])]


def _shown(values: dict[str, Any], *, numbers: bool) -> Shown:
    """Return what is known of a mechanism.

    Args:
        numbers: whether the values have its guarantee for an epsilon.
    """
    from dpsan.analysis.pages.sections import Facts, Part, Prose, Shown, cosine_and_bound, named
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
    if not numbers:
        parts.append(Prose("", "With --epsilon: the true guarantee on your vocabulary."))
        return Shown("", parts, title=title)
    names = ("claimed", "true", "noise_scale", "mean_cosine", "why")
    figures = {name: values[name] for name in names}
    if values["mean_cosine"]:
        figures["mean_cosine"] = cosine_and_bound(**values["mean_cosine"])
    heading = "For these parameters on this vocabulary"
    return Shown("", [*parts, Facts(heading, named(figures))], title=title)
