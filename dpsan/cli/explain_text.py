"""Explanations for a terminal: one block for each mechanism, side by side where they fit."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

import typer

from dpsan.cli.output import cosine_and_bound
from dpsan.embeddings.class_lists import NONE
from dpsan.errors import printable
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.text.numerals import number

if TYPE_CHECKING:
    from dpsan.analysis.explain.result import Explanation, Posterior
    from dpsan.outcomes.intervals import Estimate

_GUTTER: Final = 3
_BLOCK: Final = 38
"""Narrowest block that stands beside another: two fit into 80 columns."""
_WIDEST: Final = 78
_NARROWEST: Final = 30
_NEAR: Final = 5
_POINTS: Final = 3


def show(explanations: Sequence[Sequence[Explanation]]) -> None:
    """Print the explanations of the same words by each mechanism."""
    width = max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST)
    encoding = sys.stdout.encoding or "utf-8"
    for position, each in enumerate(zip(*explanations, strict=True)):
        for line in ([""] if position else []) + list(_word(each, width, not position)):
            # A terminal that cannot show a character gets its number.
            typer.echo(line.rstrip().encode(encoding, "backslashreplace").decode(encoding))


def _word(each: Sequence[Explanation], width: int, first_word: bool) -> Iterator[str]:
    """Yield the lines about one word; the first word also has the lines about all words."""
    first = each[0]
    shown = printable(first.word)
    if first.input is None and first.word != "⊥":
        title = f"{shown}: not in the vocabulary, so it is ⊥ like every unknown word"
    elif first.input is None:
        title = "⊥: what every word becomes that is not in the vocabulary"
    elif first.input != first.word:
        title = f"{shown}, read as {printable(first.input)}"
    else:
        title = shown
    yield from _wrap(title, min(width, _WIDEST), "")
    if first.word_class is not None:
        drawn = " draws it like any other word" * (first.word_class == NONE)
        yield f"  class: {first.word_class} (rewrite --class{drawn})"
    if first.neighbors:
        near = ", ".join(f"{printable(w)} {far:.2f}" for w, far in first.neighbors[:_NEAR])
        yield from _wrap(f"nearest words: {near}", min(width, _WIDEST), "  ")
    beside = max(1, min(len(each), (width + _GUTTER) // (_BLOCK + _GUTTER)))
    size = min((width - _GUTTER * (beside - 1)) // beside, _WIDEST)
    highest = max((o.probability.value for e in each for o in e.outputs), default=1.0)
    for at in range(0, len(each), beside):
        yield ""
        blocks = [list(_block(e, size, highest, first_word)) for e in each[at : at + beside]]
        for lines in zip_longest(*blocks, fillvalue=""):
            yield (" " * _GUTTER).join(_fit(line, size) for line in lines)


def _block(each: Explanation, width: int, highest: float, first_word: bool) -> Iterator[str]:
    """One mechanism."""
    mechanism = each.mechanism
    yield f"{mechanism.name} ({each.guarantee.status})"
    if not each.guarantee.reviewed:
        yield from _wrap(UNREVIEWED, width, "")
    ldp = "none finite" if each.epsilon_ldp is None else number(each.epsilon_ldp)
    delta = f", delta {number(each.guarantee.delta)}" if each.guarantee.delta else ""
    epsilon = f"epsilon {number(mechanism.epsilon)} {mechanism.unit_label()}"
    if each.guarantee.public_words:
        yield from _wrap(f"{epsilon}; high-low LDP {ldp} for protected words", width, "")
        if each.public:
            yield from _wrap("PUBLIC: this word is not protected", width, "")
    else:
        yield from _wrap(f"{epsilon}; LDP {ldp}{delta}", width, "")
    if str(each.guarantee.status) != "PROVED":
        yield from _wrap(each.guarantee.summary(), width, "")
    if each.optimum is not None:
        yield from _wrap(f"mean cosine {cosine_and_bound(*each.optimum)}", width, "")
    yield "exact distribution" if each.exact else f"{number(each.draws)} draws, 99 % intervals"
    shares = {"unchanged": each.unchanged, "close": each.close, "distant": each.distant}
    for name, share in shares.items():
        if share is not None and each.input is not None:
            interval = "" if each.exact else f"  {share.low:.4f} to {share.high:.4f}"
            yield f"  {name:<9} {_share(each, share)}{interval}"
    yield f"  distinct  {each.distinct:.1f} outputs in {each.distinct_draws}"
    if each.outputs:
        yield from _outputs(each, width, highest)
    if each.posterior:
        yield "what a reader can conclude"
        for posterior in each.posterior:
            yield from _points(posterior, width)
    if each.posterior_note and (first_word or not each.posterior):
        yield from _wrap(f"({each.posterior_note})", width, "  ")
    if each.observer_success is not None and first_word:
        named = f"{100 * each.observer_success:.3g} % of running text"
        yield from _wrap(f"an optimal reader of single outputs names {named}", width, "  ")


def _outputs(each: Explanation, width: int, highest: float) -> Iterator[str]:
    """Yield the likeliest outputs with bars."""
    far = each.outputs[0].distance is not None
    names = [printable(output.word) for output in each.outputs]
    numbers = 7 + (7 if far else 0)
    longest = min(max(_cells(name) for name in [*names, "output"]), max(8, (width - numbers) // 2))
    room = max(3, width - longest - numbers - 1)
    heading = "share".rjust(7) + ("away".rjust(7) if far else "")
    yield f"{_fit('output', longest)} {' ' * room}{heading}"
    for name, output in zip(names, each.outputs, strict=True):
        bar = _bar(output.probability.value / highest, room)
        away = "" if output.distance is None else f"{output.distance:7.2f}"
        yield f"{_fit(name, longest)} {_fit(bar, room)}{_share(each, output.probability):>7}{away}"


def _points(posterior: Posterior, width: int) -> Iterator[str]:
    """Yield the inputs that one output points to."""
    inputs = [f"{printable(word)} {_short(share.value)}" for word, _, share in posterior.inputs]
    points = f"{printable(posterior.output)} <- {', '.join(inputs[:_POINTS])}"
    yield from _wrap(points, width, "  ")


def _short(value: float) -> str:
    """Return a probability in three characters, but for 1."""
    return f"{value:.2f}".removeprefix("0")


def _share(each: Explanation, share: Estimate) -> str:
    """Return a probability in at most six characters."""
    if share.value == 0 or share.value >= 0.00095 or not each.exact:
        return f"{share.value:.4f}"
    return f"{share.value:.0e}"


def _bar(share: float, width: int) -> str:
    """Return a bar in eighths of a character; at least one where there is something."""
    if not _can_encode("█▏"):
        return "#" * max(round(share * width), 1)
    eighths = max(round(share * width * 8), 1)
    full, rest = divmod(eighths, 8)
    return "█" * full + " ▏▎▍▌▋▊▉"[rest].strip()


def _can_encode(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _fit(text: str, width: int) -> str:
    """Cut or filled to exactly so many columns."""
    from rich.cells import set_cell_size

    if _cells(text) <= width:
        return set_cell_size(text, width)
    dots = "…" if _can_encode("…") else "."
    return set_cell_size(text, width - 1) + dots


def _wrap(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
    )
