"""No command writes over a file that it reads, or over another of its outputs (issue 13)."""

import itertools
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import pytest

WORDS = "here 0 9\nthere 9 0\n"
TEXT = "here there, HERE\n"
REWRITE = ["rewrite", "-q", "-e", "1000", "-m", "laplace", "--case", "vocabulary", "--force"]


@pytest.fixture
def folder(tmp_path):
    """Every kind of file that a command reads."""
    for name, text in {"in.txt": TEXT, "two.txt": WORDS, "keep.txt": "there\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def unchanged(folder, run):
    """Run something; True if every file that was there is what it was, and nothing is new."""

    def state():
        return {
            path.relative_to(folder): (path.lstat().st_ino, path.read_bytes())
            for path in folder.rglob("*")
            if path.is_file()
        }

    before = state()
    run()
    return state() == before


# --- the pairs, from the command line itself -------------------------------------------------

WRITES = {
    ("rewrite", "output"): ["-o"],
    ("rewrite", "output_dir"): None,  # names of its own: below
    ("rewrite", "audit"): ["-a"],
    ("rewrite", "log_json"): ["--log-json"],
    ("rewrite", "memo"): None,  # names of its own: tests/run/test_memo.py
    ("rewrite", "ledger"): None,  # as with --memo, and read too: tests/run/test_ledger.py
    ("rewrite", "bad_records"): ["-f", "jsonl", "-k", "text", "-o", "new", "--bad-records"],
    ("verify", "certificate"): ["--certificate"],
    ("preview", "html"): ["--html"],
    ("report", "html"): ["--html"],
    ("evaluate", "html"): ["--html"],
    ("explain", "plot"): ["--plot"],
    ("compare", "plot"): ["--plot"],
    ("index", "export"): ["--export"],
    ("train", "output"): ["-o"],
    ("train", "language_model"): ["-o", "new.npz", "--language-model"],
    ("smooth", "output"): ["-o"],
}
READS = {
    ("verify", "against"): ["--against"],
    ("rewrite", "files"): [],
    ("rewrite", "keep"): ["--keep"],
    ("rewrite", "public"): ["--public"],
    ("rewrite", "spans"): ["--spans"],
    ("rewrite", "embeddings"): ["-E"],
    ("rewrite", "language_model"): ["--language-model"],
    ("smooth", "files"): [],
    ("smooth", "embeddings"): ["-E"],
    ("smooth", "public"): ["--public"],
    ("smooth", "language_model"): ["--language-model"],
    ("preview", "file"): [],
    ("preview", "embeddings"): ["in.txt", "-E"],
    ("report", "audits"): [],
    ("evaluate", "original"): 0,
    ("evaluate", "sanitized"): 1,
    ("evaluate", "audit"): ["--audit"],
    ("evaluate", "class_files"): ["--audit", "in.txt", "--class"],
    ("evaluate", "public"): ["--public"],
    ("evaluate", "language_model"): ["--language-model"],
    ("evaluate", "spans"): ["--spans"],
    ("evaluate", "candidates"): ["--candidates"],
    ("evaluate", "test_original"): ["--labels", "x", "--test-sanitized", "in.txt"],
    ("evaluate", "test_sanitized"): ["--labels", "x", "--test-original", "in.txt"],
    ("evaluate", "embeddings"): ["-E"],
    ("explain", "embeddings"): ["-E"],
    ("explain", "public"): ["--public"],
    ("compare", "embeddings"): ["-E"],
    ("compare", "data"): ["--data"],
    ("verify", "keep"): ["--keep"],
    ("verify", "public"): ["--public"],
    ("verify", "embeddings"): ["-E"],
    ("verify", "language_model"): ["--language-model"],
    ("calibrate", "embeddings"): ["-E"],
    ("calibrate", "public"): ["--public"],
    ("mechanisms", "embeddings"): ["laplace", "-e", "1", "-E"],
    ("index", "files"): [],
    ("index", "embeddings"): ["-E"],
    ("train", "texts"): ["-o", "own.npz"],
    ("train", "synonyms"): ["in.txt", "-o", "own.npz", "--synonyms"],
    ("train", "antonyms"): ["in.txt", "-o", "own.npz", "--antonyms"],
    ("train", "coverage"): ["in.txt", "-o", "own.npz", "--coverage"],
}
MORE = {
    "rewrite": ["-q", "-e", "1000", "-m", "laplace", "--force"],
    "preview": ["-q", "--force"],
    "report": ["--force"],
    "smooth": ["-q", "-e", "8", "--force"],
    "evaluate": ["-q", "--force"],
    "explain": ["-q", "-e", "8", "-m", "laplace", "here", "--force"],
    "verify": ["-q", "-e", "8", "-m", "laplace", "--force"],
    "calibrate": ["-q", "-m", "laplace", "--unchanged", "0.5"],
    "compare": ["-q", "-m", "krr", "--force"],
    "mechanisms": [],
    "index": ["-q", "--force"],
    "train": ["-q", "--force"],
}


def path_parameters():
    from dpsan.cli.app import COMMANDS

    for command in COMMANDS:
        kind = getattr(import_module(f"dpsan.cli.{command}"), command.capitalize())
        for name, hint in get_type_hints(kind).items():
            if "Path" in str(hint):
                yield command, name


def test_every_parameter_that_names_a_file_is_tried_here():
    """A new option that names a file has to be told to the check, and to this test."""
    assert set(path_parameters()) == set(WRITES) | set(READS)


def reading(command, name, path):
    """The part of a command line that reads a file, and what the command needs besides."""
    how = READS[command, name]
    if command == "evaluate":
        texts = ["in.txt", "in.txt"]
        if isinstance(how, int):
            texts[how] = path
            return texts
        if name.startswith("test_"):
            return [*texts, *how, f"--{name.replace('_', '-')}", path]
        return [*texts, *how, path]
    return [*how, path]


PAIRS = [
    (command, read, written)
    for (command, read), (other, written) in itertools.product(READS, WRITES)
    if command == other and WRITES[other, written] is not None
]


@pytest.mark.parametrize(("command", "read", "written"), PAIRS)
@pytest.mark.parametrize("through", ["itself", "link", "hard link"])
def test_what_is_read_is_not_written(folder, dpsan, command, read, written, through):
    suffix = ".svg" if written == "plot" else ".txt"
    source = folder / f"source{suffix}"
    source.write_text({"keep": TEXT, "embeddings": WORDS}.get(read, TEXT))
    target = source if through == "itself" else folder / f"other{suffix}"
    if through == "link":
        target.symlink_to(source.name)
    elif through == "hard link":
        target.hardlink_to(source)
    arguments = [
        command,
        *MORE[command],
        *reading(command, read, source.name),
        *WRITES[command, written],
        target.name,
    ]
    done = None

    def run():
        nonlocal done
        done = dpsan(*arguments, cwd=folder)

    assert unchanged(folder, run), arguments
    assert done.returncode == 2, done.stderr
    assert done.stderr.endswith(b" are the same file (name another)\n") or (
        done.stderr.endswith(b"input and output are the same file (-i does that)\n")
    ), done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(("command", "read"), READS)
def test_nothing_is_appended_to_what_is_read(folder, dpsan, command, read):
    """As ``>> FILE`` does."""
    path = folder / "source.txt"
    path.write_text(WORDS if read == "embeddings" else TEXT)
    given = [command, *MORE[command], *reading(command, read, path.name)]
    streams = ["stdout", "stderr"] if read in ("files", "embeddings") else ["stdout"]
    if command == "rewrite" and read != "files":
        streams = ["stderr"]  # what it writes to standard output is tried below
    for stream in streams:
        with path.open("ab") as end:
            env = {k: v for k, v in os.environ.items() if not k.startswith("DPSAN_")}
            done = subprocess.run(
                [sys.executable, "-m", "dpsan", *given],
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: end},
                check=False,
            )
        assert done.returncode == 2
        if stream == "stdout":
            assert path.read_text() in (TEXT, WORDS)
            assert b"same file" in done.stderr


@pytest.mark.parametrize(
    ("more", "names"),
    [
        (["in.txt", "-a", "new", "-o", "new"], "output and --audit"),
        (["in.txt", "-a", "new", "-o", "sub/../new"], "output and --audit"),
        (["in.txt", "-a", "to-new", "-o", "new"], "output and --audit"),
        (["in.txt", "-i", "--backup", ".orig", "-a", "in.txt.orig"], "backup and --audit"),
        (["in.txt", "two.txt", "-i", "--backup", ".orig", "-a", "x"], "--embeddings and input"),
        (["in.txt", "-O", "out", "-a", "out/in.txt"], "output and --audit"),
        (["in.txt", "in.txt.orig", "-i", "--backup", ".orig"], "input and backup"),
        (["in.txt", "-O", "."], "input and output"),
        (["in.txt", "-O", ".", "--resume"], "input and output"),
        (["in.txt", "-O", "sub", "sub/in.txt"], "input and output"),
        (["keep.txt", "-i", "--keep", "keep.txt"], "--keep and input"),
        (["missing", "-a", "missing"], "input and --audit"),
        (["to-new", "-o", "new"], "input and output"),
    ],
)
def test_relations_of_rewrite(folder, dpsan, more, names):
    (folder / "sub").mkdir()
    (folder / "sub" / "in.txt").write_text("there\n")
    (folder / "in.txt.orig").write_text("there\n")
    (folder / "to-new").symlink_to("new")
    done = None

    def run():
        nonlocal done
        done = dpsan(*REWRITE, "-E", "two.txt", *more, cwd=folder)

    assert unchanged(folder, run)
    assert done.returncode == 2
    assert f": {names} are the same file" in done.stderr.decode()


@pytest.mark.parametrize("option", ["-o", "-a"])
def test_standard_input_is_read_too(folder, option):
    env = {k: v for k, v in os.environ.items() if not k.startswith("DPSAN_")}
    with (folder / "in.txt").open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "dpsan", *REWRITE, "-E", "two.txt", option, "in.txt"],
            cwd=folder,
            env=env,
            stdin=file,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 2
    assert b"are the same file" in done.stderr
    assert (folder / "in.txt").read_text() == TEXT


@pytest.mark.parametrize("second", ["in.txt", "./in.txt", "link", "hard"])
def test_in_place_takes_a_file_once(folder, dpsan, second):
    (folder / "link").symlink_to("in.txt")
    if second == "hard":
        (folder / "hard").hardlink_to(folder / "in.txt")
    done = dpsan(*REWRITE, "-E", "two.txt", "-i", "in.txt", second, cwd=folder)
    assert done.returncode == 2
    assert done.stderr.endswith(b": the same file as in.txt (name it once)\n")
    assert (folder / "in.txt").read_text() == TEXT


def test_words_beside_vectors_are_read_too(folder, dpsan):
    import numpy as np

    np.save(folder / "v.npy", np.array([[0, 9], [9, 0]], dtype=np.float32))
    (folder / "v.words.txt").write_text("here\nthere\n")
    done = dpsan(*REWRITE, "-E", "v.npy", "in.txt", "-o", "v.words.txt", cwd=folder)
    assert done.returncode == 2
    assert b"--embeddings and output are the same file" in done.stderr
    assert (folder / "v.words.txt").read_text() == "here\nthere\n"


def test_the_bundled_vocabulary_is_read_too():
    from dpsan.cli.verify import Verify
    from dpsan.embeddings.bundled import directory
    from dpsan.errors import UsageError

    command = Verify(epsilon=8, certificate=directory() / "manifest.json")
    with pytest.raises(UsageError, match="--embeddings and --certificate are the same file"):
        command.check_files()


@pytest.mark.parametrize("option", ["-o", "-a"])
@pytest.mark.parametrize("kind", ["stdout", "redirected stdout"])
def test_streams_are_not_replaced(folder, dpsan, option, kind):
    """``-o /dev/stdout`` writes there; an audit has a file of its own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("DPSAN_")}
    # A link of our own to the stream: /dev/stdout itself must survive a failing test.
    (folder / "out").symlink_to("/proc/self/fd/1")
    with (folder / "file").open("ab") as file:
        file.write(b"before\n")
        file.flush()
        done = subprocess.run(
            [sys.executable, "-m", "dpsan", *REWRITE, "-E", "two.txt", "in.txt", option, "out"],
            cwd=folder,
            env=env,
            stdout=file if kind != "stdout" else subprocess.PIPE,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (folder / "out").is_symlink()
    told = (folder / "file").read_bytes() if kind != "stdout" else b"before\n" + done.stdout
    if option == "-o":
        assert (done.returncode, done.stderr) == (0, b"")
        assert told == b"before\n" + TEXT.lower().encode()
    else:
        assert done.returncode != 0
        assert done.stderr.count(b"\n") == 1
        assert told == b"before\n"


@pytest.mark.parametrize("kind", ["pipe", "directory", "device"])
@pytest.mark.parametrize("option", ["-a", "-O", "--backup"])
def test_force_removes_nothing_special(folder, dpsan, kind, option):
    target = {"-a": "special", "-O": "out/in.txt", "--backup": "in.txt.orig"}[option]
    target = folder / target
    target.parent.mkdir(exist_ok=True)
    if kind == "pipe":
        os.mkfifo(target)
    elif kind == "directory":
        target.mkdir()
    else:
        try:
            os.mknod(target, 0o20666, os.makedev(1, 3))
        except PermissionError:
            target.symlink_to("/dev/null")
    before = target.lstat()
    more = {"-a": ["-a", "special"], "-O": ["-O", "out"], "--backup": ["-i", "--backup", ".orig"]}
    done = dpsan(*REWRITE, "-E", "two.txt", "in.txt", *more[option], cwd=folder)
    assert done.returncode == 1
    told = b"is a directory" if kind == "directory" else b"not a regular file"
    assert told in done.stderr
    after = target.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert (folder / "in.txt").read_text() == TEXT


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
