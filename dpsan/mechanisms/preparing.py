"""What the default mechanism needs on a vocabulary, made ahead of the first run.

Knows the table of mechanisms.  Must not know files or how figures are shown.
"""

from __future__ import annotations

from typing import Any

from dpsan.mechanisms.registry import DEFAULT_MECHANISM, MECHANISMS
from dpsan.space.metric_space import MetricSpace


def prepare_default(
    space: MetricSpace, epsilon: float, *, optimize: bool = False, measure: bool = False
) -> dict[str, Any]:
    """Make and keep the tables of the default mechanism.

    Args:
        epsilon: in nats.
        measure: take minutes for the bound on the mean cosine, if it is not kept yet.

    Returns:
        ``mechanism``, ``epsilon``, and ``mean_cosine`` with ``achieved`` and ``bound``, or None
        where the bound is not known.
    """
    mechanism = MECHANISMS[DEFAULT_MECHANISM].build(epsilon, {})
    if optimize:
        mechanism.optimize(space)
    mechanism.prepare(space)
    optimum = mechanism.optimum(space, quick=not measure)
    return {
        "mechanism": mechanism.name,
        "epsilon": epsilon,
        "mean_cosine": None if optimum is None else optimum._asdict(),
    }
