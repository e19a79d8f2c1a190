"""The table of mechanisms: name, module and class, in the order in which they are listed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Final

from dpsan.mechanisms.base import Mechanism

__all__ = ["DEFAULT_MECHANISM", "MECHANISMS", "TABLE", "list_mechanisms"]

DEFAULT_MECHANISM: Final = "knn-response"

TABLE: Final = {
    "knn-response": "knn_response:KnnResponse",
    "optimal-response": "optimal_response:OptimalResponse",
    "zipf-response": "zipf_response:ZipfResponse",
    "geodesic": "geodesic:Geodesic",
    "exponential": "exponential:Exponential",
    "tem": "tem:TEM",
    "krr": "krr:KRR",
    "uniform": "uniform:Uniform",
    "tgumbel-paper": "tgumbel_paper:TGumbelPaper",
    "santext-plus": "santext_plus:SanTextPlus",
    "custext": "custext:CusText",
    "laplace": "laplace:Laplace",
    "rank-softmax": "rank_softmax:RankSoftmax",
    "vickrey": "vickrey:Vickrey",
    "mahalanobis": "mahalanobis:Mahalanobis",
    "pte": "pte:ProjectedLaplace",
    "clipped-laplace": "clipped_laplace:ClippedLaplace",
    "gaussian": "gaussian:AnalyticGaussian",
    "gaussian-classical": "gaussian_classical:ClassicalGaussian",
    "trlaplace": "trlaplace:TrLaplace",
    "trlaplace-paper": "trlaplace_paper:TrLaplacePaper",
    "tldp": "tldp:TLDP",
    "tldp-paper-l": "tldp_paper_l:TLDPPaperL",
    "tldp-paper-g": "tldp_paper_g:TLDPPaperG",
    "tldp-paper-l-weighted": "tldp_paper_l_weighted:TLDPPaperLWeighted",
    "tldp-paper-g-weighted": "tldp_paper_g_weighted:TLDPPaperGWeighted",
}


class _Registry(Mapping[str, type[Mechanism]]):
    """Imports a mechanism when it is asked for: all take a fifth of the program's starting time."""

    def __getitem__(self, name: str) -> type[Mechanism]:
        module, _, kind = TABLE[name].partition(":")
        found: type[Mechanism] = getattr(importlib.import_module(f"{__package__}.{module}"), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in TABLE

    def __iter__(self) -> Iterator[str]:
        return iter(TABLE)

    def __len__(self) -> int:
        return len(TABLE)


MECHANISMS: Final[Mapping[str, type[Mechanism]]] = _Registry()


def list_mechanisms() -> list[dict[str, str]]:
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
