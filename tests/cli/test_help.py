"""The root's help: its summaries are written by hand, so that no command need be imported."""

import re


def test_summaries_are_what_the_commands_say(dpsan):
    text = dpsan("--help", env={"COLUMNS": "80"}).stdout.decode()
    lines = text.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    found = [re.fullmatch(r"  (\S+) +(.+)", line) for line in lines]
    assert all(found)  # each on one line, 80 columns wide
    summaries = dict(each.groups() for each in found)
    assert len(summaries) == 10
    for name, summary in summaries.items():
        own = dpsan(name, "--help").stdout.decode()
        assert own.split("\n\n")[1].strip() == summary
