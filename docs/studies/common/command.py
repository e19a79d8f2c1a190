"""The command line of every script: ``SCRIPT.py STUDY [OPTION]...``."""

from __future__ import annotations

import argparse
import csv
import io
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import faiss
import numpy as np
import orjson

from common.panels import draw, kind_of
from common.seeds import with_seeds
from common.study import Result, Studies, Study
from common.values import at_least, drafts, numbers
from dpsan import __version__
from dpsan.cli import output
from dpsan.cli.options import Vocabulary, parameters
from dpsan.embeddings.words import Embeddings
from dpsan.errors import DpsanError, printable
from dpsan.files.atomic_files import check_writable, write_whole

_USES: Final[dict[str, tuple[tuple[str, ...], dict[str, Any]]]] = {
    "mechanisms": (
        ("-m", "--mechanism"),
        {"action": "append", "default": [], "metavar": "NAME", "help": "what to compare"},
    ),
    "epsilons": (
        ("-e", "--epsilon"),
        {"action": "append", "default": [], "metavar": "LIST", "help": "separated by commas"},
    ),
    "words": (("--words",), {"type": int, "metavar": "N", "help": "how many words; 0: all"}),
    "draws": (("--draws",), {"type": int, "metavar": "N", "help": "how many draws"}),
}
_PARAM: Final[dict[str, Any]] = {
    "action": "append",
    "metavar": "NAME=VALUE",
    "help": "parameter of mechanisms",
}


def main(studies: Studies, description: str | None) -> None:
    """Run the study that the command line names; errors are one line."""
    script = Path(sys.argv[0]).name
    try:
        run(studies, sys.argv[1:], script, description)
        sys.stdout.flush()
    except DpsanError as error:
        sys.stderr.write(f"{script}: {printable(error.on_command_line())}\n")
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stdout = None  # nobody reads it
        sys.exit(141)


def run(studies: Studies, given: Sequence[str], script: str, description: str | None = "") -> None:
    """Parse the words after the script's name, run one study and print it.

    Raises:
        DpsanError: of any kind.
    """
    asked = parser(studies, script, description).parse_args(given)
    study = studies[asked.study]
    values = {name: value for name in study.parameters if (value := getattr(asked, name))}
    typed = parameters(getattr(asked, "param", None))
    chosen = getattr(asked, "mechanism", [])
    epsilons = numbers(getattr(asked, "epsilon", []), "--epsilon")
    mechanisms = drafts(chosen, typed)  # checked before the slow part
    kind = ""
    if asked.plot is not None:
        kind = kind_of(asked.plot)
        check_writable(asked.plot, force=asked.force)
    words, space = None, None
    names = ("embeddings", "vocab_size", "quiet")
    vocabulary = Vocabulary(**{name: getattr(asked, name) for name in names})
    if study.least_words or asked.embeddings or asked.vocab_size:
        words, space = vocabulary.open_space()
    fields: dict[str, Any] = {
        "mechanisms": mechanisms,
        "epsilons": epsilons,
        "words": getattr(asked, "words", None),
        "draws": getattr(asked, "draws", None),
        "parameters": values,
        "embeddings": words,
    }
    with vocabulary.progress.share(study.name) as progress:
        if asked.seeds == 1:
            result = study.make(space, **fields, seed=asked.seed, progress=progress)
        else:
            result = with_seeds(
                lambda seed, step: study.make(space, **fields, seed=seed, progress=step),
                asked.seed,
                at_least(asked.seeds, 1, 1, "--seeds"),
                progress,
            )
    if asked.plot is not None:
        title, caption = f"{study.name}: {study.summary}", _caption(study, result, words)
        picture = draw(result.panels, title=title, caption=caption, kind=kind)
        write_whole(asked.plot, picture, force=asked.force)
    command = shlex.join(["python", f"docs/studies/{script}", *given])
    if asked.json:
        option = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
        output.print_json(record(study, result, words, asked.seed, command), option)
    elif asked.csv:
        sys.stdout.write(as_csv(result))
    else:
        _print(study, result, quiet=asked.quiet)


def parser(studies: Studies, script: str, description: str | None = "") -> argparse.ArgumentParser:
    """Return the parser of a script's command line."""
    whole = argparse.ArgumentParser(script, description=description)
    commands = whole.add_subparsers(dest="study", required=True, metavar="STUDY")
    for name, study in studies.items():
        text = f"{study.source}: {study.summary}".replace("%", "%%")
        command = commands.add_parser(name, help=text, description=text)
        add = command.add_argument
        for each, (flags, options) in _USES.items():
            if each in study.uses:
                add(*flags, **options)
        if "mechanisms" in study.uses:
            add("-p", "--param", **_PARAM)
        for each, meaning in study.parameters.items():
            add(f"--{each}", metavar="VALUE", help=meaning)
        default = "default: the bundled vocabulary" if study.least_words else "default: none"
        add("-E", "--embeddings", type=Path, metavar="FILE", help=default)
        add("--vocab-size", type=int, metavar="N", help="only the first so many words")
        add("--seed", default="1", metavar="TEXT", help="key of all draws")
        add("--seeds", type=int, default=1, metavar="N", help="means and 95 %% intervals of N keys")
        form = command.add_mutually_exclusive_group()
        form.add_argument("--json", action="store_true", help="all figures and parameters")
        form.add_argument("--csv", action="store_true", help="the table")
        add("--plot", type=Path, metavar="FILE", help="draw it: .svg, .png or .pdf")
        add("--force", action="store_true", help="replace FILE")
        add("-q", "--quiet", action="store_true", help="no notes, no progress")
    return whole


def _caption(study: Study, result: Result, words: Embeddings | None) -> str:
    """The caption with the paper whose figure it is, and the name of the embedding file."""
    paper = f" After {study.source}." if study.source.startswith("[") else ""
    file = f" Words: {Path(words.source).name}." if words else ""
    return f"{result.caption}{paper}{file}"


def record(
    study: Study, result: Result, words: Embeddings | None, seed: str, command: str
) -> dict[str, Any]:
    """Return JSON values: figures, and everything to repeat them; infinite numbers become null."""
    about = None
    if words is not None:
        about = {"source": words.source, "digest": words.digest, "n": words.n, "d": words.d}
    return {
        "name": study.name,
        "source": study.source,
        **result.summary,
        "caption": result.caption,
        "notes": list(result.notes),
        "rows": [dict(row) for row in result.rows],
        "parameters": dict(result.parameters),
        "seed": seed,
        "embeddings": about,
        "versions": {
            "dpsan": __version__,
            "numpy": np.__version__,
            "faiss": faiss.__version__,
        },
        "command": command,
    }


def as_csv(result: Result) -> str:
    """Return the rows under a header; numbers in full, nothing where there is no value."""
    out = io.StringIO()
    writer = csv.DictWriter(out, result.columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(result.rows)
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def _print(study: Study, result: Result, *, quiet: bool) -> None:
    """Print a table: with a heading on a terminal, else aligned columns for other programs."""
    rows = [[_cell(row.get(name)) for name in result.columns] for row in result.rows]
    columns = list(result.columns)
    if sys.stdout.isatty():
        print(f"{study.name}: {study.summary}\n{result.caption}")
        columns = [name.replace("_", " ") for name in columns]
    numeric = {
        at
        for at, name in enumerate(result.columns)
        if all(isinstance(row.get(name), (int, float, type(None))) for row in result.rows)
    }
    output.print_table(columns, rows, numeric)
    for note in () if quiet else result.notes:
        print(printable(note), file=sys.stderr)
