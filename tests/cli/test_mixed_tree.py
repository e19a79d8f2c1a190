"""``-r`` on a tree of several formats."""

import gzip
import json
from collections import Counter

import pytest
from docx_files import document, paragraph

BASE = ("rewrite", "-e", "5", "-m", "krr", "-E", "../two.txt")


@pytest.fixture
def folder(folder):
    """Four files of each of six formats."""
    tree = folder / "tree"
    (tree / "sub").mkdir(parents=True)
    for at in range(4):
        (tree / f"a{at}.txt").write_text("here there\n")
        (tree / f"a{at}.csv").write_text("id,text\n1,here\n")
        (tree / "sub" / f"a{at}.docx").write_bytes(document(paragraph("here")))
        (tree / "sub" / f"a{at}.eml").write_bytes(b"Subject: here\nText: secret\n\nthere\n")
        (tree / "sub" / f"a{at}.html").write_text("<p>there</p>\n")
        (tree / "sub" / f"a{at}.jsonl.gz").write_bytes(gzip.compress(b'{"text":"here"}\n'))
    return folder


@pytest.mark.parametrize("more", [[], ["-j", "2"]])
def test_issue_39_an_option_of_one_format_fails_no_other_file(folder, dpsan, more):
    options = ["-k", "text", "--strict", "--delimiter", ",", "--encoding", "utf-8", *more]
    options += ["--log-json", "../log.jsonl"]
    done = dpsan(*BASE, *options, "-r", "-O", "../out", cwd=folder / "tree", status=0)
    assert b"dpsan: 24 files rewritten, 28 records\n" in done.stderr
    rows = map(json.loads, (folder / "log.jsonl").read_text().splitlines()[:-1])
    counts = Counter((row["path"].split(".")[1], row["records"], row["words"]) for row in rows)
    once = {(kind, 1, 1): 4 for kind in ("csv", "docx", "html", "jsonl")}
    assert counts == {**once, ("eml", 2, 2): 4, ("txt", 1, 2): 4}
    # -k is for the formats that need it: a mail's header of that name is left out, as ever.
    mail = (folder / "out" / "sub" / "a0.eml").read_bytes()
    assert b"Text" not in mail
    assert mail.startswith(b"Subject: ")


def test_every_message_names_its_file(folder, dpsan):
    tree = folder / "tree"
    for path in (*tree.rglob("*.html"), *tree.rglob("*.txt")):
        path.unlink()
    (tree / "b.docx").write_bytes(b"none")
    (tree / "b.csv").write_text("id,body\n1,x\n")
    (tree / "b.eml").write_bytes(b"no header\n\nx\n")
    done = dpsan(*BASE, "-q", "-k", "text", "-r", "-O", "../out", cwd=tree)
    told = done.stderr.decode().splitlines()
    assert done.returncode == 1
    for name in ("b.docx", "b.csv", "b.eml"):
        assert sum(f"dpsan: {name}:" in line for line in told) == 1, told
    assert told[-1] == "dpsan: 3 of 19 files failed"


def test_an_option_that_a_named_file_does_not_take_is_an_error_of_that_file(folder, dpsan):
    arguments = ["-k", "text", "a0.csv", "sub/a0.docx", "-O", "../out"]
    done = dpsan(*BASE, "-q", *arguments, cwd=folder / "tree", status=1)
    assert b"dpsan: sub/a0.docx: docx has no" in done.stderr
