"""Verify a run with ``--only``: no mechanism draws, so nothing is certified and all is tested.

Words are exchanged for others of their label; lists are looked up; processes and batches change no
byte.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from dpsan.analysis.verify.base import Check, rewritten
from dpsan.analysis.verify.blindness import Blindness
from dpsan.errors import UsageError
from dpsan.formats.registry import RECORDS
from dpsan.privacy import randomness
from dpsan.privacy.randomness import derive_key
from dpsan.run.workers import Workers
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

_OTHERS: Final = 3
"""Words that are tried in the place of a word."""
_TEXTS: Final = 400
STEPS: Final = 3


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
        partial(same_everywhere, sanitizer, some, workers, derive_key(key, "run")),
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


def same_everywhere(
    sanitizer: Sanitizer, texts: list[str], workers: Workers | None, key: bytes
) -> Check:
    """Compare what is written in batches and by other processes."""
    # Records: the lines of a text file are one unit.
    document = "".join(f"{json.dumps({'text': text})}\n" for text in texts).encode()
    write = partial(rewritten, sanitizer, [document], key, format=RECORDS, fields=("text",))
    ways = {"in one batch": write(), "in small batches": write(batch=7)}
    if workers is not None:
        ways["by workers"] = write(workers=workers, batch=40)
    figures = {"texts": len(texts)}
    if wrong := [way for way, lines in ways.items() if lines != ways["in one batch"]]:
        return Check("processes", False, f"texts are written otherwise {wrong[0]}", figures)
    where = "in batches" + " and by other processes" * (workers is not None)
    return Check("processes", True, f"{len(texts):,} texts are written alike {where}", figures)
