"""``--bad-records``: what cannot be read is set aside as it is, and the rest goes on."""

import stat

import pytest
from support import cases, marked

BASE = ["rewrite", "-e", "1000", "-m", "laplace", "-E", "two.txt", "-k", "text"]
CSV = b'id,text\r\n1,"here, there"\r\n2,here,x\r\n3,"a"b\n4,here\n"5\n6",there,\n7,THERE'
GOOD = b'id,text\r\n1,"Here, there"\r\n4,here\n7,there'
BAD = b'2,here,x\r\n3,"a"b\n"5\n6",there,\n'
JSONL = b'{"text":"here"}\nno\n\n{"text":1}\n[]\n{"text":"THERE"}'


@cases(
    "name data good bad",
    ("a.csv", CSV, GOOD, BAD),
    ("a.tsv", CSV.replace(b",", b"\t"), GOOD.replace(b",", b"\t"), BAD.replace(b",", b"\t")),
    ("a.jsonl", JSONL, b'{"text":"here"}\n\n{"text":"there"}', b'no\n{"text":1}\n[]\n'),
)
def test_bad_records_are_set_aside(folder, dpsan, name, data, good, bad):
    (folder / name).write_bytes(data)
    done = dpsan(*BASE, "--bad-records", "bad", name, cwd=folder)
    assert (done.returncode, done.stdout.replace(b"Here\t", b"Here,")) == (
        0,
        good.replace(b"Here\t", b"Here,"),
    )
    assert (folder / "bad").read_bytes() == bad
    assert stat.S_IMODE((folder / "bad").stat().st_mode) == 0o600
    assert done.stderr.count(b": left out\n") == 3
    assert b"3 records written to bad, not to the output" in done.stderr
    if name == "a.csv":
        again = dpsan(*BASE, "--bad-records", "bad", name, cwd=folder)
        assert (again.returncode, again.stdout) == (1, b"")
        assert b"bad: exists (name another; --force replaces it, and it is lost)" in again.stderr
        two = dpsan(*BASE, "-j", "2", "--bad-records", "more", name, cwd=folder)
        assert (two.returncode, two.stdout) == (0, done.stdout)
        assert (folder / "more").read_bytes() == bad
    assert dpsan(*BASE, name, cwd=folder).returncode == 1


LONG = b"here " * 300_000


@pytest.mark.parametrize("most", marked("slow", [4096, 1 << 20], 1 << 20))
@cases(
    "name head record", ("a.csv", b"id,text\n", b'1,"%b"\n'), ("a.jsonl", b"", b'{"text":"%b"}\n')
)
def test_a_record_that_is_too_long_is_set_aside_too(folder, dpsan, name, head, record, most):
    short, long = record % b"here", record % LONG
    (folder / name).write_bytes(head + short + long + long + short + long.rstrip(b"\n"))
    base = [*BASE, "--bad-records", "bad", name]
    for more in ([], ["-j", "2", "--force"]):
        done = dpsan(*base, *more, cwd=folder, longest=most)
        good = head + 2 * short.replace(b'1,"here"', b"1,here")
        assert (done.returncode, done.stdout.lower()) == (0, good)
        assert (folder / "bad").read_bytes() == 3 * long
        assert done.stderr.count(b"(split it): left out\n") == 3
        line = 2 + (name == "a.csv")
        assert f"{name}:{line}: record longer".encode() in done.stderr
    # A cell that goes on in the next line: where the row ends, nobody knows.
    (folder / "b.csv").write_bytes(b'id,text\n1,"%b\nhere"\n2,here\n' % LONG)
    done = dpsan(*base[:-1], "--force", "b.csv", cwd=folder, longest=most)
    assert (done.returncode, done.stdout) == (1, b"id,text\n")


def test_invalid_bytes_are_bad_records_too(folder, dpsan):
    (folder / "a.csv").write_bytes(b"text\nhere\n\xff\nthere\n")
    base = [*BASE, "-q", "--invalid", "error", "--bad-records", "bad"]
    done = dpsan(*base, "a.csv", cwd=folder)
    assert (done.returncode, done.stdout) == (0, b"text\nhere\nthere\n")
    assert done.stderr == b"dpsan: 1 record written to bad, not to the output\n"
    assert (folder / "bad").read_bytes() == b"\xff\n"
