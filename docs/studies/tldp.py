"""[TLDP] Local differential privacy for tensors: algorithms, Theorem 3 and Table V.

python docs/studies/tldp.py algorithm-1 -e 0.1
"""

from __future__ import annotations

from typing import Final

from common import claims
from common.command import main
from common.noise import PARAMETERS as NOISE
from common.noise import noise
from common.study import Asked, Result, Studies

from dpsan.mechanisms.tldp_paper import (
    TLDPPaperG,
    TLDPPaperGWeighted,
    TLDPPaperL,
    TLDPPaperLWeighted,
)
from dpsan.outcomes.calibrate.target import Draft
from dpsan.space.metric_space import MetricSpace

STUDIES: Final = Studies()
_PARAMETERS: Final = {
    **claims.PARAMETERS,
    "range": "range Delta of every coordinate; default 1, and 256 with the paper's I = 784",
}


@STUDIES.add("[TLDP] Algorithm 1", uses=frozenset({"epsilons"}), parameters=_PARAMETERS)
def algorithm_1(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed epsilon-LDP of I coordinates against the delta with which it is true.

    Two inputs differ by the range Delta in every coordinate, at Delta = 1 and at the paper's own
    scale, Delta = 256 and I = 784, where nothing is kept and I noises still add up.
    """
    return claims.deltas(space, asked, [TLDPPaperL, TLDPPaperG])


@STUDIES.add("[TLDP] Algorithm 2, Theorem 3", uses=frozenset({"epsilons"}), parameters=_PARAMETERS)
def theorem_3(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed epsilon-LDP of weighted coordinates against the delta with which it is true."""
    return claims.deltas(space, asked, [TLDPPaperLWeighted, TLDPPaperGWeighted])


@STUDIES.add("[TLDP] Table V", uses=frozenset({"mechanisms", "epsilons"}), parameters=NOISE)
def table_5(space: MetricSpace | None, asked: Asked) -> Result:
    """Standard deviation of the noise of both mechanisms in coordinates of range 1."""
    kinds = (TLDPPaperL, TLDPPaperG)
    return noise(space, asked, [Draft(kind, {"range": 1.0}) for kind in kinds])


if __name__ == "__main__":
    main(STUDIES, __doc__)
