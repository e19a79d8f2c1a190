"""Verification of a guarantee: certificates, draws, the configuration, and what is drawn.

Open ``verdict`` first; ``program`` lists the tests.  All inputs are public strings.  This package
must not know private text or command lines.  Here stand what a terminal shows, and certificate
files.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import chain
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import numpy as np

from dpsan import __version__
from dpsan.analysis.pages import Facts, Part, Prose, Shown, by_name, holding, named
from dpsan.analysis.verify.checks import Check
from dpsan.analysis.verify.verdict import Verdict, Verification
from dpsan.errors import Hint, UsageError, printable
from dpsan.files.atomic_files import AtomicFile, check_writable
from dpsan.mechanisms.tables import ROWS, Table
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.privacy.certificate import MATRIX_WORDS
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import blocks

_APART: Final = ("verdict", "reviewed", "grade", "float64_gap", "configuration", "checks")
"""Values that stand elsewhere, or nowhere."""
_SHOWN: Final = 5
"""Outputs of the event that a terminal shows."""
_HELD: Final = {True: "checked", False: "REFUTED", None: "not judged"}


def shown(result: Verification, name: str) -> Shown:
    """Return what a terminal shows.

    Args:
        name: of the mechanism.
    """
    options = {exposure.option for exposure in result.configuration}
    pairs = {
        " for protected words": result.public_words,
        " for two words, or two strings of one kind": "class" in options,
        " for two words, or two numbers of one form": "numbers" in options,
    }
    grade = f" ({result.grade})" if result.grade else ""
    title = f"{name}: {str(result.verdict).upper()}{' and'.join(holding(pairs))}{grade}"
    reasons = [item.setting for item in result.configuration if not item.stated]
    drawn_only, others = bool(reasons), not result.reviewed
    reasons += [item.name for item in result.checks if item.held is False]
    reasons += ["the draws"] * result.empirical.violated
    notes = {
        f"refuted by {', '.join(reasons or ['the exact loss'])}": result.verdict == "violated",
        f"{UNREVIEWED}: certificates are of the distribution that its file states": others,
        "claimed and certified: for drawn words only": drawn_only,
    }
    event = [printable(word) for word in result.empirical.event[:_SHOWN]]
    event += ["..."] * (len(result.empirical.event) > _SHOWN)
    facts = {key: value for key, value in by_name(result).items() if key not in _APART}
    facts["empirical"]["event"] = event
    parts: list[Part] = [Prose("", lines=holding(notes)), Facts("", named(facts))]
    for exposure in result.configuration:
        whose = f" for {exposure.left_out}" if exposure.stated else ""
        what = f"{exposure.setting}: no epsilon holds{whose}"
        parts.append(Prose("", lines=[what, f"event: {exposure.event}"]))
    title = fill(title, 80, subsequent_indent="  ", break_on_hyphens=False)
    return Shown("", [*parts, checked(result.checks)], title=title)


def checked(checks: Sequence[Check]) -> Prose:
    """Return what tests of the program found."""
    return Prose("", lines=[f"{_HELD[c.held]}: {c.name}: {c.sentence}" for c in checks])


# Certificate files: the claim, and every integer that is drawn from.
#
# docs/check_certificate.py checks them without dpsan.
# The file consists of JSON lines:
#
# * the claim, an object with these keys: ``dpsan_certificate`` (version of this layout), ``dpsan``
#   (version of the program), ``mechanism``, ``vocabulary`` (digest), ``words`` (n), ``public``
#   (row numbers), ``epsilon`` and ``delta`` (exact decimals) and ``weights`` (name of the form).
#   The form ``sparse`` adds ``common`` and ``increment``;
# * a line for each word, in order of row numbers.  ``sparse``: output, mass, output, mass ..., and
#   any other string has the common weights alone.  ``dense``: the weight of every output, and one
#   more line for any other string;
# * ``sha256`` of all lines before it.
#
# The forms are those of the tables of :mod:`dpsan.mechanisms.tables`.

_VERSION: Final = 2
_FEWER: Final = Hint(f"such as vocab_size={MATRIX_WORDS}", f"such as --vocab-size {MATRIX_WORDS}")


def certificate_weights(sanitizer: Sanitizer) -> Table:
    """Return the integers that a certificate of this sanitizer lists.

    Raises:
        UsageError: the sampler does not draw from integer weights alone, or they are n² numbers
            and too many.
    """
    name, n = sanitizer.mechanism.name, sanitizer.space.n
    table = sanitizer.sampler
    if not isinstance(table, Table):
        raise UsageError(f"{name} has no certificate of integers: it does not draw from them alone")
    few = isinstance(table, SparseTable)
    if not few and n > MATRIX_WORDS:
        many = f"a certificate of {name} has {n:,} x {n:,} numbers"
        raise UsageError(f"{many}: at most {MATRIX_WORDS:,} words", _FEWER)
    return table


def check_certificate(path: Path, sanitizer: Sanitizer, *, force: bool = False) -> None:
    """Raise the errors of :func:`write_certificate` before the slow part.

    Raises:
        OutputError: the file exists and ``force`` is not given.
        UsageError: see :func:`certificate_weights`.
    """
    certificate_weights(sanitizer)
    check_writable(path, force=force)


def write_certificate(
    path: Path, sanitizer: Sanitizer, verification: Verification, *, force: bool = False
) -> str | None:
    """Write the certificate, complete under its name or not at all.

    Args:
        path: path of the new file.
        sanitizer: the verified sanitizer.
        verification: the verdict.  Nothing is written of a guarantee that is not kept.
        force: replace an existing file.

    Returns:
        The digest at its end; None where nothing was written.

    Raises:
        OutputError: the file exists and ``force`` is not given, or it cannot be written.
        UsageError: see :func:`certificate_weights`.
    """
    if verification.verdict is not Verdict.KEPT or verification.certified is None:
        return None
    weights = certificate_weights(sanitizer)
    with AtomicFile(path, force=force) as sink:
        for line in _lines(sanitizer, verification.certified, weights):
            digest = sink.sha256
            sink.write(line)
        sink.commit()
    return digest


def _lines(sanitizer: Sanitizer, epsilon: float, weights: Table) -> Iterator[bytes]:
    """Yield the lines of a certificate."""
    claim: dict[str, Any] = {
        "dpsan_certificate": _VERSION,
        "dpsan": __version__,
        "mechanism": sanitizer.mechanism.name,
        "vocabulary": sanitizer.embeddings.digest,
        "words": sanitizer.space.n,
        "public": list(sanitizer.public),
        "epsilon": str(Decimal(epsilon)),  # every digit: a rounded one may be too small
        "delta": "0",
        "weights": "dense",
    }
    if isinstance(weights, SparseTable):
        common = {"common": weights.common.tolist(), "increment": weights.increment}
        claim |= {"weights": "sparse", **common}
    digest = hashlib.sha256()
    for value in chain([claim], _rows(weights)):
        line = _line(value)
        digest.update(line)
        yield line
    yield _line({"sha256": digest.hexdigest()})


def _rows(table: Table) -> Iterator[list[int]]:
    if isinstance(table, SparseTable):
        for word in range(table.space.n):
            yield np.stack(table.near.row(word), axis=1).ravel().tolist()
    else:
        for ids in blocks(table.space.n + 1, ROWS):
            yield from table.weights(ids).tolist()


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
