"""``dpsan train``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from dpsan.cli.command import argument, option
from dpsan.cli.options import JsonAndFile, Quiet
from dpsan.errors import printable
from dpsan.files.same_files import Use


@dataclass(frozen=True, kw_only=True)
class Train(JsonAndFile, Quiet):
    """Train a vocabulary of your own on public text, in any language.

    Examples:
        dpsan train wikipedia-de.txt.gz -o german.npz
        dpsan train --words 20000 -j 2 public.txt -o own.npz
        dpsan train reports/*.txt -o own.npz
    """

    texts: list[Path] = argument("PUBLIC...")
    """Public text in UTF-8, or .gz of it: its words will be in every output, and FILE says how
    often each occurs. Never private text."""
    output: Path = option("-o, --output FILE", MISSING, use=Use.WRITTEN)
    """The vocabulary, NAME.npz, for -E."""
    words: int = option("--words N", 32_000, min=100)
    """Largest number of words."""
    least: int = option("--least N", 10, min=1)
    """Smallest number of occurrences of a word."""
    dimensions: int = option("--dimensions N", 100, min=2, max=1000)
    """Dimensions of a vector."""
    epochs: int = option("--epochs N", 10, min=1, max=1000)
    """Passes over the text."""
    seed: int = option("--seed N", 20261122, min=0, max=2**31)
    """Seed of the training."""
    jobs: int = option("-j, --jobs N", 1, min=1, max=64)
    """Number of threads. With one, the same text gives the same file every time."""

    def run(self) -> int:
        """Train, write the vocabulary and print what it is."""
        self.check_files()

        import time
        from tempfile import TemporaryDirectory

        from dpsan.embeddings.training.recipe import Recipe, packed, report_on, train
        from dpsan.files.atomic_files import check_writable, write_whole

        sizes = self.words, self.least, self.dimensions, self.epochs
        recipe = Recipe(self.texts, *sizes, self.seed, self.jobs)
        started = time.perf_counter()
        check_writable(self.output, force=self.force)
        with TemporaryDirectory(prefix="dpsan-train-") as folder:
            vocabulary = train(recipe, Path(folder), self.progress.share)
        write_whole(self.output, packed(vocabulary), force=self.force)
        report = report_on(vocabulary)
        report |= {"file": str(self.output), "seconds": time.perf_counter() - started}
        self.show_values(report, printable(report["file"]))
        return 0
