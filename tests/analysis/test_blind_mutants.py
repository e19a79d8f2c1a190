"""Twelve programs that were broken without a look at the checks: verify or a test finds each."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scoreboard.base import ROOT
from scoreboard.mutants import copied, environment_of
from scoreboard.patterns import Mutant, mutants

_TESTS = f"pytest -q -o addopts= -p no:cacheprovider --tb=short {ROOT}/tests"
_CHECKS = f"{_TESTS}/checks/test_checks.py"
COMMANDS = {
    "list": f"{_CHECKS}::test_no_output_tells_the_words_of_a_bundled_list_apart",
    "verify": "dpsan verify --draws 10000 -e 8",
    "vocabulary": f"{_CHECKS}::test_the_program_has_no_fault_on_the_bundled_vocabulary",
    "articles": f"{_TESTS}/sanitize/test_articles.py",
    "statement": f"{_TESTS}/sanitize/test_statement.py::test_one_line_by_default",
    "fluent": f"{_CHECKS}::test_fluent_output_is_a_function_of_what_was_drawn[plain]",
}
BROKEN = [*mutants(Path(__file__).with_name("blind_mutants.txt"))]


def ran(command: str, folder: Path, mutant: Mutant | None) -> subprocess.CompletedProcess[str]:
    """Run a command in a copy of the program, changed or not."""
    program = copied(mutant, folder)
    given = {"cwd": program, "env": environment_of(program), "capture_output": True, "text": True}
    return subprocess.run([sys.executable, "-m", *COMMANDS[command].split()], **given)


@pytest.mark.slow
def test_each_is_another_program_that_compiles():
    for mutant in BROKEN:
        path, text = mutant.mutated(ROOT / "dpsan")
        compile(text, str(path), "exec")
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(path.read_text())), mutant.name


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", BROKEN, ids=lambda mutant: mutant.name)
def test_a_program_that_was_broken_blindly_is_found(mutant, tmp_path):
    done = ran(mutant.row, tmp_path, mutant)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search("VIOLATED|^E +(AssertionError: )?assert ", done.stdout, re.M), done.stdout


@pytest.mark.mutants
@pytest.mark.parametrize("command", COMMANDS)
def test_the_program_as_it_is_is_kept(command, tmp_path):
    done = ran(command, tmp_path, None)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "KEPT" in done.stdout or " passed" in done.stdout
