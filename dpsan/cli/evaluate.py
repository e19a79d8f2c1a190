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

if TYPE_CHECKING:
    from dpsan.analysis.evaluate import Question
    from dpsan.analysis.evaluate.setting import Setting
    from dpsan.outcomes.calibrate.target import Draft


@dataclass(frozen=True, kw_only=True)
class Evaluate(Page, Texts, Vocabulary, Privacy):
    """Measure the utility of sanitized text and how much an attacker can recover.

    The result contains no text. Attacks need --epsilon or --audit.

    Examples:
        dpsan evaluate -e 8 letter.txt safe.txt
        dpsan evaluate --audit audit.jsonl -k body tickets.csv safe.csv
        dpsan evaluate -e 8 --language-model public.txt letter.txt safe.txt
    """

    everyday: ClassVar = (
        "--epsilon --mechanism --audit --embeddings --format --field --copies "
        "--language-model --spans --candidates --authors --labels --json --html --quiet"
    )

    rules: ClassVar = """
        --test-original and --test-sanitized need each other
        --test-original needs --labels
        --authors needs --epsilon or --audit (the attacker sanitizes texts too)
        --words needs --candidates
        --class needs --audit
        --audit excludes --copies, --epsilon and --param
    """
    original: Path = argument("ORIGINAL")
    """The texts."""
    sanitized: list[Path] = argument("SANITIZED...")
    """Their sanitized versions, in order; more files: of further runs on the texts."""
    audit: Path | None = option("--audit FILE", panel=PRIVACY)
    """Take mechanism, epsilon, parameters and tokenizer from this audit of the run."""
    class_files: list[Path] | None = option("--class FILE", panel=PRIVACY)
    """With --audit: a class of your own that the run had. Repeatable."""
    tokenizer: str | None = option("--tokenizer unicode|ptb|whitespace", panel=INPUT)
    """The tokenizer of the run; default unicode."""
    copies: int = option("--copies N", 1, min=1, panel=INPUT)
    """The --copies of the run."""
    language_model: list[Path] | None = option("--language-model FILE", panel="Attacks")
    """Public text, one paragraph a line (repeatable), or a model of `dpsan train`, for the context
    attack and readability. Default: that of the bundled vocabulary."""
    spans: Path | None = option("--spans FILE", panel="Attacks")
    """Measure how much of these spans is read back, and how many persons are fully hidden."""
    candidates: Path | None = option("--candidates FILE", panel="Attacks")
    """Texts of which the attacker knows that one is the original. Measure how often it is found."""
    words: list[int] | None = option("--words N", min=1, panel="Attacks")
    """With --candidates: also measure by the first N words. Repeatable."""
    authors: str | None = option("--authors FIELD", panel="Attacks")
    """Column of ORIGINAL with authors. Measure how often they are found by their other texts."""
    labels: str | None = option("--labels COLUMN", panel="Utility")
    """Column of ORIGINAL with labels. Train and test a classifier on both versions."""
    test_original: Path | None = option("--test-original FILE", panel="Utility")
    """Test records. Default: every fifth record of ORIGINAL."""
    test_sanitized: Path | None = option("--test-sanitized FILE", panel="Utility")
    """Sanitized versions of the test records."""

    def run(self) -> int:
        """Judge the texts and print the figures."""
        self.check_rules()
        if self.epsilon is not None:
            options.positive("--epsilon", self.epsilon)
        self.check_files()

        from dpsan.analysis.evaluate import check, evaluate
        from dpsan.analysis.evaluate.setting import read_setting

        setting = None if self.audit is None else read_setting(self.audit)
        used = self if setting is None else self._as_in(setting)
        question, free, draft = used._question(), used.public_words(), used._draft(setting)
        if setting is not None:
            setting.check_public(free)
            question = replace(question, by_value=setting.by_value)
            if setting.fluent:
                several = setting.copies > 1 or question.again
                what = "a fluent run is evaluated without --copies and further files"
                refuse(several, what, "its audit has the drawn words of one output")
                question = replace(question, drawn=self.audit)
        check(question)
        self.check_page()
        vocabulary, space = self.open_space()
        if setting is not None:
            setting.check(vocabulary.digest)
        if setting is not None and setting.by_class:
            files = [str(each) for each in self.class_files or ()]
            built = setting.built(vocabulary, space, files)
            question = replace(question, mechanism=built.mechanism, grouping=built.grouping)
        elif used.epsilon is not None:
            rows = () if free is None else free.rows(vocabulary.key_to_index)
            draft = replace(draft, public=rows)
            question = replace(question, mechanism=draft.at(used.epsilon).resolved(space))
        with self.progress.named() as report:
            found = evaluate(question, vocabulary, space, report=report)
        from dpsan.analysis.evaluate.page import shown

        self.show(found.as_json(), [shown(found)])
        return 0

    def _as_in(self, setting: Setting) -> Evaluate:
        """Return the request with the options of an audited run.  Raises UsageError."""
        from dpsan.mechanisms.registry import mechanism_class, own_file

        mechanism_class(self.mechanism)  # which loads the file of the run's
        name = setting.mechanism
        setting.check_own(own_file(name))
        public = Path(setting.public_name) if setting.public_name else None
        return replace(
            self,
            mechanism=name,
            epsilon=setting.epsilon,
            tokenizer=self.tokenizer or setting.tokenizer,
            copies=setting.copies,
            public=self.public or public,
        )

    def _draft(self, setting: Setting | None) -> Draft:
        """Return the mechanism.  Raises UsageError."""
        from dpsan.analysis.explain import candidates

        values = options.parameters(self.param) if setting is None else setting.parameters
        (draft,) = candidates([self.mechanism], values, public=self.public is not None)
        if self.epsilon is not None:
            draft.kind.build(self.epsilon, dict(values))  # errors come before the long work
        return draft

    def _question(self) -> Question:
        """Return what is to be judged, but for the mechanism.  Raises UsageError."""
        from dpsan.analysis.evaluate import Question

        test = self.test_original, self.test_sanitized
        return Question(
            original=self.original,
            sanitized=self.sanitized[0],
            inputs=self.inputs(self.original),
            tokenizer=self.tokenizer or "unicode",
            public=tuple(self.language_model or ()),
            spans=self.spans,
            labels=self.labels,
            test=(test[0], test[1]) if test[0] and test[1] else None,
            again=tuple(self.sanitized[1:]),
            copies=self.copies,
            candidates=self.candidates,
            first_words=tuple(self.words or ()),
            authors=self.authors,
        )
