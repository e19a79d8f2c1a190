"""Certificate files: the claim, and every integer that is drawn from.

docs/check_certificate.py checks them without dpsan, docs/check_classes.py those of classes.
The file consists of JSON lines:

* the claim, an object with these keys: ``dpsan_certificate`` (version of this layout),
  ``mechanism``, ``vocabulary`` (digest), ``words`` (n), ``public`` (row numbers), ``epsilon`` and
  ``delta`` (exact decimals) and ``weights`` (name of the form).  The form ``common`` adds
  ``common`` and ``increment``, the form ``ranks`` adds ``by_rank``, the form ``classes`` adds
  ``unknown`` (index of the class of ⊥) and ``classes``, each with ``epsilon``, ``words`` (row
  numbers), ``common`` (pairs of output and weight) and ``increment``;
* a line for each word, in order of row numbers.  ``common``: output, mass, output, mass ...;
  ``ranks``: the outputs by rank; ``rows``: the weight of every output; ``classes``: index of the
  class, output, mass, output, mass ..., and nothing for a word of no class;
* ``sha256`` of all lines before it.

The forms are those of :mod:`dpsan.privacy.integer_weights`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.analysis.verify.verdict import Verdict, Verification
from dpsan.errors import Hint, UsageError
from dpsan.files.atomic_files import AtomicFile
from dpsan.privacy.certificate import MATRIX_WORDS
from dpsan.privacy.integer_weights import (
    ClassWeights,
    CommonWeights,
    IntegerWeights,
    RankWeights,
)
from dpsan.sanitize.sanitizer import Sanitizer

_VERSION: Final = 1
_FEWER: Final = Hint(f"such as vocab_size={MATRIX_WORDS}", f"such as --vocab-size {MATRIX_WORDS}")


def certificate_weights(sanitizer: Sanitizer) -> IntegerWeights:
    """Return the integers that a certificate of this sanitizer lists.

    Raises:
        UsageError: the sampler does not draw from integer weights alone, or they are n² numbers
            and too many.
    """
    name, n = sanitizer.mechanism.name, sanitizer.space.n
    found = sanitizer.sampler.integer_weights()
    if found is None:
        raise UsageError(f"{name} has no certificate of integers: it does not draw from them alone")
    if not isinstance(found, CommonWeights | ClassWeights) and n > MATRIX_WORDS:
        raise UsageError(
            f"a certificate of {name} has {n:,} x {n:,} numbers: at most {MATRIX_WORDS:,} words",
            _FEWER,
        )
    return found


def check_certificate(path: Path, sanitizer: Sanitizer, *, force: bool = False) -> None:
    """Raise the errors of :func:`write_certificate` before the slow part.

    Raises:
        OutputError: the file exists and ``force`` is not given.
        UsageError: see :func:`certificate_weights`.
    """
    certificate_weights(sanitizer)
    AtomicFile(path, force=force).discard()


def write_certificate(
    path: Path,
    sanitizer: Sanitizer,
    found: Verification,
    *,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> str | None:
    """Write the certificate, complete under its name or not at all.

    Args:
        path: path of the new file.
        sanitizer: the verified sanitizer.
        found: the verdict.  Nothing is written of a guarantee that is not kept.
        force: replace an existing file.
        progress: called with the share done.

    Returns:
        The digest at its end; None where nothing was written.

    Raises:
        OutputError: the file exists and ``force`` is not given, or it cannot be written.
        UsageError: see :func:`certificate_weights`.
    """
    if found.verdict is not Verdict.KEPT or found.certified is None:
        return None
    weights, n = certificate_weights(sanitizer), sanitizer.space.n
    sink = AtomicFile(path, force=force)
    try:
        sink.write(_line(_claim(sanitizer, found.certified, weights)))
        for word, row in enumerate(_rows(weights, n)):
            sink.write(_line(row))
            if progress is not None and word % 256 == 255:
                progress((word + 1) / n)
        digest = sink.sha256
        sink.write(_line({"sha256": digest}))
        sink.commit()
    finally:
        sink.discard()
    return digest


def _claim(sanitizer: Sanitizer, epsilon: float, weights: IntegerWeights) -> dict[str, Any]:
    claim: dict[str, Any] = {
        "dpsan_certificate": _VERSION,
        "mechanism": sanitizer.mechanism.name,
        "vocabulary": sanitizer.embeddings.digest,
        "words": sanitizer.space.n,
        "public": list(sanitizer.public),
        "epsilon": str(Decimal(epsilon)),  # every digit: a rounded one may be too small
        "delta": "0",
    }
    if isinstance(weights, CommonWeights):
        claim |= {"weights": "common", "common": weights.common.tolist()}
        return claim | {"increment": weights.increment}
    if isinstance(weights, ClassWeights):
        return claim | {
            "weights": "classes",
            "unknown": weights.unknown,
            "classes": [
                {
                    "epsilon": str(Decimal(epsilon)),
                    "words": rows.tolist(),
                    "common": [
                        [int(rows[at]), int(part.common[at])] for at in np.flatnonzero(part.common)
                    ],
                    "increment": part.increment,
                }
                for rows, epsilon, part in zip(
                    weights.rows, weights.epsilons, weights.parts, strict=True
                )
            ],
        }
    if isinstance(weights, RankWeights):
        return claim | {"weights": "ranks", "by_rank": weights.weights.tolist()}
    return claim | {"weights": "rows"}


def _rows(weights: IntegerWeights, n: int) -> Iterator[list[int]]:
    if isinstance(weights, CommonWeights):
        for outputs, masses in weights.rows():
            pairs = zip(outputs.tolist(), masses.tolist(), strict=True)
            yield [number for pair in pairs for number in pair]
        return
    if isinstance(weights, ClassWeights):
        lines: list[list[int]] = [[] for _ in range(n)]
        for index, (rows, part) in enumerate(zip(weights.rows, weights.parts, strict=True)):
            for word, (outputs, masses) in zip(rows.tolist(), part.rows(), strict=True):
                pairs = zip(rows[outputs].tolist(), masses.tolist(), strict=True)
                lines[word] = [index, *(number for pair in pairs for number in pair)]
        yield from lines
        return
    for row in weights.rows():
        yield row.tolist()


def _line(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
