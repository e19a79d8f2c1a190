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


@cases(
    "arguments env epsilon",
    ([], {"DPSAN_EPSILON": "6"}, 6),
    (["-e", "7"], {"DPSAN_EPSILON": "6"}, 7),
    (["-e", "7"], {"DPSAN_JOBS": "1"}, 7),
)
def test_flag_then_environment(dpsan, folder, arguments, env, epsilon):
    (folder / "dpsan.toml").write_text("[rewrite]\nepsilon = 1\n")  # no file is looked for
    command = ["rewrite", *arguments, "-E", "two.txt", "-m", "laplace", "-a", "a.jsonl"]
    dpsan(*command, cwd=folder, stdin=b"here\n", env={"HOME": str(folder), **env}, status=0)
    rows = (folder / "a.jsonl").read_bytes().splitlines()
    assert json.loads(rows[0])["epsilon"] == epsilon


ONLY = ("rewrite", "--only", "names", "--numbers", "word")
UNUSED = {"DPSAN_EPSILON": "6", "DPSAN_BUDGET": "9", "DPSAN_MECHANISM": "laplace"}
UNUSED |= {"DPSAN_VOCAB_SIZE": "3000", "DPSAN_CASE": "vocabulary"}


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_only_ignores_what_the_environment_has_for_other_runs(dpsan, quiet):
    done = dpsan(*ONLY, *quiet, stdin=b"a tree\n", env=UNUSED)
    assert (done.returncode, done.stdout) == (0, b"a tree\n"), done.stderr
    told = (
        "dpsan: --only has no use for DPSAN_MECHANISM and DPSAN_VOCAB_SIZE and DPSAN_CASE and "
        "DPSAN_EPSILON and DPSAN_BUDGET: ignored"
    )
    assert (told in done.stderr.decode().splitlines()) is not bool(quiet)


@pytest.mark.parametrize("given", [("-e", "6"), ("--budget", "9"), ("-m", "laplace")], ids=str)
def test_only_refuses_the_same_options_of_the_command_line(dpsan, given):
    assert dpsan(*ONLY, *given, stdin=b"a tree\n", env=UNUSED).returncode == 2


def test_an_error_names_the_variable_that_set_an_option_of_it(dpsan):
    done = dpsan("rewrite", "-e", "8", stdin=b"a tree\n", env={"DPSAN_ONLY": "names"})
    assert done.stderr.startswith(b"dpsan: DPSAN_ONLY is set: only and epsilon exclude each other")
    done = dpsan("rewrite", "-e", "8", "--only", "names", stdin=b"a tree\n")
    assert done.stderr.startswith(b"dpsan: only and epsilon exclude each other: ")


@pytest.mark.parametrize("copies", [1, 2])
def test_copies_show_what_passed(dpsan, copies):
    done = dpsan("rewrite", "--only", "names", "--copies", str(copies), stdin=b"Maria went.\n")
    assert (b" passed unchanged, as all copies show; " in done.stderr) == (copies > 1)


def test_numbers_by_value_take_the_epsilon_of_the_environment(dpsan):
    given = ("rewrite", "--only", "numbers", "--numbers", "value", "--dry-run")
    assert dpsan(*given, stdin=b"12 trees\n", env=UNUSED).returncode == 2  # it needs a ledger
    free = {name: value for name, value in UNUSED.items() if name != "DPSAN_BUDGET"}
    done = dpsan(*given, stdin=b"12 trees\n", env=free, status=0)
    ignored = b"no use for DPSAN_MECHANISM and DPSAN_VOCAB_SIZE and DPSAN_CASE: ignored"
    assert ignored in done.stderr
    assert b"epsilon 6" in done.stderr


@cases("name hint", ("DPSAN_BUGDET", "; did you mean 'DPSAN_BUDGET'?"), ("DPSAN_CONFIG", ""))
def test_an_unknown_variable_is_refused(dpsan, folder, name, hint):
    command = ("rewrite", "-E", "two.txt", "-m", "laplace", "-e", "5")
    done = dpsan(*command, cwd=folder, stdin=b"here\n", env={name: "3"})
    assert (done.returncode, done.stdout) == (2, b"")
    message = f"dpsan: unknown environment variable '{name}'{hint}"
    assert done.stderr.decode().startswith(message)


def named_by_users():
    """Those that stand alone: not the commands of other tools, nor what follows a command."""
    rows = [row for row in DROPPED.items() if row[1] != "rewrite"]
    return [name for name, _ in rows if not name.endswith((" NUMBER", " FILE"))]


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
        assert "DPSAN_EPSILON" in whole
        assert "DPSAN_EPSILON" not in short
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
    for arguments, env in ((["-E", "two.txt"], {}), ([], {"DPSAN_EMBEDDINGS": "two.txt"})):
        done = dpsan("index", "--json", *arguments, cwd=folder, env=env, status=0)
        assert done.stdout.split(b'"seconds"')[0] == named.stdout.split(b'"seconds"')[0]


@pytest.mark.parametrize("option", ["--keep", "--only", "--class", "--public"])
def test_a_word_list_without_end_is_refused_in_one_line(dpsan, folder, option):
    """Of /dev/zero a part is read, not all that memory holds."""
    done = dpsan("rewrite", "-e", "8", option, "/dev/zero", stdin=b"here\n", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert b"dpsan: /dev/zero: longer than 67108864 bytes (is it a list of words?)" in done.stderr
