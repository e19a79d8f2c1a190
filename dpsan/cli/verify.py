"""``dpsan verify``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill, wrap
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

import typer

from dpsan.cli.command import flag, option
from dpsan.cli.options import JsonAndFile, Sanitizing
from dpsan.cli.output import PRIVACY, print_json, say
from dpsan.cli.progress import Progress
from dpsan.errors import UsageError, printable

if TYPE_CHECKING:
    from dpsan.analysis.verify.base import Check
    from dpsan.analysis.verify.configuration import Exposure
    from dpsan.analysis.verify.verdict import Verification
    from dpsan.embeddings.cache.store import Store
    from dpsan.run.workers import Pool
    from dpsan.sanitize.sanitizer import Sanitizer

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

    everyday: ClassVar = (
        "--epsilon --mechanism --param --only --class --public --embeddings --unknown --keep "
        "--consistent --numbers --allow-unproved --certificate --draws --jobs --json --quiet"
    )

    rules: ClassVar = "--only excludes --certificate and --jobs (no mechanism draws a word)"

    spans: bool = flag("--spans", panel=PRIVACY)
    """Verify a run with --spans, whatever is in its FILE."""
    words: int = option("--words N", 40, min=2)
    """Number of vocabulary words whose outputs are compared."""
    draws: int = option("--draws N", 100_000, min=10_000)
    """Draws for the empirical bound."""
    confidence: float = option("--confidence X", 0.999)
    """Confidence of the empirical bound."""
    certificate: Path | None = option("--certificate FILE", writes=True)
    """Write the certified integers to FILE, for docs/check_certificate.py."""
    jobs: int = option("-j, --jobs N", 2, min=1)
    """Number of worker processes to check, too; 1: none."""

    def run(self) -> int:
        """Check, and print the verdict."""
        self.check_epsilon()
        self.check_rules()
        if not 0.5 <= self.confidence < 1:
            raise UsageError(f"--confidence must be >= 0.5 and < 1 (got {self.confidence:g})")
        self.check_files()

        if self.only is not None:
            return self._replaced()

        from dpsan.analysis.verify import certificate_file
        from dpsan.analysis.verify.verdict import verify
        from dpsan.sanitize.sanitizer import Sanitizer

        store = self.store()
        spec = self.spec()
        model = Sanitizer.from_spec(spec, store).language_model if spec.fluent else None
        sanitizer = Sanitizer.from_spec(replace(spec, fluent=False, language_model=None), store)
        path = self.certificate
        if path is not None:
            certificate_file.check_certificate(path, sanitizer, force=self.force)
        shown = Progress(quiet=True) if self.as_json else self.progress
        with (
            self._pool(sanitizer, store) as workers,
            shown.count("draws", self.draws) as progress,
        ):
            found = verify(
                sanitizer,
                words=self.words,
                draws=self.draws,
                confidence=self.confidence,
                spans=self.spans,
                workers=workers,
                progress=progress,
            )
        if path is not None:
            with shown.share("writing the certificate") as bar:
                digest = certificate_file.write_certificate(
                    path, sanitizer, found, language_model=model, force=self.force, progress=bar
                )
            if digest is None:
                say(f"no certificate written: the guarantee is {found.verdict}")
        if self.as_json:
            _print_json(found, sanitizer.guarantee.reviewed)
        else:
            _print(found, sanitizer.mechanism.name, sanitizer.guarantee.reviewed)
        return _STATUS[str(found.verdict)]

    def _pool(self, sanitizer: Sanitizer, store: Store) -> AbstractContextManager[Pool | None]:
        """Return the worker processes, if there are any."""
        from dpsan.run.workers import Pool

        if self.jobs == 1:
            return nullcontext()
        return Pool(sanitizer.spec, store.root, self.jobs, sanitizer.embeddings.digest)

    def _replaced(self) -> int:
        """Check a run with ``--only``, in which no mechanism draws."""
        from dpsan.analysis.verify.program import verify_replaced
        from dpsan.sanitize.sanitizer import Sanitizer

        sanitizer, started = Sanitizer.from_spec(self.spec(), self.store()), perf_counter()
        verdict, checks = verify_replaced(sanitizer)
        seconds = perf_counter() - started
        if self.as_json:
            print_json({"verdict": verdict, "checks": checks, "seconds": seconds})
        else:
            but = ", except of numbers by value" * (sanitizer.guarantee.epsilon_ldp > 0)
            hidden = f" for two words of one group{but}" * (verdict == "kept")
            typer.echo(f"--only {self.only}: {verdict.upper()}{hidden}")
            _print_checks(checks)
            typer.echo(f"  {seconds:.1f} seconds")
        return _STATUS[verdict]


def _print_checks(checks: Sequence[Check]) -> None:
    for check in checks:
        label = {True: "checked", False: "REFUTED", None: "not judged"}[check.held]
        _print_beside(label, f"{check.name}: {check.sentence}")


def _print_beside(label: str, sentence: str) -> None:
    for number, line in enumerate(wrap(sentence, 67, break_on_hyphens=False)):
        typer.echo(f"  {'' if number else label:<10} {line}")


def _print(found: Verification, name: str, reviewed: bool) -> None:
    from dpsan.privacy.guarantee import UNREVIEWED
    from dpsan.text.numerals import counted

    def show(value: float | None) -> str:
        return "none" if value is None else f"{value:.6f}"

    claimed, empirical = found.claimed, found.empirical
    per = f" per unit of {claimed.metric} distance" if claimed.metric else ""
    delta = f", delta {claimed.delta:.4g}" if claimed.delta else ""
    public = found.public_words
    whom = " for protected words" if public else ""
    if any(each.option == "class" for each in found.exposures):
        whom = " for two words, or two strings of one kind"
    numbers = any(each.option == "numbers" for each in found.exposures)
    whom += " and" * bool(whom and numbers) + " for two words, or two numbers of one form" * numbers
    grade = f" ({found.grade.name})" if found.grade else ""
    title = f"{name}: {str(found.verdict).upper()}{whom}{grade}"
    typer.echo(fill(title, 80, subsequent_indent="  ", break_on_hyphens=False))
    if found.verdict == "violated":
        reasons = f"  refuted by {', '.join(_reasons(found))}"
        typer.echo(fill(reasons, 80, subsequent_indent="    "))
    if not reviewed:
        typer.echo(f"  {UNREVIEWED}: certificates are of the distribution that its file states")
    if public:
        typer.echo(f"  not protected: {public} public words")
    typer.echo(f"  claimed    epsilon {claimed.epsilon:.6f}{per}{delta}")
    loss = "high-low LDP epsilon" if public else "LDP epsilon"
    _print_beside("certified", f"{loss} {show(found.certified)} ({found.method})")
    if not all(each.stated for each in found.exposures):
        typer.echo("             for drawn words only")
    if found.certified_metric is not None:
        slack = found.certified_slack
        rounding = f" (+ {1.05 * slack:.2g} nats of rounding)" if slack else ""
        per = f"per unit of distance{rounding}"
        typer.echo(f"             epsilon {show(found.certified_metric)} {per}")
    if found.tightest is not None:
        typer.echo(f"             worst-case pair: {' / '.join(map(printable, found.tightest))}")
    if found.certified_delta:
        typer.echo(f"             delta {found.certified_delta:.6g} at the claimed epsilon")
    if found.grade and found.grade.delta is not None:
        typer.echo(f"             delta {found.grade.delta:.3g} with the rounding of float64")
    for each in found.exposures:
        whose = f" for {each.left_out}" if each.stated else ""
        for number, line in enumerate(wrap(f"{_option(each)}: no epsilon holds{whose}", 77)):
            typer.echo(f"  {'           ' * bool(number)}{line}")
        typer.echo(f"             pair {each.pair[0]} / {each.pair[1]}")
        _print_beside("", f"event: {each.event}")
        typer.echo(f"             probability >= {each.probability:.4f} / 0")
    _print_checks(found.checks)
    first, second = (printable(word) for word in empirical.pair)
    sure = f"at confidence {empirical.confidence:g}, where {empirical.allowed:.4f} is allowed"
    typer.echo(f"  empirical  epsilon >= {empirical.epsilon_lower:.4f} {sure}")
    typer.echo(f"             so many draws can show at most {empirical.ceiling:.4f}")
    seen = f": {100 * empirical.seen:.0f} % of the allowed loss" if empirical.allowed else ""
    typer.echo(f"             tightest pair {first} / {second}{seen}")
    shown = [printable(word) for word in found.event[:5]] + ["..."] * (len(found.event) > 5)
    if found.other:
        shown.append(f"{found.other} outside the vocabulary")
    typer.echo(f"             event: {counted(len(empirical.event), 'output')}: {', '.join(shown)}")
    typer.echo(f"  {empirical.draws} draws, {found.seconds:.1f} seconds")


def _reasons(found: Verification) -> list[str]:
    """Return what refutes a guarantee: settings, tests, draws, or else the exact loss."""
    settings = [each for each in found.exposures if not each.stated]
    out = [_option(each) for each in settings if each.probability > found.claimed.delta]
    out += [each.name for each in found.checks if each.held is False]
    out += ["the draws"] * found.empirical.violated
    return out or ["the exact loss"]


def _option(exposure: Exposure) -> str:
    return f"--{exposure.option} {exposure.value or 'FILE'}"


def _print_json(found: Verification, reviewed: bool) -> None:
    grade, empirical = found.grade, found.empirical
    certified = ("certified", "certified_metric", "certified_slack", "certified_delta")
    bound = ("epsilon_lower", "allowed", "seen", "confidence", "draws", "ceiling", "pair")
    value = {
        "verdict": str(found.verdict),
        "reviewed": reviewed,
        "grade": grade and grade.name,
        "float64_gap": grade and grade.gap,
        "float64_delta": grade and grade.delta,
        **{name: getattr(found, name) for name in ("method", "claimed", "public_words")},
        **{name: getattr(found, name) for name in certified},
        "certified_pair": found.tightest,
        "empirical": {
            **{name: getattr(empirical, name) for name in bound},
            "event": found.event,
            "event_other": found.other,
        },
        "configuration": [
            {
                "setting": _option(each),
                "loss": "infinite",
                **{
                    name: getattr(each, name) for name in ("pair", "event", "probability", "stated")
                },
            }
            for each in found.exposures
        ],
        "checks": found.checks,
        "seconds": found.seconds,
    }
    print_json(value)  # infinity becomes null: no finite value holds
