"""A file's name is text from outside: it can neither forge a line nor steer the terminal."""

import pytest
from support import cases

from dpsan.errors import printable

NAME = "e\x1b[31m\ndpsan: forged\u202e\x9b.txt"


@cases(
    "arguments",
    ("rewrite", "-q", "-e", "8", "-m", "krr", "-E", "v.txt", f"none{NAME}"),
    ("rewrite", "-e", "8", "-m", "krr", "-E", "v.txt", "-O", "out", f"none{NAME}", "v.txt"),
    ("rewrite", "-e", "8", "-E", f"none{NAME}"),
    ("rewrite", "-e", "8", "--unknown", NAME),  # an argument of the parser's
    ("report", NAME),
    ("index", NAME),
    ("preview", "-e", "8", "-E", "v.txt", NAME),
)
def test_issue_13_names_are_escaped(dpsan, tmp_path, arguments):
    (tmp_path / "v.txt").write_text("here 0 9\nthere 9 0\n")
    (tmp_path / NAME).write_text("here 0 9\nthere 9 0\n")
    done = dpsan(*arguments, cwd=tmp_path)
    told = (done.stderr + done.stdout).decode()
    assert "forged" in told
    assert all(character.isprintable() or character == "\n" for character in told)
    assert not any(line.startswith("dpsan: forged") for line in told.splitlines())


@pytest.mark.slow
def test_names_in_a_bar_of_progress_are_escaped(on_a_terminal, tmp_path):
    (tmp_path / "v.txt").write_text("here 0 9\nthere 9 0\n")
    (tmp_path / NAME).write_text("here there\n" * 200_000)
    command = ("rewrite", "-e", "8", "-m", "krr", "-E", "v.txt", "-O", "out", NAME, "v.txt")
    done, seen = on_a_terminal(*command, cwd=tmp_path)
    assert done.returncode == 0
    assert b"1 of 2: e\\x1b[31m" in seen
    assert not any(sign in seen for sign in (b"\x1b[31m\n", "\u202e".encode(), "\x9b".encode()))


def test_printable():
    assert printable("café 名前.txt") == "café 名前.txt"
    assert printable("a\udcffb") == "a\\xffb"  # a byte that is not UTF-8
    assert printable("\t\r\u2028") == "\\t\\r\\u2028"
