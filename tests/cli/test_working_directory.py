"""A folder that holds somebody else's Python files is a safe place to run dpsan in."""

from scoreboard import ROWS
from scoreboard.base import Size


def test_no_python_file_of_the_working_directory_runs(tmp_path):
    """Modules and packages with every importable name: workers, trackers, Ray, empty PYTHONPATH."""
    row = ROWS["imports"](Size.QUICK, tmp_path)
    assert row.tried >= 11
    assert not row.red, row.bad
