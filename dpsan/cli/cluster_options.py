"""What ``dpsan rewrite --engine ray`` adds to the command.

Knows option names.  Must not know Ray.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpsan.cli.options import one_of
from dpsan.errors import UsageError

if TYPE_CHECKING:
    from dpsan.run.run import Result, Run

__all__ = ["Address", "EngineName", "check", "execute"]

_RUNNING = "Running"

EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|ray",
        help="ray: on a cluster, with -O; the same words under a seed.",
        envvar="DPSAN_ENGINE",
        rich_help_panel=_RUNNING,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDR",
        help="With --engine ray: a running cluster; default: one on this machine, for this run.",
        envvar="DPSAN_ADDRESS",
        rich_help_panel=_RUNNING,
        show_default=False,
    ),
]


def check(
    engine: str,
    address: str | None,
    inputs: list[Path],
    output_dir: Path | None,
    *,
    budget: float | None,
    line_buffered: bool,
) -> None:
    """What the engine cannot do, told before anything is read.

    Raises:
        UsageError: also without the extra.
    """
    one_of("--engine", engine, ("local", "ray"))
    if engine == "local":
        if address is not None:
            raise UsageError("--address needs --engine ray")
        return
    if Path("-") in inputs:
        raise UsageError("--engine ray needs files, not standard input")
    if output_dir is None:
        raise UsageError("--engine ray needs -O DIR", "it writes one output for each input")
    if budget is not None:
        raise UsageError("--budget cannot be kept by --engine ray", "pieces are rewritten at once")
    if line_buffered:
        raise UsageError("--line-buffered is not for --engine ray")
    from dpsan.run.ray.engine import require_ray  # numpy comes with it

    require_ray()


def execute(
    run: Run,
    cache: Path,
    address: str | None,
    actors: int | None,
    audit: Path | None,
    originals: bool,
) -> Result:
    """The same run, on a cluster.  Raises DpsanError."""
    from functools import partial

    from dpsan.run.ray.engine import start
    from dpsan.run.ray.run import ClusterRun

    return ClusterRun(
        run.sanitizer,
        run.plan,
        run.key,
        run.inputs,
        run.output if isinstance(run.output, Path) else Path(),
        partial(start, address=address, actors=actors),
        cache,
        resume=run.resume,
        audit=run.audit,
        audit_path=audit,
        originals=originals,
        progress=run.progress,
        complain=run.complain,
    ).execute()
