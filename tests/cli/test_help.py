"""The root's help: its summaries are written by hand, so that no command need be imported."""

import re

import pytest

from dpsan.cli.app import COMMANDS


def test_summaries_are_what_the_commands_say(dpsan):
    text = dpsan("--help", env={"COLUMNS": "80"}).stdout.decode()
    lines = text.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    found = [re.fullmatch(r"  (\S+) +(.+)", line) for line in lines]
    assert all(found)  # each on one line, 80 columns wide
    summaries = dict(each.groups() for each in found)
    assert list(summaries) == list(COMMANDS)
    for name, summary in summaries.items():
        own = dpsan(name, "--help").stdout.decode()
        assert own.split("\n\n")[1].strip() == summary


@pytest.mark.parametrize("name", COMMANDS)
def test_usage_and_values_are_written_in_one_way(dpsan, name):
    """Brackets stand once around what may be left out; values have names or are listed."""
    text = dpsan(name, "--help").stdout.decode()
    usage = text.splitlines()[0].removeprefix(f"Usage: dpsan {name} [OPTIONS]")
    assert re.fullmatch(r"( [A-Z]+| \[[A-Z]+\]| [A-Z]+\.\.\.| \[[A-Z]+\]\.\.\.)*", usage)
    values = re.findall(r"^  (?:-\w, )?--[\w-]+ ([^ \n]+)(?:  |\n)", text, re.M)
    for value in values:
        assert re.fullmatch(r"[A-Z=,]+|[\w=]+(\|[\w=]+)+", value), value


def test_rare_options_stand_apart(dpsan):
    text = dpsan("rewrite", "--help").stdout.decode()
    rare = text.partition("\nRarely needed:\n")[2]
    assert "--max-record" in rare
    assert "--epsilon" not in rare
