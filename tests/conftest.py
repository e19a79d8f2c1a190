"""What all tests share: a small vocabulary, the real data if it is there, a command runner."""

from __future__ import annotations

import os

# Before NumPy is imported: of small matrices threads wait for each other, on the cores of the other
# worker.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from fixed_keys import fix_keys
from fork_server import ForkServer
from hypothesis import HealthCheck, settings
from shared_vocabulary import share_vocabulary
from support import ROOT, SHARED, hear_signals, make_embeddings

from dpsan.embeddings.store import Store
from dpsan.embeddings.words import Embeddings
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

hear_signals()
share_vocabulary()
# Else each Python that a test starts compiles all of dpsan anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# No test is timed: a loaded machine is not a defect.  No test fails by chance: examples and keys
# are the same in every run, but with EXPLORE=1.
EXPLORE = "EXPLORE" in os.environ
settings.register_profile(
    "dpsan", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=not EXPLORE
)
settings.load_profile("dpsan")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Fix the keys of a test; long ones are repeated to find what is rare."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomness, "secrets", secrets)
        if not EXPLORE and item.get_closest_marker("long") is None:
            fix_keys(item.nodeid)
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> Iterator[object]:
    """Fix the keys of a fixture that several tests share, whichever test is the first."""
    with pytest.MonkeyPatch.context() as patch:
        if fixturedef.scope != "function" and not EXPLORE:
            patch.setattr(randomness, "secrets", secrets)
            fix_keys(f"{fixturedef.baseid} {fixturedef.argname}")
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """A worker begins with a half of the files, so that what a file shares is made once.

    It takes from the other when it has done its own.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.getvalue("dist") == "load" else None


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
def sensitive() -> Sanitizer:
    """``--only sensitive``: its lists are read once."""
    return Sanitizer(only="sensitive")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with ``two.txt``, the vectors of two words."""
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    return tmp_path


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

    It is a Python of its own on a cluster, with variables that Python reads when it starts, and
    with other arguments of ``subprocess.run``.  Workers of ``-j 2`` are forks too.  ``longest``:
    bytes of the largest record that it reads; default the program's own.  ``closed``: standard
    streams that it begins without.  ``change``: Python that runs before it.  ``status``: the exit
    status that it must have.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}

    def run(
        *arguments: str,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        longest: int | None = None,
        closed: Sequence[int] = (),
        change: str = "",
        status: int | None = None,
        **more: object,
    ) -> subprocess.CompletedProcess[bytes]:
        environment = {**clean, "DPSAN_CACHE_DIR": str(cache), "COLUMNS": "100", **(env or {})}
        own = any(name.startswith(("PYTHON", "LC_", "LANG")) for name in env or {})
        given = longest, closed, change
        if not (own or more or "--engine" in arguments):
            folder = cwd or Path.cwd()
            done = fork_server.run(arguments, stdin, folder, environment, None, *given)
        else:
            assert given == (None, (), ""), "only a fork can be changed"
            words = [sys.executable, "-m", "dpsan", *arguments]
            more |= {"capture_output": True, "timeout": 600, "env": environment, "cwd": cwd}
            done = subprocess.run(words, input=stdin, **more)
        assert status in (None, done.returncode), done.stderr
        return done

    return run


_CLIENT = """#!{python} -IS
import json, os, socket, sys
words = sys.argv[1:]
drawing = ["rewrite", "preview", "explain", "calibrate", "verify", "evaluate"]
drawing += ["compare", "estimate", "index"]
most, known = os.environ.get("FEWER_WORDS"), {{"--only", "--policy", "--vocab-size", "--forget"}}
if most and words and words[0] in drawing and known.isdisjoint(words):
    words[1:1] = ["--vocab-size", most]
if "--engine" in words:
    os.execv({python!r}, [{python!r}, "-m", "dpsan", *words])
asked = {{"arguments": words, "folder": os.getcwd(), "env": dict(os.environ)}}
asked["test"] = os.environ.get("PYTEST_CURRENT_TEST")
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    socket.send_fds(server, [json.dumps(asked).encode() + b"\\n"], [0, 1, 2])
    sys.exit(int(server.recv(20)))
"""


@pytest.fixture
def shell(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, cache: Path, fork_server: ForkServer
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run lines of bash in ``tmp_path``, where the command ``dpsan`` is a fork.

    With ``FEWER_WORDS`` it takes so many words of a vocabulary.
    """
    scripts = tmp_path_factory.mktemp("bin")
    client = scripts / "dpsan"
    client.write_text(_CLIENT.format(python=sys.executable, path=fork_server._path))
    client.chmod(0o755)
    path = f"{scripts}:{os.environ['PATH']}"
    own = {"PATH": path, "DPSAN_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}

    def run(lines: str, **more: str) -> subprocess.CompletedProcess[str]:
        words = ["bash", "-e", "-o", "pipefail", "-c", lines]
        given = {"cwd": tmp_path, "env": {**os.environ, **own, **more}, "timeout": 600}
        return subprocess.run(words, capture_output=True, text=True, **given)

    return run
