"""The promises of the design that can be read off the source."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "dpsan"
FILES = sorted(path for path in PACKAGE.rglob("*.py"))

# A module may import from its own layer and from those above it.
LAYERS = [
    {"errors", "rng"},
    {"text", "embeddings"},
    {"noise", "grid", "analytic", "guarantee", "composition", "weights", "refute"},
    {"cache", "cache_entry", "cache_files", "index", "space", "library"},
    {"mechanisms", "certificate", "sensitivity", "unknown"},
    {
        "runspec",
        "sanitizer",
        "accounting",
        "workers",
        "verify",
        "calibrate",
        "audit",
        "files",
        "description",
    },
    {"analysis", "formats", "batch", "run", "report"},
    {"plot", "cluster", "cli"},
    {"__main__", "__init__"},
]
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}


def layer_of(module: str) -> int:
    return HEIGHT[module.split(".")[1] if "." in module else "__init__"]


def own_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(["dpsan", *parts])


def imports(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            for each in node.names:
                yield each.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    own = layer_of(own_name(path))
    for module in imports(path):
        if module.split(".")[0] == "dpsan" and module != "dpsan":
            assert layer_of(module) <= own, f"{path.name} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_randomness_comes_from_rng_alone(path):
    if path.name == "rng.py":
        return
    source = path.read_text()
    assert not re.search(r"np\.random|default_rng|^import random|from random", source, re.M)
    if path.name not in ("files.py", "cache_files.py"):  # names of temporary files
        assert "secrets" not in {module.split(".")[0] for module in imports(path)}


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.parent.name == "mechanisms"] + [PACKAGE / "sanitizer.py"],
    ids=lambda path: path.name,
)
def test_no_fallback_on_errors(path):
    """An exception handler that hands back the raw word is the field's defect 9."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None
            assert ast.unparse(node.type) not in ("Exception", "BaseException")


def test_command_line_has_no_maths():
    for path in (PACKAGE / "cli").glob("*.py"):
        assert not {module.split(".")[0] for module in imports(path)} & {"numpy", "scipy", "faiss"}


def test_files_stay_small():
    long = {
        str(path.relative_to(PACKAGE)): lines
        for path in FILES
        if (lines := len(path.read_text().splitlines())) > 400
    }
    assert not long


def test_help_is_light():
    """Neither help nor a usage error pays for numpy, faiss or gensim."""
    code = (
        "import sys\n"
        "sys.argv = ['dpsan', '--help']\n"
        "from dpsan.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        "heavy = {'numpy', 'faiss', 'gensim', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'imports {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
