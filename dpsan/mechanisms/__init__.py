"""The registry of mechanisms: explicit and ordered."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Iterator, MutableMapping
from types import ModuleType
from typing import Any, Final

from dpsan.mechanisms.base import Mechanism

__all__ = ["DEFAULT_MECHANISM", "MECHANISMS", "mechanisms"]

DEFAULT_MECHANISM: Final = "knn-response"

_NAMES: Final = (
    "knn-response",
    "optimal-response",
    "zipf-response",
    "geodesic",
    "exponential",
    "tem",
    "krr",
    "uniform",
    "tgumbel-paper",
    "santext-plus",
    "custext",
    "laplace",
    "rank-softmax",
    "vickrey",
    "mahalanobis",
    "pte",
    "clipped-laplace",
    "gaussian",
    "gaussian-classical",
    "trlaplace",
    "trlaplace-paper",
    "tldp",
    "tldp-paper-l",
    "tldp-paper-g",
    "tldp-paper-l-weighted",
    "tldp-paper-g-weighted",
)


class _Registry(MutableMapping[str, type[Mechanism]]):
    """Mechanisms by name; the module of the same name is imported when one is asked for.

    All of them take a fifth of the time in which the program starts.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._kinds: dict[str, type[Mechanism] | None] = dict.fromkeys(names)

    def __getitem__(self, name: str) -> type[Mechanism]:
        kind = self._kinds[name]
        if kind is None:
            module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
            kind = self._kinds[name] = next(
                each
                for each in vars(module).values()
                if isinstance(each, type)
                and issubclass(each, Mechanism)
                and vars(each).get("name") == name
            )
        return kind

    def __setitem__(self, name: str, kind: type[Mechanism]) -> None:
        self._kinds[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._kinds[name]

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)


MECHANISMS: Final[MutableMapping[str, type[Mechanism]]] = _Registry(_NAMES)


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
