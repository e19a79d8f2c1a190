"""``rewrite --dry-run``: what a run would do, and nothing on disk or standard output."""

import pytest

TEXT = b"Please call maria zqxjv\n\nnothing here 555-0199\none more line\nand a fourth\n"
BASE = ["rewrite", "-e", "8", "-E", "words.txt", "-m", "krr"]
WORDS = "please 0 1\ncall 1 0\nnothing 1 1\nhere 2 1\none 2 2\nmore 3 1\nline 1 3\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "words.txt").write_text(WORDS)
    (tmp_path / "in.txt").write_bytes(TEXT)
    return tmp_path


def told(done):
    return done.stderr.decode().replace("dpsan: ", "").split("\n")


@pytest.mark.parametrize("where", [[], ["-o", "out.txt"], ["-O", "out"], ["-i"], ["-j", "2"]])
def test_nothing_is_written(folder, dpsan, where):
    before = {path.name for path in folder.iterdir()}
    done = dpsan(*BASE, "-n", *where, "in.txt", cwd=folder)
    assert (done.returncode, done.stdout) == (0, b"")
    assert {path.name for path in folder.iterdir()} == before
    assert (folder / "in.txt").read_bytes() == TEXT
    lines = told(done)
    assert lines[0].endswith("5 records, 13 words, 6 (46.2 %) of them unknown")
    examples = [line for line in lines if line.startswith("for example: ")]
    assert len(examples) == 3
    assert any("LDP epsilon 8 per word, 104 for the whole text" in line for line in lines)
    assert b"zqxjv" not in done.stderr


def test_it_says_what_a_run_says(folder, dpsan):
    """A bad record: the same message, status and counts."""
    (folder / "in.jsonl").write_bytes(b'{"text": "call more"}\n')
    (folder / "bad.jsonl").write_bytes(b'{"text": "one more"}\nno json\n')
    files = ["in.jsonl", "bad.jsonl", "-k", "text", "-O", "o"]
    dry = dpsan(*BASE, "--dry-run", *files, cwd=folder)
    assert not (folder / "o").exists()
    run = dpsan(*BASE, *files, cwd=folder)
    assert dry.returncode == run.returncode == 1
    ours = [line for line in told(dry) if not line.startswith(("dry run", "for example"))]
    assert ours == told(run)
    assert "bad.jsonl:2" in ours[0]


def test_equal_words_and_copies_and_numbers(folder, dpsan):
    for more in (["--consistent", "run"], ["--copies", "3"], ["--numbers", "value"]):
        dry = told(dpsan(*BASE, "-n", *more, "in.txt", "in.txt", cwd=folder))
        run = told(dpsan(*BASE, *more, "in.txt", "in.txt", cwd=folder))
        assert run[-2] in dry
        assert dry[0].endswith("10 records, 26 words, 12 (46.2 %) of them unknown") or more[1] == (
            "value"
        )
