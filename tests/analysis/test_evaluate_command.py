import json
import re
import sys
from html.parser import HTMLParser

import pytest
from support import skip_without_extra

SECRET = "Zanzibarquux"  # noqa: S105
WORDS = [f"word{i}" for i in range(40)]


@pytest.fixture(scope="module")
def folder(dpsan, tmp_path_factory):
    """A vocabulary, 120 labelled records whose label is in their words, their versions."""
    folder = tmp_path_factory.mktemp("evaluate")
    (folder / "v.txt").write_text(
        "".join(f"{word} {i % 7} {i // 7} {i * i % 11}\n" for i, word in enumerate(WORDS))
    )
    rows = [
        (f"k{i % 2}", " ".join(WORDS[20 * (i % 2) + (i * step + 3) % 20] for step in range(1, 9)))
        for i in range(120)
    ]
    rows[5] = (rows[5][0], rows[5][1] + f" {SECRET}")
    (folder / "o.csv").write_text(
        "label,body\n" + "".join(f'{label},"{text}"\n' for label, text in rows)
    )
    (folder / "o.jsonl").write_text(
        "".join(json.dumps({"y": int(label[1]), "t": text}) + "\n" for label, text in rows)
    )
    (folder / "o.txt").write_text("".join(f"{text}\n" for _, text in rows))
    spans = ({"spans": [{"start": 0, "end": len(text), "type": SECRET}]} for _, text in rows)
    (folder / "spans.jsonl").write_text("".join(json.dumps(each) + "\n" for each in spans))
    base = ["rewrite", "-q", "-E", "v.txt", "-m", "krr", "-e", "3", "--seed", "x"]
    runs = (
        ["-a", "audit.jsonl", "o.txt", "-o", "s.txt"],
        ["-k", "body", "o.csv", "-o", "s.csv"],
        ["-k", "t", "o.jsonl", "-o", "s.jsonl"],
        ["--copies", "2", "o.txt", "-o", "twice.txt"],
    )
    for arguments in runs:
        assert dpsan(*base, *arguments, cwd=folder).returncode == 0
    return folder


def run(dpsan, folder, *arguments):
    done = dpsan("evaluate", "-E", "v.txt", *arguments, cwd=folder)
    skip_without_extra(done.stderr.decode())
    assert done.returncode == 0, done.stderr.decode()
    assert SECRET.encode() not in done.stderr
    return done


def test_json_and_audit_agree(dpsan, folder):
    given = ("-m", "krr", "-e", "3", "--language-model", "o.txt", "--json", "o.txt", "s.txt")
    first = json.loads(run(dpsan, folder, *given).stdout)
    assert (first["records"], first["texts"], first["unaligned"]) == (120, 120, 0)
    assert first["words"] == 961
    assert first["unchanged"]["unknown"]["of"] == 1
    assert first["rouge1"]["f1"] == pytest.approx(first["unchanged"]["all"]["share"], abs=0.25)
    assert first["length"]["words"] == {"original": 961, "sanitized": 961, "kept": 1.0}
    assert [each["attack"] for each in first["attacks"]] == [
        "verbatim",
        "one-word",
        "context",
        "informed",
    ]
    low, high = first["attacks"][1]["success"]["all"]["interval"]
    assert low < first["attacks"][1]["success"]["all"]["share"] < high
    again = run(dpsan, folder, "--audit", "audit.jsonl", *given[4:])
    assert json.loads(again.stdout) == first


def test_numbers_by_value_are_named(dpsan, folder):
    """The attacks take every output for a word, and the form of a number passes."""
    (folder / "n.txt").write_text("word1 paid 12.50 in 1987\n")
    given = ("-q", "-E", "v.txt", "-m", "krr", "-e", "3", "--numbers", "value", "--seed", "x")
    dpsan("rewrite", *given, "-a", "n.jsonl", "n.txt", "-o", "n2.txt", cwd=folder)
    found = run(dpsan, folder, "--audit", "n.jsonl", "--no-scores", "--json", "n.txt", "n2.txt")
    assert any("drawn by value" in each for each in json.loads(found.stdout)["notes"])
    told = json.loads(dpsan("report", "--json", "n.jsonl", cwd=folder).stdout)
    assert "which words are numbers" in json.dumps(told).partition('"not_protected"')[2]


def test_containers_give_the_same(dpsan, folder):
    found = [
        json.loads(
            run(dpsan, folder, "--json", "--no-scores", *key, f"o.{kind}", f"s.{kind}").stdout
        )
        for kind, key in (("csv", ("-k", "body")), ("jsonl", ("-k", "t")), ("txt", ()))
    ]
    assert found[0]["words"] == found[1]["words"] == found[2]["words"] == 961
    assert found[0]["rouge1"] is None
    assert len(found[0]["attacks"]) == 1
    assert "mechanism is not given" in found[0]["notes"][0]
    for name in ("o", "s"):
        data = (folder / f"{name}.csv").read_bytes()
        (folder / f"{name}2.csv").write_bytes(data.replace(b",", b";"))
    given = ("--json", "--no-scores", "-k", "body", "--delimiter", ";", "o2.csv", "s2.csv")
    assert json.loads(run(dpsan, folder, *given).stdout)["words"] == 961


def test_accuracy_of_a_separable_set(dpsan, folder):
    csv = ("-k", "body", "--labels", "label", "o.csv", "s.csv")
    found = json.loads(run(dpsan, folder, "--json", *csv).stdout)["accuracy"]
    assert (found["classes"], found["train"], found["test"]) == (2, 96, 24)
    assert found["clean_clean"]["share"] == 1
    assert found["majority"]["share"] == 0.5
    for pair in ("clean_sanitized", "sanitized_clean", "sanitized_sanitized"):
        assert found["majority"]["share"] < found[pair]["share"] <= 1
    jsonl = ("-k", "t", "--labels", "y", "o.jsonl", "s.jsonl")
    other = json.loads(run(dpsan, folder, "--json", *jsonl).stdout)["accuracy"]
    assert other["clean_clean"] == found["clean_clean"]
    tested = (*csv[:-2], "--test-original", "o.csv", "--test-sanitized", "s.csv", *csv[-2:])
    whole = json.loads(run(dpsan, folder, "--json", *tested).stdout)["accuracy"]
    assert (whole["train"], whole["test"]) == (120, 120)


class Checker(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "br", "rect", "path"):
            self.open.append(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onload", "onclick"}

    def handle_endtag(self, tag):
        if tag not in ("rect", "path"):
            assert self.open.pop() == tag


def test_no_word_of_the_text_anywhere(dpsan, folder):
    arguments = ("-m", "krr", "-e", "3", "--language-model", "o.txt", "--spans", "spans.jsonl")
    files = ("o.csv", "s.csv", "-k", "body", "--labels", "label")
    table = run(dpsan, folder, *arguments, *files).stdout.decode()
    assert max(map(len, table.splitlines())) <= 80
    assert "ROUGE-1 recall" in table
    assert "weighted F1, trained" in table
    shown = run(dpsan, folder, *arguments, *files, "--json", "--html", "page.html", "--force")
    page = (folder / "page.html").read_text()
    checker = Checker()
    checker.feed(page)
    assert not checker.open
    assert "script" not in checker.tags
    assert not re.search(r"https?://|url\(|@import", page)
    shares = re.findall(r"[\d.]+ % \([\d.]+-[\d.]+\)", table)
    assert len(shares) > 15
    assert all(each in page for each in shares)  # both are written from the same rows
    for text in (table, page, shown.stdout.decode()):
        assert not re.search(r"word\d", text)
    # The names of types are the user's own labels, not text: they are shown.
    assert SECRET in table


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["o.txt", "twice.txt"], 1, "twice.txt: 240 records where o.txt has 120"),
        (["o.txt", "none.txt"], 1, "none.txt: no such file"),
        (["-k", "no", "o.csv", "s.csv"], 1, "o.csv: no column 'no' (2 columns;"),
        (
            ["-k", "body", "o.csv", "s.csv", "--labels", "no", "--no-scores"],
            1,
            "o.csv: no column 'no' (2 columns;",
        ),
        (
            ["--labels", "x", "o.txt", "s.txt"],
            2,
            "--labels is for jsonl, json, csv, tsv and parquet",
        ),
        (["-k", "t", "--labels", "x", "o.jsonl", "s.jsonl"], 1, "o.jsonl:1: no label 'x'"),
        (["--audit", "o.txt", "o.txt", "s.txt"], 1, "o.txt:1: not an audit of dpsan"),
        (["--audit", "audit.jsonl", "--vocab-size", "9", "o.txt", "s.txt"], 2, "other embeddings"),
        (["--audit", "audit.jsonl", "-e", "3", "o.txt", "s.txt"], 2, "exclude each other"),
        (["-e", "3", "-m", "kr", "o.txt", "s.txt"], 2, "did you mean 'krr'"),
        (["--tokenizer", "x", "o.txt", "s.txt"], 2, "unknown tokenizer 'x'"),
        (["--test-original", "o.txt", "o.txt", "s.txt"], 2, "need each other"),
        (["--spans", "v.txt", "o.txt", "s.txt"], 1, "v.txt:1: not JSON (such as {"),
        # Told before any work: the embeddings and texts are missing too.
        (["--language-model", "p.txt", "-E", "none", "x", "y"], 1, "p.txt: no such file"),
        (["--html", "v.txt", "-E", "none", "x", "y"], 1, "v.txt: exists"),
    ],
)
def test_mistakes(dpsan, folder, arguments, status, message):
    done = dpsan("evaluate", "--no-scores", "-E", "v.txt", *arguments, cwd=folder)
    skip_without_extra(done.stderr.decode())
    assert (done.returncode, done.stdout) == (status, b"")
    assert message in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_nothing_to_compare_is_said(dpsan, folder):
    for name, text in (("empty.txt", ""), ("marks.txt", "...\n\n")):
        (folder / name).write_text(text)
        done = dpsan("evaluate", "--no-scores", "-E", "v.txt", name, name, cwd=folder)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.startswith(f"dpsan: {name}: no words, so there is nothing".encode())


def test_quiet_says_no_notes(dpsan, folder):
    loud = dpsan("evaluate", "--no-scores", "-E", "v.txt", "o.txt", "s.txt", cwd=folder)
    done = dpsan("evaluate", "-q", "--no-scores", "-E", "v.txt", "o.txt", "s.txt", cwd=folder)
    assert b"the mechanism is not given" in loud.stderr
    assert (done.stdout, done.stderr) == (loud.stdout, b"")


@pytest.mark.parametrize(
    ("library", "arguments"),
    [
        ("rouge_score", ["o.txt", "s.txt"]),
        ("sacrebleu", ["o.txt", "s.txt"]),
        ("sklearn", ["-k", "body", "--labels", "label", "o.csv", "s.csv", "--no-scores"]),
    ],
)
def test_missing_extra_is_told_before_any_work(folder, monkeypatch, library, arguments, cache):
    for name in [each for each in sys.modules if each.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
    monkeypatch.setattr(sys, "argv", ["dpsan", "evaluate", "-E", "none.txt", *arguments])
    from dpsan.cli import app
    from dpsan.errors import ExtraMissingError

    with pytest.raises(ExtraMissingError) as caught:
        app.run()
    assert "pip install 'dpsan[evaluate]'" in str(caught.value)
