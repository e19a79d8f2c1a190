"""Mutants: the program broken on purpose, at a place that is found by its name and its code.

A mutant names a definition by the end of its full name and a piece of Python in it.  Both are
searched in the whole package, and code is compared as syntax trees, so that neither moving nor
reformatting a function makes its mutant stale.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

_LOCK = Lock()
"""Held while the shared tree of a module has other code in it."""
_Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


class MutantError(Exception):
    """A mutant that says nothing: stale, or no program any more."""


@dataclass(frozen=True)
class Mutant:
    """The program with one piece of code replaced by another.

    ``old`` and ``new`` are both an expression, or both statements.  ``...`` in ``old`` matches any
    expression, or any statements; the n-th ``...`` of ``new`` is what the n-th of ``old`` matched.
    Of a constant the expressions of its value are searched.  ``old`` must match exactly once in all
    definitions called ``where``, else the mutant is stale: the program has changed and nobody knows
    any more whether the row would see this fault.
    """

    row: str
    name: str
    where: str
    """The end of a full name: ``write_all``, ``csv_rows.Rows``, ``_AT_ONCE``."""
    old: str
    new: str

    def mutated(self, package: Path) -> tuple[Path, str]:
        """Return the changed file and its new text.  Raises MutantError."""
        old, new = _parsed(self.old), _parsed(self.new)
        expressions = [
            tree[0].value for tree in (old, new) if len(tree) == 1 and isinstance(tree[0], ast.Expr)
        ]
        found: dict[int, tuple[Path, ast.Module, _Place]] = {}
        for path, tree, _, node in _definitions(package, self.where):
            if len(expressions) == 2:
                places = _expressions(node, expressions[0])
            else:
                places = _statements(node, old)
            found |= {each.identity: (path, tree, each) for each in places}
        if len(found) != 1:
            raise MutantError(f"STALE: {self.where} holds {self.old!r} {len(found)} times")
        [(path, tree, place)] = found.values()
        return path, place.replaced(tree, expressions[1:] or new)


@dataclass(frozen=True)
class Wrapped:
    """The program in which one function is replaced by another that is made from it.

    ``by`` is a Python expression: a function from the original to what takes its place, such as
    ``"lambda original: lambda *given: 2 * original(*given)"``.  It may use the names of the module.
    """

    row: str
    name: str
    where: str
    """As of :class:`Mutant`; the mutant is stale unless exactly one function is called that."""
    by: str

    def mutated(self, package: Path) -> tuple[Path, str]:
        """Return the changed file and its new text.  Raises MutantError."""
        found = [
            (path, name)
            for path, _, name, node in _definitions(package, self.where)
            if isinstance(node, ast.FunctionDef)
        ]
        if len(found) != 1:
            raise MutantError(f"STALE: {len(found)} functions are called {self.where}")
        path, name = found[0]
        return path, f"{path.read_text()}\n\n{name} = ({self.by})({name})\n"


AnyMutant = Mutant | Wrapped


def mutants(row: str, text: str) -> list[AnyMutant]:
    """Read mutants of one row.

    Of each a line ``name @ where``, then the old code in lines that begin with ``- `` and the new
    code in lines that begin with ``+ ``, or a function to wrap it with in lines that begin with
    ``= ``.
    """
    found: list[tuple[str, str, dict[str, str]]] = []
    for line in text.strip().splitlines():
        mark, code = line[:2], line[2:]
        if mark in ("- ", "+ ", "= "):
            parts = found[-1][2]
            parts[mark] = f"{parts[mark]}\n{code}" if mark in parts else code
        else:
            name, _, where = line.partition(" @ ")
            found.append((name, where, {}))
    return [
        Wrapped(row, name, where, parts["= "])
        if "= " in parts
        else Mutant(row, name, where, parts["- "], parts.get("+ ", ""))
        for name, where, parts in found
    ]


def _parsed(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except SyntaxError as error:
        raise MutantError(f"INVALID: {code!r}: {error}") from None


@lru_cache(2)
def _sources(package: Path) -> list[tuple[Path, str]]:
    return [(path, path.read_text()) for path in sorted(package.rglob("*.py"))]


@lru_cache(1024)
def _module(text: str) -> tuple[ast.Module, list[tuple[str, _Definition]]]:
    tree = ast.parse(text)
    return tree, list(_named(tree, ""))


def _definitions(package: Path, where: str) -> Iterator[tuple[Path, ast.Module, str, _Definition]]:
    """Definitions whose full name ends with ``where``, with their qualified names."""
    for path, text in _sources(package):
        if where.rpartition(".")[2] not in text:
            continue
        tree, definitions = _module(text)
        module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        for name, node in definitions:
            if f".{module}.{name}".endswith(f".{where}"):
                yield path, tree, name, node


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield prefix + child.name, child
            yield from _named(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Assign | ast.AnnAssign):
            if isinstance(node, ast.Module | ast.ClassDef):
                target = child.targets[0] if isinstance(child, ast.Assign) else child.target
                yield prefix + ast.unparse(target), child
        elif isinstance(child, ast.stmt):
            yield from _named(child, prefix)


class _Place:
    """Where old code stands: an expression, or ``count`` statements of a body."""

    def __init__(self, parent: ast.AST, name: str, at: int | None, count: int) -> None:
        self.parent, self.name, self.at, self.count = parent, name, at, count
        self.bound: list[Any] = []

    @property
    def identity(self) -> int:
        """The same for each way in which a place is found."""
        found = getattr(self.parent, self.name)
        return id(found if self.at is None else found[self.at])

    def replaced(self, tree: ast.Module, new: list[Any]) -> str:
        """The text of the module with other code here."""
        before = getattr(self.parent, self.name)
        filled = _filled(copy.deepcopy(new), iter(self.bound))
        if self.at is None:
            after = filled[0]
        else:
            after = [*before[: self.at], *filled, *before[self.at + self.count :]] or [ast.Pass()]
        with _LOCK:
            setattr(self.parent, self.name, after)
            try:
                return ast.unparse(ast.fix_missing_locations(tree))
            finally:
                setattr(self.parent, self.name, before)


def _filled(new: Any, bound: Iterator[Any]) -> Any:
    if isinstance(new, list):
        out: list[Any] = []
        for each in new:
            filled = _filled(each, bound)
            out += filled if isinstance(filled, list) else [filled]
        return out
    if _is_any(new):
        return next(bound)
    if isinstance(new, ast.Expr) and _is_any(new.value):
        found = next(bound)
        return found if isinstance(found, list) else ast.Expr(found)
    if isinstance(new, ast.AST):
        for name, value in ast.iter_fields(new):
            setattr(new, name, _filled(value, bound))
    return new


def _expressions(definition: ast.AST, old: ast.expr) -> Iterator[_Place]:
    for node in ast.walk(definition):
        for name, value in ast.iter_fields(node):
            many = isinstance(value, list)
            for at, each in enumerate(value if many else [value]):
                place = _Place(node, name, at if many else None, 1)
                if isinstance(each, ast.expr) and _matches(old, each, place.bound):
                    yield place


def _statements(definition: ast.AST, old: list[ast.stmt]) -> Iterator[_Place]:
    for node in ast.walk(definition):
        for name, value in ast.iter_fields(node):
            if not (isinstance(value, list) and value and isinstance(value[0], ast.stmt)):
                continue
            for at in range(len(value) - len(old) + 1):
                place = _Place(node, name, at, len(old))
                if _matches(old, value[at : at + len(old)], place.bound):
                    yield place


def _is_any(pattern: Any) -> bool:
    return isinstance(pattern, ast.Constant) and pattern.value is Ellipsis


def _matches(pattern: Any, node: Any, bound: list[Any]) -> bool:
    """Whether code is like a pattern; what each ``...`` stands for is appended to ``bound``."""
    if _is_any(pattern):
        bound.append(node)
        return isinstance(node, ast.expr)
    if isinstance(pattern, list) and isinstance(node, list):
        match pattern:
            case [ast.Expr(value=ast.Constant(value=value))] if value is Ellipsis and node:
                bound.append(node)
                return True
        return len(pattern) == len(node) and all(
            _matches(one, other, bound) for one, other in zip(pattern, node, strict=True)
        )
    if isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and all(
            _matches(value, getattr(node, name, None), bound)
            for name, value in ast.iter_fields(pattern)
            if name not in ("ctx", "kind", "type_comment")
        )
    return type(pattern) is type(node) and pattern == node
