"""``--log-json``: a line for each input, when it ends."""

import json

import pytest

RUN = ("rewrite", "-q", "-e", "2", "-m", "krr", "-E", "words.vec")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "words.vec").write_text("here 0 9\nthere 9 0\nnowhere 5 5\n")
    (tmp_path / "a.txt").write_text("here there\nhere\n")
    (tmp_path / "b.csv").write_text("id,body\n1,here\n")
    (tmp_path / "c.txt").write_text("")
    return tmp_path


def rows(path):
    """Small files end in groups: the lines are not in order."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(found, key=lambda row: row["path"])


def test_every_input_has_a_line(dpsan, folder):
    """One that fails says why, one that is there is skipped, and nothing of the text is in it."""
    given = (*RUN, "-O", "out", "--log-json", "log", "a.txt", "b.csv", "c.txt")
    assert dpsan(*given, cwd=folder).returncode == 1  # the table needs a column
    first, second, third = rows(folder / "log")
    assert 0 <= first.pop("seconds") < 60
    assert first.pop("epsilon") == pytest.approx(6, abs=1e-6)
    counts = {"records": 2, "words": 3, "drawn": 3, "delta": 0.0}
    assert first == {"path": "a.txt", "status": "complete", **counts}
    assert (second["status"], "b.csv" in second["error"]) == ("failed", True)
    assert (third["status"], third["words"], third["epsilon"]) == ("complete", 0, 0)
    assert (folder / "log").stat().st_mode & 0o777 == 0o600
    assert b"here" not in (folder / "log").read_bytes()
    assert dpsan(*given, "--resume", cwd=folder).returncode == 1  # the log is there
    done = dpsan(*RUN, "-O", "out", "--resume", "--log-json", "two", "a.txt", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert rows(folder / "two") == [{"path": "a.txt", "status": "skipped"}]


def test_one_output_in_place_and_a_stream(dpsan, folder):
    done = dpsan(*RUN, "-m", "laplace", "--log-json", "log", "a.txt", "c.txt", cwd=folder)
    first, second = rows(folder / "log")
    assert (first["path"], second["path"]) == ("a.txt", "c.txt")
    assert first["epsilon"] is None or first["epsilon"] > 6  # none is finite
    done = dpsan(*RUN, "--log-json", "/dev/stderr", stdin=b"here\n", cwd=folder)
    assert json.loads(done.stderr)["words"] == 1
    done = dpsan(*RUN, "-j", "2", "-i", "--log-json", "place", "a.txt", cwd=folder)
    assert rows(folder / "place")[0]["drawn"] == 3
    done = dpsan(*RUN, "-n", "--log-json", "dry", "a.txt", cwd=folder)
    assert (done.returncode, (folder / "dry").exists()) == (2, False)
