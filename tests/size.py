"""Count the lines of dpsan/, tests/ and docs/studies/: ``python tests/size.py [--names]``.

A line of code is not blank, not only a comment and not part of a docstring.  The last lines count
the private names of dpsan (with a leading underscore) that tests import, read or patch; ``--names``
lists them with the files that use them.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_PATCHES = {"setattr", "delattr", "getattr", "hasattr", "patch", "object"}
"""Functions that take the name of an attribute as a string."""


def lines(text: str) -> tuple[int, int]:
    """Return the number of lines of code, and of all lines."""
    told: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and _string(node.value) is not None:
            told.update(range(node.lineno, (node.end_lineno or 0) + 1))
    every = text.splitlines()
    code = (
        number not in told and line.strip() and not line.strip().startswith("#")
        for number, line in enumerate(every, 1)
    )
    return sum(map(bool, code)), len(every)


def table(folder: Path) -> tuple[int, int]:
    """Print the lines of each subfolder, and return the sums."""
    sizes: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        package = inside[0] + "/" if len(inside) > 1 else ""
        sizes[package].append(lines(path.read_text()))
    shown = folder.relative_to(ROOT)
    total = [each for found in sizes.values() for each in found]
    for package, found in sorted(sizes.items()):
        print(_line(f"{shown}/{package}", found))
    print(_line("sum", total), end="\n\n")
    return sum(code for code, _ in total), sum(every for _, every in total)


def _line(name: str, found: list[tuple[int, int]]) -> str:
    code, every = (sum(each[at] for each in found) for at in (0, 1))
    return f"{code:8,} code {every:8,} lines {len(found):4} files  {name}"


def private_names() -> dict[str, list[str]]:
    """Private names of dpsan that tests use, with the files that use them."""
    defined: set[str] = set()
    for path in (ROOT / "dpsan").rglob("*.py"):
        defined |= {name for name in _defined(ast.parse(path.read_text())) if _private(name)}
    uses: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text())
        for name in {*_used(tree)} & defined:
            uses.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return dict(sorted(uses.items()))


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
    yield from (each.stem for each in (ROOT / "dpsan").rglob("_*.py"))


def _used(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpsan"):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("self", "cls"):
            yield node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in _PATCHES:
            texts = filter(None, map(_string, node.args))
            yield from (each.rpartition(".")[2] for each in texts)


def _string(node: ast.expr) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="list the private names tests use")
    given = parser.parse_args()
    sums = {name: table(ROOT / name) for name in ("dpsan", "tests", "docs/studies")}
    uses = private_names()
    for name, files in uses.items() if given.names else ():
        print(f"{name:32} {' '.join(files)}")
    for name, (code, every) in sums.items():
        print(f"{name}: {code:,} lines of code, {every:,} lines")
    files = sum(map(len, uses.values()))
    print(
        f"tests use {len(uses)} private names of dpsan, in {files} places (a place: name and file)"
    )


if __name__ == "__main__":
    main()
