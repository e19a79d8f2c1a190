"""The registry of mechanisms: explicit and ordered."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Final

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.laplace import Laplace

__all__ = ["DEFAULT_MECHANISM", "MECHANISMS", "mechanisms"]

DEFAULT_MECHANISM: Final = "knn-response"

MECHANISMS: Final[dict[str, type[Mechanism]]] = {
    mechanism.name: mechanism
    for mechanism in (
        KnnResponse,
        Exponential,
        Laplace,
    )
}


def mechanisms() -> list[dict[str, str]]:
    """Every mechanism: name, status, family, epsilon unit, summary and source."""
    return [
        {
            "name": each.name,
            "status": str(each.status),
            "family": each.family,
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
