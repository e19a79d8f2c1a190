"""The mutants of the scoreboard still find their code, so that a stale one is seen at once."""

import ast

from scoreboard import MUTANTS, ROWS
from scoreboard.base import ROOT
from scoreboard.patterns import MutantError

_PACKAGE = ROOT / "dpsan"


def test_each_mutant_makes_another_program_that_compiles():
    problems = []
    for mutant in MUTANTS:
        try:
            path, text = mutant.mutated(_PACKAGE)
            tree = ast.parse(text)
            compile(tree, str(path), "exec")
        except (MutantError, SyntaxError) as error:
            problems.append(f"{mutant.row}: {mutant.name}: {error}")
            continue
        if ast.dump(tree) == ast.dump(ast.parse(path.read_text())):
            problems.append(f"{mutant.row}: {mutant.name}: changes nothing")
    assert problems == []


def test_each_mutant_has_a_row_and_a_name_of_its_own():
    assert {each.row for each in MUTANTS} <= {*ROWS}
    names = [(each.row, each.name) for each in MUTANTS]
    assert len({*names}) == len(names)
