"""Tests of the program, which certificates take to be correct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.verify.base import Check
from dpsan.analysis.verify.classes import classes
from dpsan.analysis.verify.goodness_of_fit import goodness_of_fit, stated_losses
from dpsan.analysis.verify.independence import independence
from dpsan.analysis.verify.integers import integer_draws
from dpsan.analysis.verify.interference import interference
from dpsan.analysis.verify.noise_fit import noise_fit, projection_check
from dpsan.analysis.verify.numbers import numbers_by_value
from dpsan.analysis.verify.printed_losses import statement_check
from dpsan.analysis.verify.shapes import shapes
from dpsan.analysis.verify.strings import strings
from dpsan.mechanisms.samplers.base import PointSampler, Sampler
from dpsan.privacy import randomness
from dpsan.privacy.certificate import Certificate
from dpsan.run.workers import Workers
from dpsan.sanitize.numbers_by_value import StringPolicy
from dpsan.sanitize.sanitizer import Sanitizer

_STAGES: Final = 6
"""Reports of progress, each worth an eighth of the draws of the lower bound."""


def steps(draws: int) -> int:
    """Return what the checks report to ``progress`` in all.

    Args:
        draws: of the lower bound.
    """
    return _STAGES * (draws // 8)


def _stated_losses(
    sanitizer: Sanitizer,
    stated: Sampler,
    rows: NDArray[np.int64],
    certificate: Certificate | None,
    allowed: Callable[[int, int], float],
) -> Check:
    if sanitizer.spec.classes:
        certificate = None  # what is allowed differs from class to class
    if sanitizer.class_codes is not None and sanitizer.spec.only:
        kinds = sanitizer.class_codes.kind[rows]
        largest = np.flatnonzero(kinds == np.bincount(kinds).argmax())
        return stated_losses(
            stated, rows[largest], (), None, lambda x, y: allowed(int(largest[x]), int(largest[y]))
        )
    return stated_losses(stated, rows, sanitizer.public, certificate, allowed)


def check_program(
    sanitizer: Sanitizer,
    certificate: Certificate | None,
    inputs: list[str],
    rows: NDArray[np.int64],
    allowed: Callable[[int, int], float],
    *,
    draws: int,
    spans: bool = False,
    workers: Workers | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Check, ...]:
    """Run every test that applies.

    Args:
        sanitizer: the program under test.
        certificate: certificate of its mechanism, if it has one.
        inputs: strings that may be drawn.
        rows: row number of each input.
        allowed: maps positions of two inputs to the loss that the guarantee permits.
        draws: approximate budget.
        spans: True if only words in spans are drawn.
        workers: processes that are tested too.
        progress: called with the number of steps since the last call.
    """
    key = randomness.new_key()
    single = sanitizer.by_text()
    chosen = [at for at, text in enumerate(inputs) if (single.input_of(text) or 0) >= 0]
    texts, ids = [inputs[at] for at in chosen], rows[chosen]

    def done() -> None:
        if progress:
            progress(draws // 8)

    def part(name: str) -> bytes:
        return randomness.derive_key(key, name)

    stated = sanitizer.mechanism.prepare(sanitizer.space)
    distribution = sanitizer.mechanism.noise_distribution(sanitizer.space)
    out = []
    if distribution is not None and isinstance(stated, PointSampler):
        out.append(noise_fit(single, stated, distribution, draws=draws, key=part("noise")))
        out.append(projection_check(single, stated, texts, ids, draws=draws, key=part("point")))
    else:
        fit = goodness_of_fit(single, stated, texts, ids, draws=draws, key=part("fit"))
        if fit.held is not None:
            out.append(_stated_losses(sanitizer, stated, ids, certificate, allowed))
        out.append(fit)
    done()
    if sanitizer.class_codes is not None or sanitizer.spec.strings == StringPolicy.KIND:
        out.append(classes(sanitizer, key=part("classes")))
    if sanitizer.number_epsilon is not None:
        out.append(numbers_by_value(single, draws=draws // 4, key=part("numbers")))
    fits = all(each.held is not False for each in out)
    out += filter(None, [integer_draws(sanitizer, stated, ids, key=part("integers"))])
    done()
    out.append(
        independence(
            sanitizer,
            stated,
            key=part("independence"),
            workers=workers,
            fits=fits,
            noise_tested=distribution is not None,
        )
    )
    done()
    out.append(interference(sanitizer, key=part("interference")))
    done()
    out.append(shapes(sanitizer, key=part("shapes"), spans=spans))
    out.append(statement_check(sanitizer, certificate, key=part("statement")))
    done()
    out += filter(None, [strings(sanitizer, key=part("strings"))])
    done()
    return tuple(out)
