"""``dpsan compare``."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpsan.cli import options
from dpsan.cli.cache import open_cache
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.options import flag, option
from dpsan.cli.output import print_json, print_prose, print_table
from dpsan.errors import UsageError, printable
from dpsan.version import __version__

if TYPE_CHECKING:
    from dpsan.analysis.compare.comparison import Comparison
    from dpsan.analysis.evaluate.pairs import Inputs
    from dpsan.embeddings.base import Embeddings
    from dpsan.outcomes.calibrate.target import Draft


@dataclass(frozen=True)
class CompareOptions:
    """The command line, each option with its default."""

    mechanism: Annotated[
        list[str] | None,
        option(
            "-m, --mechanism NAME",
            "What to compare, repeatable. Default: optimal-response, knn-response, laplace, krr.",
            options.PRIVACY,
            complete=options.mechanism_names,
        ),
    ] = None
    epsilon_ldp: Annotated[
        list[str] | None,
        option(
            "--epsilon-ldp LIST",
            "Certified LDP epsilons, numbers separated by commas, repeatable. Default: 4,8.",
            options.PRIVACY,
        ),
    ] = None
    param: Annotated[
        list[str] | None,
        option(
            "-p, --param NAME=VALUE",
            "Parameter of all mechanisms that have it, repeatable: delta=1e-6 ...",
            options.PRIVACY,
        ),
    ] = None
    embeddings: options.Embeddings = None
    vocab_size: options.VocabSize = None
    data: Annotated[
        Path | None,
        option(
            "--data FILE",
            "Texts to sanitize, in a container that rewrite reads. Default: words of the "
            "vocabulary at their public frequencies.",
            options.INPUT,
        ),
    ] = None
    labels: Annotated[
        str | None,
        option(
            "--labels FIELD",
            "Field of --data with labels: train and test a classifier on clean (c) and sanitized "
            "(s) texts.",
            options.INPUT,
        ),
    ] = None
    format_: options.Format = "auto"
    field: options.Field = None
    no_header: options.NoHeader = False
    delimiter: options.Delimiter = None
    encoding: options.Encoding = "utf-8"
    max_records: Annotated[
        int | None, option("--max-records N", "Only the first N records.", options.INPUT, min=1)
    ] = None
    seeds: Annotated[
        int,
        option(
            "--seeds N",
            "Sanitize N times with public random numbers: means with 95 % intervals.",
            min=1,
        ),
    ] = 5
    as_json: options.Json = False
    as_csv: Annotated[bool, flag("--csv", "Write CSV.")] = False
    as_latex: Annotated[bool, flag("--latex", "Write a LaTeX table for booktabs.")] = False
    plot: Annotated[Path | None, option("--plot FILE", "Also draw it: .svg or .png.")] = None
    force: options.Force = False
    quiet: options.Quiet = False

    def check(self) -> None:
        """Refuse what cannot be, before anything is read.  Raises UsageError."""
        if sum((self.as_json, self.as_csv, self.as_latex)) > 1:
            raise UsageError("--json, --csv and --latex exclude each other")
        if self.data is None:
            given = {
                "--labels": self.labels,
                "--field": self.field,
                "--delimiter": self.delimiter,
                "--max-records": self.max_records,
            }
            for name, value in given.items():
                if value is not None:
                    raise UsageError(f"{name} needs --data")
        own = options.own_files(*(self.mechanism or ()))
        reads = {"--data": self.data, "--mechanism": own}
        files = check_files(reads=reads, writes={"--plot": self.plot})
        read_embeddings(files, self.embeddings)

    def inputs(self) -> Inputs:
        """Return how the data is read.  Raises UsageError."""
        from dpsan.analysis.evaluate.pairs import Inputs
        from dpsan.formats.base import ReadOptions
        from dpsan.formats.registry import format_class

        cells = options.delimiter_character(self.delimiter)
        if self.data is not None:
            kind = format_class(self.format_, str(self.data))
            if self.field and not kind.takes_fields:
                raise UsageError(f"{kind.name} has no --field")
            if kind.needs_fields and not self.field:
                raise UsageError(f"{kind.name} needs --field", "a column's name, path or number")
            if cells and not kind.takes_delimiter:
                raise UsageError("--delimiter is for csv")
        fields = ReadOptions(
            encoding=self.encoding,
            fields=tuple(self.field or ()),
            header=not self.no_header,
            delimiter=cells,
            force_text=True,
        )
        return Inputs(self.format_, fields, self.max_records)

    def drafts(self) -> list[Draft]:
        """Return the mechanisms.  Raises UsageError for a wrong name or value, or one twice."""
        from dpsan.analysis.explain.match import candidates
        from dpsan.mechanisms import MECHANISMS, mechanism_class

        names = self.mechanism or [each.name for each in MECHANISMS.values() if each.compared]
        kinds = [mechanism_class(name).name for name in names]
        for name in kinds:
            if kinds.count(name) > 1:
                raise UsageError(f"--mechanism {name} was given twice")
        found = candidates(names, options.parameters(self.param))
        for draft in found:
            for name, value in draft.values.items():
                about = draft.kind.parameters()[name]
                about.check(name, about.parse(name, value))
        return found


def compare(**given: Any) -> int:
    """Compare mechanisms at the same certified LDP epsilon.

    Utility and attacks, on words of the vocabulary or with --data on texts of yours. Only figures
    are written.

    dpsan compare -m knn-response -m laplace --epsilon-ldp 6,8
    """
    asked = CompareOptions(**given)
    asked.check()

    from dataclasses import replace

    from dpsan.analysis.compare.comparison import Request
    from dpsan.analysis.compare.comparison import compare as run
    from dpsan.cli.progress import named_progress
    from dpsan.space.cached_index import open_space

    request = Request(
        drafts=asked.drafts(),
        epsilons=options.positive_numbers("--epsilon-ldp", asked.epsilon_ldp or ["4,8"]),
        seeds=asked.seeds,
        data=asked.data,
        inputs=asked.inputs(),
        labels=asked.labels,
    )
    if asked.plot is not None:
        from dpsan.analysis.figures.picture import kind_of
        from dpsan.files.atomic_files import check_writable

        kind_of(asked.plot)
        check_writable(asked.plot, force=asked.force)
    vocabulary, space = open_space(asked.embeddings, asked.vocab_size, open_cache(asked.quiet))
    drafts = [replace(each, key_to_index=vocabulary.key_to_index) for each in request.drafts]
    with named_progress(asked.quiet) as report:
        found = run(replace(request, drafts=drafts), vocabulary, space, report)
    _write(found, asked, vocabulary)
    return 0 if any(row.figures for row in found.rows) else 1


def _write(found: Comparison, asked: CompareOptions, vocabulary: Embeddings) -> None:
    """Write the table in the form that was asked for, and the picture."""
    from dpsan.analysis.compare.table import as_csv, as_latex, as_record

    command = shlex.join(["dpsan", *sys.argv[1:]])
    if asked.plot is not None and any(row.figures for row in found.rows):
        _draw(found, asked)
    if asked.as_json:
        source = {"source": Path(vocabulary.source).name, "digest": vocabulary.digest}
        words = {**source, "words": vocabulary.n, "dimensions": vocabulary.d}
        about = {"dpsan": __version__, "command": command, "embeddings": words}
        print_json({**about, **as_record(found)})
    elif asked.as_csv:
        typer.echo(as_csv(found), nl=False)
    elif asked.as_latex:
        typer.echo(as_latex(found, command), nl=False)
    else:
        _print(found)


def _draw(found: Comparison, asked: CompareOptions) -> None:
    from dpsan.analysis.compare.table import caption, panels
    from dpsan.analysis.figures.panels import draw
    from dpsan.analysis.figures.picture import kind_of
    from dpsan.files.atomic_files import write_whole

    assert asked.plot is not None  # noqa: S101 - narrowed by the caller
    title = "Mechanisms at the same certified LDP epsilon"
    picture = draw(panels(found), title=title, caption=caption(found), kind=kind_of(asked.plot))
    write_whole(asked.plot, picture, force=asked.force)


def _print(found: Comparison) -> None:
    """Print a table for each epsilon; mechanisms without figures stand below it with the reason."""
    from dpsan.analysis.compare.table import caption, table

    headings, groups = table(found)
    width = max(len(row.mechanism) for row in found.rows)
    headings[0] = headings[0].ljust(width)
    spare = [at for at, name in enumerate(headings) if name.startswith("epsilon")]
    for group in groups:
        typer.secho(f"LDP epsilon {group.epsilon:g}", bold=True)
        if group.rows:
            rows = [[name.ljust(width), *cells] for name, *cells in group.rows]
            print_table(headings, rows, range(1, len(headings)), spare)
        for name, reason in group.reasons:
            typer.echo(f"{name.ljust(width)}  {printable(reason)}")
        typer.echo("")
    print_prose(caption(found))


# The parser reads options from here.
compare.__signature__ = signature(CompareOptions, eval_str=True)  # type: ignore[attr-defined]
