"""Commands about what rewrite uses: headers, index, train."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from dpsan.cli.command import argument, flag, option
from dpsan.cli.options import Json, JsonAndFile, Quiet, Reading, Vocabulary
from dpsan.cli.output import echo, print_json, results, say
from dpsan.errors import printable, refuse
from dpsan.files.same_files import FileUses, Use


@dataclass(frozen=True, kw_only=True)
class Headers(Reading, Json):
    """List the columns of a table, or the paths of JSON and Parquet, as --field takes them.

    Examples:
        dpsan headers tickets.csv
        dpsan headers chats.jsonl
        dpsan headers --json survey.parquet
    """

    file: Path = argument("FILE")
    """Its first row, or its first 1,000 records, are read."""

    def run(self) -> int:
        """Print a name a line."""
        self.check_files()

        from dpsan.formats.csv import other_delimiter
        from dpsan.formats.kinds import format_class, headers

        names = headers(self.file, self.format_, self.read_options())
        if self.as_json:
            print_json(names)
        for name in () if self.as_json else names:
            echo(printable(name))
        table = format_class(self.format_, str(self.file)).takes_delimiter
        if table and (hint := other_delimiter([name.encode() for name in names], b"")):
            say(hint)
        return 0


@dataclass(frozen=True, kw_only=True)
class Index(Json, Vocabulary):
    """Build the index of embeddings ahead of the first run, and measure them.

    Examples:
        dpsan index glove.txt
        dpsan index --vocab-size 50000 glove.txt
        dpsan index --json glove.txt
    """

    files: list[Path] | None = argument("[EMBEDDINGS]...", None)
    """Default: the bundled vocabulary."""
    unsafe_pickle: bool = flag("--unsafe-pickle")
    """Read a gensim .kv or .model file. It can run any code that it contains."""

    def run(self) -> int:
        """Build what was requested; 1 if a file failed."""
        refuse("embeddings" in self.typed and self.files, "--embeddings excludes other files")
        bundled = self._paths == [None]
        refuse(self.unsafe_pickle and bundled, "--unsafe-pickle needs a file")
        self.check_files()

        from functools import partial

        from dpsan.space.cached_index import describe

        given = partial(describe, vocab_size=self.vocab_size, store=self.store())
        reports, failed = results(self._paths, partial(given, unsafe_pickle=self.unsafe_pickle))
        from dpsan.analysis.pages import facts

        self.show(reports, [facts(report, printable(report["source"])) for report in reports])
        return int(failed)

    @property
    def _paths(self) -> list[Path | None]:
        """Return the embeddings; None stands for those that come with dpsan."""
        return [*self.files] if self.files else [self.embeddings]

    def add_files(self, uses: FileUses) -> None:
        """Take in all files of the embeddings."""
        from dpsan.embeddings.loading import files_of  # heavy import

        for path in self._paths:
            uses.add(Use.READ, "--embeddings", *files_of(path))


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
        refuse(self.output.suffix != ".npz", f"{self.output}: not NAME.npz", "such as -o own.npz")

        import time
        from tempfile import TemporaryDirectory

        from dpsan.analysis.pages import facts
        from dpsan.embeddings.training import Recipe, packed, report_on, train
        from dpsan.files.atomic_files import check_writable, write_whole
        from dpsan.files.compression import open_decompressed
        from dpsan.formats.kinds import refuse_document

        sizes = self.words, self.least, self.dimensions, self.epochs
        recipe = Recipe(self.texts, *sizes, self.seed, self.jobs)
        started = time.perf_counter()
        check_writable(self.output, force=self.force)
        for path in self.texts:
            with open_decompressed(path) as source:
                refuse_document(source, source.read(), "")
        with TemporaryDirectory(prefix="dpsan-train-") as folder:
            vocabulary = train(recipe, Path(folder), self.progress.share)
        write_whole(self.output, packed(vocabulary), force=self.force)
        report = report_on(vocabulary)
        report |= {"file": str(self.output), "seconds": time.perf_counter() - started}
        self.show(report, [facts(report, printable(report["file"]))])
        return 0
