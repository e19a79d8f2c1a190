"""``dpsan calibrate``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpsan.cli.command import option
from dpsan.cli.options import Json, Privacy, Vocabulary, parameters
from dpsan.cli.output import echo, print_json
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
    epsilon_ldp: float | None = option("--epsilon-ldp X", panel="Targets")
    """Target LDP epsilon, certified. It means the same for every mechanism."""
    # The variable of rewrite's epsilon means nothing here.
    epsilon: float | None = option("-e, --epsilon X", hidden=True, panel="Targets")
    """What is found."""

    def run(self) -> int:
        """Search, and print what was found with the command that uses it."""
        single = (self.unchanged is None) != (self.epsilon_ldp is None)
        refuse(not single, "give one of --unchanged, --epsilon-ldp")
        refuse(self.epsilon is not None, "--epsilon is what calibrate searches for")
        self.check_files()
        from dpsan.mechanisms.registry import check_base, mechanism_class
        from dpsan.outcomes.calibrate import calibrate
        from dpsan.outcomes.calibrate.target import Draft, Target

        target, wanted = Target.EPSILON_LDP, self.epsilon_ldp
        if wanted is None:
            target, wanted = Target.UNCHANGED, self.unchanged
        assert wanted is not None  # noqa: S101 - checked
        target.check(wanted)
        free, values = self.public_words(), parameters(self.param)
        kind = mechanism_class(self.mechanism)
        if free is not None:
            check_base(kind, "public words")
        draft = Draft(kind, values)
        draft.at(1.0)
        words, space = self.open_space()
        rows = () if free is None else free.rows(words.key_to_index)
        draft = replace(draft, public=rows)
        with self.progress.named() as report:
            result = calibrate(draft, space, target, wanted, report)
        self._show(result, self._command(result, values))
        return 0

    def _show(self, result: Calibration, command: str) -> None:
        """Print the epsilon, what it achieves, and the command that uses it."""
        mechanism, (low, high) = result.mechanism, result.interval
        if self.as_json:
            about = {
                "mechanism": mechanism.name,
                "epsilon": mechanism.epsilon,
                "parameters": {name: getattr(mechanism, name) for name in mechanism.parameters()},
                "target": {"name": str(result.target), "value": result.wanted},
                **{name: getattr(result, name) for name in ("achieved", "interval", "exact")},
                "command": command,
                "seconds": result.seconds,
            }
            print_json(about)
            return
        how = "exact" if result.exact else "from the guarantee"
        if low != high:
            how = f"99 % confidence: {low:.4f} to {high:.4f}, the private side of it"
        echo(f"{mechanism.name}: epsilon {_number(mechanism.epsilon)}")
        echo(f"  {result.target} {result.achieved:.6g}, {result.wanted:g} wanted ({how})")
        echo(f"  {printable(command)}")

    def _command(self, result: Calibration, values: dict[str, str]) -> str:
        """Return the ``rewrite`` command with what was found, as a shell takes it."""
        mechanism = result.mechanism
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
