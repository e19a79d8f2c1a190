"""Tests of the program, which certificates take to be correct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, compress
from typing import Final

from dpsan.analysis.verify.base import Check
from dpsan.analysis.verify.goodness_of_fit import goodness_of_fit, noise_fit
from dpsan.analysis.verify.independence import independence
from dpsan.mechanisms.samplers.base import PointSampler
from dpsan.privacy import randomness
from dpsan.run.workers import Workers
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids
from dpsan.text.out_of_vocabulary import UnknownPolicy
from dpsan.text.tokens import folded, lookup_keys

_STAGES: Final = 2
"""Reports of progress, each worth an eighth of the draws of the lower bound."""


def steps(draws: int) -> int:
    """Return what the checks report to ``progress`` in all.

    Args:
        draws: of the lower bound.
    """
    return _STAGES * (draws // 8)


def check_program(
    sanitizer: Sanitizer,
    inputs: Sequence[str],
    rows: Ids,
    *,
    draws: int,
    workers: Workers | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Check, ...]:
    """Run every test that applies.

    Args:
        sanitizer: the program under test.
        inputs: strings that may be drawn.
        rows: row number of each input.
        draws: approximate budget.
        workers: processes that are tested too.
        progress: called with the number of steps since the last call.
    """
    key = randomness.new_key()
    single = sanitizer.by_text()
    drawn = [(single.input_of(text) or 0) >= 0 for text in inputs]
    texts, ids = [*compress(inputs, drawn)], rows[drawn]

    def done() -> None:
        if progress:
            progress(draws // 8)

    part = partial(randomness.derive_key, key)
    stated = sanitizer.mechanism.prepare(sanitizer.space)
    distribution = sanitizer.mechanism.noise_distribution(sanitizer.space)
    out = []
    if distribution is not None and isinstance(stated, PointSampler):
        out.append(noise_fit(single, stated, distribution, draws=draws, key=part("noise")))
    else:
        out.append(goodness_of_fit(single, stated, texts, ids, draws=draws, key=part("fit")))
    done()
    if sanitizer.grouping is not None:
        out.append(classes(single, key=part("classes")))
    fits = all(each.held is not False for each in out)
    noise = distribution is not None
    found = independence(
        sanitizer, stated, key=part("independence"), workers=workers, fits=fits, noise_tested=noise
    )
    done()
    return *out, found


def listed_words(sanitizer: Sanitizer) -> frozenset[str]:
    """Return the words of all classes, folded."""
    own = (words for word_class in sanitizer.spec.classes for words in word_class.groups)
    keys, groups = sanitizer.embeddings.index_to_key, [*getattr(sanitizer.grouping, "rows", ())]
    rows = (keys[row] for group in groups for row in group.rows)
    return frozenset(map(folded, chain(chain.from_iterable(own), rows)))


def passing(sanitizer: Sanitizer) -> Callable[[str], bool]:
    """Return whether the options and the lists let a word be written unchanged or masked."""
    kept = {key for word in sanitizer.spec.keep for key in lookup_keys(word)}
    sampled = sanitizer.spec.unknown == UnknownPolicy.SAMPLE
    return lambda word: not sampled or not kept.isdisjoint(lookup_keys(word))


def classes(sanitizer: Sanitizer, *, key: bytes) -> Check:
    """Look for listed words that are not drawn in their class, in small letters or capitals.

    Args:
        sanitizer: with classes of words; each text is a unit of its own.
        key: fresh.
    """
    grouping = sanitizer.grouping
    assert grouping is not None  # noqa: S101 - the caller knows the options
    listed = listed_words(sanitizer)
    texts = [spelt(word) for word in listed for spelt in (str, str.capitalize, str.upper)]
    records = sanitizer.sanitize(texts, key, audit=True).records
    assert records is not None  # noqa: S101 - requested
    passes, kinds = passing(sanitizer), grouping.kinds(sanitizer.space.n)
    tokens = {*zip(records.originals, records.input_ids.tolist(), strict=True)}
    passed = sum(
        not passes(word) if code < 0 else bool(kinds[code] == grouping.other)
        for word, code in tokens
        if folded(word) in listed
    )
    figures: dict[str, float] = {"words": len(listed), "passed": passed}
    if passed:
        sentence = f"{passed:,} words that the lists hold are not drawn in their class"
        return Check("classes", False, sentence, figures)
    sentence = f"all {len(listed):,} words of the lists are drawn in every letter case"
    return Check("classes", True, sentence, figures)
