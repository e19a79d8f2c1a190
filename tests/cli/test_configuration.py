"""Where options come from: flag, environment, file, built-in, in this order."""

import json

import pytest

import dpsan as package

VECTORS = "here 0 9\nthere 9 0\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text(VECTORS)
    (tmp_path / "config.toml").write_text(
        '[rewrite]\nepsilon = 5.0\nmechanism = "laplace"\nembeddings = "two.txt"\n'
        'quiet = true\n"vocab-size" = 2\n'
    )
    return tmp_path


def epsilon(dpsan, folder, *arguments, **env):
    done = dpsan(
        *("rewrite", *arguments, "--audit", "a.jsonl", "--force"),
        cwd=folder,
        stdin=b"here\n",
        env={"DPSAN_CONFIG": "config.toml", **env},
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "a.jsonl").read_bytes().splitlines()[0])["epsilon"]


def test_order(dpsan, folder):
    assert epsilon(dpsan, folder) == 5
    assert epsilon(dpsan, folder, DPSAN_EPSILON="6") == 6
    assert epsilon(dpsan, folder, "-e", "7", DPSAN_EPSILON="6") == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not toml", b"dpsan: config.toml: not valid TOML (DPSAN_CONFIG names it)\n"),
        (
            "epsilon = 3",
            b"dpsan: config.toml: 'epsilon' must be a table, such as [rewrite]\n",
        ),
        (
            "[rewirte]\nbudget = 3",
            b"dpsan: config.toml: unknown table 'rewirte'; did you mean 'rewrite'?\n",
        ),
        (
            "[rewrite]\nbugdet = 3",
            b"dpsan: config.toml: [rewrite] unknown key 'bugdet'; did you mean 'budget'?\n",
        ),
        (
            "[report]\nbudget = 3",  # of another command: also of those that do not run
            b"dpsan: config.toml: [report] unknown key 'budget'",
        ),
        (
            "[rewrite]\nbudget = true",  # would be 1
            b"dpsan: config.toml: [rewrite] budget must be text or a number\n",
        ),
        ("[rewrite]\nquiet = 1", b"dpsan: config.toml: [rewrite] quiet must be true or false\n"),
        ('[rewrite]\nfield = "body"', b"dpsan: config.toml: [rewrite] field must be a list\n"),
        (
            "[rewrite]\nmax-record = 9\nmax_record = 8",
            b"dpsan: config.toml: [rewrite] max_record is given twice\n",
        ),
    ],
)
def test_bad_file(dpsan, folder, text, message):
    (folder / "config.toml").write_text(text)
    done = dpsan("rewrite", cwd=folder, env={"DPSAN_CONFIG": "config.toml"})
    assert done.returncode == 2
    assert done.stderr.startswith(message)


def test_issue_13_keys_are_the_names_of_options(dpsan, folder):
    """--format, --json and --list have parameters of other names, so their keys did nothing."""
    (folder / "config.toml").write_text(
        '[rewrite]\nepsilon = 5\nembeddings = "two.txt"\nmechanism = "laplace"\nformat = "jsonl"\n'
        'field = ["text"]\nquiet = true\n[mechanisms]\njson = true\n'
    )
    done = dpsan(
        "rewrite", cwd=folder, stdin=b'{"text":"here"}\n', env={"DPSAN_CONFIG": "config.toml"}
    )
    assert done.stdout in (b'{"text":"here"}\n', b'{"text":"there"}\n'), done.stderr
    done = dpsan("mechanisms", cwd=folder, env={"DPSAN_CONFIG": "config.toml"})
    assert json.loads(done.stdout)


def test_missing_file(dpsan, folder):
    done = dpsan("rewrite", cwd=folder, env={"DPSAN_CONFIG": "none.toml"})
    assert done.returncode == 2
    assert done.stderr.startswith(b"dpsan: none.toml: ")


def test_nothing_is_looked_for(dpsan, folder):
    """No config discovery: a file of the usual names changes nothing."""
    for name in ("dpsan.toml", ".dpsan.toml", "pyproject.toml"):
        (folder / name).write_text("[rewrite]\nepsilon = 1\n")
    done = dpsan("rewrite", cwd=folder, env={"HOME": str(folder)})
    assert b"--epsilon is required" in done.stderr


def test_version(dpsan):
    assert dpsan("--version").stdout.decode() == f"dpsan {package.__version__}\n"


def test_no_arguments_is_help(dpsan):
    done = dpsan()
    assert b"Usage" in done.stdout
    assert done.returncode in (0, 2)
    assert done.stderr == b""


def test_a_misspelt_variable_is_refused(dpsan, folder):
    given = {"cwd": folder, "stdin": b"here\n"}
    command = ("rewrite", "-E", "two.txt", "-m", "laplace", "-e", "5")
    done = dpsan(*command, **given, env={"DPSAN_BUGDET": "3"})
    assert done.returncode == 2
    assert not done.stdout
    assert done.stderr == (
        b"dpsan: unknown environment variable 'DPSAN_BUGDET'; did you mean 'DPSAN_BUDGET'?\n"
    )
    # One that is spelt right is taken.
    assert dpsan(*command, **given, env={"DPSAN_JOBS": "1"}).returncode == 0
