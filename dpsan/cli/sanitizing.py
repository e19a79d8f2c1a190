"""Options that decide how words are drawn, for ``rewrite`` and ``verify``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dpsan.cli.command import choice, flag, option
from dpsan.cli.options import Privacy, Vocabulary
from dpsan.cli.tree import PRIVACY, RARE

if TYPE_CHECKING:
    from dpsan.embeddings.word_lists import WordClass
    from dpsan.sanitize.request import RunSpec


# It has no objects of its own, and to make it so would take time at each start.
@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class Sanitizing(Vocabulary, Privacy):
    """Everything that decides how words are drawn."""

    panel: ClassVar = PRIVACY
    panels: ClassVar = {RARE: "language_model tokenizer"}
    variables: ClassVar = "unknown keep case consistent numbers only roles tokenizer"

    unknown: str = choice("--unknown sample|mask", "sample")
    """Out-of-vocabulary words: `sample` a random word (covered by the guarantee), or `mask` as
    <unk>."""
    keep: Path | None = option("--keep FILE")
    """Keep these words unchanged, one a line. NOT PRIVATE: any other output shows that the word
    was none of them."""
    case: str = choice("--case natural|vocabulary", "natural")
    """Letter case of outputs: `natural` spelling, or as the `vocabulary` has it."""
    consistent: str | None = choice("--consistent off|record|file|run")
    """Draw each distinct word once for each record, file or run. Which words are equal is not
    protected. Default: off; with --only, record, and in texts and documents the file."""
    numbers: str = choice("--numbers word|value", "word")
    """Draw a word for a number, or a number of the same form. With `value`, which words are
    numbers is not protected."""
    only: str | None = option("--only CLASSES")
    """Replace words of these classes by random words of their groups: sensitive, people,
    identifiers, names,places, a FILE, or spans for --spans alone. Takes no epsilon: which word
    of its group stood there is hidden completely. All other words pass unchanged: NOT
    PROTECTED."""
    roles: str = choice("--roles on|off", "on")
    """With --only: `off` draws all names from one group, all places from another, and words of
    health whatever part of the body they are about. Less is public; the text reads worse."""
    classes: list[str] | None = option("--class CLASSES")
    """Read each group of these classes as one input, such as sensitive: which word of the group
    stood there is hidden completely. --epsilon bounds any two words. Repeatable."""
    fluent: bool = flag("--fluent")
    """Make the drawn words read, with a public language model. The guarantee stays; many words are
    guesses. Needs an epsilon of 7 or more."""
    language_model: Path | None = option("--language-model FILE")
    """With --fluent: the model of your own vocabulary, from `dpsan train`."""
    tokenizer: str = option("--tokenizer unicode|ptb|whitespace", "unicode")
    """How lines are cut into words. `ptb` splits contractions, as GloVe was trained."""
    allow_unproved: bool = flag("--allow-unproved")
    """Run a mechanism whose guarantee is not PROVED."""

    @staticmethod
    def unused(given: Mapping[str, Any]) -> Collection[str]:
        """Return what ``--only`` has no use for."""
        if given["only"] is None:
            return ()
        words = "mechanism", "public", "embeddings", "vocab_size", "unknown", "case", "tokenizer"
        counted = () if given["numbers"] == "value" else ("epsilon", "budget", "ledger")
        return [name for name in (*words, *counted) if name in given]

    def word_classes(self) -> tuple[WordClass, ...]:
        """Return the classes of words that are drawn; empty: all words.  Raises DpsanError."""
        from dpsan.embeddings.word_lists import only_classes

        return () if self.only is None else only_classes(self.only, self.tokenizer)

    def check_epsilon(self) -> None:
        """Raise UsageError if epsilon is missing or wrong; classes drawn alone need none."""
        if self.only is None or self.epsilon is not None:
            self.required_epsilon()

    def spec(self) -> RunSpec:
        """Return the request of a sanitizer.  Raises as :meth:`run_spec`."""
        from dpsan.sanitize.consistent import unit_of
        from dpsan.text.out_of_vocabulary import UnknownPolicy, read_word_list

        return replace(
            self.run_spec(),
            unknown=UnknownPolicy(self.unknown),
            keep=frozenset(read_word_list(self.keep, self.tokenizer) if self.keep else ()),
            consistent=unit_of(self.consistent, only=self.only is not None),
            only=self.word_classes(),
        )
