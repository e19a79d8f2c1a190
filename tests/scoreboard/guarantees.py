"""Guarantees that hold must be found kept, and planted defects found, by ``verify``."""

import math
from pathlib import Path
from typing import Any

from scoreboard.base import Row, Size, required, row
from scoreboard.patterns import mutants

_FEW = ["laplace", "exponential", "krr", "knn-response", "gaussian"]
_LARGEST = {"diffractor": 1.0}
"""Per place of its order: above, words hardly leave their places, and that they share no random
numbers cannot be seen."""
_OPEN: dict[str, dict[str, Any]] = {
    "unknown words copied": {"unknown": "keep"},
    "unknown words masked": {"unknown": "mask"},
    "capitals kept": {"case": "input"},
    "words kept": {"keep": ["word3"]},
}
"""Configurations that protect less than the mechanism does: infinite loss."""


@row("verify", "word pairs audited at 99.9 %; guarantees / planted defects", "≥ 200 / 0 / 0")
def audited_pairs(row: Row, size: Size, folder: Path) -> None:
    """Every proved mechanism is kept, in small and in earnest; every planted defect is found."""
    from planted import BROKEN, DRAWS, planted
    from support import make_embeddings

    from dpsan.analysis.verify.verdict import Verdict, verify
    from dpsan.mechanisms import MECHANISMS
    from dpsan.privacy.guarantee import Status

    words, draws = size.of(24, 12, 24), size.of(15_000, 10_000, 200_000)
    small = make_embeddings(n=60, d=4)
    proved = [name for name, kind in MECHANISMS.items() if kind.status is Status.PROVED]
    count = 0
    for name in [each for each in proved if size is not Size.MUTANT or each in _FEW]:
        # Small enough for a vocabulary of this size, large enough to be seen by so many draws.
        before = count
        for epsilon in size.of((0.5, 2.0), (1.0,), (0.5, 1.0, 4.0)):
            if epsilon > _LARGEST.get(name, math.inf):
                continue
            found = _verdict(row, name, epsilon, small, folder, words, draws, "")
            count += found is not None
            row.tried += words * (words - 1) // 2 if found else 0
        row.count(f"never verified: {name}", count == before)
    for name, epsilon in (("krr", 38.5), ("krr", 700.0), ("zipf-response", 800.0)):
        if size is Size.MUTANT:
            break
        _verdict(row, name, epsilon, small, folder, words, draws, " at an extreme epsilon")
    # In earnest: the vocabulary that everybody uses, and the epsilon of the README.
    real = [(None, size.of(300, 3000, None))] + ([(None, 500)] if size is Size.FULL else [])
    for embeddings, many in real:
        for name in ("optimal-response", "knn-response", "laplace", "exponential"):
            # The rows of verdicts have the others.
            if size.of(name != "knn-response", name != "laplace", False):
                continue
            found = _verdict(
                row, name, 8.0, embeddings, folder, words, draws, ", real vocabulary", many
            )
            count += found is not None
            row.tried += words * (words - 1) // 2 if found else 0
    # All of them and all of these settings are also tests, which CI runs beside the quick rows.
    for defect in size.of([*BROKEN][:1], [], [*BROKEN]):
        found = verify(planted(defect), words=12, draws=DRAWS)
        missed = found.verdict is not Verdict.VIOLATED or not found.empirical.violated
        row.count("planted defects missed", missed)
    for name, options in _OPEN.items():
        if size is not Size.FULL:
            break
        found = verify(_made("exponential", 8.0, small, folder, options), words=12, draws=20_000)
        row.count(f"called kept: {name}", found.verdict is Verdict.KEPT)
        known = {*small.index_to_key, *(each.capitalize() for each in small.index_to_key)}
        row.count("an event that no word gives", not set(found.event) <= known)
    row.note = f"{count} guarantees"


def _made(name: str, epsilon: float, embeddings: Any, folder: Path, options: Any) -> Any:
    from dpsan.sanitize.sanitizer import Sanitizer

    cache = folder / "cache"
    return Sanitizer(
        name,
        epsilon=epsilon,
        embeddings=embeddings,
        cache=cache,
        parameters=required(name),
        **options,
    )


def _verdict(row, name, epsilon, embeddings, folder, words, draws, where, many=None):
    """Verify one guarantee; None where the mechanism's theorem does not apply."""
    from dpsan.analysis.verify.verdict import Verdict, verify
    from dpsan.errors import UsageError

    options = {} if many is None else {"vocab_size": many}
    try:
        sanitizer = _made(name, epsilon, embeddings, folder, options)
        found = verify(sanitizer, words=words, draws=draws, confidence=0.999)
    except UsageError:
        return None
    except Exception:  # noqa: BLE001 - whatever it died of
        row.count(f"verify died{where}", True)
        return None
    row.count(f"guarantees violated{where}", found.verdict is Verdict.VIOLATED)
    row.count(f"inconclusive{where}", found.verdict is Verdict.INCONCLUSIVE)
    return found


mutants(r"""verify
the noise is halved @ LaplaceNoise.prepare
- self.rate(space)
+ 2 * self.rate(space)
the true word never comes out @ PointSampler.sample
- return self.project(self.space, points, streams)
+ out = self.project(self.space, points, streams)
+ return np.where(out == ids, (out + 1) % self.space.n, out)
all records have the same numbers @ Streams.bits
- pack(record, block)
+ pack(0, block)
twice the epsilon in the weights @ SubsetResponseSampler.__init__
- integer_weights(epsilon, k, outputs)
+ integer_weights(2 * epsilon, k, outputs)
unknown words are copied @ Rewriter._new_lookup
- self._built.space.n
+ PASSED
verify never says violated @ _verdict
- finding.violated
+ False
the bounds of the draws say nothing @ epsilon_lower
- math.log((low - delta) / high) if low > delta else -math.inf
+ -math.inf
verify allows too little @ _allowed.allowed
- guarantee.epsilon(distance)
+ guarantee.epsilon(distance) / 9
""")
