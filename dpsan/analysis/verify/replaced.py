"""Verify a run with ``--only``: no mechanism draws, so nothing is certified and all is tested.

Words are exchanged for others of their label; lists are looked up; different names of a unit must
become different ones; articles follow what is written; processes and an audit change no byte; and a
run prints true figures.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from dpsan.analysis.verify.base import Check, log10, rewritten
from dpsan.analysis.verify.blindness import Blindness
from dpsan.analysis.verify.goodness_of_fit import ERROR
from dpsan.errors import UsageError
from dpsan.only.decision import NAMES
from dpsan.only.view import COLUMN
from dpsan.outcomes.intervals import log_tail_of_share
from dpsan.privacy import randomness
from dpsan.privacy.randomness import derive_key
from dpsan.run.workers import Workers
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement
from dpsan.text.letter_case import article_for
from dpsan.text.numerals import counted, number, percent
from dpsan.text.tokens import folded

_OTHERS: Final = 3
"""Words that are tried in the place of a word."""
_TEXTS: Final = 400
_COPIES: Final = 10
_LIMIT: Final = (1.5, 0.002)
"""Share of unchanged words that still agrees with the expected one."""
_NAMES: Final = 60
STEPS: Final = 5


@dataclass(frozen=True)
class Replaced:
    """Outcome of a verification with ``--only``."""

    checks: tuple[Check, ...]
    seconds: float

    @property
    def verdict(self) -> str:
        """Return kept, violated or inconclusive."""
        if any(check.held is False for check in self.checks):
            return "violated"
        return "kept" if all(check.held for check in self.checks) else "inconclusive"


def verify_replaced(
    sanitizer: Sanitizer,
    workers: Workers | None = None,
    progress: Callable[[int], None] | None = None,
) -> Replaced:
    """Test a program that replaces words of some classes.

    Args:
        sanitizer: as in the planned run.
        workers: processes that are tested too.
        progress: called with 1 after each of :data:`STEPS` tests.

    Raises:
        UsageError: the sanitizer has a seed, so its draws are public.
    """
    if sanitizer.seeded:
        raise UsageError("NOT PRIVATE: a seed makes the random numbers public", "leave it out")
    started, key = time.perf_counter(), randomness.new_key()
    blindness = Blindness(sanitizer, derive_key(key, "words"), _OTHERS)
    texts = [*blindness.public_texts()]
    some = texts[:: max(1, len(texts) // _TEXTS)]
    checks: list[Check] = []
    tests = (
        partial(exchanges, blindness, texts),
        partial(lists, sanitizer),
        partial(apart, sanitizer, blindness, derive_key(key, "names")),
        partial(same_everywhere, sanitizer, some, workers, derive_key(key, "run")),
        partial(statement, sanitizer, some, derive_key(key, "statement")),
    )
    for test in tests:
        checks.append(test())
        if progress:
            progress(1)
    return Replaced(tuple(checks), time.perf_counter() - started)


def exchanges(blindness: Blindness, texts: list[str]) -> Check:
    """Exchange drawn words and strings for others of their label and form."""
    found = blindness.run(texts)
    figures = {
        "exchanges": found.exchanges,
        "decisions changed": len(found.decided),
        "outputs changed": len(found.written),
    }
    if found.decided or found.written:
        what = f"{len(found.decided):,} decisions and {len(found.written):,} outputs depend on"
        sentence = f"of {found.exchanges:,} exchanges {what} which word of its group they replace"
        return Check("blindness", False, sentence, figures)
    if not found.exchanges:
        return Check("blindness", None, "no word of the public texts is replaced", figures)
    sentence = f"{found.exchanges:,} times another word of its label, or string of its form, stood "
    return Check("blindness", True, f"{sentence}there: decisions and outputs stay", figures)


def lists(sanitizer: Sanitizer) -> Check:
    """Look for kept words that are replaced, and for words of one's own lists that pass."""
    spec, rewriter = sanitizer.spec, sanitizer.replacing
    assert rewriter is not None  # noqa: S101 - the caller knows the request
    kept = {folded(word) for word in spec.keep}
    own = {folded(w) for each in spec.only if not each.english for w in each.groups[0]} - kept
    words = [spelt(word) for word in (*own, *kept) for spelt in (str, str.capitalize, str.upper)]
    drawn = np.zeros((len(own) + len(kept), 3), np.int64)
    if words:
        decided = rewriter.decided([f"They saw {word} there." for word in words])
        drawn = np.bincount(decided.decision.text, minlength=len(words)).reshape(-1, 3)
    passed = int((drawn[: len(own)] == 0).any(axis=1).sum())
    replaced = int(drawn[len(own) :].any(axis=1).sum())
    figures = {"own": len(own), "kept": len(kept), "passed": passed, "replaced": replaced}
    if passed or replaced:
        sentence = f"{passed:,} words of own lists pass, and {replaced:,} kept words are replaced"
        return Check("lists", False, sentence, figures)
    sentence = f"all {len(own):,} words of own lists are replaced, and all {len(kept):,} kept "
    return Check("lists", True, f"{sentence}words pass, in every letter case", figures)


def apart(sanitizer: Sanitizer, blindness: Blindness, key: bytes) -> Check:
    """Replace many names of one unit: equal ones alike, different ones by different names."""
    name = "injection"
    if sanitizer.spec.consistent is not Unit.RECORD:
        return Check(name, True, "equal words share no unit in which others could be kept apart")
    words = blindness.words_of("given_f", _NAMES) + blindness.words_of("surname", _NAMES)
    text = ". ".join(f"We saw Mr. {word.capitalize()} of Springfield" for word in words * 2)
    table = sanitizer.sanitize([text], key, audit=True).records
    assert table is not None  # noqa: S101 - requested
    names = [
        (folded(original).removesuffix("'s"), folded(output).removesuffix("'s"))
        for original, output, reason in zip(
            table.originals, table.outputs, table.reasons or (), strict=True
        )
        if reason is not None and reason[0] in NAMES
    ]
    pairs = set(names)
    several = len(pairs) - len({original for original, _ in pairs})
    shared = len(pairs) - len({output for _, output in pairs})
    figures = {"names": len({original for original, _ in pairs})}
    figures |= {"several": several, "shared": shared}
    if several or shared:
        sentence = f"{several:,} names have several replacements in a unit, and {shared:,} share "
        return Check(name, False, f"{sentence}one with another name", figures)
    sentence = f"{int(figures['names']):,} names of a unit have a replacement of their own each"
    return Check(name, True, sentence, figures)


def same_everywhere(
    sanitizer: Sanitizer, texts: list[str], workers: Workers | None, key: bytes
) -> Check:
    """Compare outputs of processes and batches, with and without an audit, and read articles."""
    name = "processes"
    document = "".join(f"{' '.join(text.split())}\n" for text in texts).encode()
    ways = {"in one batch": rewritten(sanitizer, [document], key)}
    ways["in small batches"] = rewritten(sanitizer, [document], key, batch=7)
    if workers is not None:
        ways["by workers"] = rewritten(sanitizer, [document], key, workers=workers, batch=40)
    single = sanitizer.by_text()
    plain, audited = (single.sanitize(texts, key, audit=audit).lines for audit in (False, True))
    wrong = [way for way, lines in ways.items() if lines != ways["in one batch"]]
    wrong += ["with an audit log"] * (plain != audited)
    told = _articles(single, texts, key)
    figures = {"texts": len(texts), "articles": told}
    if wrong:
        return Check(name, False, f"texts are written otherwise {wrong[0]}", figures)
    if told:
        sentence = f"{told:,} articles do not follow the word that is written behind them"
        return Check(name, False, sentence, figures)
    where = "in batches, with an audit log" + " and by other processes" * (workers is not None)
    return Check(name, True, f"{len(texts):,} texts are written alike {where}", figures)


def _articles(single: Sanitizer, texts: list[str], key: bytes) -> int:
    """Return the number of articles before replaced words that do not fit them."""
    table = single.sanitize(texts, key, audit=True).records
    assert table is not None  # noqa: S101 - requested
    rows = zip(
        table.outputs[:-1],
        table.outputs[1:],
        (table.reasons or ())[1:],
        table.gaps[1:].tolist(),
        strict=True,
    )
    return sum(
        reason is not None
        and gap == 1
        and first.lower() in ("a", "an")
        and first.lower() != article_for(second)
        for first, second, reason, gap in rows
    )


def statement(sanitizer: Sanitizer, texts: list[str], key: bytes) -> Check:
    """Compare what a run prints with what its audit counts."""
    name, single, rewriter = "statement", sanitizer.by_text(), sanitizer.replacing
    assert rewriter is not None  # noqa: S101 - the caller knows the request
    totals, counts, same = single.accountant(), Counter[str](), 0
    classes = dict(zip(rewriter.groups, rewriter.classes, strict=True))
    for copy in range(_COPIES):
        done = single.sanitize(texts, derive_key(key, copy), audit=True)
        totals.add([done])
        assert done.records is not None  # noqa: S101 - requested
        table = done.records
        rows = zip(table.originals, table.outputs, table.reasons or (), strict=True)
        for original, output, reason in rows:
            if reason is not None:
                counts[classes[reason[0]] or ""] += 1
                same += folded(original) == folded(output)
    share = single.expected_share(totals)
    shown = Statement(
        totals,
        sanitizer.mechanism.name,
        0.0,
        share,
        single.replaced_classes,
        consistent=single.spec.consistent,
    )
    words, smallest = counts.total(), _smallest(rewriter, texts)
    printed = shown.figures().get(("smallest group", "run"))
    figures = {"words": words, "unchanged": same, "expected": share, "smallest": smallest}
    text = f" {' '.join(shown.lines())} ".replace(",", " ")
    for what, many in counts.items():
        if f" {what} {number(many)} ".replace(",", " ") not in text:
            return Check(name, False, f"a run does not print that {many:,} were {what}", figures)
    if words and (printed is None or printed.value > smallest):
        sentence = f"a run does not print that a group that occurred has {smallest:,} words"
        return Check(name, False, sentence, figures)
    limit = min(1.0, _LIMIT[0] * share + _LIMIT[1])
    log = float(log_tail_of_share(np.array([same]), max(words, 1), np.array([limit]))[0])
    figures["log10"] = log10(log)
    if same > limit * words and log <= math.log(ERROR):
        sentence = f"{percent(same / words)} of {words:,} words stay, and a run expects only "
        return Check(name, False, f"{sentence}{percent(share)}", figures)
    if not words:
        return Check(name, None, "no word of the public texts is replaced", figures)
    sentence = f"a run prints the {counted(words, 'word')} of its audit by class, the smallest "
    sentence += f"group of {smallest:,}, and expects {percent(share)} unchanged, where "
    return Check(name, True, f"{sentence}{percent(same / words)} were", figures)


def _smallest(rewriter: OnlyRewriter, texts: list[str]) -> int:
    """Return the fewest listed words of a label that is drawn, by its capitals."""
    lexicon, view = rewriter.lexicon, rewriter.viewer.view(texts)[0]
    at = rewriter.decided(texts).decision.at
    at = at[view.form[at] < 0]
    pairs = set(zip(view.label[at].tolist(), COLUMN[view.caps[at]].tolist(), strict=True))
    listed = {pair: int((lexicon.codes[:, pair[1]] == pair[0]).sum()) for pair in pairs}
    for label, column in pairs:
        listed[label, column] += int((lexicon.phrase_codes == label).sum())
        listed[label, column] += int((rewriter.viewer.special[1] == label).sum())
    return min((many for many in listed.values() if many), default=0)
