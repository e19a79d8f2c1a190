"""``dpsan verify``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import ClassVar

from dpsan.cli.command import flag, option
from dpsan.cli.options import JsonAndFile, Sanitizing
from dpsan.cli.output import PRIVACY, say
from dpsan.files.same_files import Use

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
    certificate: Path | None = option("--certificate FILE", use=Use.WRITTEN)
    """Write the certified integers to FILE, for docs/check_certificate.py."""
    jobs: int = option("-j, --jobs N", 2, min=1)
    """Number of worker processes to check, too; 1: none."""

    def run(self) -> int:
        """Check, and print the verdict."""
        self.check_epsilon()
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
        force = self.force
        if path and write_certificate(path, sanitizer, verification, force=force) is None:
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
