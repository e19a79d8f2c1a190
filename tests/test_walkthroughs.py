"""docs/walkthroughs.md: each transcript runs as it stands, in a folder with the files it names."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "walkthroughs.md").read_text()
WRITTEN = {
    "support engineer": ["safe.csv"],
    "doctoral student": ["table.tex"],
    "privacy officer": ["preview.html", "report.html", "certificate.json", "evaluation.html"],
}


@pytest.fixture
def folder(tmp_path):
    text = "Maria Gonzalez met Dr. Chen in Boston about the old house on the hill."
    rows = "".join(f'{at},Anna,"{text}"\n' for at in range(20))
    (tmp_path / "tickets.csv").write_text(f"id,customer,body\n{rows}")
    words = ("a good film with a fine story", "a poor film with a dull story")
    lines = "".join(f"{words[at % 2]}\t{at % 2}\n" for at in range(40))
    (tmp_path / "reviews.tsv").write_text(f"text\tlabel\n{lines}")
    (tmp_path / "notes.txt").write_text(f"{text}\n" * 30)
    (tmp_path / "own.py").write_text((ROOT / "docs" / "own_mechanism.py").read_text())
    for at in range(30):
        (tmp_path / "mixed" / "a").mkdir(parents=True, exist_ok=True)
        (tmp_path / "mixed" / "a" / f"{at}.txt").write_text(text)
        (tmp_path / "mixed" / f"{at}.csv").write_text(f'id,body\n1,"{text}"\n')
    scripts = tmp_path / "bin"
    scripts.mkdir()
    (scripts / "dpsan").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpsan "$@"\n')
    (scripts / "dpsan").chmod(0o755)
    return tmp_path


def run(script, folder, cache):
    """Run lines one by one; those that begin with ! must fail, which bash -e does not check."""
    lines = [
        f"if {line[2:]}; then exit 9; fi" if line.startswith("! ") else line
        for line in script.splitlines()
    ]
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    own = {"PATH": path, "DPSAN_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    own["DPSAN_VOCAB_SIZE"] = "3000"
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", "\n".join(lines)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, **own},
        timeout=300,
    )


@pytest.mark.parametrize("heading", re.findall(r"^## (.*)$", PAGE, re.M))
def test_a_transcript_runs(heading, folder, cache):
    script = PAGE.split(f"## {heading}\n")[1].split("```sh\n")[1].split("```")[0]
    done = run(script, folder, cache)
    assert done.returncode == 0, done.stderr
    wanted = [name for who, names in WRITTEN.items() if who in heading for name in names]
    for name in wanted:
        assert (folder / name).stat().st_size
    if "tickets" in heading:
        assert "2 of 3 columns pass unchanged: id, customer" in done.stderr
        assert "customer" not in (folder / "safe.csv").read_text()


def test_a_line_that_must_fail_is_seen(folder, cache):
    assert run("! true\n", folder, cache).returncode == 9
    assert run("! false\n", folder, cache).returncode == 0
