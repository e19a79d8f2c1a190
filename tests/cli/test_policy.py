"""``rewrite --policy``: options from a file that is always named."""

import json
import re
from dataclasses import fields
from hashlib import sha256

import pytest
from support import ROOT, cases, tables

from dpsan.cli.policy import options_of_a_policy
from dpsan.cli.rewrite import Rewrite

CASES = tables("cli/cases/policy")

TABLE = "id,text,name\n1,Maria met John,Maria\n"


@pytest.fixture
def run(dpsan, tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "a.txt").write_text("Maria met John in Paris.\n")

    def rewritten(policy, *more, env=None):
        (tmp_path / "p.toml").write_text(policy)
        return dpsan("rewrite", "--policy", "p.toml", *more, cwd=tmp_path, env=env)

    return rewritten


def test_a_policy_decides_and_the_command_line_wins(run):
    policy = 'only = "people"\nfield = ["text", "name"]\ndrop-other = true\nstrict = true\n'
    out = run(policy, "-q", "a.csv").stdout.decode()
    assert re.fullmatch(r"text,name\n(\w+) met \w+,\1\n", out)
    assert "Maria" not in out
    out = run(policy, "-q", "-k", "name", "a.csv").stdout.decode()
    assert re.fullmatch(r"name\n\w+\n", out)
    assert run("epsilon = 1000\n", "-q", "-e", "-3", "a.txt").stderr.endswith(b"> 0 (got -3)\n")


def test_statement_audit_and_report_name_the_policy(run, dpsan, tmp_path):
    policy = 'only = "people"\n'
    digest = sha256(policy.encode()).hexdigest()
    done = run(policy, "-a", "audit.jsonl", "a.txt")
    assert f"policy p.toml, SHA-256 {digest[:16]}".encode() in done.stderr
    header = json.loads((tmp_path / "audit.jsonl").read_text().splitlines()[0])
    assert header["policy"] == digest
    assert digest[:16].encode() in dpsan("report", "audit.jsonl", cwd=tmp_path).stdout


def test_files_of_a_policy_lie_beside_it(dpsan, tmp_path):
    """A stranger who plants a file of that name in the working directory changes nothing."""
    for folder, words in (("rules", "Ottokar\nZebedee\n"), ("work", "Nobody\nNowhere\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.txt").write_text(words)
    (tmp_path / "rules/p.toml").write_text('only = "own.txt"\n')
    arguments = ("rewrite", "-q", "--consistent", "off", "--policy", "../rules/p.toml")
    out = dpsan(*arguments, stdin=b"Ottokar and Nobody\n" * 50, cwd=tmp_path / "work").stdout
    assert set(out.splitlines()) == {b"Ottokar and Nobody", b"Zebedee and Nobody"}  # but for 2^-49
    (tmp_path / "rules/own.txt").unlink()
    done = dpsan(*arguments, stdin=b"Ottokar and Nobody\n", cwd=tmp_path / "work")
    assert (done.returncode, done.stdout) == (2, b"")


@cases("policy told", *CASES["policies"])
def test_what_is_wrong_with_a_policy_is_one_line_that_names_its_place(run, policy, told):
    done = run(f"{policy}\n", "a.txt")
    assert done.returncode in (1, 2)
    assert done.stderr.decode().startswith(f"dpsan: p.toml{told}")
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""


@cases(
    "policy more told",
    ('only = "people"', ["-e", "8"], "p.toml:1: only: only and epsilon exclude each other: "),
    ("epsilon = 8", ["--only", "people"], "p.toml:1: epsilon: only and epsilon exclude each other"),
)
def test_policy_and_command_line_that_exclude_each_other(run, policy, more, told):
    """Issue 60: the line that is in the way, and what to do about it."""
    done = run(f"{policy}\n", *more, "a.txt")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"dpsan: {told}")
    assert b"(take it out of the policy, or leave the other one out)" in done.stderr


def test_a_missing_policy_stops_the_run(dpsan):
    done = dpsan("rewrite", "--policy", "none.toml", "--only", "people", stdin=b"Maria\n")
    assert (done.returncode, done.stdout) == (2, b"")


def test_every_option_that_decides_is_in_a_policy_or_is_of_one_run():
    """A new setting is in policies without a word: the list is made of the options."""
    allowed = options_of_a_policy(fields(Rewrite))
    deciding = [each for each in fields(Rewrite) if each.metadata.get("decides")]
    missing = {each.name for each in deciding if each not in allowed.values()}
    assert missing == {"bad_records", "recursive", "seed", "spans"}
    page = (ROOT / "docs/formats.md").read_text().split("## Policy file")[1].split("\n## ")[0]
    listed = set(re.findall(r"`([a-z-]+)`", page))
    assert set(allowed) <= listed


def test_what_the_command_line_gave_is_no_error_of_the_policy(run):
    wrong = {"epsilon = 8\n": ("-e", "-3"), 'only = "people"\n': ("--only", "poeple")}
    for policy, more in wrong.items():
        assert b"p.toml" not in run(policy, *more, "a.txt").stderr
