"""Commands that judge texts and mechanisms: report, evaluate, estimate, compare."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from dpsan import __version__
from dpsan.cli import options
from dpsan.cli.command import argument, flag, option
from dpsan.cli.options import Container, JsonAndFile, Page, Privacy, Sanitizing, Vocabulary
from dpsan.cli.output import INPUT, OUTPUT, PRIVACY, json_text, results, say
from dpsan.errors import printable, refuse
from dpsan.files.atomic_files import check_writable, write_whole
from dpsan.files.same_files import Use
from dpsan.text.tokens import read_word_list

if TYPE_CHECKING:
    from dpsan.analysis.evaluate.vocabulary import Run


@dataclass(frozen=True, kw_only=True)
class Report(Page):
    """Summarize audit files. The summary contains no text.

    Examples:
        dpsan report audit.jsonl
        dpsan report --html report.html *.jsonl
        dpsan report --json audit.jsonl
    """

    audits: list[Path] = argument("AUDIT...")
    """Files of --audit."""

    def run(self) -> int:
        """Print the summary; 1 if a file failed."""
        self.check_files()
        from dpsan.analysis.report import read_audit

        reports, failed = results(self.audits, read_audit)
        from dpsan.analysis.report.page import shown

        self.show(reports, [shown(report, signed=self.html is not None) for report in reports])
        return int(failed)


@dataclass(frozen=True, kw_only=True)
class Audited(Privacy):
    """A mechanism, or the audit of a run that has it."""

    audit: Path | None = option("--audit FILE", panel=PRIVACY)
    """Take the settings of the run from this audit."""

    def audited_run(self) -> Run | None:
        """Return the run of ``--audit``; None without it.  Raises UsageError, InputError."""
        from dpsan.analysis.evaluate.vocabulary import read_run
        from dpsan.mechanisms.registry import mechanism_class

        if self.audit is None:
            return None
        mechanism_class(self.mechanism)  # which loads the file of the run's
        return read_run(self.audit)


@dataclass(frozen=True, kw_only=True)
class Evaluate(Page, Container, Vocabulary, Audited):
    """Measure the utility of sanitized text and how much an attacker can recover.

    The result contains no text. Attacks need --epsilon or --audit.

    Examples:
        dpsan evaluate -e 8 letter.txt safe.txt
        dpsan evaluate --audit audit.jsonl -k body tickets.csv safe.csv
        dpsan evaluate -e 8 -k body --labels queue tickets.csv safe.csv
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
        self.check_files()

        from dpsan.analysis.evaluate import Question, evaluate, shown
        from dpsan.analysis.evaluate.accuracy import check_extra
        from dpsan.sanitize.rewriting import build

        if (run := self.audited_run()) is None:
            spec = self.spec(allow_unproved=True)
        else:
            what = "--audit of a run with --fluent: attackers read drawn words"
            refuse(run.header["fluent"], what, "evaluate a run without it, which draws alike")
            spec = run.settings(self.public, [*map(str, self.class_files or ())])
        question = Question(
            original=self.original,
            sanitized=self.sanitized,
            inputs=self.input_options(self.original),
            tokenizer=spec.tokenizer,
            spans=self.spans,
            labels=self.labels,
            copies=self.copies if run is None else run.header["copies"],
            audited=run is not None,
            by_value=spec.has("numbers=value"),
        )
        if spec.epsilon is not None:
            spec.build()  # errors come before the long work
        check_extra(self.labels)
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
        self.show(evaluation.as_json(), [shown(evaluation)])
        return 0


@dataclass(frozen=True, kw_only=True)
class Estimate(Page, Container, Sanitizing, Audited):
    """Estimate what groups of texts said, from their sanitized versions alone.

    Do not count words of the output: this command knows what the mechanism did to them. It needs
    the settings of the run, and no original. See docs/estimate.md.

    Examples:
        dpsan estimate -e 8 -k text --by topic --list oil=oil,crude,barrel safe.csv
        dpsan estimate --audit audit.jsonl --top 10 north.txt south.txt
        dpsan estimate -e 8 -k text --by topic --list @lists.txt --html page.html safe.csv
    """

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
        self.check_files()
        inputs = self.input_options(self.sanitized[0])
        self.check_page()

        from dpsan.analysis.estimate import Estimate as Estimates
        from dpsan.analysis.estimate import answers, matrix_of, read_groups, shown
        from dpsan.sanitize.sanitizer import Sanitizer

        if (run := self.audited_run()) is None:
            spec = self.spec().of_table()
        else:
            spec = run.of_table()
            spec = replace(spec, embeddings=self.embeddings, vocab_size=self.vocab_size)
        sanitizer = Sanitizer.from_spec(spec, self.store())
        if run is not None:
            run.check(sanitizer.embeddings.digest)
        matrix_of(lists, sanitizer.embeddings)  # errors come before the long work
        with self.progress.named() as progress:
            texts, labels = read_groups(self.sanitized, inputs, self.by)
            estimates = Estimates(texts, labels, sanitizer, top=self.top > 0, progress=progress)
            values = answers(estimates, lists, self.top, progress)
        self.show(values, [shown(values)])
        return 0

    def _lists(self) -> dict[str, list[str]]:
        """Return the words of each list.  Raises UsageError, InputError."""
        given: list[str] = []
        for text in self.lists or ():
            given += read_word_list(Path(text[1:])) if text.startswith("@") else [text]
        parts = [text.partition("=") for text in given]
        lists = {name.strip(): [*map(str.strip, words.split(","))] for name, _, words in parts}
        wrong = len(lists) < len(parts) or not all(name and words for name, _, words in parts)
        refuse(wrong, "--list must be NAME=WORD,WORD, each NAME once", "of a file: --list @FILE")
        return lists


_ENDINGS: Final = "its name must end with .csv, .json or .tex"


@dataclass(frozen=True, kw_only=True)
class Compare(Page, Container, Vocabulary):
    """Compare mechanisms at the same certified LDP epsilon.

    Measure utility and attacks on words of the vocabulary, or with --data on your own texts. The
    result contains no text.

    Examples:
        dpsan compare
        dpsan compare -m knn-response -m laplace --epsilon-ldp 6,8
        dpsan compare --data reviews.tsv -k text --labels label -o table.csv -o table.tex
    """

    mechanism: list[str] | None = option("-m, --mechanism NAME", panel=PRIVACY)
    """Compare this mechanism. Repeatable; default: optimal-response, knn-response, laplace, krr."""
    epsilon_ldp: list[str] | None = option("--epsilon-ldp LIST", panel=PRIVACY)
    """Certified LDP epsilons with commas between them. Default: 4,8."""
    param: list[str] | None = option("-p, --param NAME=VALUE", panel=PRIVACY)
    """Set a parameter of all mechanisms that have it, such as delta=1e-6. Repeatable."""
    data: Path | None = option("--data FILE", panel=INPUT)
    """Texts to sanitize. Default: words of the vocabulary at their public frequencies."""
    labels: str | None = option("--labels FIELD", panel=INPUT)
    """Field of --data with labels. Train and test a classifier on clean (c) and sanitized (s)
    texts."""
    seeds: int = option("--seeds N", 5, min=1)
    """Sanitize N times with public random numbers, and print means with 95 % intervals."""
    outputs: list[Path] | None = option("-o, --output FILE", use=Use.WRITTEN, panel=OUTPUT)
    """Write the table to FILE too, as its name ends: .csv, .json or .tex for LaTeX, after each row.
    Repeatable."""

    def run(self) -> int:
        """Sanitize, attack and write the table; 1 if no mechanism has figures."""
        self.check_rules()
        self.check_files()

        from dpsan.analysis import compare
        from dpsan.analysis.evaluate.pairs import Inputs

        request = compare.Request(
            drafts=compare.drafts(self.mechanism, options.parameters(self.param)),
            epsilons=options.positive_numbers("--epsilon-ldp", self.epsilon_ldp or ["4,8"]),
            seeds=self.seeds,
            data=self.data,
            inputs=Inputs() if self.data is None else self.input_options(self.data),
            labels=self.labels,
        )
        self.check_page()
        for path in self.outputs or ():
            refuse(path.suffix not in (".csv", ".json", ".tex"), f"{path}: {_ENDINGS}")
            check_writable(path, force=self.force)
        vocabulary, space = self.open_space()
        comparison = None
        command = shlex.join(["dpsan", *sys.argv[1:]])
        about = {"dpsan": __version__, "command": command, "embeddings": vocabulary.told()}
        forms: dict[str, Callable[[Any], str]] = {
            ".csv": compare.as_csv,
            ".tex": lambda rows: f"% {printable(command)}\n{compare.as_latex(rows)}",
            ".json": lambda rows: json_text({**about, **compare.as_record(rows)}) + "\n",
        }
        try:
            with self.progress.named() as report:
                for comparison in compare.growing(request, vocabulary, space, report):
                    for path in self.outputs or ():
                        write_whole(path, forms[path.suffix](comparison).encode(), force=True)
        finally:  # also after a signal: a finished row took minutes
            if comparison is not None:
                record = {**about, **compare.as_record(comparison)}
                self.show(record, [compare.shown(comparison)])
                sys.stdout.flush()
                done, wanted = len(comparison.rows), len(request.drafts) * len(request.epsilons)
                if done < wanted:
                    say(f"{done} of {wanted} rows are finished")
        return 0 if comparison and comparison.measured else 1


_STATUS = {"kept": 0, "violated": 1, "inconclusive": 3}


@dataclass(frozen=True, kw_only=True)
class Verify(JsonAndFile, Sanitizing):
    """Check the guarantee on your own vocabulary.

    The verdict is kept, violated or inconclusive: exit status 0, 1 or 3. A certificate or a proof
    shows that a guarantee is kept. Sampling can only disprove it.

    What is drawn is tested too: its distribution, and that words, lines, files and processes share
    no random numbers. See docs/verify.md.

    Examples:
        dpsan verify -e 8
        dpsan verify --only names
        dpsan verify -e 8 --certificate certificate.json
    """

    spans: bool = flag("--spans", panel=PRIVACY)
    """Verify a run with --spans, whatever is in its FILE."""
    words: int = option("--words N", 40, min=2)
    """Number of vocabulary words whose outputs are compared."""
    draws: int = option("--draws N", 100_000, min=10_000)
    """Draws for the empirical bound."""
    certificate: Path | None = option("--certificate FILE", use=Use.WRITTEN)
    """Write the certified integers to FILE, for docs/check_certificate.py."""
    jobs: int = option("-j, --jobs N", 2, min=1)
    """Number of worker processes to check, too; 1: none."""

    def run(self) -> int:
        """Check, and print the verdict."""
        self.check_rules()
        self.check_files()

        if self.only is not None:
            return self._replaced()

        from dpsan.analysis.pages import by_name
        from dpsan.analysis.verify import check_certificate, shown, write_certificate
        from dpsan.analysis.verify.verdict import verify
        from dpsan.run.workers import Pool
        from dpsan.sanitize.sanitizer import Sanitizer

        store = self.store()
        spec = self.spec()
        if spec.fluent:  # what it cannot be with is refused; it changes no guarantee
            Sanitizer.from_spec(spec, store)
        sanitizer = Sanitizer.from_spec(replace(spec, fluent=False), store)
        path = self.certificate
        if path is not None:
            check_certificate(path, sanitizer, force=self.force)
        pool: Pool | nullcontext[None] = nullcontext()
        if self.jobs > 1:
            pool = Pool(sanitizer.spec, store.root, self.jobs, sanitizer.embeddings.digest)
        with pool as workers, self.progress.named() as report:
            report(f"verifying {sanitizer.mechanism.name}")
            limits = {"words": self.words, "draws": self.draws}
            verification = verify(sanitizer, **limits, spans=self.spans, workers=workers)
        if path and not write_certificate(path, sanitizer, verification, force=self.force):
            say(f"no certificate written: the guarantee is {verification.verdict}")
        self.show(by_name(verification), [shown(verification, sanitizer.mechanism.name)])
        return _STATUS[str(verification.verdict)]

    def _replaced(self) -> int:
        """Check a run with ``--only``, in which no mechanism draws."""
        from dpsan.analysis.pages import Shown
        from dpsan.analysis.verify import checked
        from dpsan.analysis.verify.program import verify_replaced
        from dpsan.sanitize.sanitizer import Sanitizer

        sanitizer, started = Sanitizer.from_spec(self.spec(), self.store()), perf_counter()
        verdict, checks = verify_replaced(sanitizer)
        values = {"verdict": verdict, "checks": checks, "seconds": perf_counter() - started}
        but = ", except of numbers by value" * (sanitizer.guarantee.epsilon_ldp > 0)
        hidden = f" for two words of one group{but}" * (verdict == "kept")
        title = f"--only {self.only}: {verdict.upper()}{hidden}"
        self.show(values, [Shown("", [checked(checks)], title=title)])
        return _STATUS[verdict]
