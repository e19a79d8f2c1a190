"""``rewrite --review``: which words passed and which were drawn, and why, for a reviewer."""

import json
import stat
from datetime import datetime

import pytest

from dpsan import __version__
from dpsan.run.side_outputs import FileLog

TEXT = "Mr. Case met Grace on Monday. Grace left.\n\nThe end, the end of version 3.\n"


def rows_of(path):
    head, *rows = map(json.loads, path.read_text().splitlines())
    return head, rows


def reviewed(dpsan, folder, *options, only="names", text=TEXT):
    (folder / "in.txt").write_text(text)
    done = dpsan("rewrite", "-q", "--only", only, "--review", "r", *options, "in.txt", cwd=folder)
    assert done.returncode == 0, done.stderr
    return rows_of(folder / "r")


def test_each_different_word_has_its_count_and_reason(dpsan, tmp_path):
    head, rows = reviewed(dpsan, tmp_path)
    assert (head["type"], head["complete"]) == ("review", True)
    by_word = {row["word"]: row for row in rows}
    assert len(by_word) == len(rows)
    grace = {"word": "Grace", "count": 2, "class": "names", "group": "given_f"}
    assert by_word["Grace"] == grace | {"rule": "sure", "passes": None}
    assert by_word["Case"]["rule"] == "title 1"
    passes = {word: row["passes"] for word, row in by_word.items() if row["passes"]}
    assert passes["Mr"] == "list titles"
    assert {row["word"] for row in rows if row.get("may_be_name")} == set()
    small = "With bob, and may walker or zzyrk come.\n"
    _, rows = reviewed(dpsan, tmp_path, "--force", text=small)
    flagged = [row["word"] for row in rows if row.get("may_be_name")]
    assert flagged == [row["word"] for row in rows][: len(flagged)]  # a reviewer reads them first
    assert {"bob", "walker"} <= {*flagged} <= {"bob", "walker", "zzyrk"}
    assert passes["3"] == "rule counted"
    assert passes["Monday"] == "class dates is not chosen"
    assert by_word["end"]["count"] == 2
    assert not any(row["group"] for row in rows if row["passes"])


def test_capitals_that_pass_in_another_language_may_be_names(dpsan, tmp_path):
    text = "Wir kommen nicht aus Wrzlburg, und das ist knurzig.\n"
    _, rows = reviewed(dpsan, tmp_path, only="sensitive", text=text)
    flagged = {row["word"] for row in rows if row.get("may_be_name")}
    assert "Wrzlburg" in flagged
    assert not {"knurzig", "kommen"} & flagged


def test_a_handle_that_follows_a_name_has_its_class_in_review_and_audit(dpsan, tmp_path):
    """No row of the rules draws its group; the audit ended in an internal error."""
    text = "Kevin Mbeki is @kevin_m.\n"
    _, rows = reviewed(dpsan, tmp_path, "-a", "a", only="people", text=text)
    (handle,) = (row for row in rows if row["word"] == "@kevin_m")
    assert (handle["class"], handle["group"]) == ("contacts", "login")


def test_words_that_pass_come_first_and_frequent_ones_before_others(dpsan, tmp_path):
    _, rows = reviewed(dpsan, tmp_path)
    order = [(not row["passes"], "may_be_name" not in row, -row["count"]) for row in rows]
    assert order == sorted(order)


@pytest.mark.parametrize("options", [["-j", "2"], ["--copies", "3"], ["--line-buffered"]])
def test_counts_are_those_of_one_copy_however_it_is_made(dpsan, tmp_path, options):
    _, wanted = reviewed(dpsan, tmp_path)
    _, rows = reviewed(dpsan, tmp_path, "--force", *options)
    counts = [{row["word"]: row["count"] for row in each} for each in (rows, wanted)]
    assert counts[0] == counts[1]


def test_files_and_an_audit_are_counted_together(dpsan, tmp_path):
    (tmp_path / "two.txt").write_text("Grace again.\n")
    _, rows = reviewed(dpsan, tmp_path, "two.txt", "-O", "out", "-a", "audit")
    assert next(row["count"] for row in rows if row["word"] == "Grace") == 3
    words = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert sum(row["count"] for row in rows) == sum(row["type"] == "word" for row in words)


def test_it_is_for_its_owner_and_replaces_nothing(dpsan, tmp_path):
    reviewed(dpsan, tmp_path)
    path = tmp_path / "r"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("mine")
    done = dpsan("rewrite", "--only", "names", "--review", "r", "in.txt", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert path.read_text() == "mine"


def test_a_run_that_fails_has_counted_what_it_wrote(dpsan, tmp_path):
    (tmp_path / "in.txt").write_text("Grace left.\n")
    (tmp_path / "nul.txt").write_text("no\0text\n")
    command = ("rewrite", "-q", "--only", "names", "--review", "r", "in.txt", "nul.txt")
    assert dpsan(*command, cwd=tmp_path).returncode == 1
    _, rows = rows_of(tmp_path / "r")
    assert [row["word"] for row in rows] == ["left", "Grace"]


# ``--log-json``: a line for each input, when it ends.


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
    counts = {"bad_records": 0, "records": 2, "words": 3, "drawn": 3, "delta": 0.0}
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
