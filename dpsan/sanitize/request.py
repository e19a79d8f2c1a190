"""What is asked of a run: plain data, without secrets.

Knows names and their domains.  Must not know how words are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpsan.errors import UsageError, unknown_name
from dpsan.mechanisms import DEFAULT_MECHANISM, MECHANISMS
from dpsan.mechanisms.base import Mechanism
from dpsan.text.out_of_vocabulary import UnknownPolicy
from dpsan.text.tokens import TOKENIZERS

__all__ = ["RunSpec"]


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides what a run does to text; picklable, without secrets."""

    epsilon: float | None
    """None where it is still to be found for ``epsilon_ldp``."""
    mechanism: str = DEFAULT_MECHANISM
    parameters: dict[str, Any] = field(default_factory=dict)
    embeddings: Path | None = None
    vocab_size: int | None = None
    tokenizer: str = "unicode"
    unknown: UnknownPolicy = UnknownPolicy.SAMPLE
    keep: frozenset[str] = field(default=frozenset(), repr=False)
    case: str = "vocabulary"
    allow_unproved: bool = False
    epsilon_ldp: float | None = None
    """The certified LDP epsilon that ``epsilon`` is to be, or was, found for."""

    def kind(self) -> type[Mechanism]:
        """The kind of mechanism.  Raises UsageError for unknown names."""
        if self.mechanism not in MECHANISMS:
            raise unknown_name("mechanism", self.mechanism, MECHANISMS)
        if self.tokenizer not in TOKENIZERS:
            raise unknown_name("tokenizer", self.tokenizer, TOKENIZERS)
        if self.case not in ("vocabulary", "input"):
            raise unknown_name("case", self.case, ["vocabulary", "input"])
        return MECHANISMS[self.mechanism]

    def build(self) -> Mechanism:
        """The mechanism.

        Raises:
            UsageError: unknown name, parameter outside its domain, no epsilon.
        """
        kind = self.kind()
        if self.epsilon is None:
            raise UsageError("epsilon is required: it is your decision")
        return kind.build(self.epsilon, self.parameters)
