"""Parse and help: where values come from, what the help lists, what the shell completes."""

import json
import re
import shlex

import pytest
from support import cases

from dpsan import __version__
from dpsan.cli.app import COMMANDS, run
from dpsan.cli.output import DROPPED, say
from dpsan.errors import UsageError


def test_no_option_is_read_from_the_environment_or_a_file(dpsan, folder):
    (folder / "dpsan.toml").write_text("[rewrite]\nepsilon = 1\n")  # no file is looked for
    command = ["rewrite", "-e", "7", "-E", "two.txt", "-m", "laplace", "-a", "a.jsonl"]
    given = {"cwd": folder, "stdin": b"here\n"}
    done = dpsan(*command, **given, env={"HOME": str(folder), "DPSAN_BUDGET": "6"}, status=2)
    assert done.stdout == b""
    told = "unknown environment variable 'DPSAN_BUDGET' (--budget, or --policy FILE)"
    assert done.stderr.decode() == f"dpsan: {told}\n"
    done = dpsan(*command, **given, env={"HOME": str(folder), "DPSAN_BUGDET": "6"}, status=2)
    assert done.stderr.endswith(b"'DPSAN_BUGDET' (--budget, or --policy FILE)\n")
    dpsan(*command, **given, env={"HOME": str(folder)}, status=0)
    rows = (folder / "a.jsonl").read_bytes().splitlines()
    assert json.loads(rows[0])["epsilon"] == 7


@pytest.mark.parametrize("given", [("-e", "6"), ("--budget", "9"), ("-m", "laplace")], ids=str)
def test_only_refuses_options_of_draws(dpsan, given):
    done = dpsan("rewrite", "--only", "names", "--numbers", "word", *given, stdin=b"a tree\n")
    assert done.returncode == 2


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_show_what_passed(dpsan, copies):
    done = dpsan("rewrite", "--only", "names", "--copies", str(copies), stdin=b"Maria went.\n")
    assert (b" passed unchanged, as all copies show; " in done.stderr) == (copies > 1)


def named_by_users():
    """Those that stand alone: not the commands of other tools, nor what follows a command."""
    return [name for name, hint in DROPPED.items() if hint != "rewrite"]


@pytest.mark.parametrize("name", named_by_users())
def test_what_was_dropped_says_what_to_type_instead(name, monkeypatch, capsys):
    before = ["rewrite", "-e", "8"] if name.startswith("-") else []
    monkeypatch.setattr("sys.argv", ["dpsan", *before, *name.split()])
    try:
        status = run()
    except UsageError as error:
        status = error.exit_status
        say(error.on_command_line())
    out, told = capsys.readouterr()
    assert (status, out) == (2, "")
    (line,) = told.splitlines()
    assert line.endswith(f"({DROPPED[name]})")


def test_a_variable_of_an_option_that_was_dropped_says_what_to_type_instead(dpsan):
    done = dpsan("mechanisms", env={"DPSAN_PROGRESS": "on"}, status=2)
    assert done.stderr.decode().endswith(f"({DROPPED['--progress']})\n")


def test_version_and_no_arguments(dpsan):
    for name in ("--version", "-v", "-version"):
        assert dpsan(name).stdout.decode() == f"dpsan {__version__}\n"
    done = dpsan()
    assert (done.returncode, done.stderr) == (2, b"")
    assert b"Usage" in done.stdout


@cases(
    "line offered",
    ("dpsan rewr", ["rewrite"]),
    ("dpsan rewrite --mechan", ["--mechanism"]),
    ("dpsan rewrite -m nothing", []),
)
def test_shell_completion(dpsan, line, offered):
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    done = dpsan(env={"_DPSAN_COMPLETE": "complete_bash", **words})
    assert (done.stdout.decode().split(), done.stderr) == (offered, b"")


@pytest.fixture(scope="module")
def listed(dpsan):
    """The list of commands, in one line."""
    return " ".join(dpsan("--help").stdout.decode().split())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_everyday_options_and_help_all_all(dpsan, name, listed):
    """Two screens of 80 x 50 are enough; every option is in --help-all, and examples parse.

    The list of commands says of each what its own help says.
    """
    command, own = COMMANDS[name], {"COLUMNS": "80"}
    short = dpsan(name, "--help", env=own).stdout.decode()
    assert " ".join([name, *short.split("\n\n")[1].split()]) in listed
    assert len(short.splitlines()) <= 100
    params = [each for each in command.params if not each.hidden]
    every = {option for each in params for option in each.opts if option[:2] == "--"}
    assert set(command.everyday) <= every
    shown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", short.split("Examples:")[0]))
    assert {each for each in command.everyday or every if each != "--help"} <= shown
    if command.everyday:
        whole = dpsan(name, "--help-all", env=own).stdout.decode()
        assert every <= set(re.findall(r"--[a-z][a-z-]+", whole))
    assert len(command.examples) >= 3
    for line in command.examples:
        assert f"  {line}\n" in short
        words = shlex.split(line.split(" < ")[0].split(" > ")[0])
        assert words[0] == "dpsan"
        other = COMMANDS[words[1]]
        arguments = ["FILE.json" if "*" in each else each for each in words[2:]]
        other.make_context(words[1], arguments)


@cases("options told", ("-e .5", True), ("-e 1", False), ("-e .5 --only names", False))
def test_a_nearly_random_output_is_named(dpsan, options, told):
    """With --only most words pass, so nothing is random."""
    done = dpsan("rewrite", *options.split(), stdin=b"Maria is in Paris.\n")
    assert (b"nearly random" in done.stderr) is told


def test_a_misspelt_command_is_pointed_to_the_near_one(folder, dpsan):
    told = dpsan("rewriet", cwd=folder).stderr.decode()
    assert "Did you mean 'rewrite'" in told
    assert told.count("\n") == 1


def test_index_takes_embeddings_as_every_other_command(folder, dpsan):
    named = dpsan("index", "--json", "two.txt", cwd=folder)
    done = dpsan("index", "--json", "-E", "two.txt", cwd=folder, status=0)
    assert done.stdout.split(b'"seconds"')[0] == named.stdout.split(b'"seconds"')[0]


@pytest.mark.parametrize("option", ["--keep", "--only", "--class", "--public"])
def test_a_word_list_without_end_is_refused_in_one_line(dpsan, folder, option):
    """Of /dev/zero a part is read, not all that memory holds."""
    done = dpsan("rewrite", "-e", "8", option, "/dev/zero", stdin=b"here\n", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert b"dpsan: /dev/zero: longer than 67108864 bytes (is it a list of words?)" in done.stderr
