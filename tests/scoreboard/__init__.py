"""The rows of ``tests/reliability.py``, by subject."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from scoreboard import (
    closed,
    cost,
    damage,
    deaths,
    faults,
    files,
    first,
    guarantees,
    kills,
    moving,
    nearest,
    records,
    relations,
    secret_words,
    seeds,
    shape,
    signalled,
    streams,
    suites,
    survivors,
)
from scoreboard.base import AnyMutant, Row, Size

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
    "relations": relations.same_file,
    "closed": closed.closed_streams,
    "moving": moving.moving_files,
    "suites": suites.public_suites,
    "shape": shape.one_shape,
    "verify": guarantees.audited_pairs,
    "nearest": nearest.nearest_words,
    "cost": cost.cost,
    "verdicts": survivors.verdicts,
    "settings": survivors.settings,
    "regressions": survivors.regressions,
}

MUTANTS: Final[list[AnyMutant]] = [
    *faults.MUTANTS,
    *kills.MUTANTS,
    *damage.MUTANTS,
    *files.MUTANTS,
    *records.MUTANTS,
    *signalled.MUTANTS,
    *deaths.MUTANTS,
    *first.MUTANTS,
    *moving.MUTANTS,
    *suites.MUTANTS,
    *relations.MUTANTS,
    *closed.MUTANTS,
    *guarantees.MUTANTS,
    *streams.MUTANTS,
    *seeds.MUTANTS,
    *shape.MUTANTS,
    *secret_words.MUTANTS,
    *cost.MUTANTS,
    *nearest.MUTANTS,
    *survivors.MUTANTS,
]
