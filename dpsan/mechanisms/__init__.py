"""The registry of mechanisms: explicit and ordered."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.clipped_laplace import ClippedLaplace
from dpsan.mechanisms.custext import CusText
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.gaussian import AnalyticGaussian
from dpsan.mechanisms.gaussian_classical import ClassicalGaussian
from dpsan.mechanisms.geodesic import Geodesic
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.krr import KRR
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.mahalanobis import Mahalanobis
from dpsan.mechanisms.pte import ProjectedLaplace
from dpsan.mechanisms.rank_softmax import RankSoftmax
from dpsan.mechanisms.santext_plus import SanTextPlus
from dpsan.mechanisms.tem import TEM
from dpsan.mechanisms.tgumbel_paper import TGumbelPaper
from dpsan.mechanisms.tldp import TLDP
from dpsan.mechanisms.tldp_paper_g import TLDPPaperG
from dpsan.mechanisms.tldp_paper_g_weighted import TLDPPaperGWeighted
from dpsan.mechanisms.tldp_paper_l import TLDPPaperL
from dpsan.mechanisms.tldp_paper_l_weighted import TLDPPaperLWeighted
from dpsan.mechanisms.trlaplace import TrLaplace
from dpsan.mechanisms.trlaplace_paper import TrLaplacePaper
from dpsan.mechanisms.uniform import Uniform
from dpsan.mechanisms.vickrey import Vickrey
from dpsan.mechanisms.zipf_response import ZipfResponse

__all__ = ["DEFAULT_MECHANISM", "MECHANISMS", "mechanisms"]

DEFAULT_MECHANISM: Final = "knn-response"

MECHANISMS: Final[dict[str, type[Mechanism]]] = {
    mechanism.name: mechanism
    for mechanism in (
        KnnResponse,
        ZipfResponse,
        Geodesic,
        Exponential,
        TEM,
        KRR,
        Uniform,
        TGumbelPaper,
        SanTextPlus,
        CusText,
        Laplace,
        RankSoftmax,
        Vickrey,
        Mahalanobis,
        ProjectedLaplace,
        ClippedLaplace,
        AnalyticGaussian,
        ClassicalGaussian,
        TrLaplace,
        TrLaplacePaper,
        TLDP,
        TLDPPaperL,
        TLDPPaperG,
        TLDPPaperLWeighted,
        TLDPPaperGWeighted,
    )
}


def mechanisms() -> list[dict[str, str]]:
    """Every mechanism: name, status, family, delta or not, epsilon unit, summary and source."""
    return [
        {
            "name": each.name,
            "status": str(each.status),
            "family": each.family,
            "delta": "yes" if "delta" in each.parameters() else "no",
            "epsilon_unit": each.epsilon_unit,
            "summary": each.summary,
            "source": each.source,
        }
        for each in MECHANISMS.values()
    ]


class _Callable(ModuleType):
    """Makes ``dpsan.mechanisms()`` list the mechanisms though ``dpsan.mechanisms`` is a package.

    Importing a subpackage binds its name in the parent, so the function of the same name that
    users expect would otherwise be hidden by it.
    """

    def __call__(self) -> list[dict[str, str]]:
        return mechanisms()


_module: Any = sys.modules[__name__]
_module.__class__ = _Callable
