"""``--log-json``: a line for each input, when it ends."""

import json
from datetime import datetime

import pytest

from dpsan.run.side_outputs import FileLog
from dpsan.version import __version__

RUN = ("rewrite", "-q", "-e", "2", "-m", "krr", "-E", "words.vec")
LAPLACE = ("-m", "laplace", "-E", "words.vec")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "words.vec").write_text("here 0 9\nthere 9 0\nnowhere 5 5\n")
    (tmp_path / "a.txt").write_text("here there\nhere\n")
    (tmp_path / "b.csv").write_text("id,body\n1,here\n")
    (tmp_path / "c.txt").write_text("")
    return tmp_path


def rows(path):
    """Small files end in groups: the lines are not in order.  The last one is of the run."""
    *found, last = [json.loads(line) for line in path.read_text().splitlines()]
    for row in (*found, last):
        assert datetime.fromisoformat(row.pop("time")).tzinfo is not None
        assert row.pop("dpsan") == __version__
        assert row["type"] == ("input" if "path" in row else "run")
    assert {row.pop("run") for row in found} <= {last["run"]}
    assert last["type"] == "run"
    found = [{key: row[key] for key in row if key != "type"} for row in found]
    return [*sorted(found, key=lambda row: row["path"]), last]


def test_every_input_has_a_line(dpsan, folder):
    """One that fails says why, one that is there is skipped, and nothing of the text is in it."""
    given = (*RUN, "-O", "out", "--log-json", "log", "a.txt", "b.csv", "c.txt")
    assert dpsan(*given, cwd=folder).returncode == 1  # the table needs a column
    first, second, third, last = rows(folder / "log")
    assert 0 <= first.pop("seconds") < 60
    assert first.pop("epsilon") == pytest.approx(6, abs=1e-6)
    counts = {"records": 2, "words": 3, "drawn": 3, "delta": 0.0}
    assert first == {"path": "a.txt", "status": "complete", **counts}
    assert (second["status"], "b.csv" in second["error"]) == ("failed", True)
    assert second["code"] == "input"
    assert (last["status"], last["complete"], last["failed"], last["words"]) == ("partial", 2, 1, 3)
    assert (third["status"], third["words"], third["epsilon"]) == ("complete", 0, 0)
    assert (folder / "log").stat().st_mode & 0o777 == 0o600
    assert b"here" not in (folder / "log").read_bytes()
    assert dpsan(*given, "--resume", cwd=folder).returncode == 1  # the log is there
    dpsan(*RUN, "-O", "out", "--resume", "--log-json", "two", "a.txt", cwd=folder, status=0)
    assert rows(folder / "two")[:-1] == [{"path": "a.txt", "status": "skipped"}]


def test_one_output_in_place_and_a_stream(dpsan, folder):
    done = dpsan(*RUN[:4], *LAPLACE, "--log-json", "log", "a.txt", "c.txt", cwd=folder)
    first, second, _ = rows(folder / "log")
    assert (first["path"], second["path"]) == ("a.txt", "c.txt")
    assert first["epsilon"] is None or first["epsilon"] > 6  # none is finite
    done = dpsan(*RUN, "--log-json", "/dev/stderr", stdin=b"here\n", cwd=folder)
    assert [json.loads(line)["words"] for line in done.stderr.splitlines()] == [1, 1]
    done = dpsan(*RUN, "-j", "2", "-i", "--log-json", "place", "a.txt", cwd=folder)
    assert rows(folder / "place")[0]["drawn"] == 3
    done = dpsan(*RUN, "-n", "--log-json", "dry", "a.txt", cwd=folder)
    assert (done.returncode, (folder / "dry").exists()) == (2, False)


def test_some_inputs_failed_and_nothing_was_written_are_two_things(dpsan, folder):
    """The status of the process is 1 in both; the last line and the log tell them apart."""
    for names, status, told in (
        (("a.txt", "none.txt", "b.csv"), "partial", "2 of 3 files failed\n"),
        (("none.txt", "b.csv"), "failed", "2 of 2 files failed; nothing was written\n"),
    ):
        arguments = ("-O", f"out-{status}", "--log-json", status, *names)
        done = dpsan(*RUN, *arguments, cwd=folder, status=1)
        assert done.stderr.decode().endswith(f"dpsan: {told}")
        assert rows(folder / status)[-1]["status"] == status
        assert {row["code"] for row in rows(folder / status)[:-1] if "code" in row} == {"input"}


def test_a_run_that_is_interrupted_says_so(dpsan, folder, tmp_path):
    """The last line is of the run, whatever ends it: an error that is no file's, or a signal."""
    done = dpsan(*RUN, "-o", "out.txt", "--log-json", "cut", "a.txt", cwd=folder, longest=5)
    rest = [json.loads(line) for line in (folder / "cut").read_text().splitlines()]
    assert done.returncode == 1
    assert rest[-1]["status"] == "failed"
    log = FileLog(tmp_path / "log", "name", force=False)
    log.begin(1)
    log.__exit__(KeyboardInterrupt, None, None)
    (last,) = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert (last["type"], last["status"]) == ("run", "interrupted")
