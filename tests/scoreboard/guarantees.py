"""Guarantees that hold must be found kept, and planted defects found, by ``verify``."""

import math
from itertools import product
from pathlib import Path
from typing import Any

from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy.guarantee import Status
from dpsan.sanitize.sanitizer import Sanitizer
from scoreboard.base import Row, Size, required, row

_FEW = ["laplace", "exponential", "krr", "knn-response", "gaussian"]
_LARGEST = {"diffractor": 1.0}
"""Per place of its order: above, words hardly leave their places, and little can be seen."""


@row("verify", "word pairs audited at 99.9 %; guarantees / planted defects", "≥ 200 / 0 / 0")
def audited_pairs(row: Row, size: Size, folder: Path) -> None:
    """Every proved mechanism is kept, in small and in earnest; every planted defect is found."""
    from planted import BROKEN, DRAWS, planted
    from support import make_embeddings

    words, draws = size.of(24, 12, 24), size.of(15_000, 10_000, 200_000)
    small = make_embeddings(n=60, d=4)
    proved = [name for name, kind in MECHANISMS.items() if kind.status is Status.PROVED]
    count = 0

    def made(name: str, epsilon: float, **options: Any) -> Any:
        options |= {"parameters": required(name), "cache": folder / "cache"}
        return Sanitizer(name, epsilon=epsilon, **options)

    def verified(name: str, epsilon: float, where: str, **options: Any) -> None:
        """Verify one guarantee, if the mechanism's theorem applies."""
        nonlocal count
        try:
            sanitizer = made(name, epsilon, **options)
            found = verify(sanitizer, words=words, draws=draws, confidence=0.999)
        except UsageError:
            return
        except Exception:  # noqa: BLE001 - whatever it died of
            row.count(f"verify died{where}", True)
            return
        row.count(f"guarantees violated{where}", found.verdict is Verdict.VIOLATED)
        row.count(f"inconclusive{where}", found.verdict is Verdict.INCONCLUSIVE)
        count += 1
        row.tried += words * (words - 1) // 2

    for name in [each for each in proved if size is not Size.MUTANT or each in _FEW]:
        # Small enough for a vocabulary of this size, large enough to be seen by so many draws.
        before = count
        for epsilon in size.of((0.5, 2.0), (1.0,), (0.5, 1.0, 4.0)):
            if epsilon <= _LARGEST.get(name, math.inf):
                verified(name, epsilon, "", embeddings=small)
        row.count(f"never verified: {name}", count == before)
    for name, epsilon in (("krr", 38.5), ("krr", 700.0), ("zipf-response", 800.0)):
        if size is not Size.MUTANT:
            verified(name, epsilon, " at an extreme epsilon", embeddings=small)
    # In earnest: the vocabulary that everybody uses, and the epsilon of the README.
    names = ("knn-response", "laplace", "optimal-response", "exponential")
    some = names[size.of(0, 1, 0) : size.of(1, 2, 4)]  # the rows of verdicts have the others
    for many, name in product(size.of([300], [3000], [None, 500]), some):
        verified(name, 8.0, ", real vocabulary", vocab_size=many)
    # All of them and all of these settings are also tests, which CI runs beside the quick rows.
    for defect in size.of([*BROKEN][:1], [], [*BROKEN]):
        found = verify(planted(defect), words=12, draws=DRAWS)
        missed = found.verdict is not Verdict.VIOLATED or not found.empirical.violated
        row.count("planted defects missed", missed)
    row.note = f"{count} guarantees"
