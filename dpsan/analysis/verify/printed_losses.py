"""Test whether the statement of a run names the certified losses and counts every draw.

Two small files of public strings are rewritten in two copies, and the statement is read as a user
reads it.  No figure in it may be below the value of the certificate (without one: of the guarantee)
and of the number of drawn tokens.  The test is exact, but for the digits that a statement rounds.
"""

from __future__ import annotations

import math
from typing import Final

import regex

from dpsan.analysis.verify.base import Check, rewritten, unknown_strings, words_at_random
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Status
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement, facts_of
from dpsan.text.tokens import folded

_COPIES: Final = 2
_FILES: Final = 2
_LINES: Final = 6
_ROUNDED: Final = 0.006
"""Largest share of a figure that rounding removes: three digits are printed from a million on."""
_UNITS: Final = {"million": 1e6, "billion": 1e9, "trillion": 1e12}
_FIGURE: Final = r"(?:-?[\d,.]+(?:e[+-]?\d+)?(?: (?:million|billion|trillion))?)"
_LOSS: Final = rf"(?:(?P<epsilon>{_FIGURE})(?: with delta (?P<delta>{_FIGURE}))?|without bound)"


def statement_check(sanitizer: Sanitizer, certificate: Certificate | None, *, key: bytes) -> Check:
    """Rewrite two files of public strings and compare the statement with the certificate.

    Args:
        sanitizer: the program under test.
        certificate: certificate of its mechanism, if it has one.
        key: fresh.
    """
    name, guarantee = "statement", sanitizer.guarantee
    lines = _lines(sanitizer, derive_key(key, "words"))
    document = "".join(f"{line}\n" for line in lines).encode()
    totals = sanitizer.accountant(whole_run=True)
    rewritten(sanitizer, [document] * _FILES, derive_key(key, "run"), copies=_COPIES, totals=totals)
    statement = Statement(
        totals,
        sanitizer.mechanism.name,
        0.0,
        copies=_COPIES,
        files=_FILES,
        facts=facts_of(sanitizer.spec),
        consistent=sanitizer.spec.consistent,
    )
    stated = statement.lines(verbose=True)
    draws, largest = _drawn(sanitizer, lines)
    charges = sum(map(bool, largest)) if guarantee.per_line else draws
    epsilon, delta = guarantee.epsilon_ldp, guarantee.delta
    if certificate is not None and math.isfinite(certificate.epsilon_ldp):
        epsilon = certificate.epsilon_ldp - certificate.slack
        delta = certificate.delta if guarantee.delta else 0.0  # else that of a smaller epsilon
    elif math.isinf(epsilon):
        delta = 0.0  # a run prints "without bound"
    run = 1 if sanitizer.spec.consistent is Unit.RUN else _FILES
    record = 1 if guarantee.per_line else max(largest)
    loss, made = rf"LDP epsilon {_LOSS}", run * _COPIES * draws
    every = run * _COPIES * charges * sanitizer.mechanism.epsilon
    found: list[tuple[str, str, float]] = [
        ("draws", rf"({_FIGURE}) (?:word|draw)s?\b", made),
        ("sum of epsilon", rf"sum of epsilon over all draws: ({_FIGURE})", every),
    ]
    for what, pattern, times in (
        ("one", r"per (?:distinct |protected )*(?:word|line):.*?", 1),
        ("all copies", rf"{_COPIES} copies of every .*?", _COPIES),
        ("the largest record", r"largest record \(.*?\):.*?", _COPIES * record),
        ("the largest file", r"largest file \([\d,]+ \w+\):.*?", _COPIES * charges),
    ):
        most = times * epsilon if math.isfinite(epsilon) else math.inf
        found.append((f"epsilon of {what}", f"^{pattern}{loss}", most))
        found.append((f"delta of {what}", f"^{pattern}{loss}", min(1.0, times * delta)))
    if math.isfinite(guarantee.epsilon_ldp):
        largest_file = rf", (?:at most )?{_LOSS} for the largest"
        found.append(("epsilon of all copies, in short", f"^.*{loss} per", _COPIES * epsilon))
        most = _COPIES * charges * epsilon
        found.append(("epsilon of the largest file, in short", largest_file, most))
    elif "no finite" not in stated[0]:
        return Check(name, False, "epsilon in short: a run does not say that none is finite")
    if guarantee.metric is not None and certificate is not None and certificate.epsilon_metric:
        pattern = rf"epsilon ({_FIGURE}) per unit of {regex.escape(guarantee.metric)} distance"
        found.append(("epsilon per unit", pattern, certificate.epsilon_metric))
    if guarantee.public_words:
        found.append(("public words", rf"({_FIGURE}) public words?", len(sanitizer.public)))
    figures = {"draws": float(made), "epsilon": epsilon}
    for what, pattern, true in found:
        group = "delta" if what.startswith("delta") else 1
        printed = _read(pattern, stated[:1] if what.endswith("in short") else stated, group)
        if printed is None or printed < true * (1 - _ROUNDED):
            shown = "nothing" if printed is None else f"{printed:g}"
            sentence = f"{what}: a run prints {shown}, where {true:g} is certified and counted"
            return Check(name, False, sentence, figures)
    if guarantee.status is not Status.PROVED and "NOT GUARANTEED" not in "".join(stated):
        return Check(name, False, "a run does not say that the guarantee is not proved", figures)
    sentence = f"a run of {_FILES} files in {_COPIES} copies prints {len(found)} figures"
    losses = f"the certified losses and the {made:,} counted draws"
    return Check(name, True, f"{sentence}, none below {losses}", figures)


def _lines(sanitizer: Sanitizer, key: bytes) -> list[str]:
    """Return lines of different lengths: vocabulary, public and OOV words, compounds, numbers."""
    keys = sanitizer.embeddings.index_to_key
    unknown = unknown_strings(sanitizer, 4) or ["qzx"]
    words = [keys[row] for row in words_at_random(sanitizer, 8, key).tolist()]
    words += [keys[row] for row in sanitizer.public[:2]]
    words += [*unknown, f"{unknown[0]}-{unknown[-1]}", "1,234", unknown[0].upper()]
    return [" ".join((words[at:] + words[:at]) * (at + 1)) for at in range(_LINES)]


def _drawn(sanitizer: Sanitizer, lines: list[str]) -> tuple[int, list[int]]:
    """Return how many draws a copy of a file has, and how many each of its lines."""
    n, unit = sanitizer.space.n, sanitizer.spec.consistent
    drawn = [[each for each in sanitizer.inputs_of(line) if each[1] >= 0] for line in lines]
    every = [[folded(word) if code >= n else code for word, code in line] for line in drawn]
    each = [len(codes if unit is None else set(codes)) for codes in every]
    return len(set().union(*every)) if unit in (Unit.FILE, Unit.RUN) else sum(each), each


def _read(pattern: str, lines: list[str], group: int | str = 1) -> float | None:
    """Return the first figure that a pattern finds; infinity where no finite one is printed."""
    for line in lines:
        if match := regex.search(pattern, line):
            text = match[group]
            if text is None:
                return 0.0 if group == "delta" else math.inf
            figure, _, unit = text.strip(",.").replace(",", "").partition(" ")
            return float(figure) * _UNITS.get(unit, 1.0)
    return None
