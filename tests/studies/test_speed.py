"""docs/studies/speed.py: what it measures, not how fast anything is."""

import json
import os

import numpy as np
import pytest
import speed
from support import ROOT, cases

from dpsan.errors import UsageError


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


@pytest.mark.slow
def test_figures(cache, tmp_path, monkeypatch, capsys):
    for name, value in {"PYTHONPATH": ROOT, "DPSAN_CACHE_DIR": cache, "TMPDIR": tmp_path}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr("tempfile.tempdir", None)
    words = "-m gaussian-classical -j 2 --synthetic 2000,4 --words 300 --runs 1 --json"
    speed.main(words.split())
    found = json.loads(capsys.readouterr().out)
    assert [row["mechanism"] for row in found["mechanisms"]] == ["gaussian-classical"]
    (each,) = found["mechanisms"]
    assert (each["n"], each["d"], each["words"]) == (2000, 4, 300)
    figures = {"words/s": "ratio", "with audit": "audit ratio", "jobs": "jobs ratio"}
    for figure, ratio in figures.items():
        assert each[figure] > 0
        assert each[ratio] == pytest.approx(each[figure] / each["bare faiss"])
    for start in ("least start s", "start s", "first line s"):
        assert 0 < each[start] < 60
    assert each["epsilon"] <= 1  # where its theorem holds
    assert not os.listdir(tmp_path)  # the synthetic vectors and their cache are gone


@cases(
    "arguments message",
    ("--synthetic 20", "--synthetic must be N,D"),
    ("--synthetic 1,3", "--synthetic must be N,D"),
    ("-m laplac", r"did you mean 'laplace'\?"),
    ("-p k", "NAME=VALUE"),
)
def test_wrong_use(arguments, message):
    with pytest.raises(UsageError, match=message):
        speed.main(arguments.split())
