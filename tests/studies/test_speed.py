"""docs/studies/speed.py: what it measures, not how fast anything is."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import speed
from support import ROOT

from dpsan.errors import UsageError


def run(cache, tmp_path, *arguments):
    return subprocess.run(
        [sys.executable, ROOT / "docs" / "studies" / "speed.py", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DPSAN_CACHE_DIR": str(cache),
            "TMPDIR": str(tmp_path),
        },
    )


def test_text_has_zipf_frequencies(tmp_path):
    words = [f"w{number}" for number in range(1000)]
    speed.zipf_text(tmp_path / "text", words, 60_000)
    text = (tmp_path / "text").read_text()
    rows = [int(each.strip(",.")[1:]) for each in text.split()]
    assert len(rows) == 60_000
    seen = np.bincount(rows, minlength=1000) / len(rows)
    law = 1 / (np.arange(1000) + 2.7)
    law /= law.sum()
    error = np.sqrt(law * (1 - law) / len(rows))
    assert (abs(seen - law) < 6 * error).all()
    # The twin: a power of 0.9 would be told apart.
    other = 1 / (np.arange(1000) + 2.7) ** 0.9
    other /= other.sum()
    assert (abs(seen - other) > 6 * error).any()


def test_figures(cache, tmp_path):
    named = ("-m", "gaussian-classical", "-j", "2")
    done = run(
        cache, tmp_path, *named, "--synthetic", "2000,4", "--words", "300", "--runs", "1", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [each["mechanism"] for each in found["mechanisms"]] == ["gaussian-classical"]
    for each in found["mechanisms"]:
        assert (each["n"], each["d"], each["words"]) == (2000, 4, 300)
        for figure, ratio in (
            ("words/s", "ratio"),
            ("with audit", "audit ratio"),
            ("jobs", "jobs ratio"),
        ):
            assert each[figure] > 0
            assert each[ratio] == pytest.approx(each[figure] / each["bare faiss"])
        assert 0 < each["least start s"] < 60
        assert 0 < each["start s"] < 60
        assert 0 < each["first line s"] < 60
    assert found["mechanisms"][0]["epsilon"] <= 1  # where its theorem holds
    assert not os.listdir(tmp_path)  # the synthetic vectors and their cache are gone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--synthetic", "20"), "--synthetic must be N,D"),
        (("--synthetic", "1,3"), "--synthetic must be N,D"),
        (("-m", "laplac"), "did you mean 'laplace'?"),
        (("-p", "k"), "NAME=VALUE"),
    ],
)
def test_wrong_use(arguments, message):
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        speed.main([*arguments])


def test_an_error_is_one_line(cache, tmp_path):
    done = run(cache, tmp_path, "-m", "laplace", "-E", "absent.txt", "--words", "9")
    assert done.returncode == 1
    assert done.stderr == "speed.py: absent.txt: no such file\n"
