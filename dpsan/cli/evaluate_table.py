"""The table of ``dpsan evaluate``, at most 80 columns.

Knows figures and widths.  Must not know how figures are made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from dpsan.cli.output import say
from dpsan.errors import printable
from dpsan.text.numerals import number

if TYPE_CHECKING:
    from dpsan.analysis.evaluate import Evaluation
    from dpsan.outcomes.intervals import Share

__all__ = ["print_table"]

_NAME = 18


def print_table(found: Evaluation) -> None:
    """Print all figures; notes go to stderr."""
    for note in found.notes:
        say(note)
    mechanism = found.question.mechanism
    if mechanism is not None:
        told = [f"{name} {getattr(mechanism, name)}" for name in mechanism.parameters()]
        typer.echo(", ".join([f"{mechanism.name}: epsilon {number(mechanism.epsilon)}", *told]))
    typer.echo(
        f"{number(found.records)} records, {number(found.words)} words; "
        "compared without letter case, 95 % intervals"
    )
    typer.echo("")
    typer.echo(_line("kept", "words", "unchanged"))
    for kind, share in found.unchanged.items():
        typer.echo(_line(str(kind), str(share.total), _share(share)))
    typer.echo("")
    _scores(found)
    if len(found.attacks) > 1:
        _attacks(found)
    if found.span_recovery is not None:
        _spans(found)
    if found.accuracy is not None:
        _accuracy(found)


def _line(name: str, *cells: str) -> str:
    widths = (9, 24, 24)
    return f"{name[:_NAME]:<{_NAME}}" + "".join(
        cell.rjust(width) for cell, width in zip(cells, widths, strict=False)
    )


def _share(share: Share) -> str:
    if share.value is None:
        return "-"
    low, high = share.interval
    return f"{share.value:.4f} ({low:.4f}-{high:.4f})"


def _ratio(value: float | int | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _scores(found: Evaluation) -> None:
    mean, words = found.cosine
    rows = [("cosine", f"{_ratio(mean)} (mean over {words} words)")]
    if found.rouge is not None:
        rows.append(("ROUGE-1", f"{found.rouge['f1']:.4f} (F1, mean over {found.texts} texts)"))
    if found.bleu is not None and found.bleu["score"] is not None:
        rows.append(("BLEU", f"{found.bleu['score']:.2f} (0 to 100)"))
    rows += [(f"{name} kept", _ratio(each["kept"])) for name, each in found.lengths.items()]
    for name, value in rows:
        typer.echo(f"{name:<{_NAME}}{value}")


def _attacks(found: Evaluation) -> None:
    attacks = found.attacks[1:]
    typer.echo("")
    typer.echo(_line("read back", "words", *(each.key for each in attacks)))
    for kind in found.unchanged:
        cells = [_share(each.shares[kind]) for each in attacks]
        typer.echo(_line(str(kind), str(found.unchanged[kind].total), *cells))
    for each in attacks:
        typer.echo(f"  {each.key}: {each.name}")
    if found.public_words:
        typer.echo(f"  public text: {found.public_words} words")


def _spans(found: Evaluation) -> None:
    best = found.best.key
    for name in dict.fromkeys(("verbatim", best)):
        typer.echo("")
        title = "spans, as written" if name == "verbatim" else f"spans, {name}"
        typer.echo(f"{title:<24}{'spans':>8}{'fully':>12}{'partly':>12}{'not':>12}")
        for kind, each in (found.span_recovery or {})[name].items():
            shares = [part / each.total if each.total else None for part in
                      (each.fully, each.partly, each.none)]  # fmt: skip
            cells = "".join(f"{_ratio(share):>12}" for share in shares)
            typer.echo(f"{printable(kind)[:23]:<24}{each.total:>8}{cells}")
    if found.spans_left_out:
        typer.echo(f"  left out: {found.spans_left_out} spans without words or not aligned")


def _accuracy(found: Evaluation) -> None:
    accuracy = found.accuracy
    if accuracy is None:
        return
    typer.echo("")
    typer.echo(_line("accuracy", "", "tested on clean", "tested on sanitized"))
    for trained in ("clean", "sanitized"):
        cells = [_share(accuracy.pairs[trained, tested]) for tested in ("clean", "sanitized")]
        typer.echo(_line(f"on {trained}", "", *cells))
    typer.echo(
        f"  {accuracy.classes} classes, {accuracy.train} training and {accuracy.test} test "
        f"records; always the\n  most frequent label: {_share(accuracy.majority)}"
    )
