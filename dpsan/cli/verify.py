"""``dpsan verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpsan.cli import options
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.output import print_json, say
from dpsan.errors import UsageError, printable

if TYPE_CHECKING:
    from dpsan.analysis.verify.configuration import Exposure
    from dpsan.analysis.verify.verdict import Verification

__all__ = ["verify"]

_STATUS = {"kept": 0, "violated": 1, "inconclusive": 3}


def verify(
    epsilon: options.Epsilon = None,
    mechanism: options.Mechanism = options.DEFAULT_MECHANISM,
    param: options.Parameters = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    unknown: options.Unknown = "sample",
    keep: options.Keep = None,
    case: options.Case = "vocabulary",
    allow_unproved: options.Unproved = False,
    words: Annotated[
        int, typer.Option(min=2, metavar="N", help="Vocabulary words whose outputs are compared.")
    ] = 40,
    draws: Annotated[
        int, typer.Option(min=10_000, metavar="N", help="Budget of the empirical bound.")
    ] = 100_000,
    confidence: Annotated[
        float, typer.Option(metavar="X", help="Confidence of the empirical bound.")
    ] = 0.999,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Check the guarantee on your own vocabulary.

    Kept, violated or inconclusive: exit status 0, 1 or 3. A certificate or a proof can say kept;
    draws can only refute. --unknown keep or mask, --case input and --keep violate any guarantee.

    dpsan verify -m knn-response -e 8
    """
    value = options.check_epsilon(epsilon)
    if not 0.5 <= confidence < 1:
        raise UsageError(f"--confidence must be >= 0.5 and < 1 (got {confidence:g})")
    read_embeddings(check_files(reads={"--keep": keep}), embeddings)

    from dpsan.analysis.verify.verdict import verify as check
    from dpsan.cli.progress import count_progress
    from dpsan.embeddings.cache.store import Store
    from dpsan.sanitize.request import RunSpec
    from dpsan.sanitize.sanitizer import Sanitizer
    from dpsan.text.out_of_vocabulary import UnknownPolicy, read_word_list

    spec = RunSpec(
        epsilon=value,
        mechanism=mechanism,
        parameters=dict(options.parameters(param)),
        embeddings=embeddings,
        vocab_size=vocab_size,
        unknown=UnknownPolicy(options.one_of("--unknown", unknown, options.UNKNOWN)),
        keep=frozenset(read_word_list(keep)) if keep else frozenset(),
        case=options.one_of("--case", case, options.CASES),
        allow_unproved=allow_unproved,
    )
    sanitizer = Sanitizer.from_spec(spec, Store(note=None if quiet else say))
    with count_progress("draws", draws, quiet or as_json) as progress:
        found = check(sanitizer, words=words, draws=draws, confidence=confidence, progress=progress)
    if as_json:
        _print_json(found)
    else:
        _print(found, mechanism)
    return _STATUS[str(found.verdict)]


def _print(found: Verification, name: str) -> None:
    def show(value: float | None, digits: int = 6) -> str:
        return "none" if value is None else f"{value:.{digits}f}"

    claimed, empirical = found.claimed, found.empirical
    per = f" per unit of {claimed.metric} distance" if claimed.metric else ""
    delta = f", delta {claimed.delta:.4g}" if claimed.delta else ""
    typer.echo(f"{name}: {str(found.verdict).upper()}")
    typer.echo(f"  claimed    epsilon {claimed.epsilon:.6f}{per}{delta}")
    drawn = ", of the words that are drawn" if found.exposures else ""
    typer.echo(f"  certified  LDP epsilon {show(found.certified)} ({found.method}){drawn}")
    if found.certified_metric is not None:
        slack = found.certified_slack
        rounding = f" (+ {1.05 * slack:.2g} nats of rounding)" if slack else ""
        per = f"per unit of distance{rounding}"
        typer.echo(f"             epsilon {show(found.certified_metric)} {per}")
    if found.certified_delta:
        typer.echo(f"             delta {found.certified_delta:.6g} at the claimed epsilon")
    for each in found.exposures:
        typer.echo(f"  {_option(each)}: no epsilon holds")
        typer.echo(f"             pair {each.pair[0]} / {each.pair[1]}")
        typer.echo(f"             event: {each.event}")
        typer.echo(f"             probability >= {each.probability:.4f} / 0")
    first, second = (printable(word) for word in empirical.pair)
    typer.echo(
        f"  empirical  epsilon >= {empirical.epsilon_lower:.4f} at confidence "
        f"{empirical.confidence:g}, where {empirical.allowed:.4f} is allowed"
    )
    typer.echo(f"             {empirical.ceiling:.4f} is the most that so many draws can show")
    typer.echo(f"             worst pair {first} / {second}")
    shown = [printable(word) for word in found.event[:5]] + ["..."] * (len(found.event) > 5)
    if found.other:
        shown.append(f"{found.other} that no word of the vocabulary gives")
    typer.echo(f"             event: {len(empirical.event)} outputs: {', '.join(shown)}")
    typer.echo(f"  {empirical.draws} draws, {found.seconds:.1f} seconds")


def _option(exposure: Exposure) -> str:
    return f"--{exposure.option} {exposure.value or 'FILE'}"


def _finite(value: float | None) -> float | None:
    return None if value is None or value in (float("inf"), float("-inf")) else value


def _print_json(found: Verification) -> None:
    empirical = found.empirical
    value: dict[str, Any] = {
        "verdict": str(found.verdict),
        "method": found.method,
        "claimed": {
            "epsilon": _finite(found.claimed.epsilon),
            "delta": found.claimed.delta,
            "metric": found.claimed.metric,
        },
        "certified": _finite(found.certified),
        "certified_metric": _finite(found.certified_metric),
        "certified_slack": found.certified_slack,
        "certified_delta": found.certified_delta,
        "empirical": {
            "epsilon_lower": _finite(empirical.epsilon_lower),
            "allowed": _finite(empirical.allowed),
            "confidence": empirical.confidence,
            "draws": empirical.draws,
            "ceiling": _finite(empirical.ceiling),
            "pair": list(empirical.pair),
            "event": list(found.event),
            "event_other": found.other,
        },
        "configuration": [
            {
                "setting": _option(each),
                "loss": "infinite",
                "pair": list(each.pair),
                "event": each.event,
                "probability": each.probability,
            }
            for each in found.exposures
        ],
        "seconds": found.seconds,
    }
    print_json(value)
