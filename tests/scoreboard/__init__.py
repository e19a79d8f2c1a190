"""The rows of ``tests/reliability.py``, in this order, and their mutants."""

from importlib import import_module

from scoreboard.base import ROWS
from scoreboard.patterns import MUTANTS

__all__ = ["MUTANTS", "ROWS"]

_MODULES = (
    "faults kills conversations damage records signalled streams secret_words imports"
    " silence closed live cost linear survivors"
)
for _name in _MODULES.split():
    import_module(f"scoreboard.{_name}")
