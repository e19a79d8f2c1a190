"""The mutants of the scoreboard still find their code, so that CI sees a stale one."""

import ast
from functools import cache

import pytest
from scoreboard import MUTANTS, ROWS
from scoreboard.base import ROOT
from scoreboard.patterns import MutantError

_PACKAGE = ROOT / "dpsan"


@cache
def plain(path):
    """A file in the form of mutants."""
    return ast.unparse(ast.parse(path.read_text()))


@pytest.mark.slow
def test_each_mutant_makes_another_program_that_compiles():
    problems = []
    for mutant in MUTANTS:
        try:
            path, text = mutant.mutated(_PACKAGE)
            compile(text, str(path), "exec")
        except (MutantError, SyntaxError) as error:
            problems.append(f"{mutant.row}: {mutant.name}: {error}")
            continue
        if text == plain(path):
            problems.append(f"{mutant.row}: {mutant.name}: changes nothing")
    assert problems == []


def test_each_mutant_has_a_row_and_a_name_of_its_own():
    assert {each.row for each in MUTANTS} == {*ROWS}
    names = [(each.row, each.name) for each in MUTANTS]
    assert len({*names}) == len(names)
