"""``dpsan explain``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpsan.cli import options
from dpsan.cli.cache import open_cache
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.options import flag, option
from dpsan.cli.output import print_json, say
from dpsan.errors import UsageError

if TYPE_CHECKING:
    from dpsan.analysis.explain.result import Explanation

_COMPARISON = "Comparison"


def explain(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD]...", help="Words; - reads more from stdin, one a line."),
    ] = None,
    epsilon: options.Epsilon = None,
    mechanism: Annotated[
        list[str] | None,
        option(
            "-m, --mechanism NAME",
            "How words are drawn; repeatable, to stand side by side. "
            f"Default: {options.DEFAULT_MECHANISM}.",
            options.PRIVACY,
            env="DPSAN_MECHANISM",
            complete=options.mechanism_names,
        ),
    ] = None,
    param: options.Parameters = None,
    public: options.Public = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    at: Annotated[
        str | None,
        option(
            "--at ldp=X|unchanged=X",
            "Instead of --epsilon: find the epsilon of each mechanism where its certified LDP "
            "epsilon, or the share of the vocabulary's words that stay the same, is X.",
            _COMPARISON,
        ),
    ] = None,
    unknown: Annotated[
        bool, flag("--unknown", "Also explain ⊥, which every unknown word becomes.")
    ] = False,
    top: Annotated[int, option("--top N", "Outputs to list.", min=0)] = 10,
    draws: Annotated[
        int, option("--draws N", "Draws for a word where the distribution is not known.", min=1)
    ] = 10_000,
    no_posterior: Annotated[
        bool, flag("--no-posterior", "Do not ask which inputs the outputs point to: the slow part.")
    ] = False,
    seed: Annotated[str, option("--seed TEXT", "Names other (public) random numbers.")] = "",
    as_json: options.Json = False,
    plot: Annotated[Path | None, option("--plot FILE", "Also draw the bars: .png or .svg.")] = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Show what can become of a word, and what that tells a reader.

    dpsan explain doctor -e 8
    """
    if not words and not unknown:
        raise UsageError("give a WORD, - for words on stdin, or --unknown")
    if at is not None and options.given(context, "epsilon"):
        raise UsageError("--epsilon and --at exclude each other")
    value = options.check_epsilon(epsilon) if at is None else None

    uses = check_files(
        reads={
            "--public": options.public_file(public),
            "--mechanism": options.own_files(*(mechanism or ())),
        },
        writes={"--plot": plot},
        stdin="-" in (words or ()),
    )
    read_embeddings(uses, embeddings)

    from dpsan.analysis.explain import explain as find
    from dpsan.analysis.explain.match import candidates, parse_at, prepare
    from dpsan.analysis.explain.words import read
    from dpsan.cli.progress import parts_progress, search_progress
    from dpsan.embeddings.public_words import public_words
    from dpsan.sanitize.request import RunSpec
    from dpsan.space.cached_index import open_space

    free = None if public is None else public_words(public)
    wanted = None if at is None else parse_at(at)
    names = mechanism or [options.DEFAULT_MECHANISM]
    chosen = candidates(names, options.parameters(param), public=free is not None)
    if value is not None:
        for each in chosen:  # usage errors come before the slow part
            each.kind.build(value, dict(each.values))
    texts = list(_texts(words or [], quiet))
    if unknown:
        texts.append(("--unknown", "⊥"))
    if plot is not None:
        from dpsan.analysis.figures.words import check

        check(plot, len(texts), force=force)
    store = open_cache(quiet)
    opened = open_space(embeddings, vocab_size, store)
    spec = RunSpec(epsilon=value, embeddings=embeddings, vocab_size=vocab_size, public=free)
    found: list[list[Explanation]] = []
    for each in chosen if texts else ():
        if wanted is not None and not quiet:
            say(f"finding the epsilon of {each.kind.name} at {wanted.target} {wanted.value:g}")
        with search_progress(each.kind.name, quiet or wanted is None) as tried:
            sanitizer = prepare(each, spec, wanted, store, opened, tried)
        with parts_progress(f"explaining {each.kind.name}", quiet) as progress:
            found.append(
                find(
                    sanitizer,
                    read(sanitizer, texts),
                    top=top,
                    draws=draws,
                    seed=seed,
                    posterior=not no_posterior,
                    progress=progress,
                )
            )
    if plot is not None and texts:
        from dpsan.analysis.figures.words import plot as draw

        draw(found, plot, force=force)
    if as_json:
        from dpsan.analysis.explain.rows import rows

        print_json(rows(found, opened[0], seed))
    else:
        from dpsan.cli.explain_text import show

        show(found)


def _texts(words: list[str], quiet: bool) -> Iterator[tuple[str, str]]:
    """The words with their places; messages name the place and not the word."""
    for place, word in enumerate(words, start=1):
        if word != "-":
            yield f"word {place}", word
            continue
        if sys.stdin.isatty() and not quiet:
            say("reading words from the terminal, one a line (Ctrl-D ends)")
        data = sys.stdin.buffer.read()
        for number, line in enumerate(data.decode("utf-8-sig", "replace").split("\n"), start=1):
            if "\ufffd" in line:
                raise UsageError(f"standard input:{number}: not UTF-8")
            if line.strip():
                yield f"standard input:{number}", line.strip()
