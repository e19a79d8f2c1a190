"""``dpsan train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dpsan.cli import options
from dpsan.cli.file_checks import check_files
from dpsan.cli.options import option
from dpsan.cli.output import print_fields, print_json
from dpsan.cli.progress import share_progress
from dpsan.errors import printable
from dpsan.text.numerals import number


def train(
    texts: Annotated[
        list[Path],
        typer.Argument(
            metavar="PUBLIC...",
            help="Public text in UTF-8, or .gz of it: its words will be in every output, and "
            "FILE says how often each occurs. Never private text.",
        ),
    ],
    output: Annotated[
        Path, option("-o, --output FILE", "The vocabulary, NAME.npz, for -E.", show_default=False)
    ],
    words: Annotated[int, option("--words N", "Words, at most.", min=100)] = 32_000,
    least: Annotated[int, option("--least N", "Occurrences that a word must have.", min=1)] = 10,
    dimensions: Annotated[
        int, option("--dimensions N", "Numbers of a vector.", min=2, max=1000)
    ] = 100,
    epochs: Annotated[int, option("--epochs N", "Passes over the text.", min=1, max=1000)] = 10,
    synonyms: Annotated[
        list[Path] | None,
        option("--synonyms FILE", "Pairs to draw together, two words a line; repeatable."),
    ] = None,
    antonyms: Annotated[
        list[Path] | None, option("--antonyms FILE", "Pairs to push apart, likewise.")
    ] = None,
    seed: Annotated[
        int, option("--seed N", "Another result from the same text.", min=0, max=2**31)
    ] = 20261122,
    jobs: Annotated[
        int,
        option(
            "-j, --jobs N",
            "Threads; with one the same text gives the same file every time.",
            min=1,
            max=64,
        ),
    ] = 1,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Train a vocabulary of your own on public text, in any language.

    dpsan train wikipedia-de.txt.gz -o german.npz
    """
    pairs = {"--synonyms": synonyms, "--antonyms": antonyms}
    check_files(reads={"PUBLIC": texts, **pairs}, writes={"--output": output})

    import time
    from functools import partial
    from tempfile import TemporaryDirectory

    from dpsan.embeddings.training.recipe import Recipe, packed, report_on
    from dpsan.embeddings.training.recipe import train as trained_on
    from dpsan.files.atomic_files import check_writable, write_whole

    shape = synonyms or [], antonyms or [], dimensions
    recipe = Recipe(texts, words, least, *shape, epochs, seed, jobs)
    started = time.perf_counter()
    check_writable(output, force=force)
    with TemporaryDirectory(prefix="dpsan-train-") as folder:
        found = trained_on(recipe, Path(folder), partial(share_progress, quiet=quiet))
    write_whole(output, packed(found), force=force)
    report = report_on(found)
    report |= {"file": str(output), "seconds": time.perf_counter() - started}
    if as_json:
        print_json(report)
    else:
        _print(report)
    return 0


def _print(report: dict[str, Any]) -> None:
    shape, known = (report["words"], report["dimensions"]), f"{100 * report['known']:.1f}"
    rows = [
        ("words", f"{number(shape[0])} of {number(shape[1])} dimensions"),
        ("text", f"{number(report['text_words'])} words, {known} % of them known"),
        ("usually with a capital", f"{number(report['with_capitals'])} words"),
        ("synonyms, antonyms", f"{number(report['synonyms'])}, {number(report['antonyms'])} pairs"),
        ("seconds", f"{report['seconds']:.0f}"),
    ]
    typer.echo(printable(report["file"]))
    print_fields(rows)
    typer.echo("near words")
    print_fields([(printable(w), printable(" ".join(n))) for w, n in report["neighbours"].items()])
