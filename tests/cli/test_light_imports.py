"""What people type first imports neither FAISS, SciPy nor gensim, and a missing one is named."""

import subprocess
import sys

import pytest
from support import cases, marked

WATCHED = """
import os, sys
sys.modules.update(dict.fromkeys({missing!r}))
leave = os._exit
def told(status):
    there = {{name.partition(".")[0] for name in sys.modules if sys.modules[name] is not None}}
    heavy = there & {{"faiss", "gensim", "scipy", "pandas", "pyarrow"}}
    heavy |= set(sys.modules) & {seldom!r}
    print("heavy:", *sorted(heavy), file=sys.stderr)
    sys.stderr.flush()
    leave(status)
os._exit = told
from dpsan.__main__ import main
main()
"""

SELDOM = "analysis outcomes.calibrate outcomes.text_likelihood"
SELDOM += " run.audit text.number_forms"
OTHERS = ["rewrite --only sensitive a.txt", "rewrite -e 8 a.txt", "headers a.csv", "mechanisms"]
OTHERS += ["rewrite -e 12 --class sensitive a.txt"]


@pytest.fixture
def watched(tmp_path, env):
    (tmp_path / "a.txt").write_text("Maria met John in Paris on 3 May 2021.\n")
    (tmp_path / "a.csv").write_text("id,text\n1,Maria met John\n")
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")

    def run(*arguments, missing=(), seldom=()):
        program = WATCHED.format(missing=list(missing), seldom=set(seldom))
        command = [sys.executable, "-c", program, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        *told, heavy = done.stderr.splitlines()
        return told, heavy.split()[1:]

    return run


@cases(
    "command",
    "rewrite --only people -k text a.csv -a audit",
    "rewrite -e 8 --fluent a.txt",
    *marked("slow", OTHERS, *OTHERS),
)
def test_everyday_commands_import_nothing_heavy(watched, command):
    assert watched(*command.split())[1] == []


def test_what_only_some_options_need_is_imported_for_them(watched):
    """Every start would pay for it; help does not even pay for numpy."""
    seldom = ["numpy.ma", *(f"dpsan.{name}" for name in SELDOM.split())]
    plain = ["rewrite", "-q", "-e", "8", "a.txt"]
    assert watched(*plain, seldom=seldom)[1] == []
    assert "dpsan.run.audit" in watched(*plain, "-a", "audit", seldom=seldom)[1]
    assert watched("--help", seldom=["numpy", "dpsan.cli"])[1] == ["dpsan.cli"]


def test_a_missing_package_is_named_with_the_line_that_installs_it(watched):
    laplace = ("rewrite", "-q", "-e", "8", "-m", "laplace", "-E", "two.txt", "a.txt")
    told, _ = watched(*laplace, missing=["faiss"])
    assert told == ["dpsan: a.txt: needs faiss, which is not installed (pip install faiss-cpu)"]


def test_what_is_imported_is_seen(watched):
    laplace = "rewrite -q -e 8 -m laplace -E two.txt a.txt"
    assert "faiss" in watched(*laplace.split())[1]
