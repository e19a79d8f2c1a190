import json
import re
import sys

import linkage
import pytest
from read_back import Page
from support import cases, need_extra, skip_without_extra, tables

from dpsan.analysis.evaluate.accuracy import Labelled, judge
from dpsan.cli import app
from dpsan.errors import ExtraMissingError

CASES = tables("analysis/cases")

SECRET = "Zanzibarquux"  # noqa: S105
WORDS = [f"word{i}" for i in range(40)]
MANY = [f"word{i}" for i in range(60)]


@pytest.fixture(scope="module")
def folder(dpsan, tmp_path_factory):
    """A vocabulary, 120 labelled records whose label is in their words, their versions."""
    folder = tmp_path_factory.mktemp("evaluate")
    write = {"v.txt": [f"{word} {i % 7} {i // 7} {i * i % 11}" for i, word in enumerate(WORDS)]}
    words = [[(i * step + 3) % 20 + 20 * (i % 2) for step in range(1, 9)] for i in range(120)]
    rows = [(f"k{i % 2}", " ".join(WORDS[at] for at in row)) for i, row in enumerate(words)]
    rows[5] = (rows[5][0], rows[5][1] + f" {SECRET}")
    write["o.csv"] = ["label,body", *(f'{label},"{text}"' for label, text in rows)]
    write["o.jsonl"] = [json.dumps({"y": int(label[1]), "t": text}) for label, text in rows]
    write["o.txt"] = [text for _, text in rows]
    spans = [[{"start": 0, "end": len(text), "type": SECRET}] for _, text in rows]
    write["spans.jsonl"] = [json.dumps({"spans": each}) for each in spans]
    for name, lines in write.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    base = ["rewrite", "-q", "-E", "v.txt", "-m", "krr", "-e", "3", "--seed", "x"]
    runs = ["-a audit.jsonl o.txt -o s.txt", "--copies 2 o.txt -o twice.txt"]
    runs += ["-k body o.csv -o s.csv", "-k t o.jsonl -o s.jsonl"]
    for arguments in runs:
        assert dpsan(*base, *arguments.split(), cwd=folder).returncode == 0
    return folder


def run(dpsan, folder, *arguments):
    own = () if "-E" in arguments else ("-E", "v.txt")
    done = dpsan("evaluate", *own, *arguments, cwd=folder)
    skip_without_extra(done.stderr.decode())
    assert done.returncode == 0, done.stderr.decode()
    assert SECRET.encode() not in done.stderr
    return done


def test_persons_are_counted_where_spans_have_a_subject(dpsan, folder):
    """Two persons a record: of one the first word, of the other the first word and the next."""
    texts = [(folder / name).read_text().splitlines() for name in ("o.txt", "s.txt")]
    words, written = ([line.split()[:2] for line in lines] for lines in texts)
    rows = []
    for one, other in words:
        ends = len(one), len(one) + 1 + len(other)
        both = [(0, ends[0], "a"), (0, ends[0], "b"), (ends[0] + 1, ends[1], "b")]
        rows.append([{"start": x, "end": y, "subject": who} for x, y, who in both])
    text = "".join(json.dumps({"spans": each}) + "\n" for each in rows)
    (folder / "who.jsonl").write_text(text)
    given = ("-m", "krr", "-e", "3", "--spans", "who.jsonl", "o.txt", "s.txt")
    found = json.loads(run(dpsan, folder, *given, "--json").stdout)["spans"]
    rows = [zip(*each, strict=True) for each in zip(words, written, strict=True)]
    changed = [[old.lower() != new.lower() for old, new in row] for row in rows]
    hidden = sum(first for first, _ in changed) + sum(map(all, changed))
    verbatim = found["persons"]["verbatim"]
    assert (verbatim["hits"], verbatim["of"]) == (hidden, 240)
    assert "persons, by attack" in run(dpsan, folder, *given).stdout.decode()
    plain = ("-m", "krr", "-e", "3", "--spans", "spans.jsonl", "o.txt", "s.txt")
    assert "persons" not in json.loads(run(dpsan, folder, *plain, "--json").stdout)["spans"]
    assert "persons" not in run(dpsan, folder, *plain).stdout.decode()


def test_json_and_audit_agree(dpsan, folder):
    given = ("-m", "krr", "-e", "3", "--json", "o.txt", "s.txt")
    first = json.loads(run(dpsan, folder, *given).stdout)
    assert (first["records"], first["texts"], first["unaligned"]) == (120, 120, 0)
    assert (first["words"], first["unchanged"]["unknown"]["of"]) == (961, 1)
    assert [each["attack"] for each in first["attacks"]] == ["verbatim", "one-word"]
    low, high = first["attacks"][1]["success"]["all"]["interval"]
    assert low < first["attacks"][1]["success"]["all"]["share"] < high
    again = run(dpsan, folder, "--audit", "audit.jsonl", *given[4:])
    assert json.loads(again.stdout) == first


def test_numbers_by_value_are_named(dpsan, folder):
    """The attacks take every output for a word, and the form of a number passes."""
    (folder / "n.txt").write_text("word1 paid 12.50 in 1987\n")
    given = ("-q", "-E", "v.txt", "-m", "krr", "-e", "3", "--numbers", "value", "--seed", "x")
    dpsan("rewrite", *given, "-a", "n.jsonl", "n.txt", "-o", "n2.txt", cwd=folder)
    found = run(dpsan, folder, "--audit", "n.jsonl", "--json", "n.txt", "n2.txt")
    assert any("drawn by value" in each for each in json.loads(found.stdout)["notes"])
    told = json.loads(dpsan("report", "--json", "n.jsonl", cwd=folder).stdout)
    assert "which words are numbers" in json.dumps(told).partition('"not_protected"')[2]


@pytest.mark.slow
def test_accuracy_of_a_separable_set(dpsan, folder):
    csv = ("-k", "body", "--labels", "label", "o.csv", "s.csv")
    whole = json.loads(run(dpsan, folder, "--json", *csv).stdout)
    assert (whole["words"], len(whole["attacks"])) == (961, 1)
    assert "mechanism is not given" in whole["notes"][0]
    found = whole["accuracy"]
    assert (found["classes"], found["train"], found["test"]) == (2, 96, 24)
    assert (found["clean_clean"]["share"], found["majority"]["share"]) == (1, 0.5)
    for pair in ("clean_sanitized", "sanitized_clean", "sanitized_sanitized"):
        assert found["majority"]["share"] < found[pair]["share"] <= 1
    jsonl = ("-k", "t", "--labels", "y", "o.jsonl", "s.jsonl")
    other = json.loads(run(dpsan, folder, "--json", *jsonl).stdout)["accuracy"]
    assert other["clean_clean"] == found["clean_clean"]


def test_accuracy_by_hand():
    """Of 4 texts up and 2 down an up reads as down."""
    need_extra("evaluate")
    good, bad = "good fine lovely", "bad poor awful"
    train = Labelled([good, bad] * 10, [good, bad] * 10, ["up", "down"] * 10)
    texts = [good] * 3 + [bad] * 3
    found = judge(train, Labelled(texts, texts, ["up"] * 4 + ["down"] * 2))
    assert found.pairs["clean", "clean"].value == pytest.approx(5 / 6)
    assert found.as_json()["clean_clean"]["hits"] == 5


def test_no_word_of_the_text_anywhere(dpsan, folder):
    arguments = ("-m", "krr", "-e", "3", "--spans", "spans.jsonl")
    files = ("o.csv", "s.csv", "-k", "body", "--labels", "label")
    table = run(dpsan, folder, *arguments, *files).stdout.decode()
    assert max(map(len, table.splitlines())) <= 80
    assert "accuracy, trained" in table
    shown = run(dpsan, folder, *arguments, *files, "--json", "--html", "page.html", "--force")
    page = (folder / "page.html").read_text()
    Page(page)
    shares = re.findall(r"[\d.]+ % \([\d.]+-[\d.]+\)", table)
    assert len(shares) > 15
    assert all(each in page for each in shares)  # both are written from the same rows
    for text in (table, page, shown.stdout.decode()):
        assert not re.search(r"word\d", text)
    # The names of types are the user's own labels, not text: they are shown.
    assert SECRET in table


@cases("status message arguments", *CASES["mistakes"])
def test_mistakes(dpsan, folder, status, message, arguments):
    own = () if "-E" in arguments else ("-E", "v.txt")
    done = dpsan("evaluate", *own, *arguments.split(), cwd=folder)
    skip_without_extra(done.stderr.decode())
    assert (done.returncode, done.stdout) == (int(status), b"")
    assert message in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_quiet_says_no_notes(dpsan, folder):
    (folder / "marks.txt").write_text("...\n\n")
    done = dpsan("evaluate", "-E", "v.txt", "marks.txt", "marks.txt", cwd=folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"dpsan: marks.txt: no words, so there is nothing")
    loud = dpsan("evaluate", "-E", "v.txt", "o.txt", "s.txt", cwd=folder)
    done = dpsan("evaluate", "-q", "-E", "v.txt", "o.txt", "s.txt", cwd=folder)
    assert b"the mechanism is not given" in loud.stderr
    assert (done.stdout, done.stderr) == (loud.stdout, b"")


@pytest.fixture
def without(folder, monkeypatch, cache):
    """Runs a command as if a library were not installed."""

    def call(library, *arguments):
        for name in [each for each in sys.modules if each.split(".")[0] == library]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, library, None)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))
        monkeypatch.setattr(sys, "argv", ["dpsan", "evaluate", *arguments])
        return app.run()

    return call


def test_missing_extra_is_told_before_any_work(without):
    with pytest.raises(ExtraMissingError, match=r"pip install 'dpsan\[evaluate\]'"):
        without("sklearn", "-E", "none.txt", "-k", "body", "--labels", "label", "o.csv", "s.csv")


@pytest.fixture(scope="module")
def linked(dpsan, tmp_path_factory):
    """Texts small enough to follow, for readers with candidates and of several noisings."""
    folder = tmp_path_factory.mktemp("linkage")
    words = [f"{word} {i % 7} {i // 7} {i * i % 11}\n" for i, word in enumerate(MANY)]
    (folder / "v.txt").write_text("".join(words))
    rows = [" ".join(MANY[(i * 7 + step * (i + 3)) % 60] for step in range(6)) for i in range(40)]
    rows[3:5] = ["word1, word2; word3!", "..."]  # the only one with its layout; no word
    (folder / "o.txt").write_text("".join(f"{row}\n" for row in rows))
    others = [f"{MANY[i]} {MANY[(i + 7) % 60]} word5 word6 word7 word8" for i in range(50)]
    (folder / "c.txt").write_text("".join(f"{row}\n" for row in [*others, *rows[:20]]))
    run = ("rewrite", "-q", "-E", "v.txt", "-m", "krr", "-e", "2.5", "o.txt", "-o")
    assert dpsan(*run, "s.txt", "--seed", "x", cwd=folder).returncode == 0
    assert dpsan(*run, "t.txt", "--seed", "y", "--copies", "3", cwd=folder).returncode == 0
    return folder


@pytest.mark.slow
def test_readers_with_candidates(linked, monkeypatch, cache, capsys):
    monkeypatch.chdir(linked)
    monkeypatch.setenv("DPSAN_CACHE_DIR", str(cache))

    def readers(*arguments):
        given = ("-m", "krr", "-e", "2.5", "-E", "v.txt", "--candidates", "c.txt", "o.txt")
        assert linkage.main([*given, *arguments]) == 0
        found = json.loads(capsys.readouterr().out)
        return found, {(each["reader"], each["words"]): each for each in found["readers"]}

    found, rows = readers("s.txt", "--words", "2", "--words", "4")
    # Different texts: 50 others, 39 originals with words, half of them also in the file.
    assert {each["candidates"] for each in found["readers"] if each["words"] != 4} == {89}
    assert {each["candidates"] for each in found["readers"] if each["words"] == 4} == {88}
    shares = [rows["exact, in order", words]["first"]["share"] for words in (2, 4, None)]
    assert shares[0] < shares[1] <= shares[2]
    for naive in ("TF-IDF", "number of words", "layout"):
        assert rows[naive, None]["first"]["share"] <= shares[2]
    assert rows["layout", None]["first"]["hits"] >= 1
    assert ("layout", 2) not in rows
    assert any("--consistent" in note for note in found["notes"])  # one draw for many places
    assert "word" not in json.dumps(found).replace("words", "").replace("of word", "")
    assert readers("s.txt", "--words", "2", "--words", "4")[0] == found
    # More noisings tell more.
    _, many = readers("t.txt", "--copies", "3")
    assert rows["TF-IDF", None]["first"]["hits"] < many["TF-IDF", None]["first"]["hits"]
    assert linkage.main(["-e", "2.5", "--candidates", "none.txt", "o.txt", "s.txt"]) == 1
    assert "no such file" in capsys.readouterr().err


def test_copies_that_are_none_are_told(dpsan, linked):
    base = ("-E", "v.txt", "-m", "krr", "-e", "2.5", "-q", "--copies", "2", "o.txt", "s.txt")
    done = dpsan("evaluate", *base, cwd=linked, status=1)
    assert b"40 records where o.txt has 40, 2 copies of each" in done.stderr
