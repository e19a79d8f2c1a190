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
    {"errors", "rng", "numerals"},
    {"text", "long_text", "embeddings"},
    {
        "noise",
        "grid",
        "lattice",
        "analytic",
        "guarantee",
        "composition",
        "weights",
        "counts",
        "refute",
    },
    {"cache", "cache_entry", "cache_files", "flat_search", "index", "space", "library"},
    {"mechanisms", "certificate", "sensitivity", "unknown", "lookup", "retention"},
    {
        "runspec",
        "sanitizer",
        "accounting",
        "workers",
        "verify",
        "exposure",
        "calibrate",
        "statement",
        "files",
        "ownership",
        "placing",
        "same_files",
        "leftovers",
        "pace",
        "description",
    },
    {
        "formats",
        "audit",
        "targets",
        "batch",
        "group",
        "run",
        "report",
        "explain",
        "evaluate",
        "study",
        "bench",
    },
    {"plot", "plot_explain", "cluster", "cli"},
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
    if path.name == "privacy/randomness.py":
        return
    source = path.read_text()
    assert not re.search(r"np\.random|default_rng|^import random|from random", source, re.M)
    if path.name not in (
        "formats/atomic_files.py",
        "embeddings/cache/private_files.py",
    ):  # names of temporary files
        assert "secrets" not in {module.split(".")[0] for module in imports(path)}


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if p.parent.name == "mechanisms"] + [PACKAGE / "sanitize/sanitizer.py"],
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


def test_adding_a_mechanism_touches_four_places():
    """Its file, the registry line, its test, the bibliography: no other module knows a name.

    The default mechanism is named once more, beside the option it is the default of.
    """
    from dpsan.mechanisms import DEFAULT_MECHANISM, MECHANISMS

    for name in MECHANISMS:
        own = f"{name.replace('-', '_')}.py"
        knows = {
            str(path.relative_to(PACKAGE))
            for path in FILES
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and node.value == name
        }
        # Noise laws label their draws.
        knows -= {f"mechanisms/{own}", "mechanisms/__init__.py", "privacy/noise.py"}
        if name == DEFAULT_MECHANISM:
            knows -= {"cli/options.py"}
        if name == "uniform":
            continue  # an English word, and the name of a draw in rng.py
        assert not knows, f"{name} is named in {knows}"
        registry = (PACKAGE / "mechanisms" / "__init__.py").read_text()
        assert registry.count(f'    "{name}",\n') == 1
        assert registry.count(f'"{name}"') == 1 + (name == DEFAULT_MECHANISM)
        tests = Path(__file__).parent.rglob("*.py")
        assert any(name in path.read_text() for path in tests), f"{name} has no test"


def test_a_mechanism_is_imported_when_it_is_asked_for():
    code = """if True:
        import sys
        from dpsan.mechanisms import MECHANISMS
        assert "tem" in MECHANISMS and "temm" not in MECHANISMS
        modules = [f"dpsan.mechanisms.{name.replace('-', '_')}" for name in MECHANISMS]
        assert not set(modules) & set(sys.modules)
        assert MECHANISMS["laplace"].name == "laplace"
        assert set(modules) & set(sys.modules) == {"dpsan.mechanisms.laplace"}
        assert [kind.name for kind in MECHANISMS.values()] == list(MECHANISMS)
        assert set(modules) <= set(sys.modules)
        try:
            MECHANISMS["temm"]
        except KeyError:
            sys.exit(7)
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


def test_a_new_mechanism_needs_nothing_else(monkeypatch):
    """Register one at run time: it runs, is described and is certified."""
    import dataclasses

    from support import make_embeddings

    from dpsan.mechanisms import MECHANISMS
    from dpsan.mechanisms.description import numbers
    from dpsan.mechanisms.krr import KRR
    from dpsan.privacy.certificate import certify
    from dpsan.sanitize.sanitizer import Sanitizer

    @dataclasses.dataclass(frozen=True)
    class Toy(KRR):
        name = "toy"

    monkeypatch.setitem(MECHANISMS, "toy", Toy)
    sanitizer = Sanitizer("toy", epsilon=2, embeddings=make_embeddings())
    assert sanitizer.rewrite(["word3 word4"])[0].startswith("word")
    assert numbers(sanitizer.mechanism, sanitizer.space)["name"] == "toy"
    assert certify(sanitizer.mechanism, sanitizer.space).epsilon_ldp <= 2
