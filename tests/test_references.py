"""No dead reference: every file, module and name that a page or a docstring cites exists."""

import ast
import re
from functools import cache

from support import ROOT, parsed

NAMES = "README.md", "CONTRIBUTING.md", "SECURITY.md", "vocab/README.md", "man/dpsan.1"
PAGES = (*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").glob("*.md")))
SOURCES = (*sorted((ROOT / "dpsan").rglob("*.py")), *sorted((ROOT / "vocab").rglob("*.py")))

# A path begins with one of our folders, or is a page in capitals; `NAME` stands for any name.
FOLDERS = "dpsan|docs|man|tests|vocab"
PATH = re.compile(
    rf"(?<![\w/.$~-])(?:(?:{FOLDERS})/[\w./-]*\w|[A-Z]{{4,}}\.md|[a-z]+\.md)\b(?![*/-])"
)
LINK = re.compile(r"\]\(([\w./-]+\.\w+)(?:#[^)]*)?\)")
NAMED = re.compile(r"`([\w/.-]+\.py)`:\s+((?:`\w+`,?\s*)+)")
WITHIN = re.compile(r"(`\w+`) in\s+`([\w/.-]+\.py)`")
ROLE = re.compile(r":(?:mod|class|func|data|meth|attr):`~?([\w.]+)(?:\s*<[^>]*>)?`")
PROOF = re.compile(r"proofs\.md (\d(?:\.\d)*)")
NUMBER = re.compile(r"^(?:## |\*\*|\*)(\d(?:\.\d)*)\.? ", re.M)


def docstrings(path):
    """Docstrings and comments of a source file: all that is prose."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)
    yield from re.findall(r"#\s.*", path.read_text())


def prose(path):
    return "\n".join(docstrings(path)) if path.suffix == ".py" else path.read_text()


def dead_paths(text, folder):
    """Paths that are neither below the repository nor below the folder of the page."""
    text = text.replace("\\-", "-")
    named = [each for each in PATH.findall(text) if "NAME" not in each] + LINK.findall(text)
    return [each for each in named if not any((at / each).exists() for at in (ROOT, folder))]


def dead_names(text):
    """Names beside a path, as in `dpsan/errors.py`: `Hint`, that the file does not define."""
    for path, names in NAMED.findall(text) + [found[::-1] for found in WITHIN.findall(text)]:
        source = (ROOT / path).read_text() if (ROOT / path).exists() else ""
        for name in re.findall(r"\w+", names):
            if not re.search(rf"(?:def|class) {name}\b|^ *{name}(?::.*)? =", source, re.M):
                yield f"{path}: {name}"


def definitions(path):
    """What a source file defines, with and without the module in front."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    yield from (module, module.split(".")[-1])
    for node in parsed(path).body:
        names = names_of(node)
        if isinstance(node, ast.ClassDef):
            names += [f"{node.name}.{it}" for each in ast.walk(node) for it in names_of(each)]
        for name in names:
            yield from (name, name.split(".")[-1], f"{module}.{name}")


def names_of(node):
    """The names that a statement defines; attributes of ``self`` too."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return [node.name]
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [ast.unparse(each) for target in targets for each in ast.walk(target)]
    return [name.removeprefix("self.") for name in names]


@cache
def known():
    return {name for path in (ROOT / "dpsan").rglob("*.py") for name in definitions(path)}


def dead_roles(text):
    """Names of :mod:, :class:, :func: and the like that nothing in dpsan has."""
    return [each for each in ROLE.findall(text) if each not in known()]


def test_what_is_cited_exists():
    proofs = {*NUMBER.findall((ROOT / "docs" / "proofs.md").read_text())}
    found = {}
    for path in (*PAGES, *SOURCES):
        text = prose(path)
        dead = [*dead_paths(text, path.parent), *dead_names(text), *dead_roles(text)]
        found[path] = [*dead, *({*PROOF.findall(text)} - proofs)]
    assert {path: dead for path, dead in found.items() if dead} == {}


def test_dead_references_are_found():
    """The power of the test: one dead reference of each kind."""
    dead = ["mechanisms.md", "dpsan/gone.py"]
    assert dead_paths("see mechanisms.md §3 and `dpsan/gone.py`", ROOT) == dead
    text = "[a page](docs/gone.md), [another](docs/proofs.md)"
    assert dead_paths(text, ROOT) == ["docs/gone.md", "docs/gone.md"]
    assert dead_paths("`tests/mechanisms/test_NAME.py`, https://example.org/docs/a.md", ROOT) == []
    assert list(dead_names("`dpsan/errors.py`: `Hint`, `Gone`.")) == ["dpsan/errors.py: Gone"]
    assert list(dead_names("(`LAYERS` in\n`dpsan/errors.py`)")) == ["dpsan/errors.py: LAYERS"]
    alive = ":class:`Hint`, :mod:`dpsan.errors`, :func:`dpsan.errors.unknown_name`"
    dead = ":class:`Gone`, :mod:`dpsan.gone`, :func:`dpsan.errors.gone`, :meth:`Hint.gone`"
    assert dead_roles(f"{alive}, :attr:`Hint.shell`") == []
    assert dead_roles(dead) == ["Gone", "dpsan.gone", "dpsan.errors.gone", "Hint.gone"]
