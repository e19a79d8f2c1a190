"""``dpsan evaluate``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dpsan.cli import options
from dpsan.cli.command import argument, option
from dpsan.cli.options import Page, Privacy, Texts, Vocabulary
from dpsan.cli.output import INPUT, PRIVACY
from dpsan.errors import refuse
from dpsan.sanitize.settings import Settings

if TYPE_CHECKING:
    from dpsan.analysis.evaluate import Question
    from dpsan.analysis.evaluate.setting import Run


@dataclass(frozen=True, kw_only=True)
class Audited(Privacy):
    """A mechanism, or the audit of a run that has it."""

    audit: Path | None = option("--audit FILE", panel=PRIVACY)
    """Take the settings of the run from this audit."""

    def audited_run(self) -> Run | None:
        """Return the run of ``--audit``; None without it.  Raises UsageError, InputError."""
        from dpsan.analysis.evaluate.setting import read_run
        from dpsan.mechanisms.registry import mechanism_class

        if self.audit is None:
            return None
        mechanism_class(self.mechanism)  # which loads the file of the run's
        return read_run(self.audit)


@dataclass(frozen=True, kw_only=True)
class Evaluate(Page, Texts, Vocabulary, Audited):
    """Measure the utility of sanitized text and how much an attacker can recover.

    The result contains no text. Attacks need --epsilon or --audit.

    Examples:
        dpsan evaluate -e 8 letter.txt safe.txt
        dpsan evaluate --audit audit.jsonl -k body tickets.csv safe.csv
        dpsan evaluate -e 8 -k body --labels queue tickets.csv safe.csv
    """

    everyday: ClassVar = (
        "--epsilon --mechanism --audit --embeddings --format --field --copies "
        "--spans --labels --json --html --quiet"
    )

    rules: ClassVar = """
        --class needs --audit
        --audit excludes --copies, --epsilon, --param and --tokenizer
    """
    original: Path = argument("ORIGINAL")
    """The texts."""
    sanitized: Path = argument("SANITIZED")
    """Their sanitized versions, in order."""
    class_files: list[Path] | None = option("--class FILE", panel=PRIVACY)
    """With --audit: a class of your own that the run had. Repeatable."""
    tokenizer: str = option("--tokenizer unicode|ptb|whitespace", "unicode", panel=INPUT)
    """The tokenizer of the run."""
    copies: int = option("--copies N", 1, min=1, panel=INPUT)
    """The --copies of the run."""
    spans: Path | None = option("--spans FILE", panel="Attacks")
    """Measure how much of these spans is read back, and how many persons are fully hidden."""
    labels: str | None = option("--labels COLUMN", panel="Utility")
    """Column of ORIGINAL with labels, such as topics or authors. Train a classifier on
    both versions, and test it on every fifth record."""

    def run(self) -> int:
        """Judge the texts and print the figures."""
        self.check_rules()
        if self.epsilon is not None:
            options.positive("--epsilon", self.epsilon)
        self.check_files()

        from dpsan.analysis.evaluate import check, evaluate
        from dpsan.sanitize.rewriting import build

        run, spec = self._run_and_settings()
        question = self._question(spec.tokenizer)
        if run is not None:
            what = "--audit of a run with --fluent: attackers read drawn words"
            refuse(run.header["fluent"], what, "evaluate a run without it, which draws alike")
            value = spec.has("numbers=value")
            copies = run.header["copies"]
            question = replace(question, audited=True, copies=copies, by_value=value)
        if spec.epsilon is not None:
            spec.build()  # errors come before the long work
        check(question)
        self.check_page()
        vocabulary, space = self.open_space()
        if run is not None:
            run.check(vocabulary.digest)
        if spec.epsilon is not None:
            built = build(spec, lambda: (vocabulary, space))
            space = built.space
            question = replace(question, mechanism=built.mechanism)
        with self.progress.named() as report:
            evaluation = evaluate(question, vocabulary, space, report=report)
        from dpsan.analysis.evaluate import shown

        self.show(evaluation.as_json(), [shown(evaluation)])
        return 0

    def _run_and_settings(self) -> tuple[Run | None, Settings]:
        """Return the audited run, if it was given, and its settings.  Raises DpsanError."""
        if (run := self.audited_run()) is None:
            names = ("epsilon", "mechanism", "public", "tokenizer")
            given = {name: getattr(self, name) for name in names}
            values = options.parameters(self.param)
            return None, Settings.read(**given, parameters=values, allow_unproved=True)
        return run, run.settings(self.public, [*map(str, self.class_files or ())])

    def _question(self, tokenizer: str) -> Question:
        """Return what is to be judged, but for the mechanism.  Raises UsageError."""
        from dpsan.analysis.evaluate import Question

        return Question(
            original=self.original,
            sanitized=self.sanitized,
            inputs=self.inputs(self.original),
            tokenizer=tokenizer,
            spans=self.spans,
            labels=self.labels,
            copies=self.copies,
        )
