"""Progress: on a terminal only, and never among the data."""

import pytest
from support import cases


@cases(
    "arguments shown",
    (("calibrate", "-m", "krr", "--unchanged", "0.3"), b"krr: epsilon "),
    (("explain", "-m", "krr", "w1", "-e", "3"), b"explaining krr"),
    (("evaluate", "o.txt", "s.txt"), b"attacks on words"),
    (("explain", "w1", "-e", "3.5"), b"looking for the best distribution"),
)
def test_shown_on_a_terminal(dpsan, on_a_terminal, tmp_path, arguments, shown):
    (tmp_path / "v.txt").write_text("".join(f"w{i} {i % 5} {i}\n" for i in range(30)))
    (tmp_path / "o.txt").write_text("w1 w2\n")
    (tmp_path / "s.txt").write_text("w3 w2\n")
    vectors = ("-E", "v.txt")
    own = {"DPSAN_CACHE_DIR": str(tmp_path / "own")}
    done, seen = on_a_terminal(*arguments, *vectors, cwd=tmp_path, more=own)
    assert done.returncode == 0
    assert shown in seen
    other = {"DPSAN_CACHE_DIR": str(tmp_path / "other")}
    piped = dpsan(*arguments, *vectors, cwd=tmp_path, env=other)
    assert (piped.returncode, shown in piped.stderr) == (0, False)
    assert done.stdout == piped.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("source", "shown"), [("file", b"/7.0 MB"), ("pipe", b" MB")])
def test_issue_13_progress_of_standard_input(on_a_terminal, folder, source, shown):
    """A bar for a file, a counter for a pipe; the data stays clean."""
    text = b"here there, here\n" * 411_765
    (folder / "in").write_bytes(text)
    arguments = ("rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "--case", "vocabulary")
    if source == "pipe":
        done, seen = on_a_terminal(*arguments, cwd=folder, stdin=text)
    else:
        with (folder / "in").open("rb") as file:
            done, seen = on_a_terminal(*arguments, cwd=folder, streams={0: file.fileno()})
    assert (done.returncode, done.stdout) == (0, text)
    assert shown in seen
