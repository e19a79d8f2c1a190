"""No command writes over a file that it reads, or over another of its outputs (issue 13)."""

import itertools
import os
from pathlib import Path
from typing import get_type_hints

import pytest
from support import tables

from dpsan.cli.app import COMMANDS
from dpsan.cli.judge import Verify
from dpsan.embeddings.loading import directory
from dpsan.errors import UsageError

WORDS = "here 0 9\nthere 9 0\n"
TEXT = "here there, HERE\n"
REWRITE = ["rewrite", "-q", "-e", "1000", "-m", "laplace", "--case", "vocabulary", "--force"]


@pytest.fixture
def folder(tmp_path):
    for name, text in {"in.txt": TEXT, "two.txt": WORDS, "keep.txt": "there\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def unchanged(folder, fork_server):
    """Run a command that must change no file that was there, and make none."""

    def state():
        every = ((path, path.lstat().st_ino, path.is_file()) for path in folder.rglob("*"))
        return {path: (number, regular and path.read_bytes()) for path, number, regular in every}

    def run(*arguments, streams=None):
        env = {name: value for name, value in os.environ.items() if not name.startswith("DPSAN_")}
        before = state()
        done = fork_server.run(arguments, b"", folder, env, streams)
        assert state() == before, arguments
        return done

    return run


CASES = tables("run/cases")
WRITES = {
    (command, name): None if before == "-" else before.split()
    for command, name, before in CASES["writes"]
}
CONTENTS = {"embeddings": WORDS, "policy": 'case = "vocabulary"\n'}
READS = [(command, name) for command, names in CASES["reads"] for name in names.split()]
BEFORE = {
    **dict.fromkeys(["files", "file", "audits", "sanitized"], ()),
    "texts": ["-o", "own.npz"],
    "embeddings": ["-E"],
    "map_": ["--map"],
    "class_files": ["--audit", "in.txt", "--class"],
}
"""What stands before the file, where it is not the option of that name."""
MORE = dict.fromkeys(["preview", "evaluate", "train"], "-q --force") | {"index": "-q"}
MORE |= {"headers": "-f csv", "rewrite": "-q -e 1000 -m laplace --force"}
MORE |= {"explain": "-q -e 8 -m laplace here --force", "verify": "-q -e 8 -m laplace --force"}
MORE |= {"calibrate": "-q -m laplace --unchanged 0.5", "compare": "-q -m krr --force"}
MORE |= {"report": "--force", "estimate": "-q --top 5 --force", "restore": "-q --force"}


def path_parameters():
    for command in COMMANDS:
        for name, hint in get_type_hints(COMMANDS.kind(command)).items():
            if "Path" in str(hint):
                yield command, name


def test_every_parameter_that_names_a_file_is_tried_here():
    """A new option that names a file has to be told to the check, and to this test."""
    assert set(path_parameters()) == set(WRITES) | set(READS)


def reading(command, name, path):
    """The part of a command line that reads a file, and what the command needs besides."""
    if command == "evaluate" and name in ("original", "sanitized"):
        return [path, "in.txt"] if name == "original" else ["in.txt", path]
    needed = {"evaluate": ["in.txt", "in.txt"]}
    needed["restore"] = ["--map", "in.txt"] * (name != "map_")
    needed["preview"] = ["in.txt"] * (name == "embeddings")
    needed["train"] = ["in.txt", "-o", "own.npz"] * (name != "texts")
    needed["estimate"] = ["in.txt"] * (name != "sanitized") + ["-e", "8"] * (name != "audit")
    how = BEFORE.get(name, [f"--{name.replace('_', '-')}"])
    return [*needed.get(command, []), *how, path]


NAMES = itertools.cycle(["itself", "link", "hard link"])
PAIRS = [
    (command, read, written, next(NAMES))
    for (command, read), (other, written) in itertools.product(READS, WRITES)
    if command == other and WRITES[other, written] and (read, written) != ("spans", "bad_records")
]


@pytest.mark.parametrize(("command", "read", "written", "through"), PAIRS)
def test_what_is_read_is_not_written(folder, unchanged, command, read, written, through):
    source = folder / "source.txt"
    source.write_text(CONTENTS.get(read, TEXT))
    target = source if through == "itself" else folder / "other.txt"
    if through == "link":
        target.symlink_to(source.name)
    elif through == "hard link":
        target.hardlink_to(source)
    reads = [source.name] if command == "train" else reading(command, read, source.name)
    given = [command, *MORE[command].split(), *reads]
    done = unchanged(*given, *WRITES[command, written], target.name)
    assert done.returncode == 2, done.stderr
    assert done.stderr.endswith(b" are the same file (name another)\n") or (
        done.stderr.endswith(b"input and output are the same file (-i does that)\n")
    ), done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(("command", "read"), READS)
def test_nothing_is_appended_to_what_is_read(folder, unchanged, fork_server, command, read):
    """As ``>> FILE`` does."""
    path = folder / "source.txt"
    path.write_text(CONTENTS.get(read, TEXT))
    given = [command, *MORE[command].split(), *reading(command, read, path.name)]
    streams = ["stdout", "stderr"] if read in ("files", "embeddings") else ["stdout"]
    if command == "rewrite" and read != "files":
        streams = ["stderr"]  # what it writes to standard output is tried below
    for stream in streams:
        with path.open("ab") as end:
            if stream == "stdout":
                done = unchanged(*given, streams={1: end.fileno()})
                assert b"same file" in done.stderr
            else:
                done = fork_server.run(given, b"", folder, dict(os.environ), {2: end.fileno()})
        assert done.returncode == 2


def test_an_input_that_the_shell_emptied_is_named(folder, unchanged):
    """As ``rewrite FILE > FILE`` does before the program begins."""
    (folder / "in.txt").write_bytes(b"")
    with (folder / "in.txt").open("ab") as end:
        done = unchanged(*REWRITE, "-E", "two.txt", "in.txt", streams={1: end.fileno()})
    assert done.stderr.endswith(b"(the shell has emptied it; of a copy, -i does that)\n")


AUDITS = [f"in.txt -a {each}" for each in ("new -o new", "new -o sub/../new", "to-new -o new")]
OUTPUTS = ["in.txt -O .", "in.txt -O . --resume", "in.txt -O sub sub/in.txt", "to-new -o new"]
RELATIONS = dict.fromkeys(AUDITS, "output and --audit") | dict.fromkeys(OUTPUTS, "input and output")
RELATIONS |= {"missing -a missing": "input and --audit"}


@pytest.mark.parametrize(("more", "names"), RELATIONS.items())
def test_relations_of_rewrite(folder, unchanged, more, names):
    (folder / "sub").mkdir()
    (folder / "sub" / "in.txt").write_text("there\n")
    (folder / "to-new").symlink_to("new")
    done = unchanged(*REWRITE, "-E", "two.txt", *more.split())
    assert done.returncode == 2
    assert f": {names} are the same file" in done.stderr.decode()


KEPT = dict(CASES["kept"])
"""With --force.  Without it, what is there stays."""
THERE = {f"in.txt {more}": "there.txt: exists (" for more in ("-o there.txt", "-a there.txt -o b")}
THERE |= {"there.txt -O sub": "sub/there.txt: exists ("}


@pytest.mark.parametrize("arguments", [*KEPT, *THERE])
def test_what_is_there_stays(folder, unchanged, arguments):
    (folder / "sub" / "one").mkdir(parents=True)
    for name in ("there.txt", "sub/there.txt", "sub/in.txt", "sub/one/in.txt", "linked.txt"):
        (folder / name).write_text("there\n")
    (folder / "soft.txt").symlink_to("in.txt")
    (folder / "hard.txt").hardlink_to(folder / "linked.txt")
    os.mkfifo(folder / "fifo")
    command = REWRITE if arguments in KEPT else REWRITE[:-1]
    done = unchanged(*command, "-E", "two.txt", *arguments.split())
    assert done.returncode in (1, 2)
    assert (KEPT | THERE)[arguments] in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("option", ["-o", "-a"])
def test_standard_input_is_read_too(folder, unchanged, option):
    with (folder / "in.txt").open("rb") as file:
        done = unchanged(*REWRITE, "-E", "two.txt", option, "in.txt", streams={0: file.fileno()})
    assert done.returncode == 2
    assert b"are the same file" in done.stderr


def test_the_bundled_vocabulary_is_read_too():
    command = Verify(epsilon=8, certificate=directory() / "manifest.json")
    with pytest.raises(UsageError, match="--embeddings and --certificate are the same file"):
        command.check_files()


@pytest.mark.parametrize("option", ["-o", "-a"])
def test_streams_are_not_replaced(folder, fork_server, option):
    """``-o /dev/stdout`` writes there; an audit has a file of its own."""
    # A link of our own to the stream: /dev/stdout itself must survive a failing test.
    (folder / "out").symlink_to("/proc/self/fd/1")
    (folder / "file").write_bytes(b"before\n")
    given = [*REWRITE, "-E", "two.txt", "in.txt", option, "out"]
    with (folder / "file").open("ab") as file:
        done = fork_server.run(given, b"", folder, dict(os.environ), {1: file.fileno()})
    assert (folder / "out").is_symlink()
    told = (folder / "file").read_bytes()
    if option == "-o":
        assert (done.returncode, done.stderr) == (0, b"")
        assert told == b"before\n" + TEXT.lower().encode()
    else:
        assert done.returncode != 0
        assert (done.stderr.count(b"\n"), told) == (1, b"before\n")


def test_what_is_no_file_may_have_two_uses(folder, dpsan):
    done = dpsan(*REWRITE, "-E", "two.txt", "/dev/null", "-o", "/dev/null", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    done = dpsan(*REWRITE, "-E", "two.txt", "in.txt", "in.txt", cwd=folder)
    assert done.stdout.decode() == 2 * TEXT.lower()
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("given", ["-o", "-a", "--bad-records"])
def test_a_dash_is_no_name_of_an_output(folder, dpsan, given):
    """Elsewhere it stands for standard output; a file of that name would come as a surprise."""
    (folder / "b.jsonl").write_text('{"t": "one"}\n')
    done = dpsan("rewrite", "-e", "8", "-k", "t", "b.jsonl", given, "-", cwd=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"- names no file" in done.stderr
    assert not (folder / "-").exists()
