"""What all tests share: a small vocabulary, the real data if it is there, a command runner."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fork_server import ForkServer
from hypothesis import HealthCheck, settings
from support import SHARED, make_embeddings

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.cache.store import Store
from dpsan.space.metric_space import MetricSpace

# No test is timed: a loaded machine is not a defect.
settings.register_profile("dpsan", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("dpsan")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """No test is named by bytes: archives hold the time, and xdist's workers compare the names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The real data of the developers; tests that need it are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip(f"real data not present: {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache directory for the whole session, all workers together: tables are made once."""
    base = tmp_path_factory.getbasetemp()
    path = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    path.mkdir(exist_ok=True)
    return path


@pytest.fixture(scope="session")
def store(cache: Path) -> Store:
    return Store(cache)


@pytest.fixture(scope="session")
def embeddings() -> Embeddings:
    return make_embeddings()


@pytest.fixture(scope="session")
def space(embeddings: Embeddings) -> MetricSpace:
    return MetricSpace(embeddings)


@pytest.fixture(scope="session")
def glove(shared: Path, store: Store) -> tuple[Embeddings, MetricSpace]:
    """GloVe 840B, 9,910 words in 300 dimensions."""
    from dpsan.space.cached_index import open_space

    return open_space(shared / "embeddings" / "glove840B_300d_10k_int8.w2v.txt.gz", None, store)


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def dpsan(
    cache: Path, fork_server: ForkServer
) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run the command line in a process of its own, without the caller's DPSAN_ variables.

    It is a Python of its own with workers, with variables that Python reads when it starts, and
    with other arguments of ``subprocess.run``.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}

    def run(
        *arguments: str,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        **more: object,
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {**clean, "DPSAN_CACHE_DIR": str(cache), "COLUMNS": "100", **(env or {})}
        own = any(name.startswith(("PYTHON", "LC_", "LANG")) for name in env or {})
        if not (own or more or {"-j", "--jobs", "--engine"} & {*arguments}):
            return fork_server.run(arguments, stdin, cwd or Path.cwd(), environment)
        return subprocess.run(
            [sys.executable, "-m", "dpsan", *arguments],
            input=stdin,
            capture_output=True,
            timeout=120,
            env=environment,
            cwd=cwd,
            **more,
        )

    return run
