"""Commands that help to decide: preview, mechanisms, explain, calibrate."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpsan.cli import options
from dpsan.cli.command import argument, flag, option
from dpsan.cli.output import OUTPUT, PRIVACY, echo, print_json, say
from dpsan.errors import printable, refuse
from dpsan.sanitize.settings import Settings
from dpsan.text.tokens import LONGEST

if TYPE_CHECKING:
    from dpsan.analysis.pages import Shown
    from dpsan.outcomes.calibrate import Calibration


@dataclass(frozen=True, kw_only=True)
class Preview(options.Page, options.Container, options.Vocabulary):
    """Show your own text at several epsilons, and what an attacker reads back.

    The samples must not be published. Only --html writes a file, for its owner alone.

    Examples:
        dpsan preview notes.txt
        dpsan preview -k body tickets.csv --html preview.html
        dpsan preview -e 6,8 notes.txt
    """

    file: Path = argument("FILE")
    """The text. About 1,000 words from all over it are measured."""
    epsilon: list[str] | None = option("-e, --epsilon LIST", panel=PRIVACY)
    """Epsilons with commas between them. Default: 4,6,8,10,12."""

    def run(self) -> int:
        """Draw, read back and print."""
        self.check_files()
        epsilons = options.positive_numbers("--epsilon", self.epsilon or ["4,6,8,10,12"])
        inputs = self.input_options(self.file, force_text=False)
        self.check_page()

        from dpsan.analysis.preview import preview, shown

        store = self.store()
        opened = self.open_space(store)
        with self.progress.named() as report:
            result = preview(self.file, inputs, opened, store, epsilons, report)
        self.show(result.as_json(), [shown(result)], private=True)
        return 0


@dataclass(frozen=True, kw_only=True)
class Mechanisms(options.Json, options.Quiet):
    """List the mechanisms and their guarantees, or explain some.

    Examples:
        dpsan mechanisms
        dpsan mechanisms optimal-response trlaplace-paper
        dpsan mechanisms --bibtex laplace krr > papers.bib
    """

    names: list[str] | None = argument("[NAME]...", None)
    """Default: a table of all."""
    bibtex: bool = flag("--bibtex", panel=OUTPUT)
    """Print only the BibTeX entries of what these mechanisms cite, or all of them."""

    def run(self) -> int:
        """Print the table, or what is known of some mechanisms."""
        from dpsan.analysis.pages import Section, Shown
        from dpsan.mechanisms.registry import MECHANISMS, brought, list_mechanisms, mechanism_class

        if not self.names and not self.bibtex:
            known, keys = list_mechanisms(), ("name", "epsilon_unit", "status", "summary")
            rows = [[str(row[key]) for key in keys] for row in known]
            others = [f"Of other packages, not reviewed: {', '.join(brought())}"] * bool(brought())
            headings = ("name", "epsilon in", "status", "what it is")
            self.show(known, [Shown("", [Section(headings, rows, others)])])
            return 0
        names = [*dict.fromkeys(mechanism_class(name).name for name in self.names or MECHANISMS)]
        self.check_rules()
        from dpsan.mechanisms.registry import bibtex, described, sections

        values = [described(name) for name in names]
        if not self.bibtex:
            self.show(values if len(names) > 1 else values[0], [*map(_shown, values)])
        cited = [
            f"{row['source']} {sections(row['name']).get('Public words', '')}" for row in values
        ]
        for entry in () if self.as_json else bibtex(" ".join(cited)):
            echo(f"{entry}\n" if self.bibtex else f"\n{entry}")
        return 0


def _shown(values: dict[str, Any]) -> Shown:
    """Return what is known of a mechanism."""
    from dpsan.analysis.pages import Part, Prose, Shown
    from dpsan.mechanisms.registry import parameter_rows, sections

    texts = sections(values["name"])
    title = f"{values['name']} ({values['status']}): {texts.pop('Summary')}"
    texts.pop("Parameters", None)
    parts: list[Part] = [Prose(heading, body) for heading, body in texts.items()]
    lines = [f"epsilon: in {values['epsilon_unit']}, required"]
    for row in parameter_rows(values["name"]):
        value = "required" if row["required"] else f"default {row['value']}"
        unit = f", in {row['unit']}" if row["unit"] else ""
        lines.append(f"{row['name']}: {row['help']}; {row['domain']}{unit}; {value}")
    parts.append(Prose("Parameters", lines=lines))
    parts.append(Prose("", "'dpsan explain WORD -e X' has the guarantee on your vocabulary."))
    return Shown("", parts, title=title)


_COLUMNS: Final = ("token", "label", "class", "group", "rule", "why")
_NO_DRAW: Final = "the rules show no output, and no mechanism draws"


@dataclass(frozen=True, kw_only=True)
class Explain(options.Page, options.Vocabulary, options.Privacy):
    """Show the output distribution of a word, or what the rules of --only do with a text.

    Examples:
        dpsan explain doctor -e 8
        dpsan explain doctor -m laplace -e 8
        dpsan explain --unknown -e 8 --html unknown.html
        dpsan explain --only sensitive "Mr. Case met Grace Young in Leeds."
    """

    words: list[str] | None = argument("[WORD]...", None)
    """Words; with --only, texts, and - reads one from stdin."""
    only: str | None = option("--only CLASSES", panel=PRIVACY)
    """Show which rule of these classes draws each token of a text, and by which list the others
    pass."""
    unknown: bool = flag("--unknown")
    """Also explain ⊥, the input of every out-of-vocabulary word."""
    allow_unproved: bool = flag("--allow-unproved", panel=PRIVACY)
    """Changes nothing, as explain rewrites no text; the options of rewrite can stay."""
    top: int = option("--top N", 10, min=0)
    """Number of outputs to list."""

    def run(self) -> int:
        """Explain each word by a mechanism, or each text by its rules."""
        words = self.words or []
        path = next(filter(os.path.isfile, (word for word in words if "." in word)), "")
        hint = f"its text: dpsan explain --only sensitive - < {path}"
        refuse(path, f"{path}: a file, and words are explained", hint)
        if self.only is not None:
            return self._rules(self.only, words)
        self.check_rules()
        refuse("-" in words, "words are not read from stdin", "xargs dpsan explain -e 8 < FILE")
        self.check_files()

        from dpsan.analysis.explain import explain, read, shown
        from dpsan.sanitize.sanitizer import Sanitizer

        # It is looked at, not run on text.
        spec = self.spec(unknown="sample", allow_unproved=True)
        spec.build()  # usage errors come before the slow part
        self.check_page()
        sanitizer = Sanitizer.from_spec(spec, self.store())
        with self.progress.named() as report:
            report(f"explaining {self.mechanism}")
            inputs = read(sanitizer, [*words, *["⊥"] * self.unknown])
            explanations = explain(sanitizer, inputs, top=self.top)
        self.show(explanations, [*map(shown, explanations)])
        return 0

    def _rules(self, only: str, texts: list[str]) -> int:
        """Explain what becomes of each token of the texts."""
        alone = {"words", "only", "quiet", *(field.name for field in fields(options.Page))}
        others = sorted(self.typed - alone)
        named = {field.name: str(field.metadata.get("name")) for field in fields(self)}
        refuse(others, f"--only excludes {' and '.join(named[name] for name in others)}", _NO_DRAW)
        hint = "--only takes CLASSES: --only sensitive TEXT" if " " in only.strip() else ""
        refuse(not texts, "give a TEXT, or - for a text on stdin", hint)
        from dpsan.embeddings.word_lists import only_classes
        from dpsan.sanitize.classes import explained
        from dpsan.sanitize.replacing import OnlyRewriter

        rewriter = OnlyRewriter(Settings(only=only_classes(only)))
        whole = (_stdin(self.quiet) if text == "-" else text for text in texts)
        explained_texts = [explained(rewriter, text) for text in whole]
        from dpsan.analysis.pages import Section, Shown

        tables = [Section(_COLUMNS, [*map(_row, tokens)]) for tokens in explained_texts]
        self.show(explained_texts, [Shown("", [table]) for table in tables])
        return 0


def _row(token: dict[str, str | None]) -> list[str | None]:
    """Return the cells of a token: by which rule it is drawn, or by which list it passes."""
    passes = token["passes"]
    if passes is not None:
        rule = passes.removeprefix("rule ") if token["why"] else None
        token = {**token, "group": "passes", "rule": rule, "why": token["why"] or passes}
    return [token[name] for name in _COLUMNS]


def _stdin(quiet: bool) -> str:
    """Return standard input.  Raises UsageError: too long, or not UTF-8."""
    if sys.stdin.isatty() and not quiet:
        say("reading a text from the terminal (Ctrl-D ends)")

    data = sys.stdin.buffer.read(LONGEST + 1)
    refuse(len(data) > LONGEST, f"standard input: longer than {LONGEST} bytes")
    text = data.decode("utf-8-sig", "replace")
    for number, line in enumerate(text.split("\n"), start=1):
        refuse("\ufffd" in line, f"standard input:{number}: not UTF-8")
    return text


@dataclass(frozen=True, kw_only=True)
class Calibrate(options.Json, options.Container, options.Vocabulary, options.Privacy):
    """Find the epsilon that reaches a target, such as 40 % of words unchanged.

    The result is on the private side of the target. With FILE it tells a little of the text: round
    it.

    Examples:
        dpsan calibrate --unchanged 0.3
        dpsan calibrate --unchanged 0.3 notes.txt
        dpsan calibrate --budget 100 -k body tickets.csv
        dpsan calibrate -m laplace --epsilon-ldp 8
    """

    file: Path | None = argument("[FILE]", None)
    """Your own text, for --unchanged and --budget. Default: words by public frequency."""
    unchanged: float | None = option("--unchanged X", panel="Targets")
    """Target share of running words that stay unchanged: by public frequencies as rewrite prints
    it, or of those of FILE."""
    epsilon_ldp: float | None = option("--epsilon-ldp X", panel="Targets")
    """Target LDP epsilon, certified. It means the same for every mechanism."""
    budget: float | None = option("--budget X", panel="Targets")
    """Target LDP epsilon of the longest record of FILE: rewrite --budget X then refuses none."""
    epsilon: float | None = option("-e, --epsilon X", hidden=True, panel="Targets")
    """What is found."""

    def run(self) -> int:
        """Search, and print what was found with the command that uses it."""
        self.check_rules()
        targets = [self.unchanged, self.epsilon_ldp, self.budget]
        both = sum(value is not None for value in targets) != 1
        refuse(both, "give one of --unchanged, --epsilon-ldp, --budget")
        self.check_files()
        from dpsan.mechanisms.registry import check_base, mechanism_class
        from dpsan.outcomes.calibrate import Draft, Target, calibrate

        target = Target.EPSILON_LDP if self.unchanged is None else Target.UNCHANGED
        wanted = next(value for value in targets if value is not None)
        target.check(wanted)
        free, values = Settings.read(public=self.public).public, options.parameters(self.param)
        kind = mechanism_class(self.mechanism)
        if free is not None:
            check_base(kind, "public words")
        draft = Draft(kind, values)
        draft.at(1.0)
        words, space = self.open_space()
        rows = () if free is None else free.rows(words.key_to_index)
        draft, weights = replace(draft, public=rows), None
        if self.file is not None:
            from dpsan.analysis.compare.measure import read_corpus
            from dpsan.analysis.evaluate import vocabulary

            facts = vocabulary.Vocabulary(words, "unicode")
            inputs = self.input_options(self.file, force_text=False)
            corpus = read_corpus(self.file, inputs, None, facts)
            weights = corpus.weights()
            longest = int(corpus.words.sizes.max())
            wanted /= 1 if self.budget is None else longest
            if not self.quiet:
                say(f"{corpus.about}, {longest:,} in the longest record")
        with self.progress.named() as report:
            result = calibrate(draft, space, target, wanted, report, weights=weights)
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
