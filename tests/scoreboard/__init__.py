"""The rows of ``tests/reliability.py``, by subject."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoreboard import records
from scoreboard.base import Mutant, Row, Size

ROWS: Final[dict[str, Callable[[Size, Path], Row]]] = {
    "records": records.bad_records,
}

MUTANTS: Final[list[Mutant]] = [
    *records.MUTANTS,
]
