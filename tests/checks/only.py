"""What a run with ``--only`` must do: names stay apart, articles follow, and figures are true."""

import json
from collections import Counter
from functools import partial

from checks import KEY
from dpsan.analysis.verify.checks import rewritten
from dpsan.errors import number
from dpsan.only.decision import NAMES
from dpsan.only.view import COLUMN
from dpsan.privacy.randomness import derive_key
from dpsan.run.workers import Workers
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.result import Texts
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement
from dpsan.text.letter_case import article_for
from dpsan.text.tokens import folded

_COPIES = 10
_LIMIT = (1.5, 0.002)
"""Share of unchanged words that still agrees with the expected one."""


def same_everywhere(sanitizer: Sanitizer, texts: list[str], workers: Workers | None) -> str:
    """Compare what is written in batches and by other processes."""
    # Records: the lines of a text file are one unit.
    document = "".join(f"{json.dumps({'text': text})}\n" for text in texts).encode()
    write = partial(rewritten, sanitizer, [document], KEY, format="jsonl", fields=("text",))
    ways = {"in small batches": write(batch=7)}
    if workers is not None:
        ways["by workers"] = write(workers=workers, batch=40)
    whole = write()
    return ", ".join(f"texts are written otherwise {way}" for way in ways if ways[way] != whole)


def apart(sanitizer: Sanitizer, names: list[str]) -> str:
    """Replace many names of one unit: equal ones alike, different ones by different names."""
    text = ". ".join(f"We saw Mr. {name.capitalize()} of Springfield" for name in names * 2)
    table = sanitizer.sanitize([text], KEY, audit=True).records
    rows = zip(table.originals, table.outputs, table.reasons, strict=True)
    named = [row[:2] for row in rows if row[2] is not None and row[2][0] in NAMES]
    pairs = {tuple(folded(word).removesuffix("'s") for word in pair) for pair in named}
    originals, outputs = (set(words) for words in zip(*pairs, strict=True))
    assert sanitizer.spec.consistent is Unit.RECORD
    assert len(originals) > len(names) / 2
    if len(pairs) > len(originals):
        return "a name has several replacements in a unit"
    return "two names share a replacement" if len(pairs) > len(outputs) else ""


def audited(sanitizer: Sanitizer, texts: list[str]) -> str:
    """Write texts with and without an audit log, and read the articles before replaced words."""
    single = sanitizer.by_text()
    plain, done = (single.sanitize(texts, KEY, audit=audit) for audit in (False, True))
    if plain.lines != done.lines:
        return "texts are written otherwise with an audit log"
    table = done.records
    behind = zip(table.outputs[1:], table.reasons[1:], table.gaps[1:].tolist(), strict=True)
    for first, (second, reason, gap) in zip(table.outputs, behind, strict=False):
        article = reason is not None and gap == 1 and first.lower() in ("a", "an")
        if article and first.lower() != article_for(second):
            return "an article does not follow the word that is written behind it"
    return ""


def printed(sanitizer: Sanitizer, texts: list[str]) -> str:
    """Compare what a run prints with what its audit counts."""
    single, rewriter = sanitizer.by_text(), sanitizer.replacing
    totals, counts, same = single.accountant(), Counter(), 0
    classes = dict(zip(rewriter.groups, rewriter.classes, strict=True))
    for copy in range(_COPIES):
        done = single.sanitize(texts, derive_key(KEY, copy), audit=True)
        totals.add([done])
        table = done.records
        for row in zip(table.originals, table.outputs, table.reasons, strict=True):
            if row[2] is not None:
                counts[classes[row[2][0]] or ""] += 1
                same += folded(row[0]) == folded(row[1])
    share = single.expected_share(totals)
    name, kinds = sanitizer.mechanism.name, single.replaced_classes
    shown = Statement(totals, name, 0.0, share, kinds, settings=sanitizer.spec)
    words, smallest = counts.total(), _smallest(rewriter, texts)
    assert words > 100
    text = f" {' '.join(shown.lines())} ".replace(",", " ")
    for what, many in counts.items():
        if f" {what} {number(many)} ".replace(",", " ") not in text:
            return f"a run does not print that {many:,} were {what}"
    figure = shown.figures().get(("smallest group", "run"))
    if figure is None or figure.value > smallest:
        return f"a run does not print that a group that occurred has {smallest:,} words"
    if same > (_LIMIT[0] * share + _LIMIT[1]) * words:
        return f"{same / words:.1%} of {words:,} words stay, and a run expects only {share:.1%}"
    return ""


def _smallest(rewriter: OnlyRewriter, texts: list[str]) -> int:
    """Return the fewest listed words of a label that is drawn, by its capitals."""
    lexicon, view = rewriter.lexicon, rewriter.viewer.view(texts)[0]
    at = rewriter.decided(Texts(texts, b"", range(len(texts)))).decision.at
    at = at[view.form[at] < 0]
    pairs = set(zip(view.label[at].tolist(), COLUMN[view.caps[at]].tolist(), strict=True))
    listed = {pair: int((lexicon.codes[:, pair[1]] == pair[0]).sum()) for pair in pairs}
    for label, column in pairs:
        listed[label, column] += int((lexicon.phrase_codes == label).sum())
        listed[label, column] += int((rewriter.viewer.special[1] == label).sum())
    return min((many for many in listed.values() if many), default=0)
