"""Find the epsilon that reaches a target on a vocabulary.

Only the public vocabulary is used, with public keys: nothing here is private or needs to be, and
results are repeatable.  Every epsilon errs on the private side: the value achieved, or its upper
confidence limit where it comes from draws, does not exceed the value wanted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from dpsan.errors import UsageError
from dpsan.mechanisms import is_own, space_for
from dpsan.outcomes.calibrate.losses import epsilon_for_loss
from dpsan.outcomes.calibrate.outputs import ATTEMPTS, Outputs
from dpsan.outcomes.calibrate.target import TOLERANCE, Calibration, Draft, Target, per_nat, solve
from dpsan.outcomes.distributions import silent
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

Progress = Callable[[str], None]
"""Called with the epsilon that is tried next."""


def calibrate(
    draft: Draft,
    space: MetricSpace,
    target: Target,
    wanted: float,
    progress: Progress = silent,
    *,
    claims: bool = False,
) -> Calibration:
    """Find the epsilon of a mechanism that reaches a target, on the private side.

    Args:
        claims: accept the LDP epsilon that a third party's mechanism claims, if no certificate says
            otherwise; never that of a published mechanism.

    Raises:
        UsageError: a value outside its domain, or out of reach.
    """

    def trying(epsilon: float) -> None:
        progress(f"epsilon {epsilon:g}")

    started = time.perf_counter()
    space = space_for(space, draft.kind.name)
    target.check(wanted)
    draft.anywhere(space)  # parameters are checked before the slow part
    if target in (Target.UNCHANGED, Target.CLOSE):
        epsilon, achieved, interval, exact = _for_share(draft, space, target, wanted, trying)
    else:
        claims = claims and is_own(draft.kind.name)
        found = epsilon_for_loss(draft, space, target, wanted, progress=trying, claims=claims)
        epsilon, achieved, exact = found
        interval = (achieved, achieved)
    seconds = time.perf_counter() - started
    return Calibration(draft.at(epsilon), target, wanted, achieved, interval, exact, seconds)


def _for_share(
    draft: Draft, space: MetricSpace, target: Target, wanted: float, trying: Callable[[float], None]
) -> tuple[float, float, tuple[float, float], bool]:
    """Return epsilon, its share, the interval of the share, and whether the share is exact."""
    outputs, what = Outputs(space, draft.anywhere(space)[0], target), f"{target} {wanted:g}"

    def search(ids: Ids, aim: float, start: float, step: float | None) -> tuple[float, float]:
        def share(epsilon: float) -> float:
            return outputs.share(target, draft.at(epsilon), ids)

        # Finer than a third of the standard error is noise.
        noise = 0.0 if ids is outputs.many and outputs.exact else 0.3 / math.sqrt(aim * len(ids))
        most = max(TOLERANCE, noise)
        return solve(share, aim, start, what=what, tolerance=most, step=step, progress=trying)

    epsilon = per_nat(draft, space)  # shares rise from there
    step: float | None = math.log(2 if target is Target.CLOSE else 3)
    error = math.sqrt(wanted * (1 - wanted) / len(outputs.many))
    # The upper limit is 3 standard errors above the estimate; estimate and search both err.
    margin = 0.0 if outputs.exact else 5 * error
    for attempt in range(ATTEMPTS):
        aim = max(wanted - margin, wanted / 2 ** (attempt + 1))
        if step is not None and len(outputs.some) < len(outputs.many):
            epsilon, step = search(outputs.some, aim, epsilon, step)[0], None
        epsilon, share = search(outputs.many, aim, epsilon, step)
        if outputs.exact:
            return epsilon, share, (share, share), True
        share, low, high = outputs.confirm(target, draft.at(epsilon), attempt)
        if high <= wanted:
            return epsilon, share, (low, high), False
        margin, step = margin + 2 * (high - wanted) + error, None
    raise UsageError(f"{what} is too small for {outputs.draws} draws to confirm")
