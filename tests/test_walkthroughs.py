"""docs/walkthroughs.md: each transcript runs as it stands, in a folder with the files it names."""

import re

import pytest
import traces
from support import ROOT, cases, marked

PAGE = (ROOT / "docs" / "walkthroughs.md").read_text()
WRITTEN = {
    "support engineer": ["safe.csv"],
    "engineer of agents": ["safe.jsonl", "again.jsonl", "words.jsonl"],
    "operator": ["safe.log", "words.jsonl"],
    "doctoral student": ["table.csv", "table.tex"],
    "A reviewer": ["safe.txt", "again.jsonl", "report.html"],
    "privacy officer": ["preview.html", "report.html", "certificate.json", "evaluation.html"],
}


@pytest.fixture
def transcript(shell, tmp_path):
    """Run lines one by one; those that begin with ! must fail, which bash -e does not check."""
    text = "Maria Gonzalez met Dr. Chen in Boston about the old house on the hill."
    rows = "".join(f'{at},Anna,"{text}"\n' for at in range(20))
    (tmp_path / "tickets.csv").write_text(f"id,customer,body\n{rows}")
    words = ("a good film with a fine story", "a poor film with a dull story")
    lines = "".join(f"{words[at % 2]}\t{at % 2}\n" for at in range(40))
    (tmp_path / "reviews.tsv").write_text(f"text\tlabel\n{lines}")
    (tmp_path / "notes.txt").write_text(f"{text}\n" * 30)
    for kind, name in (("trace", "trace.jsonl"), ("log", "service.log")):
        (tmp_path / name).write_text(traces.written(kind))
    (tmp_path / "own.py").write_text((ROOT / "docs" / "own_mechanism.py").read_text())
    (tmp_path / "mixed" / "a").mkdir(parents=True)
    for at in range(10):
        (tmp_path / "mixed" / "a" / f"{at}.txt").write_text(text)
        (tmp_path / "mixed" / f"{at}.csv").write_text(f'id,body\n1,"{text}"\n')

    def run(script):
        lines = re.sub(r"^! (.*)$", r"if \1; then exit 9; fi", script, flags=re.M)
        return shell(lines, FEWER_WORDS="300")

    return run


HEADINGS = re.findall(r"^## (.*)$", PAGE, re.M)
# Their commands have tests of their own.
SLOW = [heading for heading in HEADINGS if "support" not in heading]


@pytest.mark.parametrize("heading", marked("slow", HEADINGS, *SLOW))
def test_a_transcript_runs(heading, transcript, tmp_path):
    script = PAGE.split(f"## {heading}\n")[1].split("```sh\n")[1].split("```")[0]
    done = transcript(script)
    assert done.returncode == 0, done.stderr
    for name in [name for who, names in WRITTEN.items() if who in heading for name in names]:
        assert (tmp_path / name).stat().st_size
    if "tickets" in heading:
        assert "2 of 3 columns pass unchanged: id, customer" in done.stderr
        assert "customer" not in (tmp_path / "safe.csv").read_text()


def test_the_nightly_job_and_the_smallest_group(transcript, tmp_path):
    """docs/jobs.md: three nights of one day, of which the last has a broken file."""
    nightly, group = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "jobs.md").read_text(), re.S)
    (tmp_path / "inbox" / "2026-11-30").mkdir(parents=True)
    for name, text in (("a.txt", "Grace Young left.\n"), ("b.csv", "body\nGrace Young left\n")):
        (tmp_path / "inbox" / "2026-11-30" / name).write_text(text)
    done = transcript(nightly)
    assert done.returncode == 0, done.stderr
    assert "broken.jsonl:1: invalid JSON" in done.stderr
    assert done.stdout.splitlines()[1].endswith(":2")  # the second run skips both
    states = re.findall(r'"type":"run".*?"status":"(\w+)"', done.stdout)
    assert states == ["complete", "complete", "partial"]
    assert "Grace" not in (tmp_path / "clean" / "2026-11-30" / "b.csv").read_text()
    (tmp_path / "table.csv").write_text("id,city,age\n1,Leeds,30\n2,Leeds,30\n3,York,41\n")
    assert transcript(group).stdout.split() == ["1", "York,41"]


def test_a_line_that_must_fail_is_seen(transcript):
    assert transcript("! true\n").returncode == 9
    assert transcript("! false\n").returncode == 0


@cases("kind more", ("trace", ["-f", "jsonl", "-k", "**", "--except", "type"]), ("log", []))
def test_of_a_trace_and_a_log_people_change_and_nothing_else(kind, more, dpsan):
    """Issue 58: all lines parse, every name, login and address is another, no other text is."""
    text = traces.written(kind)
    done = dpsan("rewrite", "-q", "--only", "people", *more, stdin=text.encode(), status=0)
    counts = traces.counted(kind, done.stdout.decode())
    assert {what.split()[1] for what in counts} == {"replaced"}
    places = re.findall(r"[{](?:name|email|login|ip)[}]", repr(traces.records(kind, 200)))
    assert sum(counts.values()) == len(places)
    untouched = traces.counted(kind, text)
    assert {what.split()[1] for what in untouched} == {"stayed"}  # the count sees what stays
    broken = text.replace("IntegrityError", "X").replace("ThreadPoolExecutor", "X")
    assert traces.counted(kind, broken)["other text"] >= 25
