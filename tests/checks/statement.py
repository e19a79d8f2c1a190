"""Test whether the statement of a run names the certified losses and counts every draw.

Two small files of public strings are rewritten in two copies.  No figure of the statement may be
below the value of the certificate (without one: of the guarantee) and of the number of drawn
tokens.  That the lines show these figures and no others is tests/sanitize/test_figures.py.
"""

import math

from checks import KEY
from dpsan.analysis.verify.checks import rewritten, unknown_strings, words_at_random
from dpsan.errors import number
from dpsan.mechanisms.mechanism import certify
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.accountant import Figure
from dpsan.sanitize.consistent import Unit
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement
from dpsan.text.tokens import folded

_COPIES = 2
_FILES = 2
_LINES = 6
_SHOWN = (("loss", "copies"), ("loss", "file"), ("loss", "record"), ("sum", "run"))
"""Figures that the lines show whatever the settings are."""
_ROUNDED = 1e-9
"""Share of a figure by which rounding may lower it."""


def statement(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Rewrite two files of public strings and compare the statement with the certificate."""
    guarantee, certificate = sanitizer.guarantee, certify(sanitizer.mechanism, sanitizer.space)
    lines = _lines(sanitizer, derive_key(key, "words"))
    document = "".join(f"{line}\n" for line in lines).encode()
    totals = sanitizer.accountant(whole_run=True)
    rewritten(sanitizer, [document] * _FILES, derive_key(key, "run"), copies=_COPIES, totals=totals)
    more = {"copies": _COPIES, "files": _FILES, "settings": sanitizer.spec}
    share = sanitizer.expected_share(totals)
    made = Statement(totals, sanitizer.mechanism.name, 0.0, share, **more)
    draws, largest = _drawn(sanitizer, lines)
    epsilon, delta = guarantee.epsilon_ldp, guarantee.delta
    if certificate is not None and math.isfinite(certificate.epsilon_ldp):
        epsilon = certificate.epsilon_ldp - certificate.slack
        delta = certificate.delta if guarantee.delta else 0.0  # else that of a smaller epsilon
    elif math.isinf(epsilon):
        delta = 0.0  # a run prints "without bound"
    run = 1 if sanitizer.spec.consistent is Unit.RUN else _FILES
    record = max(largest)
    times = {"word": 1, "copies": _COPIES, "record": _COPIES * record, "file": _COPIES * draws}
    times["run"] = run * _COPIES * draws
    true = {("draws", "run"): float(run * _COPIES * draws)}
    true["sum", "run"] = times["run"] * sanitizer.mechanism.epsilon
    true |= {("loss", scope): many * epsilon for scope, many in times.items()}
    true["public words", "vocabulary"] = len(sanitizer.public)
    if guarantee.metric is not None and certificate is not None and certificate.epsilon_metric:
        true["per unit", guarantee.metric] = certificate.epsilon_metric
    stated = made.figures()
    for (what, scope), value in true.items():
        figure = stated.get((what, scope), Figure(-math.inf))
        least = min(1.0, times[scope] * delta) if what == "loss" else 0.0
        if figure.value < value * (1 - _ROUNDED) or figure.delta < least * (1 - _ROUNDED):
            shown = str(figure) if (what, scope) in stated else "nothing"
            return f"{what} of {scope}: a run prints {shown}, where {value:g} is certified"
    text = "\n".join(made.lines(verbose=True))
    for what, scope in _SHOWN:
        value = stated[what, scope].value
        printed = number(value) if math.isfinite(value) else "without bound"
        if f" {printed}" not in text:
            return f"{what} of {scope}: a run does not print {printed}"
    return ""


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
