"""Options that decide how words are drawn, for ``rewrite`` and ``verify``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsan.cli.command import option, setting
from dpsan.cli.options import Privacy, Vocabulary
from dpsan.sanitize.settings import SETTINGS


# It has no objects of its own, and to make it so would take time at each start.
@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class Sanitizing(Vocabulary, Privacy):
    """Everything that decides how words are drawn."""

    unknown: str = setting("unknown")
    keep: Path | None = setting("keep")
    case: str = setting("case")
    consistent: str | None = setting("consistent")
    numbers: str = setting("numbers")
    only: str | None = setting("only")
    roles: str = setting("roles")
    classes: list[str] | None = setting("classes")
    fluent: bool = setting("fluent")
    language_model: Path | None = setting("language_model")
    tokenizer: str = setting("tokenizer", option)  # its values are checked with the others
    allow_unproved: bool = setting("allow_unproved")

    @staticmethod
    def unused(given: Mapping[str, Any]) -> Collection[str]:
        """Return what ``--only`` has no use for."""
        if given["only"] is None:
            return ()
        undrawn = [name for name, about in SETTINGS.items() if about.undrawn or name == "public"]
        counted = () if given["numbers"] == "value" else ("epsilon", "budget", "ledger")
        return [name for name in (*undrawn, *counted) if name in given]

    def check_epsilon(self) -> None:
        """Raise UsageError if epsilon is missing or wrong; classes drawn alone need none."""
        if self.only is None or self.epsilon is not None:
            self.required_epsilon()
