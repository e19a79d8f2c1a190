"""The page of an evaluation: figures and charts, no word of the texts.

Knows HTML parts and the figures.  Must not know texts.
"""

from __future__ import annotations

import html

from dpsan.analysis.evaluate import Evaluation
from dpsan.analysis.evaluate.accuracy import VERSIONS
from dpsan.analysis.evaluate.vocabulary import WordClass
from dpsan.analysis.report.html import bars, cards, document, figure, table
from dpsan.outcomes.intervals import Share
from dpsan.text.numerals import number

__all__ = ["page"]

_COLOURS = {"verbatim": "--c", "one-word": "--a", "context": "--b"}
_SHOWN = (WordClass.ALL, WordClass.NAME, WordClass.NUMBER)


def page(found: Evaluation) -> str:
    """One self-contained HTML page: no script, nothing loaded from elsewhere."""
    mechanism = found.question.mechanism
    run = "" if mechanism is None else f"{mechanism.name}, epsilon {number(mechanism.epsilon)}; "
    about = (
        f"{run}{number(found.records)} records, {number(found.words)} words. "
        "Words are compared without letter case. Intervals: 95 %, as if words were independent."
    )
    body = (
        "".join(f'<p class="warn">{html.escape(each)}</p>' for each in found.notes)
        + cards(_cards(found))
        + '<div class="charts">'
        + figure("Words unchanged, by class", "Words unchanged", bars(_unchanged(found)))
        + figure("Words read back, by attack", "Words read back", bars(_attacks(found)))
        + _span_figures(found)
        + _accuracy_figure(found)
        + "</div>"
        + _tables(found)
    )
    return document("dpsan evaluate", about, f"<section>{body}</section>")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _interval(share: Share) -> str:
    if not share.total:
        return ""
    low, high = share.interval
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def _cards(found: Evaluation) -> list[tuple[str, str]]:
    out = [("words unchanged", _percent(found.unchanged[WordClass.ALL].value))]
    out += [
        (f"words read back, {each.key}", _percent(each.shares[WordClass.ALL].value))
        for each in found.attacks[1:]
    ]
    if found.cosine[0] is not None:
        out.append(("mean cosine of word and output", f"{found.cosine[0]:.3f}"))
    if found.rouge is not None:
        out.append(("ROUGE-1 F1", f"{found.rouge['f1']:.3f}"))
    if found.bleu is not None and found.bleu["score"] is not None:
        out.append(("BLEU", f"{found.bleu['score']:.1f}"))
    return out


def _unchanged(found: Evaluation) -> list[tuple[str, str, list[tuple[float, str]]]]:
    return [
        (f"{kind} ({number(share.total)})", _percent(share.value), [(share.value or 0.0, "--c")])
        for kind, share in found.unchanged.items()
    ]


def _attacks(found: Evaluation) -> list[tuple[str, str, list[tuple[float, str]]]]:
    return [
        (
            f"{kind}: {each.key}",
            f"{_percent(share.value)} ({_interval(share)})" if share.total else "none",
            [(share.value or 0.0, _COLOURS[each.key])],
        )
        for kind in _SHOWN
        for each in found.attacks
        for share in (each.shares[kind],)
    ]


def _span_figures(found: Evaluation) -> str:
    if found.span_recovery is None:
        return ""
    out = ""
    for name in dict.fromkeys(("verbatim", found.best.key)):
        kinds = found.span_recovery[name]
        rows = []
        for kind, each in kinds.items():
            total = max(each.total, 1)
            fully, partly = each.fully / total, each.partly / total
            rows.append(
                (
                    f"{kind} ({each.total})",
                    f"{_percent(fully)} fully, {_percent(partly)} partly",
                    [(fully, "--d"), (partly, "--b")],
                )
            )
        title = f"Spans read back, {html.escape(name)}"
        out += figure(title, f"Spans read back by {name}", bars(rows))
    return out


def _accuracy_figure(found: Evaluation) -> str:
    if found.accuracy is None:
        return ""
    rows = [
        (
            f"trained on {a}, tested on {b}",
            f"{_percent(share.value)} ({_interval(share)})",
            [(share.value or 0.0, "--ok")],
        )
        for a in VERSIONS
        for b in VERSIONS
        for share in (found.accuracy.pairs[a, b],)
    ]
    share = found.accuracy.majority
    rows.append(("most frequent label", _percent(share.value), [(share.value or 0.0, "--soft")]))
    return figure("Accuracy of a classifier", "Accuracy of a classifier", bars(rows))


def _tables(found: Evaluation) -> str:
    rows = [
        [
            str(kind),
            number(found.unchanged[kind].total),
            *(
                cell
                for each in found.attacks
                for cell in (_percent(each.shares[kind].value), _interval(each.shares[kind]))
            ),
        ]
        for kind in WordClass
    ]
    heads = ["class", "words"]
    for each in found.attacks:
        heads += [each.key, "95 %"]
    names = [[each.key, each.name] for each in found.attacks]
    return table(heads, rows) + table(["attack", "what it does"], names)
