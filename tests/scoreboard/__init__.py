"""The rows of ``tests/reliability.py``, by subject."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoreboard import faults, records, secret_words
from scoreboard.base import Mutant, Row, Size

ROWS: Final[dict[str, Callable[[Size, Path], Row]]] = {
    "faults": faults.faults,
    "records": records.bad_records,
    "secrets": secret_words.failing_stages,
}

MUTANTS: Final[list[Mutant]] = [
    *faults.MUTANTS,
    *records.MUTANTS,
    *secret_words.MUTANTS,
]
