"""What every row of the scoreboard needs."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

ROOT: Final = Path(__file__).resolve().parent.parent.parent
PROGRAM_VARIABLE: Final = "RELIABILITY_PROGRAM"
PROGRAM: Final = Path(os.environ.get(PROGRAM_VARIABLE, ROOT))
"""The folder that holds the ``dpsan`` package under test: a copy with a mutant, or our own."""

DPSAN = [sys.executable, "-m", "dpsan"]
TWO = "here 0 9\nthere 9 0\n"

_T = TypeVar("_T")


class Size(Enum):
    """How much a row does: enough to tell each of its mutants, for CI, or for the figures."""

    MUTANT = 0
    QUICK = 1
    FULL = 2

    def of(self, mutant: _T, quick: _T, full: _T) -> _T:
        """The value of this size."""
        return (mutant, quick, full)[self.value]


@dataclass
class Row:
    """One figure: how often something was tried, and what went wrong."""

    figure: str
    target: str
    tried: float = 0
    bad: dict[str, float] = field(default_factory=dict)
    note: str = ""
    seconds: float = 0.0

    def count(self, kind: str, wrong: bool) -> None:
        """Count a bad outcome."""
        self.bad[kind] = self.bad.get(kind, 0) + bool(wrong)

    @property
    def red(self) -> list[str]:
        """The kinds of bad outcomes that happened; ``%`` begins a measure that is none."""
        return [kind for kind, value in self.bad.items() if value > 0 and not kind.startswith("%")]


@dataclass(frozen=True)
class Mutant:
    """The program broken on purpose: in one file one text is replaced by another.

    ``old`` stands exactly once in ``file``, else the mutant is stale: the program has changed and
    nobody knows any more whether the row would see this fault.
    """

    row: str
    name: str
    file: str
    """Below ``dpsan/``."""
    old: str
    new: str

    def mutated(self, text: str) -> str:
        """Return the changed file.  Raises MutantError."""
        if (found := text.count(self.old)) != 1:
            raise MutantError(f"STALE: dpsan/{self.file} holds its text {found} times")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Wrapped:
    """A program in which one function is replaced by another that is made from it.

    ``by`` is a Python expression: a function from the original to what takes its place, such as
    ``"lambda original: lambda *given: 2 * original(*given)"``.  It may use the names of the module.
    The mutant is stale if the module has no such function.
    """

    row: str
    name: str
    where: str
    """Module and qualified name: ``dpsan.privacy.randomness:Streams.integers``."""
    by: str

    @property
    def file(self) -> str:
        """Below ``dpsan/``."""
        return _file(self.where)

    def mutated(self, text: str) -> str:
        """Return the changed file.  Raises MutantError."""
        _found(ast.parse(text), self.where)
        function = self.where.partition(":")[2]
        return f"{text}\n\n{function} = ({self.by})({function})\n"


@dataclass(frozen=True)
class Rebuilt:
    """A program in which one node of a function's or class's syntax tree is replaced.

    ``change`` is called with every node, and returns another one in place of exactly one of them
    and None for all others, else the mutant is stale.
    """

    row: str
    name: str
    where: str
    """As of :class:`Wrapped`."""
    change: Callable[[ast.AST], ast.AST | None]

    @property
    def file(self) -> str:
        """Below ``dpsan/``."""
        return _file(self.where)

    def mutated(self, text: str) -> str:
        """Return the changed file.  Raises MutantError."""
        tree = ast.parse(text)
        changed = 0

        class Change(ast.NodeTransformer):
            def visit(_, node: ast.AST) -> ast.AST:  # noqa: N805 - the mutant is self
                nonlocal changed
                other = self.change(node)
                if other is None:
                    return super().visit(node)
                changed += 1
                return ast.copy_location(other, node)

        Change().visit(_found(tree, self.where))
        if changed != 1:
            raise MutantError(f"STALE: {self.where} has {changed} such nodes")
        return ast.unparse(ast.fix_missing_locations(tree))


AnyMutant = Mutant | Wrapped | Rebuilt


class MutantError(Exception):
    """A mutant that says nothing: stale, or no program any more."""


def _file(where: str) -> str:
    module = where.partition(":")[0]
    return module.removeprefix("dpsan.").replace(".", "/") + ".py"


def _found(tree: ast.Module, where: str) -> ast.AST:
    """The function or class of that qualified name.  Raises MutantError."""
    node: ast.AST = tree
    for name in where.partition(":")[2].split("."):
        inner = [
            each
            for each in getattr(node, "body", [])
            if isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name == name
        ]
        if not inner:
            raise MutantError(f"STALE: no {where}")
        node = inner[-1]
    return node


def environment(folder: Path) -> dict[str, str]:
    """The caller's, without its dpsan settings; everything written goes below the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
    for name in ("cache", "tmp", "home"):
        (folder / name).mkdir(exist_ok=True, parents=True)
    return {
        **kept,
        "DPSAN_CACHE_DIR": str(folder / "cache"),
        "TMPDIR": str(folder / "tmp"),
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(PROGRAM),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def required(mechanism: str) -> dict[str, str]:
    """Values of the parameters that a mechanism cannot do without."""
    from dpsan.mechanisms import MECHANISMS

    known = MECHANISMS[mechanism].parameters()
    return {name: about.example for name, about in known.items() if about.required}


def tree(folder: Path) -> dict[str, bytes]:
    """The content of every regular file below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def embedding_file(path: Path, words: int = 20_000, dimensions: int = 20) -> Path:
    """Words w0, w1 ... with Gaussian vectors."""
    generator = np.random.default_rng(1)
    with path.open("w") as out:
        for number in range(words):
            values = " ".join(f"{each:.4f}" for each in generator.normal(size=dimensions))
            out.write(f"w{number} {values}\n")
    return path
