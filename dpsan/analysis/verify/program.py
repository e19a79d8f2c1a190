"""Tests of the program, which certificates take to be correct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress
from typing import Final

from dpsan.analysis.verify.base import Check
from dpsan.analysis.verify.classes import classes
from dpsan.analysis.verify.goodness_of_fit import goodness_of_fit
from dpsan.analysis.verify.independence import independence
from dpsan.analysis.verify.noise_fit import noise_fit
from dpsan.mechanisms.samplers.base import PointSampler
from dpsan.privacy import randomness
from dpsan.run.workers import Workers
from dpsan.sanitize.numbers_by_value import StringPolicy
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids

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
    if sanitizer.grouping is not None or sanitizer.spec.strings == StringPolicy.KIND:
        out.append(classes(sanitizer, key=part("classes")))
    fits = all(each.held is not False for each in out)
    noise = distribution is not None
    found = independence(
        sanitizer, stated, key=part("independence"), workers=workers, fits=fits, noise_tested=noise
    )
    done()
    return *out, found
