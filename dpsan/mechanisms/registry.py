"""The table of mechanisms: name, module and class, in the order in which they are listed."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Final

from dpsan.errors import UsageError
from dpsan.mechanisms.base import BaseResponse, Mechanism
from dpsan.privacy.guarantee import Status

DEFAULT_MECHANISM: Final = "optimal-response"


TABLE: Final = {
    "optimal-response": "optimal_response:OptimalResponse",
    "knn-response": "knn_response:KnnResponse",
    "zipf-response": "zipf_response:ZipfResponse",
    "geodesic": "geodesic:Geodesic",
    "exponential": "exponential:Exponential",
    "tem": "tem:TEM",
    "bucket-exponential": "bucket_exponential:BucketExponential",
    "char-response": "char_response:CharResponse",
    "krr": "krr:KRR",
    "uniform": "uniform:Uniform",
    "tgumbel-paper": "tgumbel_paper:TGumbelPaper",
    "santext-plus": "santext_plus:SanTextPlus",
    "custext": "custext:CusText",
    "clusant": "clusant:CluSanT",
    "diffractor": "diffractor:Diffractor",
    "diffractor-paper": "diffractor_paper:DiffractorPaper",
    "rantext-paper": "rantext_paper:RanTextPaper",
    "laplace": "laplace:Laplace",
    "rank-softmax": "rank_softmax:RankSoftmax",
    "vickrey": "vickrey:Vickrey",
    "mahalanobis": "mahalanobis:Mahalanobis",
    "pte": "pte:ProjectedLaplace",
    "clipped-laplace": "clipped_laplace:ClippedLaplace",
    "clipped-laplace-paper": "clipped_laplace_paper:ClippedLaplacePaper",
    "gaussian": "gaussian:AnalyticGaussian",
    "gaussian-classical": "gaussian_classical:ClassicalGaussian",
    "gaussian-paper": "gaussian_paper:GaussianPaper",
    "trlaplace": "trlaplace:TrLaplace",
    "trlaplace-paper": "trlaplace_paper:TrLaplacePaper",
    "tldp": "tldp:TLDP",
    "tldp-paper-l": "tldp_paper:TLDPPaperL",
    "tldp-paper-g": "tldp_paper:TLDPPaperG",
    "tldp-paper-l-weighted": "tldp_paper:TLDPPaperLWeighted",
    "tldp-paper-g-weighted": "tldp_paper:TLDPPaperGWeighted",
}


_OWN: Final[dict[str, type[Mechanism]]] = {}
"""Mechanisms that this process has registered."""
_FAMILIES: Final = ("point", "table", "tensor")
_UNITS: Final = ("1/distance", "nats")


class _Registry(Mapping[str, type[Mechanism]]):
    """Imports a mechanism when it is requested: all take a fifth of the program's starting time."""

    def __getitem__(self, name: str) -> type[Mechanism]:
        if name in _OWN:
            return _OWN[name]
        module, _, kind = TABLE[name].partition(":")
        found: type[Mechanism] = getattr(importlib.import_module(f"{__package__}.{module}"), kind)
        return found

    def __contains__(self, name: object) -> bool:
        return name in TABLE or name in _OWN

    def __iter__(self) -> Iterator[str]:
        return iter([*TABLE, *_OWN])

    def __len__(self) -> int:
        return len(TABLE) + len(_OWN)


MECHANISMS: Final[Mapping[str, type[Mechanism]]] = _Registry()


def register(kind: type[Mechanism]) -> type[Mechanism]:
    """Let a mechanism of your own run under its name in this process; usable as a decorator.

    ``Sanitizer``, ``verify``, ``explain``, ``evaluate`` and ``compare`` then take it as they take
    those of dpsan (docs/own_mechanism.py).  A script that starts worker processes must register it
    at the top level, not below ``if __name__ == "__main__"``.  A name registered again is replaced.

    Args:
        kind: a class with the class attributes of :class:`Mechanism`.  Its status is
            CLAIMED, REFUTED or NONE: PROVED is for what docs/proofs.md proves.

    Returns:
        The same class.

    Raises:
        UsageError: it is no such class, an attribute is missing or wrong, or dpsan has the name.
    """
    if not (inspect.isclass(kind) and issubclass(kind, Mechanism)):
        raise UsageError("register takes a subclass of Mechanism")
    missing = sorted(kind.__abstractmethods__)
    ways = ("table", "noise", "prepare")
    if all(getattr(kind, way) is getattr(Mechanism, way) for way in ways):
        missing.append("table")
    if missing:
        raise UsageError(f"{kind.__name__} has no {' and no '.join(missing)}")
    for attribute in ("name", "summary", "source", "family", "epsilon_unit", "status"):
        if not getattr(kind, attribute, None):
            raise UsageError(f"{kind.__name__} needs the class attribute {attribute}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", kind.name) or kind.name in TABLE:
        taken = "dpsan has one of that name" if kind.name in TABLE else "such as my-mechanism"
        raise UsageError(f"{kind.__name__} needs another name", taken)
    if kind.family not in _FAMILIES or kind.epsilon_unit not in _UNITS:
        raise UsageError(
            f"{kind.__name__}: family is one of {', '.join(_FAMILIES)}; epsilon_unit is "
            f"{' or '.join(_UNITS)}"
        )
    if kind.status not in (Status.CLAIMED, Status.REFUTED, Status.NONE):
        raise UsageError(
            f"{kind.__name__} cannot be {kind.status}: that is for what docs/proofs.md proves",
            "status = Status.CLAIMED",
        )
    _OWN[kind.name] = kind
    return kind


def is_own(name: str) -> bool:
    """Return True if a mechanism was registered and is not one of dpsan's."""
    return name in _OWN


def check_public(kind: type[Mechanism]) -> None:
    """Raise UsageError if a mechanism has no public words."""
    if not kind.takes_public:
        able = _names_of_bases()
        raise UsageError(f"mechanism '{kind.name}' has no public words", f"{able} have")


def check_classes(kind: type[Mechanism]) -> None:
    """Raise UsageError if classes of words are not for a mechanism."""
    if not issubclass(kind, BaseResponse):
        what = f"classes of words are not for mechanism '{kind.name}'"
        raise UsageError(what, f"{_names_of_bases()} have them")


def _names_of_bases() -> str:
    return " and ".join(name for name in TABLE if issubclass(MECHANISMS[name], BaseResponse))


def list_mechanisms() -> list[dict[str, str]]:
    """Return every mechanism: name, status, family, delta or not, epsilon unit, summary and
    source.
    """
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
