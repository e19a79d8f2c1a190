"""A folder that holds somebody else's Python files is a safe place to run dpsan in."""

from scoreboard import ROWS
from scoreboard.base import Size


def test_no_python_file_of_the_working_directory_runs(tmp_path):
    """Modules with every importable name and workers, and an empty entry of PYTHONPATH.

    Packages, other commands and Ray are tried by ``tests/reliability.py --quick``.
    """
    row = ROWS["imports"](Size.MUTANT, tmp_path)
    assert row.tried >= 2
    assert not row.red, row.bad
