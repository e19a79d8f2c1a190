"""The rows of ``tests/reliability.py``, by subject."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoreboard import damage, faults, files, kills, records, secret_words, signalled
from scoreboard.base import Mutant, Row, Size

ROWS: Final[dict[str, Callable[[Size, Path], Row]]] = {
    "faults": faults.faults,
    "kill": kills.killed,
    "cache": damage.corrupted_cache,
    "hostile": files.hostile_embeddings,
    "records": records.bad_records,
    "signals": signalled.signals,
    "secrets": secret_words.failing_stages,
}

MUTANTS: Final[list[Mutant]] = [
    *faults.MUTANTS,
    *kills.MUTANTS,
    *damage.MUTANTS,
    *files.MUTANTS,
    *records.MUTANTS,
    *signalled.MUTANTS,
    *secret_words.MUTANTS,
]
