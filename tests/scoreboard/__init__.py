"""The rows of ``tests/reliability.py``, by subject."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoreboard import damage, deaths, faults, files, first, kills, records, secret_words, seeds, signalled, streams
from scoreboard.base import Mutant, Row, Size

ROWS: Final[dict[str, Callable[[Size, Path], Row]]] = {
    "faults": faults.faults,
    "kill": kills.killed,
    "cache": damage.corrupted_cache,
    "hostile": files.hostile_embeddings,
    "records": records.bad_records,
    "signals": signalled.signals,
    "deaths": deaths.deaths,
    "first": first.first_runs,
    "stream": streams.streamed,
    "latency": streams.latency,
    "seed": seeds.configurations,
    "secrets": secret_words.failing_stages,
}

MUTANTS: Final[list[Mutant]] = [
    *faults.MUTANTS,
    *kills.MUTANTS,
    *damage.MUTANTS,
    *files.MUTANTS,
    *records.MUTANTS,
    *signalled.MUTANTS,
    *deaths.MUTANTS,
    *first.MUTANTS,
    *streams.MUTANTS,
    *seeds.MUTANTS,
    *secret_words.MUTANTS,
]
