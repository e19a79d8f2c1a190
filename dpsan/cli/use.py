"""Commands about what rewrite uses and writes: restore, headers, index, train."""

import time
from contextlib import ExitStack, nullcontext
from dataclasses import MISSING, dataclass
from functools import partial
from pathlib import Path

from dpsan.cli import options
from dpsan.cli.command import argument, flag, option, rows_of
from dpsan.cli.output import INPUT, OUTPUT, RARE, echo, print_json, results, say
from dpsan.errors import InputError, UsageError, counted, printable, refuse
from dpsan.files import compression, same_files
from dpsan.files.atomic_files import AtomicFile, Sink, check_writable, write_whole
from dpsan.files.compression import open_decompressed
from dpsan.files.source import FileSource, opened_input
from dpsan.formats.kinds import described_in, format_for, headers, refuse_document
from dpsan.formats.passing import LEFT_OUT, noted_lines
from dpsan.restore.map_file import read_map, rows_by_unit
from dpsan.restore.restoring import Restoring


@dataclass(frozen=True, kw_only=True)
class Headers(options.Reading, options.Json):
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

        names = headers(self.file, self.format_, self.read_options())
        if self.as_json:
            print_json(names)
        else:
            echo("\n".join(map(printable, names)))
        return 0


@dataclass(frozen=True, kw_only=True)
class Index(options.Json, options.Vocabulary):
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
        self.check_rules()
        self.check_files()

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

    def add_files(self, uses: same_files.FileUses) -> None:
        """Take in all files of the embeddings."""
        from dpsan.embeddings.loading import files_of  # heavy import

        for path in self._paths:
            uses.add(same_files.Use.READ, "--embeddings", *files_of(path))


@dataclass(frozen=True, kw_only=True)
class Train(options.JsonAndFile, options.Quiet):
    """Train a vocabulary of your own on public text, in any language.

    Examples:
        dpsan train wikipedia-de.txt.gz -o german.npz
        dpsan train --words 20000 -j 2 public.txt -o own.npz
        dpsan train reports/*.txt -o own.npz
    """

    texts: list[Path] = argument("PUBLIC...")
    """Public text in UTF-8, or .gz of it: its words will be in every output, and FILE says how
    often each occurs. Never private text."""
    output: Path = option("-o, --output FILE", MISSING, use=same_files.Use.WRITTEN)
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

        from tempfile import TemporaryDirectory

        from dpsan.analysis.pages import facts
        from dpsan.embeddings.training import Recipe, packed, report_on, train

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


@dataclass(frozen=True, kw_only=True)
class Restore(options.Container, options.Quiet):
    """Put the originals of a map or memo back into an answer.

    Whoever holds the map of 'rewrite --map', or a memo with units, can undo its replacements; to
    them the text is only pseudonymized. The output is as sensitive as the map.

    Examples:
        dpsan restore --map names.map answer.txt
        dpsan restore --map names.map -k body --unit-field id answers.csv
        dpsan restore --memo chat.memo -k text --unit-field id answers.jsonl
    """

    file: Path | None = argument("[FILE]", None)
    """Default or -: stdin."""
    map_: Path | None = option("--map FILE", panel=INPUT)
    """The map that 'rewrite --map' wrote."""
    memo: Path | None = option("--memo DIR", panel=INPUT)
    """The memo of 'rewrite --only --memo --unit-field'."""
    unit: str | None = option("--unit UNIT", panel=INPUT)
    """With --memo: the unit of all records."""
    field: list[str] | None = option("-k, --field NAME", panel=INPUT, callback=options.several)
    """Put originals back into this column or JSON path. Repeatable."""
    unit_field: str | None = option("--unit-field NAME", panel=INPUT, capability="takes_units")
    """Use for each record the entries of its unit alone, which this column or JSON path names.
    Default: the whole map, but for replacements of which units disagree."""
    output: Path | None = option("-o, --output FILE", use=same_files.Use.WRITTEN, panel=OUTPUT)
    """Write to FILE, for its owner alone."""
    force: bool = flag("--force", panel=OUTPUT)
    """Replace an existing FILE."""
    invalid: str = option("--invalid replace|error", "replace", panel=RARE)
    """Replace undecodable bytes of a text with originals by U+FFFD, or fail."""

    def run(self) -> int:
        """Restore the input, and say how much of it stays as it is."""
        self.check_rules()
        memo = self.map_ is not None and self.map_.is_dir()
        refuse(memo, f"--map {self.map_}: a directory", f"if it is a memo: --memo {self.map_}")
        path = None if self.file == options.STDIN else self.file
        self.check_files(stdin=path is None).check_outside(self.memo)
        name = str(path or "standard input")
        (kind,) = self.containers([path or options.STDIN])
        given = self.read_options(
            invalid=self.invalid, unit_field=self.unit_field or "", keep_equal=True
        )
        with ExitStack() as stack:
            restoring = self._restoring(stack)
            standard = nullcontext(FileSource(name, 0))
            source = stack.enter_context(standard if path is None else opened_input(path))
            sink = Sink("standard output", 1)
            if self.output is not None:
                packer = compression.packer_for(self.output.name)
                new = AtomicFile(self.output, force=self.force, private=True, packer=packer)
                sink = stack.enter_context(new)
            records = format_for(self.format_, name).read(compression.decompressed(source), given)
            restoring.write(records, sink)
            source.check_unchanged()
            if isinstance(sink, AtomicFile):
                sink.commit()
        for line in noted_lines(restoring.noted):
            if line.startswith(LEFT_OUT):
                say(f"{line} ({described_in(kind)})")
        return self._tell(restoring)

    def _restoring(self, stack: ExitStack) -> Restoring:
        """Return what restores records.  Raises InputError, OutputError."""
        if self.map_ is not None:
            if self.unit_field is None:
                return Restoring(read_map(self.map_), lambda _: ())
            return Restoring(None, rows_by_unit(self.map_).__getitem__)
        from dpsan.run.memo_file import MemoFile

        assert self.memo is not None  # noqa: S101 - checked
        memo = stack.enter_context(MemoFile(self.memo, there=True))
        try:
            return Restoring(None if self.unit is None else memo.rows(self.unit), memo.rows)
        except UsageError:
            raise InputError(self.memo, "has no such unit") from None

    def _tell(self, restoring: Restoring) -> int:
        """Say how many tokens were put back, and how many could not be; 1 if the map has none."""
        source, counts = "map" if self.map_ else "memo", restoring.counts
        kinds = "restored", "undecided", "capitals", "dates", "short"
        strange = not (restoring.empty or any(map(counts.get, kinds)))
        what = f"nothing was put back: no replacement of the {source} occurs in the text"
        what = what if strange else f"{counted(counts['restored'], 'original')} put back"
        if few := restoring.few:
            what += f", as {few} replacements of the {source} occur in the text"
        if not self.quiet or ((strange or few) and self.map_):
            say(what + f" (is it the {source} of this text's run?)" * bool(strange or few))
        for kind, noun, what in () if self.quiet else rows_of("stayed", "restore"):
            if counts[kind]:
                say(f"{counted(counts[kind], noun)} {what.format(source)}")
        return int(strange and self.map_ is not None)
