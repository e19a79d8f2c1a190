"""Parts of a page that a program writes: each stands between two marks with its name."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs" / "studies"))  # for pages that take figures of its functions


def run(*command: object, text: str = "") -> str:
    """Return the standard output of a command of Python."""
    words, env = [sys.executable, *map(str, command)], {**os.environ, "PYTHONPATH": str(ROOT)}
    given = {"stdout": subprocess.PIPE, "text": True, "check": True, "env": env}
    done = subprocess.run(words, input=text, **given)
    return done.stdout


def study(script: str, *arguments: str) -> str:
    """Return the standard output of a script of docs/studies."""
    return run(ROOT / "docs" / "studies" / script, *arguments)


def table(*rows: tuple[str, ...]) -> str:
    """Markdown; the first row is the head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"


def part(page: Path, name: str) -> str:
    """What stands on the page between the marks of a part."""
    return page.read_text().split(f"<!-- {name} -->\n\n")[1].split(f"\n<!-- /{name} -->")[0]


def write(page: Path, parts: Mapping[str, Callable[[], str]], names: Iterable[str]) -> None:
    """Make parts anew, print them and put them into their places; without names all of them."""
    for name in list(names) or parts:
        made = parts[name]()
        old = f"<!-- {name} -->\n\n{part(page, name)}\n<!-- /{name} -->"
        new = f"<!-- {name} -->\n\n{made}\n<!-- /{name} -->"
        page.write_text(page.read_text().replace(old, new))
        print(made)
