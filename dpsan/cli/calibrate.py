"""``dpsan calibrate``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpsan.cli import options
from dpsan.cli.cache import open_cache
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.options import choice, option
from dpsan.cli.output import print_json
from dpsan.errors import UsageError, printable

if TYPE_CHECKING:
    from dpsan.outcomes.calibrate.target import Calibration

_TARGETS = "Targets"


def calibrate(
    mechanism: options.Mechanism = options.DEFAULT_MECHANISM,
    unchanged: Annotated[
        float | None,
        option("--unchanged X", "Share of the vocabulary's words that stay the same.", _TARGETS),
    ] = None,
    close: Annotated[
        float | None,
        option(
            "--close X",
            "Share of outputs among the 100 words nearest to the true one, itself apart.",
            _TARGETS,
        ),
    ] = None,
    epsilon_ldp: Annotated[
        float | None,
        option(
            "--epsilon-ldp X",
            "Certified LDP epsilon: the fair way to compare mechanisms.",
            _TARGETS,
        ),
    ] = None,
    epsilon_metric: Annotated[
        float | None,
        option("--epsilon-metric X", "Certified epsilon per unit of distance.", _TARGETS),
    ] = None,
    epsilon: Annotated[
        float | None,
        option("-e, --epsilon X", "With --maximize: the epsilon at which to choose.", _TARGETS),
    ] = None,
    maximize: Annotated[
        str | None,
        choice(
            "--maximize similarity|split",
            "Choose the free parameters (those not given with -p) for the highest mean cosine of "
            "word and output, or the most even split of unchanged, close and distant outputs.",
            _TARGETS,
        ),
    ] = None,
    param: options.Parameters = None,
    public: options.Public = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the epsilon or parameters that do what you want.

    What is achieved on your vocabulary stays on the private side of what is wanted.

    dpsan calibrate -m laplace --unchanged 0.3
    """
    wanted = {
        "unchanged": unchanged,
        "close": close,
        "epsilon-ldp": epsilon_ldp,
        "epsilon-metric": epsilon_metric,
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) + (maximize is not None) != 1:
        raise UsageError(
            "give one of --unchanged, --close, --epsilon-ldp, --epsilon-metric, --maximize"
        )
    if maximize is not None:
        epsilon = options.check_epsilon(epsilon)
    elif epsilon is not None:
        raise UsageError("--epsilon needs --maximize", "otherwise it is what is looked for")

    reads = {
        "--public": options.public_file(public),
        "--mechanism": options.own_files(mechanism),
    }
    read_embeddings(check_files(reads=reads), embeddings)

    from dpsan.cli.progress import search_progress
    from dpsan.embeddings.public_words import public_words
    from dpsan.mechanisms import check_public, mechanism_class
    from dpsan.outcomes.calibrate import calibrate as find
    from dpsan.outcomes.calibrate import maximize as choose
    from dpsan.outcomes.calibrate.target import Aim, Draft, Target
    from dpsan.outcomes.linked_words import half_linked
    from dpsan.space.cached_index import open_space

    for name, value in given.items():
        Target(name).check(value)
    kind = mechanism_class(mechanism)
    free = None if public is None else public_words(public)
    if free is not None:
        check_public(kind)
    values = options.parameters(param)
    kind.build(1.0 if epsilon is None else epsilon, dict(values))
    words, space = open_space(embeddings, vocab_size, open_cache(quiet))
    rows = () if free is None else free.rows(words.key_to_index)
    draft = Draft(kind, values, words.key_to_index, rows)
    with search_progress(mechanism, quiet) as progress:
        if maximize is not None:
            found = choose(draft, space, options.check_epsilon(epsilon), Aim(maximize), progress)
        else:
            ((name, value),) = given.items()
            found = find(draft, space, Target(name), value, progress)
    command = _command(found, mechanism, values, embeddings, vocab_size, public)
    half = half_linked(found.mechanism.resolved(space), space)
    show = _print_json if as_json else _print
    show(found, command, None if half is None else half.sentence)


def _command(
    found: Calibration,
    name: str,
    values: dict[str, str],
    embeddings: Path | None,
    vocab_size: int | None,
    public: str | None,
) -> str:
    """The ``rewrite`` command with what was found, as a shell takes it."""
    mechanism = found.mechanism
    words = ["dpsan", "rewrite", "-m", name, "-e", _number(mechanism.epsilon)]
    for name, value in {**values, **found.chosen}.items():
        words += ["-p", f"{name}={value}"]
    given = {"-E": embeddings, "--vocab-size": vocab_size, "--public": public}
    for name, each in given.items():
        if each is not None:
            words += [name, str(each)]
    if mechanism.status != "PROVED":
        words.append("--allow-unproved")
    return shlex.join(words)


def _number(value: float) -> str:
    """As short as it can be without changing the value."""
    short = f"{value:.6g}"
    return short if float(short) == value else repr(value)


def _print(found: Calibration, command: str, linked: str | None) -> None:
    mechanism = found.mechanism
    chosen = "".join(f", {name} {value}" for name, value in found.chosen.items())
    typer.echo(f"{mechanism.name}: epsilon {_number(mechanism.epsilon)}{chosen}")
    wanted = "" if found.wanted is None else f", {found.wanted:g} wanted"
    low, high = found.interval
    how = "exact" if found.exact else "from the guarantee"
    if low != high:
        how = f"99 % confidence: {low:.4f} to {high:.4f}"
    typer.echo(f"  {found.target} {found.achieved:.6g}{wanted} ({how})")
    if found.shares:
        unchanged, close, distant = found.shares
        typer.echo(f"  unchanged {unchanged:.4f}, close {close:.4f}, distant {distant:.4f}")
    if linked is not None:
        typer.echo(f"  whole texts: {linked}")
    typer.echo(f"  {printable(command)}")


def _print_json(found: Calibration, command: str, linked: str | None) -> None:
    mechanism = found.mechanism
    value: dict[str, Any] = {
        "mechanism": mechanism.name,
        "epsilon": mechanism.epsilon,
        "parameters": {name: getattr(mechanism, name) for name in mechanism.parameters()},
        "target": {"name": str(found.target), "value": found.wanted},
        "achieved": found.achieved,
        "interval": list(found.interval),
        "exact": found.exact,
        "command": command,
        "seconds": found.seconds,
        "linked": linked,
    }
    if found.shares:
        value["shares"] = dict(zip(("unchanged", "close", "distant"), found.shares, strict=True))
    print_json(value)
