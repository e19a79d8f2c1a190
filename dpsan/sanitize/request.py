"""Request of a run: plain data, without secrets."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpsan.embeddings.word_lists import NUMBERS, PublicWords, WordClass
from dpsan.errors import Hint, UsageError, check_name
from dpsan.mechanisms import (
    DEFAULT_MECHANISM,
    check_classes,
    check_public,
    mechanism_class,
)
from dpsan.mechanisms.base import Mechanism
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.numbers_by_value import NumberPolicy
from dpsan.text.letter_case import LetterCase
from dpsan.text.out_of_vocabulary import SEVERAL, SEVERAL_HINT, UnknownPolicy
from dpsan.text.tokens import TOKENIZERS, is_token


@dataclass(frozen=True)
class RunSpec:
    """Everything that decides what a run does to text; picklable, without secrets."""

    epsilon: float | None
    """None where words of some classes are replaced at no epsilon."""
    mechanism: str = DEFAULT_MECHANISM
    parameters: dict[str, Any] = field(default_factory=dict)
    embeddings: Path | None = None
    vocab_size: int | None = None
    tokenizer: str = "unicode"
    unknown: UnknownPolicy = UnknownPolicy.SAMPLE
    keep: frozenset[str] = field(default=frozenset(), repr=False)
    public: PublicWords | None = None
    case: str = LetterCase.NATURAL
    allow_unproved: bool = False
    consistent: Unit | None = None
    """Within what equal words have the same draw; None: nowhere."""
    numbers: str = NumberPolicy.WORD
    only: tuple[WordClass, ...] = ()
    """Classes of words that are drawn, each in its group; all other words pass. Empty: all words
    are drawn."""
    roles: str = "on"
    """``off`` if all names are drawn from one group, and all places from another (``only``)."""
    mapped: bool = False
    """True if a map tells for each replacement what it stands for (``only``)."""
    classes: tuple[WordClass, ...] = ()
    """Classes of words whose groups are one input of the mechanism each."""
    fluent: bool = False
    """True if a public language model decodes the drawn words."""
    language_model: Path | None = None
    """Its file; None: that of the default vocabulary."""
    own_sha256: str | None = None
    """Digest of the mechanism's file, once it was read: workers refuse another one."""

    def kind(self) -> type[Mechanism]:
        """Return the kind of mechanism.  Raises UsageError for unknown names, or without public
        words.
        """
        kind = mechanism_class(self.mechanism, self.own_sha256)
        check_name("tokenizer", self.tokenizer, TOKENIZERS)
        check_name("case", self.case, list(LetterCase))
        check_name("policy for numbers", self.numbers, list(NumberPolicy))
        check_name("setting of roles", self.roles, ["on", "off"])
        if self.roles == "off" and not self.only:
            raise UsageError(
                "roles are those of classes that are drawn alone", Hint("use only", "use --only")
            )
        if not all(is_token(word, self.tokenizer) for word in self.keep):
            raise UsageError(f"a word of the keep list is {SEVERAL}", SEVERAL_HINT)
        if self.public is not None:
            check_public(kind)
        if self.only or self.classes:
            self._check_classes(kind)
        if self.fluent:
            self._check_fluent()
        elif self.language_model is not None:
            raise UsageError("a language model is for fluent output")
        return kind

    def _check_fluent(self) -> None:
        """Raise UsageError for settings that fluent output excludes."""
        if self.only:
            raise UsageError("fluent output is not for classes that are drawn alone: they read")
        if self.consistent not in (None, Unit.RECORD):
            raise UsageError(
                "fluent output writes equal draws alike within a record only",
                Hint("consistent='record'", "--consistent record"),
            )

    def _check_classes(self, kind: type[Mechanism]) -> None:
        """Raise UsageError for settings that classes of words exclude."""
        if self.only and self.classes:
            raise UsageError("classes that are drawn alone exclude classes beside other words")
        if self.public is not None:
            raise UsageError("classes of words exclude public words")
        if not self.only:
            check_classes(kind)
            return
        unused = {
            "mechanism": self.mechanism != DEFAULT_MECHANISM or bool(self.parameters),
            "vocabulary": self.embeddings is not None or self.vocab_size is not None,
            "policy for unknown words": self.unknown is not UnknownPolicy.SAMPLE,
            "letter case": self.case != LetterCase.NATURAL,
            "tokenizer": self.tokenizer != "unicode",
        }
        for what, given in unused.items():
            if given:
                raise UsageError(f"classes that are drawn alone take no {what}: no mechanism draws")
        if self.numbers == NumberPolicy.WORD:
            if self.epsilon is not None:
                raise UsageError(
                    "classes that are drawn alone need no epsilon: which word of its group stood "
                    "there is hidden completely",
                    "leave it out",
                )
        elif NUMBERS not in {word_class.name for word_class in self.only}:
            raise UsageError("numbers by value need the class numbers", "add numbers")
        elif self.epsilon is None:
            raise UsageError("numbers by value need an epsilon: it is your decision")

    def build(self) -> Mechanism:
        """Return the mechanism.

        Raises:
            UsageError: unknown name, parameter outside its domain, no epsilon.
        """
        kind = self.kind()
        if self.epsilon is None:
            raise UsageError("epsilon is required: it is your decision")
        return kind.build(self.epsilon, self.parameters)
