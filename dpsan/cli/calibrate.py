"""``dpsan calibrate``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from dpsan.cli.command import option
from dpsan.cli.options import Json, Privacy, Vocabulary, parameters
from dpsan.cli.output import print_json
from dpsan.errors import printable, refuse

if TYPE_CHECKING:
    from dpsan.outcomes.calibrate.target import Calibration


@dataclass(frozen=True, kw_only=True)
class Calibrate(Json, Vocabulary, Privacy):
    """Find the epsilon that reaches a target, such as 40 % of words unchanged.

    The result is on the private side of the target.

    Examples:
        dpsan calibrate --unchanged 0.3
        dpsan calibrate -m laplace --epsilon-ldp 8
        dpsan calibrate -m krr --unchanged 0.3
    """

    unchanged: float | None = option("--unchanged X", panel="Targets")
    """Target share of running words that stay unchanged, as rewrite prints it."""
    close: float | None = option("--close X", panel="Targets")
    """Target share of outputs among the 100 nearest other words."""
    epsilon_ldp: float | None = option("--epsilon-ldp X", panel="Targets")
    """Target LDP epsilon, certified. It means the same for every mechanism."""
    epsilon_metric: float | None = option("--epsilon-metric X", panel="Targets")
    """Target epsilon per unit of distance, certified."""
    # The variable of rewrite's epsilon means nothing here.
    epsilon: float | None = option("-e, --epsilon X", hidden=True, panel="Targets")
    """What is found."""

    def run(self) -> int:
        """Search, and print what was found with the command that uses it."""
        names = ("unchanged", "close", "epsilon_ldp", "epsilon_metric")
        given = [name for name in names if getattr(self, name) is not None]
        options = "--unchanged, --close, --epsilon-ldp, --epsilon-metric"
        refuse(len(given) != 1, f"give one of {options}")
        refuse(self.epsilon is not None, "--epsilon is what calibrate searches for")
        self.check_files()
        from dpsan.analysis.explain import candidates
        from dpsan.outcomes.calibrate import calibrate
        from dpsan.outcomes.calibrate.target import Target
        from dpsan.outcomes.text_likelihood import half_linked

        target, wanted = Target(given[0].replace("_", "-")), getattr(self, given[0])
        target.check(wanted)
        free, values = self.public_words(), parameters(self.param)
        (draft,) = candidates([self.mechanism], values, public=free is not None)
        draft.at(1.0)
        words, space = self.open_space()
        rows = () if free is None else free.rows(words.key_to_index)
        draft = replace(draft, public=rows)
        with self.progress.search(self.mechanism) as progress:
            found = calibrate(draft, space, target, wanted, progress)
        half = half_linked(found.mechanism.resolved(space), space)
        show = _print_json if self.as_json else _print
        show(found, self._command(found, values), None if half is None else half.sentence)
        return 0

    def _command(self, found: Calibration, values: dict[str, str]) -> str:
        """Return the ``rewrite`` command with what was found, as a shell takes it."""
        mechanism = found.mechanism
        words = ["dpsan", "rewrite", "-m", self.mechanism, "-e", _number(mechanism.epsilon)]
        for name, value in values.items():
            words += ["-p", f"{name}={value}"]
        files = {"-E": self.embeddings, "--vocab-size": self.vocab_size, "--public": self.public}
        for name, given in files.items():
            words += [] if given is None else [name, str(given)]
        if mechanism.status != "PROVED":
            words.append("--allow-unproved")
        return shlex.join(words)


def _number(value: float) -> str:
    """Return the shortest text that reads as the same number."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(value)


def _print(found: Calibration, command: str, linked: str | None) -> None:
    mechanism = found.mechanism
    typer.echo(f"{mechanism.name}: epsilon {_number(mechanism.epsilon)}")
    low, high = found.interval
    how = "exact" if found.exact else "from the guarantee"
    if low != high:
        how = f"99 % confidence: {low:.4f} to {high:.4f}"
    typer.echo(f"  {found.target} {found.achieved:.6g}, {found.wanted:g} wanted ({how})")
    if linked is not None:
        typer.echo(f"  whole texts: {linked}")
    typer.echo(f"  {printable(command)}")


def _print_json(found: Calibration, command: str, linked: str | None) -> None:
    mechanism = found.mechanism
    about = {
        "mechanism": mechanism.name,
        "epsilon": mechanism.epsilon,
        "parameters": {name: getattr(mechanism, name) for name in mechanism.parameters()},
        "target": {"name": str(found.target), "value": found.wanted},
        "achieved": found.achieved,
        "interval": found.interval,
        "exact": found.exact,
        "command": command,
        "seconds": found.seconds,
        "linked": linked,
    }
    print_json(about)
