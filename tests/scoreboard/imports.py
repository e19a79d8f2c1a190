"""Commands in a folder whose Python files are named after every module: none of them runs."""

import importlib.util
import os
import subprocess
import sys
import tempfile
from importlib.metadata import packages_distributions
from itertools import product
from pathlib import Path

from scoreboard.base import TWO, Row, Size, environment, row

_SCRIPT = "import sys\nfrom dpsan.__main__ import main\nif __name__ == '__main__':\n    main()\n"
"""What an installer writes for the command ``dpsan``."""
_RAN = "import builtins, sys\nwith builtins.open({0!r}, 'a') as file:\n    file.write({1!r})\n"
_VECTORS = "-E two.txt -e 8"
_RAY = f"rewrite -q {_VECTORS} --seed s -O out --engine ray -j 2 --force t.txt"
COMMANDS = (
    f"rewrite -q {_VECTORS} --seed s -j 2 t.txt",
    f"verify {_VECTORS} -j 2 --draws 10000",
    "index two.txt",
    "train -q long.txt -o own.npz --least 5 --dimensions 4 --epochs 1 --force",
    f"preview {_VECTORS} t.txt",
)


def plant(folder: Path, ran: Path, *, packages: bool) -> Path:
    """Return a folder with inputs and a module or package for every name that is imported."""
    folder.mkdir()
    (folder / "two.txt").write_text(TWO)
    (folder / "t.txt").write_text("here there\n" * 3)
    words = [first + vowel + last for first, vowel, last in product("bdfgklmn", "aeiou", "nrs")]
    lines = [" ".join(words[at : at + 40]) for at in range(81)] * 8
    (folder / "long.txt").write_text("\n".join(lines))
    for name in {*sys.stdlib_module_names, *packages_distributions()} - {"dpsan"}:
        if name.isidentifier():
            path = folder / f"{name}.py"
            if packages:
                (folder / name).mkdir()
                path = folder / name / "__init__.py"
            path.write_text(_RAN.format(str(ran), f"{name}\n"))
    return folder


def run(command: str, script: Path, folder: Path, env: dict[str, str]) -> int:
    """Return the exit status of the command ``dpsan`` in a folder."""
    words = [sys.executable, str(script), *command.split()]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True).returncode


@row("imports", "commands among files named after all modules / files that ran", "13 / 0")
def planted_modules(row: Row, size: Size, folder: Path) -> None:
    """As modules and as packages, with one process and with several, and on a cluster."""
    script, ran = folder / "bin" / "dpsan", folder / "ran"
    script.parent.mkdir()
    script.write_text(_SCRIPT)
    # The path of a socket of Ray is short.
    env = environment(folder) | {"RAY_TMPDIR": tempfile.gettempdir()}
    has_ray = importlib.util.find_spec("ray") is not None and size is not Size.MUTANT
    for packages in size.of((False,), (False, True), (False, True)):
        planted = plant(folder / f"planted-{packages}", ran, packages=packages)
        for command in (*COMMANDS, *[_RAY] * has_ray)[: size.of(1, 9, 9)]:
            status = run(command, script, planted, env)
            row.tried += 1
            row.count("a command failed", status != 0)
            row.count("a planted file ran", ran.exists())
            ran.unlink(missing_ok=True)
    # Python itself looks into an empty entry before dpsan starts; the processes after it do not.
    late = folder / "late"
    late.mkdir()
    for name in ("csv", "pickle", "socket", "multiprocessing", "numpy", "typer"):
        (late / f"{name}.py").write_text(_RAN.format(str(ran), f"{name}\n"))
    (late / "two.txt").write_text(TWO)
    (late / "t.txt").write_text("here there\n")
    env["PYTHONPATH"] = os.pathsep + env["PYTHONPATH"]
    status = run(COMMANDS[0], script, late, env)
    row.tried += 1
    row.count("a command failed", status != 0)
    row.count("a file ran through an empty entry of PYTHONPATH", ran.exists())
