"""Count the lines of dpsan/, tests/ and docs/studies/: ``python tests/size.py [--names]``.

A line of code is not blank, not only a comment and not part of a docstring.  The last line counts
the private names of dpsan (with a leading underscore) that tests import, read or patch; ``--names``
lists them with the files that use them.
"""

import ast
import sys
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
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told.update(range(node.lineno, (node.end_lineno or 0) + 1))
    every = text.splitlines()
    code = [at for at, line in enumerate(every, 1) if line.strip() and line.strip()[0] != "#"]
    return len({*code} - told), len(every)


def table(folder: Path) -> None:
    """Print the lines of each subfolder, and of all."""
    sizes: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        size = lines(path.read_text())
        for name in (inside[0] if len(inside) > 1 else ".", "all"):
            sizes[f"{folder.relative_to(ROOT)}/{name}"].append(size)
    for name, found in sorted(sizes.items()):
        code, every = map(sum, zip(*found, strict=True))
        print(f"{code:8,} code {every:8,} lines {len(found):4} files  {name}")


def private_names() -> dict[str, list[str]]:
    """Private names of dpsan that tests use, with the files that use them."""
    defined = {path.stem for path in (ROOT / "dpsan").rglob("_*.py")}
    for path in (ROOT / "dpsan").rglob("*.py"):
        defined |= {*_defined(ast.parse(path.read_text()))}
    private = {name for name in defined if name.strip("_") and name[0] == "_" != name[1]}
    uses: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for name in {*_used(ast.parse(path.read_text()))} & private:
            uses.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return dict(sorted(uses.items()))


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(getattr(node, "ctx", None), ast.Store):
            yield getattr(node, "id", getattr(node, "attr", ""))


def _used(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpsan"):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("self", "cls"):
            yield node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in _PATCHES:
            for each in node.args:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value.rpartition(".")[2]


if __name__ == "__main__":
    for name in ("dpsan", "tests", "docs/studies"):
        table(ROOT / name)
    uses = private_names()
    for name, files in uses.items() if "--names" in sys.argv else ():
        print(f"{name:32} {' '.join(files)}")
    print(f"tests use {len(uses)} private names of dpsan, in {sum(map(len, uses.values()))} files")
