"""``dpsan mechanisms``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

import typer

from dpsan.cli.command import argument
from dpsan.cli.options import Epsilon, Json, Vocabulary, mechanism_names, parameters
from dpsan.cli.output import print_json, print_prose, print_result, print_table
from dpsan.errors import check_name, refuse

_COLUMNS: Final = {
    "name": "name",
    "family": "family",
    "epsilon in": "epsilon_unit",
    "delta": "delta",
    "status": "status",
    "what it is": "summary",
}
"""Keys of the values in the table, by heading."""


@dataclass(frozen=True, kw_only=True)
class Mechanisms(Json, Vocabulary, Epsilon):
    """List the mechanisms and their guarantees, or explain one.

    With NAME and --epsilon, print the true guarantee on this vocabulary.

    Examples:
        dpsan mechanisms
        dpsan mechanisms optimal-response -e 8
        dpsan mechanisms trlaplace-paper -e 1
    """

    rules: ClassVar = "--param and --embeddings need --epsilon"

    name: str | None = argument("[NAME]", None, autocompletion=mechanism_names)
    """Default: a table of all."""

    def run(self) -> int:
        """Print the table, or what is known of one mechanism."""
        from dpsan.mechanisms import MECHANISMS

        if self.name is None:
            given = self.epsilon is not None or self.param or self.embeddings
            refuse(given, "--epsilon, --param and --embeddings need a NAME")
            _list(self.as_json)
            return 0
        check_name("mechanism", self.name, MECHANISMS)
        self.check_rules()
        found = None if self.epsilon is None else self._numbers(self.name, self.epsilon)
        if self.as_json:
            print_json(found or _without_numbers(self.name))
        else:
            _explain(self.name, found)
        return 0

    def _numbers(self, name: str, epsilon: float) -> dict[str, Any]:
        """Return the guarantee on the vocabulary.  Raises DpsanError."""
        self.required_epsilon()
        values = parameters(self.param)
        self.check_files()

        from dpsan.mechanisms import MECHANISMS
        from dpsan.mechanisms.description import numbers

        mechanism = MECHANISMS[name].build(epsilon, dict(values))
        _, space = self.open_space()
        return numbers(mechanism.resolved(space), space)


def _list(as_json: bool) -> None:
    from dpsan.mechanisms.registry import installed, list_mechanisms

    values = list_mechanisms()
    if as_json:
        print_json(values)
        return
    rows = [[str(each[key]) for key in _COLUMNS.values()] for each in values]
    print_table(list(_COLUMNS), rows, spare=(1, 3))
    if more := installed():
        typer.echo(f"\nOf other packages, not reviewed: {', '.join(more)}")


def _without_numbers(name: str) -> dict[str, Any]:
    from dpsan.mechanisms import MECHANISMS
    from dpsan.mechanisms.description import parameter_rows

    kind = MECHANISMS[name]
    return {
        "name": name,
        "status": str(kind.status),
        "family": kind.family,
        "epsilon": None,
        "epsilon_unit": kind.epsilon_unit,
        **dict.fromkeys(("delta", "claimed", "true", "noise_scale", "mean_cosine", "why")),
        "source": kind.source,
        "parameters": {row["name"]: row["value"] for row in parameter_rows(name)},
    }


def _explain(name: str, found: dict[str, Any] | None) -> None:
    from dpsan.mechanisms import MECHANISMS
    from dpsan.mechanisms.description import bibtex, parameter_rows, sections

    kind = MECHANISMS[name]
    parts = sections(name)
    print_prose(f"{name} ({kind.status}): {parts.pop('Summary')}")
    parts.pop("Parameters", None)
    for heading, body in parts.items():
        typer.echo(f"\n{heading}")
        print_prose(body, "  ")
    rows = parameter_rows(name)
    typer.echo(f"\nParameters\n  epsilon: in {kind.epsilon_unit}, required")
    for row in rows:
        value = "required" if row["required"] else f"default {row['value']}"
        unit = f", in {row['unit']}" if row["unit"] else ""
        print_prose(f"{row['name']}: {row['help']}; {row['domain']}{unit}; {value}", "  ")
    if found:
        from dpsan.analysis.pages.sections import Facts, Shown, cosine_and_bound, named

        names = ("claimed", "true", "noise_scale", "mean_cosine", "why")
        values = {name: found[name] for name in names}
        if found["mean_cosine"]:
            values["mean_cosine"] = cosine_and_bound(**found["mean_cosine"])
        facts = Facts("For these parameters on this vocabulary", named(values))
        print_result(Shown("", [facts]), again=True)
    else:
        typer.echo("\nWith --epsilon: the true guarantee on your vocabulary.")
    for entry in bibtex(f"{kind.source} {parts.get('Public words', '')}"):
        typer.echo(f"\n{entry}")
