"""``dpsan study``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from dpsan.cli import options
from dpsan.cli.cache import open_cache
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.options import flag, option
from dpsan.cli.output import say
from dpsan.cli.study_output import print_json, print_list, print_table
from dpsan.errors import UsageError

if TYPE_CHECKING:
    from dpsan.analysis.study.base import Result
    from dpsan.embeddings.base import Embeddings
    from dpsan.space.metric_space import MetricSpace


_DECIDE: Final = frozenset(
    {"mechanism", "epsilon", "param", "embeddings", "vocab_size", "words", "draws", "seed"}
)
"""Parameters of the command on which the figures depend."""


def study(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Default: the list of studies."),
    ] = None,
    mechanism: Annotated[
        list[str] | None,
        option(
            "-m, --mechanism NAME",
            "What to compare, repeatable. Default: the study's own choice.",
            complete=options.mechanism_names,
        ),
    ] = None,
    epsilon: Annotated[
        list[str] | None,
        option(
            "-e, --epsilon LIST",
            "Where, numbers separated by commas, repeatable. Default: the study's own grid.",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        option(
            "-p, --param NAME=VALUE",
            "Parameter of the study, or of those mechanisms that have it; repeatable.",
        ),
    ] = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    words: Annotated[
        int | None, option("--words N", "How many words are looked at; 0: all.", min=0)
    ] = None,
    draws: Annotated[int | None, option("--draws N", "How often is drawn.", min=1)] = None,
    seed: Annotated[
        str, option("--seed TEXT", "Key of all draws: another text, other draws.")
    ] = "1",
    as_json: options.Json = False,
    as_csv: Annotated[bool, flag("--csv", "Write the table as CSV.")] = False,
    plot: Annotated[Path | None, option("--plot FILE", "Draw it: .svg or .png.")] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a table or figure of the papers, on any embedding.

    Without NAME: what there is. Only public data is looked at; answers are repeatable.

    dpsan study variance -e 1,10 --csv
    """
    from dpsan.analysis.study import FILES, STUDIES, find
    from dpsan.analysis.study import study as make

    if name is None:
        given = (mechanism, epsilon, param, embeddings, words, draws, plot)
        if as_json or as_csv or any(each is not None for each in given):
            raise UsageError("which study?", f"known: {', '.join(STUDIES)}")
        print_list()
        return
    entry = find(name)
    if as_json and as_csv:
        raise UsageError("--json and --csv exclude each other")
    asked = {"mechanisms": mechanism, "epsilons": epsilon, "words": words, "draws": draws}
    for what, value in asked.items():
        if value is not None and what not in entry.uses:
            option = what if what in ("words", "draws") else what.removesuffix("s")
            raise UsageError(f"study {name} takes no --{option}")
    values = options.parameters(param)
    texts = {f"-p {name}": Path(values[name]) for name in FILES if name in values}
    reads = {what: path for what, path in texts.items() if "train" in entry.parameters}
    read_embeddings(check_files(reads=reads, writes={"--plot": plot}), embeddings)

    from dpsan.analysis.study.record import as_csv as csv_text
    from dpsan.analysis.study.request import drafts, numbers
    from dpsan.cli.progress import share_progress

    epsilons = numbers(epsilon or (), "--epsilon")
    drafts(mechanism or (), values, entry.parameters, {})  # checked before the slow part
    if plot is not None:
        from dpsan.analysis.figures.picture import kind_of
        from dpsan.files.atomic_files import check_writable, write_whole

        kind = kind_of(plot)
        check_writable(plot, force=force)
    vocabulary, space = _open(bool(entry.least_words), embeddings, vocab_size, quiet=quiet)
    known = vocabulary.key_to_index if vocabulary else {}
    chosen, own = drafts(mechanism or (), values, entry.parameters, known)
    with share_progress(name, quiet) as progress:
        result = make(
            name,
            space,
            mechanisms=chosen,
            epsilons=epsilons,
            words=words,
            draws=draws,
            seed=seed,
            parameters=own,
            embeddings=vocabulary,
            progress=progress,
        )
    if plot is not None:
        from dpsan.analysis.figures.panels import draw

        title, caption = f"{result.name}: {entry.summary}", _caption(result, vocabulary)
        picture = draw(result.panels, title=title, caption=caption, kind=kind)
        write_whole(plot, picture, force=force)
    if as_json:
        print_json(result, vocabulary, seed, _command(context))
    elif as_csv:
        typer.echo(csv_text(result), nl=False)
    else:
        print_table(result, quiet=quiet)
    if plot is not None and not quiet:
        say(f"{plot}: written")


def _open(
    needed: bool, path: Path | None, vocab_size: int | None, *, quiet: bool
) -> tuple[Embeddings | None, MetricSpace | None]:
    """The vocabulary where the study needs one or one was asked for."""
    if not needed and path is None and vocab_size is None:
        return None, None
    from dpsan.space.cached_index import open_space

    return open_space(path, vocab_size, open_cache(quiet))


def _caption(result: Result, vocabulary: Embeddings | None) -> str:
    """The study's caption with the paper whose figure it is, and the name of the embedding file."""
    paper = f" After {result.source}." if result.source.startswith("[") else ""
    words = f" Words: {Path(vocabulary.source).name}." if vocabulary else ""
    return f"{result.caption}{paper}{words}"


def _command(context: typer.Context) -> str:
    """The command that makes the study again, as a shell takes it."""
    words = ["dpsan", "study", context.params["name"]]
    for each in context.command.params:
        value = context.params[str(each.name)]
        if each.name in _DECIDE and value is not None:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                words += [each.opts[0], str(one)]
    return shlex.join([*words, "--json"])
