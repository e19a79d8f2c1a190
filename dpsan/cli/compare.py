"""``dpsan compare``."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import typer

from dpsan.cli import options
from dpsan.cli.command import flag, option
from dpsan.cli.options import Page, Texts, Vocabulary
from dpsan.cli.output import INPUT, OUTPUT, PRIVACY, say
from dpsan.version import __version__

if TYPE_CHECKING:
    from dpsan.analysis.compare.comparison import Comparison
    from dpsan.embeddings.base import Embeddings


@dataclass(frozen=True, kw_only=True)
class Compare(Page, Texts, Vocabulary):
    """Compare mechanisms at the same certified LDP epsilon.

    Measure utility and attacks on words of the vocabulary, or with --data on your own texts. The
    result contains no text.

    Examples:
        dpsan compare
        dpsan compare -m knn-response -m laplace --epsilon-ldp 6,8
        dpsan compare --data reviews.tsv -k text --labels label --csv
    """

    rules: ClassVar = """
        --csv excludes --json and --html
        --labels, --field, --delimiter and --max-records need --data
    """

    mechanism: list[str] | None = option(
        "-m, --mechanism NAME", autocompletion=options.mechanism_names, panel=PRIVACY
    )
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
    as_csv: bool = flag("--csv", panel=OUTPUT)
    """Write CSV."""

    def run(self) -> int:
        """Sanitize, attack and write the table; 1 if no mechanism has figures."""
        self.check_rules()
        self.check_files()

        from dpsan.analysis.compare.comparison import Request, as_csv, drafts, growing
        from dpsan.analysis.evaluate.pairs import Inputs

        request = Request(
            drafts=drafts(self.mechanism, options.parameters(self.param)),
            epsilons=options.positive_numbers("--epsilon-ldp", self.epsilon_ldp or ["4,8"]),
            seeds=self.seeds,
            data=self.data,
            inputs=Inputs() if self.data is None else self.inputs(self.data),
            labels=self.labels,
        )
        self.check_page()
        vocabulary, space = self.open_space()
        comparison, printed = None, 0
        try:
            with self.progress.named() as report:
                for comparison in growing(request, vocabulary, space, report):
                    text = as_csv(comparison) if self.as_csv else ""
                    typer.echo(text[printed:], nl=False)
                    printed = len(text)
        finally:  # also after a signal: a finished row took minutes
            if comparison is not None:
                self._write(comparison, vocabulary)
                done, wanted = len(comparison.rows), len(request.drafts) * len(request.epsilons)
                if done < wanted:
                    say(f"{done} of {wanted} rows are finished")
        return 0 if comparison and comparison.measured else 1

    def _write(self, comparison: Comparison, vocabulary: Embeddings) -> None:
        """Write the rows so far, but for CSV, which is written row by row."""
        from dpsan.analysis.compare.comparison import as_record, shown

        command = shlex.join(["dpsan", *sys.argv[1:]])
        if not self.as_csv:
            source = {"source": Path(vocabulary.source).name, "digest": vocabulary.digest}
            words = {**source, "words": vocabulary.n, "dimensions": vocabulary.d}
            about = {"dpsan": __version__, "command": command, "embeddings": words}
            self.show({**about, **as_record(comparison)}, [shown(comparison)])
            sys.stdout.flush()
