"""Mutants: the program broken on purpose, at a place that is found by its name and its code."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

_Definition = ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
_CHANGING = Lock()


class MutantError(Exception):
    """A mutant that says nothing: stale, or no program any more."""


@dataclass(frozen=True)
class Mutant:
    """The program with one piece of code replaced by another, or one function by what ``by`` makes.

    ``old`` and ``new`` are both an expression, or both statements.  ``...`` in ``old`` matches any
    expression or, alone on its line, any statements; the n-th ``...`` of ``new`` is what the n-th
    of ``old`` matched.  ``by`` is a function from the original to what takes its place.
    """

    row: str
    name: str
    where: str
    """The end of the full name of a definition: ``write_all``, ``csv_rows.Rows``, ``_AT_ONCE``."""
    old: str
    new: str
    by: str

    def mutated(self, package: Path) -> tuple[Path, str]:
        """Return the changed file and its new text.  Raises MutantError."""
        definitions = [*_definitions(package, self.where)]
        if self.by:
            found = [each for each in definitions if isinstance(each[3], ast.FunctionDef)]
        else:
            pattern = _pattern(self.old, expression=self._expression)
            texts = ((each, f"{ast.unparse(each[3])}\n") for each in definitions)
            found = [(*each, match) for each, text in texts for match in pattern.finditer(text)]
        if len(found) != 1:
            raise MutantError(f"STALE: {self.where} holds {self.old or 'it'!r} {len(found)} times")
        path, tree, name, node, *matches = found[0]
        if self.by:
            return path, f"{path.read_text()}\n\n{name} = ({self.by})({name})\n"
        [match] = matches
        changed = match.string[: match.start()] + self._filled(match) + match.string[match.end() :]
        return path, _unparsed(tree, node, ast.parse(changed).body[0])

    @property
    def _expression(self) -> bool:
        trees = [ast.parse(each).body for each in (self.old, self.new)]
        return all(len(tree) == 1 and isinstance(tree[0], ast.Expr) for tree in trees)

    def _filled(self, match: re.Match[str]) -> str:
        """The new code with what the old one matched in it."""
        at, *held = match.groups()
        left = iter(held)
        lines = []
        mode = "eval" if self._expression else "exec"
        for line in ast.unparse(ast.parse(self.new or "pass", mode=mode)).splitlines():
            if line.strip() == "...":
                lines.append(next(left).rstrip("\n"))
            else:
                lines.append(at + re.sub(r"\.\.\.", lambda _: _operand(next(left)), line))
        code = "\n".join(lines)
        return f"({code})" if self._expression else f"{code}\n"


def _operand(code: str) -> str:
    """Return an expression in brackets; several arguments of a call as they are."""
    try:
        several = isinstance(ast.parse(code, mode="eval").body, ast.Tuple)
    except SyntaxError:
        several = True  # one has a name
    return code if several else f"({code})"


def mutants(path: Path) -> Iterator[Mutant]:
    """Read a table of mutants.

    The rows that must turn red stand in brackets above them.  Of each mutant a line
    ``name @ where``, then the old code in lines that begin with ``- `` and the new code in lines
    that begin with ``+ ``, or ``by`` in lines that begin with ``= ``.
    """
    _, *parts = re.split(r"^\[(.+)\]\n", path.read_text(), flags=re.MULTILINE)
    for rows, text in zip(parts[::2], parts[1::2], strict=True):
        for part in re.split(r"\n(?![-+=] )", text.strip()):
            head, *lines = part.split("\n")
            name, _, where = head.partition(" @ ")
            old, new, by = ("\n".join(x[2:] for x in lines if x[0] == mark) for mark in "-+=")
            for row in rows.split():
                yield Mutant(row, name, where, old, new, by)


MUTANTS = [*mutants(Path(__file__).with_name("mutants.txt"))]


def _pattern(old: str, *, expression: bool) -> re.Pattern[str]:
    if expression:
        code = re.escape(ast.unparse(ast.parse(old, mode="eval"))).replace(r"\.\.\.", "(.+?)")
        return re.compile(rf"(?<![\w.])(){code}(?!\w)")
    lines = []
    for line in ast.unparse(ast.parse(old)).splitlines():
        code = re.escape(line).replace(r"\.\.\.", "(.+?)")
        if line.strip() == "...":
            code = "((?:(?P=at)" + code.replace("(.+?)", r".*\n)+)")
        else:
            code = rf"(?P=at){code}\n"
        lines.append(code)
    return re.compile("^(?P<at> *)" + "".join(lines).removeprefix("(?P=at)"), re.MULTILINE)


@lru_cache(2)
def _sources(package: Path) -> list[tuple[Path, str]]:
    return [(path, path.read_text()) for path in sorted(package.rglob("*.py"))]


@lru_cache(1024)
def _module(text: str) -> tuple[ast.Module, list[tuple[str, _Definition]]]:
    tree = ast.parse(text)
    return tree, [*_named(tree, "")]


def _unparsed(tree: ast.Module, node: _Definition, other: ast.stmt) -> str:
    """Return the text of a module with one statement in the place of another."""
    with _CHANGING:  # threads share the tree
        for parent in ast.walk(tree):
            for _, children in ast.iter_fields(parent):
                if isinstance(children, list) and node in children:
                    at = children.index(node)
                    children[at] = other
                    text = ast.unparse(tree)
                    children[at] = node
                    return text
    raise MutantError("a definition that no block holds")


def _definitions(package: Path, where: str) -> Iterator[tuple[Path, ast.Module, str, _Definition]]:
    """Definitions whose full name ends with ``where``, with their qualified names."""
    for path, text in _sources(package):
        if where.rpartition(".")[2] in text:
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
