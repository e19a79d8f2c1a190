"""``--bad-records``: what cannot be read is set aside as it is, and the rest goes on;
``--delimiter``: tables that have no commas."""

import stat

import pytest

BASE = ["rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-k", "text"]
CSV = b'id,text\r\n1,"here, there"\r\n2,here,x\r\n3,"a"b\n4,here\n"5\n6",there,\n7,THERE'
GOOD = b'id,text\r\n1,"Here, there"\r\n4,here\n7,there'
BAD = b'2,here,x\r\n3,"a"b\n"5\n6",there,\n'
JSONL = b'{"text":"here"}\nno\n\n{"text":1}\n[]\n{"text":"THERE"}'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "two.txt").write_text("here 0 9\nthere 9 0\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "data", "good", "bad"),
    [
        ("a.csv", CSV, GOOD, BAD),
        ("a.tsv", CSV.replace(b",", b"\t"), GOOD.replace(b",", b"\t"), BAD.replace(b",", b"\t")),
        ("a.jsonl", JSONL, b'{"text":"here"}\n\n{"text":"there"}', b'no\n{"text":1}\n[]\n'),
    ],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_bad_records_are_set_aside(folder, dpsan, name, data, good, bad, jobs):
    (folder / name).write_bytes(data)
    done = dpsan(*BASE, "-j", jobs, "--bad-records", "bad", name, cwd=folder)
    assert (done.returncode, done.stdout.replace(b"Here\t", b"Here,")) == (
        0,
        good.replace(b"Here\t", b"Here,"),
    )
    assert (folder / "bad").read_bytes() == bad
    assert stat.S_IMODE((folder / "bad").stat().st_mode) == 0o600
    assert done.stderr.count(b": left out\n") == 3
    assert b"3 records written to bad, not to the output" in done.stderr
    again = dpsan(*BASE, "--bad-records", "bad", name, cwd=folder)
    assert (again.returncode, again.stdout) == (1, b"")
    assert b"bad: exists (--force replaces it)" in again.stderr
    without = dpsan(*BASE, name, cwd=folder)
    assert without.returncode == 1


def test_invalid_bytes_are_bad_records_too(folder, dpsan):
    (folder / "a.csv").write_bytes(b"text\nhere\n\xff\nthere\n")
    base = [*BASE, "-q", "--invalid", "error", "--bad-records", "bad"]
    done = dpsan(*base, "a.csv", cwd=folder)
    assert (done.returncode, done.stdout) == (0, b"text\nhere\nthere\n")
    assert done.stderr == b"dpsan: 1 record written to bad, not to the output\n"
    assert (folder / "bad").read_bytes() == b"\xff\n"


def test_wrong_use(folder, dpsan):
    (folder / "a.csv").write_bytes(CSV)
    (folder / "a.txt").write_bytes(b"here\n")
    for more in (["-i", "a.csv"], ["a.txt"], ["-n", "a.csv"]):
        done = dpsan(*BASE, "--bad-records", "bad", *more, cwd=folder)
        assert (done.returncode, done.stdout) == (2, b"")
    same = dpsan(*BASE, "--bad-records", "a.csv", "a.csv", "--force", cwd=folder)
    assert same.returncode == 2
    assert (folder / "a.csv").read_bytes() == CSV


@pytest.mark.parametrize("given", [";", "|", "\\t", "tab"])
def test_delimiter(folder, dpsan, given):
    sign = {"\\t": b"\t", "tab": b"\t"}.get(given, given.encode())
    data = b'id;text\n1;"here; there"\n2;here, there\n'.replace(b";", sign)
    (folder / "a.csv").write_bytes(data)
    done = dpsan(*BASE, "-q", "--delimiter", given, "a.csv", cwd=folder)
    assert done.stdout == data.replace(b"here;", b"Here;").replace(
        b"here" + sign, b"Here" + sign
    ).replace(b"here,", b"Here,")
    told = dpsan(*BASE, "-q", "a.csv", cwd=folder)
    shown = {b"\t": b"'\\t'"}.get(sign, b"'" + sign + b"'")
    assert b"one column; are they separated by " + shown + b"? --delimiter " + shown in told.stderr
    assert b"id" not in told.stderr.replace(b"column 'text'", b"")


def test_wrong_delimiters(folder, dpsan):
    (folder / "a.csv").write_bytes(CSV)
    (folder / "a.tsv").write_bytes(CSV)
    for given, name in (
        (";;", "a.csv"),
        ('"', "a.csv"),
        ("x", "a.csv"),
        ("é", "a.csv"),
        (";", "a.tsv"),
    ):
        assert dpsan(*BASE, "--delimiter", given, name, cwd=folder).returncode == 2


def test_a_header_that_may_be_data_is_named(folder, dpsan):
    """Who chooses a column by number may have a table without a header."""
    (folder / "a.csv").write_bytes(b"here,there\nthere,text\n")
    for given, told in (
        (("-k", "1"), True),
        (("-k", "here"), False),
        (("-k", "1", "--no-header"), False),
        (("-k", "1", "-q"), True),
    ):
        done = dpsan(*BASE[:-2], *given, "a.csv", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (b"passes unchanged, as its header" in done.stderr) == told
