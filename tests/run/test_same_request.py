"""``--resume`` goes on with the outputs of the same request only."""

import json
import os
from dataclasses import fields

import pytest
from support import cases, tables

from dpsan.cli.rewrite_options import RewriteOptions
from dpsan.errors import CacheError, OutputError, UsageError
from dpsan.run.side_outputs import NAME, RequestFile

CASES = tables("run/cases")

BASE = ("rewrite", "-q", "-m", "krr", "-E", "two.txt")


@pytest.fixture
def folder(folder):
    for at in range(4):
        (folder / f"{at}.txt").write_text("here there\n")
    return folder


def test_issue_39_outputs_of_two_epsilons_are_not_mixed(folder, dpsan):
    files = [f"{at}.txt" for at in range(4)]
    first = (*BASE, "-e", "8", "-O", "out")
    assert dpsan(*first, *files[:2], cwd=folder).returncode == 0
    done = dpsan(*BASE, "-e", "6", "-O", "out", "--resume", *files, cwd=folder, status=2)
    assert done.stderr == (
        b"dpsan: --resume: out holds outputs that were made with other options: --epsilon 8, now 6 "
        b"(go on with the first run's, or -O another directory begins anew)\n"
    )
    assert {path.name for path in (folder / "out").iterdir()} == {NAME, *files[:2]}
    # A run that writes nothing is no request.
    assert dpsan(*BASE, "-e", "6", "-O", "out", "0.txt", cwd=folder).returncode == 1  # exists
    assert dpsan(*BASE, "-e", "6", "-n", "-O", "out", "3.txt", cwd=folder).returncode == 0
    assert dpsan(*first, "--resume", *files, cwd=folder).returncode == 0
    assert {path.name for path in (folder / "out").iterdir()} == {NAME, *files}


def test_a_word_list_that_changed_is_noticed(folder, dpsan):
    keep = (*BASE, "-e", "8", "--keep", "keep", "-O", "out")
    (folder / "keep").write_text("here\n")
    assert dpsan(*keep, "0.txt", cwd=folder).returncode == 0
    (folder / "keep").write_text("there\n")
    done = dpsan(*keep, "--resume", "0.txt", "1.txt", cwd=folder, status=2)
    assert b"other options: --keep had another value (" in done.stderr
    # Nothing that guesses of the list could be tested against: the digest has a key.
    other = dpsan(*keep, "1.txt", cwd=folder, env={"DPSAN_CACHE_DIR": str(folder / "cache")})
    assert other.returncode == 0
    rows = [json.loads(line) for line in (folder / "out" / NAME).read_bytes().splitlines()]
    rows = [row for row in rows if "request" in row]
    lists = {row["request"]["--keep"][0] for row in rows}
    assert len(lists) == len({row["key"] for row in rows}) == 2
    assert b"here" not in (folder / "out" / NAME).read_bytes()


@cases("more other told", *CASES["other options"])
def test_a_refusal_says_which_option_differs(folder, dpsan, more, other, told):
    """Issue 60: the name, the old and the new value; of what may hold text the name alone."""
    more, other = more.split(), other.split()
    names = enumerate(["here", "there", "a", "b", "c", "d"])
    rows = [f"{name} {at} {at * at % 5}" for at, name in names]
    (folder / "six.txt").write_text("\n".join(rows) + "\n")
    (folder / "own").write_text("Verysecretname\nOther\n")
    (folder / "0.csv").write_text("a,b\nhere,there\n")
    common = ("rewrite", "-q", "-O", "out", *([] if "--only" in more else ["-E", "six.txt"]))
    source = "0.csv" if "-k" in more else "0.txt"
    mechanism = [] if {"-m", "--only"} & {*more} else ["-m", "krr"]
    dpsan(*common, *mechanism, *more, source, cwd=folder, status=0)
    dpsan(*common, *mechanism, *more, "--resume", source, cwd=folder, status=0)
    done = dpsan(*common, *mechanism, *other, "--resume", source, cwd=folder, status=2)
    what = "dpsan: --resume: out holds outputs that were made with other options: "
    assert f"{what}{told} (go on with the first run's" in done.stderr.decode()
    stored = (folder / "out" / NAME).read_text().lower() + done.stderr.decode().lower()
    assert "secret" not in stored


def test_a_memo_and_a_ledger_are_the_same_by_every_path(folder, dpsan):
    """Issue 60: ./m, m and a link to it are one memo."""
    (folder / "sub").mkdir()
    (folder / "link").symlink_to("m")
    for name in ("m", "./m", "sub/../m", "link"):
        given = (*BASE, "-e", "8", "-O", "out", "--memo", name, "--ledger", "./sub/../l", "0.txt")
        dpsan(*given, *(["--resume"] if name != "m" else []), cwd=folder, status=0)
    given = ("-O", "out", "--memo", "n", "--ledger", "l", "0.txt", "--resume")
    done = dpsan(*BASE, "-e", "8", *given, cwd=folder)
    assert b"options: --memo had another value (" in done.stderr


def test_an_input_that_has_changed_is_not_skipped_with_its_old_output(folder, dpsan):
    resume = (*BASE, "-e", "8", "-O", "out", "--resume", "0.txt", "1.txt", "2.txt")
    assert dpsan(*BASE, "-e", "8", "-O", "out", "0.txt", "1.txt", cwd=folder).returncode == 0
    before = folder.joinpath("out", "0.txt").read_bytes()
    state = (folder / "0.txt").stat()
    (folder / "0.txt").write_text("there here\n")  # of the same length and time
    os.utime(folder / "0.txt", ns=(state.st_atime_ns, state.st_mtime_ns))
    os.utime(folder / "1.txt")  # touched, and the same
    done = dpsan(*resume, cwd=folder)
    assert (done.returncode, done.stderr.decode()) == (
        1,
        "dpsan: 0.txt: has changed since out/0.txt was made, which stays as it is (remove that "
        "output to rewrite it again: two outputs tell more than one)\n"
        "dpsan: 1 of 3 files failed\n",
    )
    assert folder.joinpath("out", "0.txt").read_bytes() == before
    assert (folder / "out" / "2.txt").exists()
    (folder / "out" / "0.txt").unlink()
    assert dpsan(*resume, cwd=folder).returncode == 0
    assert dpsan(*resume, cwd=folder).returncode == 0  # the latest input of a name counts
    (folder / "0.txt").write_text("here there\n")
    assert dpsan(*resume, cwd=folder).returncode == 1
    # Guesses of a text cannot be tested: equal inputs have different lines, which have a key.
    lines = folder.joinpath("out", NAME).read_bytes().splitlines()
    made = [line for line in lines if b"input" in line]
    assert len({*made}) == len(made) == 4


OPTIMAL = ("-m", "optimal-response", "-E", "words.txt", "-e", "8")
LISTS = {"--public": OPTIMAL, "--class": OPTIMAL, "--only": (), "--spans": (*BASE[2:], "-e", "8")}


@pytest.mark.parametrize("option", LISTS)
def test_every_file_that_decides_is_compared_by_its_content(folder, dpsan, option):
    words = [f"w{chr(97 + at // 26)}{chr(97 + at % 26)}" for at in range(80)]
    lines = (f"{word} {at % 9} {at // 9}\n" for at, word in enumerate(words))
    (folder / "words.txt").write_text("".join(lines))
    line = ("rewrite", "-q", *LISTS[option], option, "./list", "-O", "out", "0.txt")
    end = 10 if option == "--public" else 80
    for more, status in (0, 0), (5, 2), (0, 0):
        text = "\n".join(words[more:end])
        if option == "--spans":
            text = f'{{"record": 1, "spans": [{{"start": 0, "end": {4 + more}}}]}}\n'
        (folder / "list").write_text(text)
        again = ["--resume"] if (folder / "out").exists() else []
        done = dpsan(*line, *again, cwd=folder)
        assert done.returncode == status, done.stderr
        assert (b"made with other options" in done.stderr) == bool(status)


def test_which_options_decide_no_output():
    """A new one must be thought of: what decides is compared with no more ado."""
    options = [each for each in fields(RewriteOptions) if each.metadata]
    assert {each.name for each in options if not each.metadata.get("decides")} == {
        *("files", "output", "output_dir", "in_place", "dry_run", "engine", "address", "policy"),
        *("jobs", "quiet", "verbose", "force", "strict", "audit", "audit_originals", "log_json"),
        *("map_", "review", "forget", "resume", "line_buffered"),
    }


def test_a_directory_without_the_file_is_refused_with_the_way_out(folder, dpsan):
    (folder / "out").mkdir()
    (folder / "out" / "0.txt").write_text("x\n")
    (folder / NAME).write_text("here\n")
    resume = (*BASE, "-e", "8", "-O", "out", "--resume")
    done = dpsan(*resume, "0.txt", "1.txt", cwd=folder, status=2)
    assert b"no .dpsan-request" in done.stderr
    assert b"-O another directory begins anew" in done.stderr
    assert dpsan(*resume, NAME, cwd=folder).returncode == 2  # no input has that name
    # Where no output is there, nothing can be mixed.
    assert dpsan(*resume, "2.txt", cwd=folder).returncode == 0


@pytest.fixture
def made(tmp_path):
    def make(cache="cache", **values):
        return RequestFile(tmp_path / "out", tmp_path / cache, values)

    return make


def test_every_line_counts_and_file_and_key_are_private(made, tmp_path):
    output = tmp_path / "out" / "a"
    umask = os.umask(0)
    try:
        for each in (made(a=1), made(a=1), made(a=2)):
            each.append()
    finally:
        os.umask(umask)
    for path in (tmp_path / "out" / NAME, tmp_path / "cache" / "request.key"):
        assert path.stat().st_mode & 0o777 == 0o600
    assert len((tmp_path / "cache" / "request.key").read_bytes()) == 32
    made(a=2).check([output])  # nothing is there
    output.write_text("x")
    for values in ({"a": 1}, {"a": 2}):
        with pytest.raises(UsageError, match=r"made with other options: a [12], now [12] "):
            made(**values).check([output])
    with pytest.raises(UsageError, match="key of another cache"):
        made(cache="other", a=1).check([output])


DAMAGED = [b"{}\n", b'{"output":1}\n', b"none\n", b"[1]\n", b'{"request":8}\n', b"\xff"]


@cases("data", *DAMAGED, b'{"epsilon":8.0,"key":"1","request":"1"}')
def test_a_damaged_file_is_refused_in_one_line(made, tmp_path, data):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / NAME).write_bytes(data)
    with pytest.raises(UsageError) as caught:
        made().check([tmp_path / "out"])
    assert "\n" not in str(caught.value)


def test_no_link_is_followed_and_no_pipe_waited_for(made, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "aim").write_text("mine\n")
    (tmp_path / "out" / NAME).symlink_to(tmp_path / "aim")
    with pytest.raises(OutputError):
        made().append()
    assert (tmp_path / "aim").read_text() == "mine\n"
    (tmp_path / "out" / NAME).unlink()
    os.mkfifo(tmp_path / "out" / NAME)
    with pytest.raises(UsageError):
        made().check([tmp_path / "out"])
    with pytest.raises(OutputError):
        made().append()


@pytest.mark.parametrize("harm", ["short", "open", "link", "directory"])
def test_a_key_that_is_not_ours_alone_is_refused(made, tmp_path, harm):
    made()
    key, moved = tmp_path / "cache" / "request.key", tmp_path / "moved"
    acts = {
        "short": lambda: key.write_bytes(b"x"),
        "open": lambda: key.chmod(0o644),
        "link": lambda: key.rename(moved) and key.symlink_to(moved),
        "directory": lambda: key.rename(moved) and key.mkdir(),
    }
    acts[harm]()
    with pytest.raises(CacheError):
        made()


def test_lines_that_became_contexts_are_noticed(folder, dpsan):
    """With --only a line is a context of its own where it is written at once."""
    run = ("rewrite", "-q", "--only", "names", "-O", "out", "--resume")
    dpsan(*run, "0.txt", cwd=folder, status=0)
    done = dpsan(*run, "--line-buffered", "0.txt", "1.txt", cwd=folder, status=2)
    assert b"other options: --line-buffered not given, now given (" in done.stderr
    drawn = (*BASE, "-e", "8", "-O", "drawn", "--resume")  # it changes no word
    dpsan(*drawn, "0.txt", cwd=folder, status=0)
    dpsan(*drawn, "--line-buffered", "0.txt", "1.txt", cwd=folder, status=0)
