"""Who carries out a ``dpsan rewrite``: this process, a pool of processes, or a Ray cluster.

Knows which is asked for.  Must not know Ray, nor how text is rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
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
    """The same run, on a cluster."""
    from dpsan.run.ray.engine import start
    from dpsan.run.ray.run import ClusterRun

    return ClusterRun(
        run.sanitizer,
        run.plan,
        run.key,
        run.inputs,
        run.output,
        engine=partial(start, address=request.address, actors=request.jobs),
        cache=cache,
        roots=run.roots,
        resume=run.resume,
        audit=run.audit,
        audit_path=request.audit,
        originals=request.audit_originals,
        progress=run.progress,
        complain=run.complain,
        passing=run.passing,
    ).execute()
