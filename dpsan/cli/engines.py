"""Who carries out a ``dpsan rewrite``: this process, a pool of processes, or a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpsan.cli.rewrite_request import Request
    from dpsan.run.run import Result, Run
    from dpsan.sanitize.sanitizer import Sanitizer


@contextmanager
def engine(
    request: Request, sanitizer: Sanitizer, cache: Path
) -> Iterator[Callable[[Run], Result]]:
    """What executes a run, ready to work.  Raises DpsanError.

    Args:
        request: names the engine, and how many work.
        sanitizer: of the run; others are made of its request.
        cache: directory from which they load the vocabulary.
    """
    if request.engine == "ray":
        yield partial(_on_cluster, request, cache)
    elif request.jobs and request.jobs > 1:
        from dpsan.run.workers import Pool  # heavy import

        digest = sanitizer.embeddings.digest
        with Pool(sanitizer.spec, cache, request.jobs, digest) as pool:
            yield lambda run: replace(run, workers=pool).execute()
    else:
        yield lambda run: run.execute()


def _on_cluster(request: Request, cache: Path, run: Run) -> Result:
    """Execute the run on a Ray cluster."""
    from dpsan.run.ray import ClusterRun
    from dpsan.run.ray.engine import start

    given = {each.name: getattr(run, each.name) for each in fields(run)}
    return ClusterRun(
        **given,
        start=partial(start, address=request.address, workers=request.jobs),
        cache=cache,
        audit_path=request.audit,
        originals=request.audit_originals,
    ).execute()
