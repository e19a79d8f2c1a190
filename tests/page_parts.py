"""Parts of a page that a program writes: each stands between two marks with its name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs" / "studies"))  # for pages that take figures of its functions


def study(script: str, *arguments: str) -> str:
    """Return the standard output of a script of docs/studies."""
    done = subprocess.run(
        [sys.executable, ROOT / "docs" / "studies" / script, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.stdout


def part(page: Path, name: str) -> str:
    """What stands on the page between the marks of a part."""
    return page.read_text().split(f"<!-- {name} -->\n\n")[1].split(f"\n<!-- /{name} -->")[0]


def write(page: Path, parts: Mapping[str, Callable[[], str]], names: Iterable[str]) -> None:
    """Make parts anew, print them and put them into their places; without names all of them."""
    for name in list(names) or parts:
        made = parts[name]()
        old = f"<!-- {name} -->\n\n{part(page, name)}\n<!-- /{name} -->"
        page.write_text(
            page.read_text().replace(old, f"<!-- {name} -->\n\n{made}\n<!-- /{name} -->")
        )
        print(made)
