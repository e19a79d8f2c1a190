"""Golden cases: a command, its input, and exactly what comes out.

A case file holds one or more cases.  ``$ arguments`` starts one (a leading ``#`` line is a
comment); ``--- file NAME``, ``--- stdin``, ``--- stdout``, ``--- stderr`` start a block of text;
``--- status N`` gives the exit status (0 if absent).  A block that is not given is expected to be
empty, except stdout and stderr under ``--- any stdout`` or ``--- any stderr``.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support import skip_without_extra

CASES = Path(__file__).parent / "cases"


@dataclass
class Case:
    name: str
    command: str
    files: dict[str, str] = field(default_factory=dict)
    blocks: dict[str, str] = field(default_factory=dict)
    status: int = 0
    free: set[str] = field(default_factory=set)


def read(path: Path) -> list[Case]:
    cases: list[Case] = []
    target: dict[str, str] | None = None
    name = ""
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("$ "):
            cases.append(Case(f"{path.stem}-{len(cases) + 1}", line[2:].strip()))
            target = None
        elif line.startswith("--- "):
            what, _, name = line[4:].strip().partition(" ")
            target = None
            if what == "status":
                cases[-1].status = int(name)
            elif what == "any":
                cases[-1].free.add(name)
            else:
                name = name or what
                target = cases[-1].files if what == "file" else cases[-1].blocks
                target[name] = ""
        elif target is None:
            assert line.startswith("#") or not line.strip(), f"{path}: stray line"
        else:
            target[name] += line
    return cases


ALL = [case for path in sorted(CASES.glob("*.case")) for case in read(path)]


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_case(case, dpsan, tmp_path):
    for name, text in case.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o600 if name.endswith(".map") else 0o644)
    given = case.blocks.get("stdin", "").encode()
    done = dpsan(*shlex.split(case.command), stdin=given, cwd=tmp_path)
    found = {"stdout": done.stdout.decode(), "stderr": done.stderr.decode()}
    if "needs an extra" not in case.blocks.get("stderr", ""):
        skip_without_extra(found["stderr"])
    for name, text in found.items():
        if name not in case.free:
            assert text == case.blocks.get(name, ""), f"{name} of: dpsan {case.command}"
    assert done.returncode == case.status


def test_there_are_cases():
    assert len(ALL) > 20
