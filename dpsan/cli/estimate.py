"""``dpsan estimate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dpsan.cli.command import argument, option
from dpsan.cli.evaluate import Audited
from dpsan.cli.options import Page, Sanitizing, Texts
from dpsan.cli.output import INPUT
from dpsan.errors import refuse

if TYPE_CHECKING:
    from dpsan.sanitize.sanitizer import Sanitizer


@dataclass(frozen=True, kw_only=True)
class Estimate(Page, Texts, Sanitizing, Audited):
    """Estimate what groups of texts said, from their sanitized versions alone.

    Do not count words of the output: this command knows what the mechanism did to them. It needs
    the settings of the run, and no original. See docs/estimate.md.

    Examples:
        dpsan estimate -e 8 -k text --by topic --list oil=oil,crude,barrel safe.csv
        dpsan estimate --audit audit.jsonl --top 10 north.txt south.txt
        dpsan estimate -e 8 -k text --by topic --list @lists.txt --html page.html safe.csv
    """

    everyday: ClassVar = (
        "--epsilon --mechanism --audit --embeddings --format --field --by --list --top --json "
        "--html --quiet"
    )
    rules: ClassVar = "--audit excludes --epsilon and --param"

    sanitized: list[Path] = argument("SANITIZED...")
    """The sanitized texts."""
    by: str | None = option("--by FIELD", panel=INPUT)
    """Column or JSON path with the group of a record. Default: each file is a group."""
    lists: list[str] | None = option("--list NAME=WORD,...|@FILE", panel="Estimates")
    """Estimate how often these words occurred, all together. FILE: one list a line. Repeatable."""
    top: int = option("--top N", 0, min=0, panel="Estimates")
    """Up to N words that each group uses more than all groups."""

    def run(self) -> int:
        """Estimate, and print what is called."""
        self.check_rules()
        lists = self._lists()
        such = "such as --top 20, or --list oil=oil,crude,barrel"
        refuse(not lists and not self.top, "--list or --top is required", such)
        self.check_files()
        inputs = self.inputs(self.sanitized[0])
        self.check_page()

        from dpsan.analysis.estimate import Estimate as Estimates
        from dpsan.analysis.estimate import answers, matrix_of, read_groups, shown

        sanitizer = self._sanitizer()
        matrix_of(lists, sanitizer.embeddings)  # errors come before the long work
        with self.progress.named() as progress:
            texts, labels = read_groups(self.sanitized, inputs, self.by)
            estimates = Estimates(texts, labels, sanitizer, top=self.top > 0, progress=progress)
            values = answers(estimates, lists, self.top, progress)
        self.show(values, [shown(values)])
        return 0

    def _lists(self) -> dict[str, list[str]]:
        """Return the words of each list.  Raises UsageError, InputError."""
        from dpsan.text.out_of_vocabulary import read_word_list

        given: list[str] = []
        for text in self.lists or ():
            given += read_word_list(Path(text[1:])) if text.startswith("@") else [text]
        parts = [text.partition("=") for text in given]
        lists = {name.strip(): [*map(str.strip, words.split(","))] for name, _, words in parts}
        wrong = len(lists) < len(parts) or not all(name and words for name, _, words in parts)
        refuse(wrong, "--list must be NAME=WORD,WORD, each NAME once", "of a file: --list @FILE")
        return lists

    def _sanitizer(self) -> Sanitizer:
        """Return what has the settings of the run.  Raises UsageError, InputError."""
        from dpsan.sanitize.sanitizer import Sanitizer

        if (run := self.audited_run()) is None:
            missing = self.epsilon is None and self.only is None
            refuse(missing, "--audit or --epsilon of the run that wrote the texts is required")
            self.check_epsilon()
            return Sanitizer.from_spec(self.spec().of_table(), self.store())
        spec = replace(run.of_table(), embeddings=self.embeddings, vocab_size=self.vocab_size)
        sanitizer = Sanitizer.from_spec(spec, self.store())
        run.check(sanitizer.embeddings.digest)
        return sanitizer
