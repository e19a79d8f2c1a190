"""Parts of a page that a program writes: each stands between two marks with its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path


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
