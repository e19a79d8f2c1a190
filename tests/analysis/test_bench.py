"""``dpsan bench``: what it measures, not how fast anything is."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from dpsan.analysis.bench.workload import random_points, repeated_text, synthetic_file, zipf_text
from dpsan.errors import InputError


def test_zipf_text_has_zipf_frequencies(tmp_path):
    words = [f"w{number}" for number in range(1000)]
    zipf_text(tmp_path / "text", words, 60_000)
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


def test_real_text_is_repeated(tmp_path):
    (tmp_path / "a").write_text("one two three\nfour five")
    repeated_text(tmp_path / "b", tmp_path / "a", 12)
    assert (tmp_path / "b").read_text() == "one two three\nfour five\n" * 2 + "one two three\n"
    (tmp_path / "empty").write_text(" ,\n")
    with pytest.raises(InputError, match="no words"):
        repeated_text(tmp_path / "b", tmp_path / "empty", 12)
    with pytest.raises(InputError, match="no such file"):
        repeated_text(tmp_path / "b", tmp_path / "absent", 12)


def test_synthetic_words_from_a_file(tmp_path):
    (tmp_path / "names").write_text("the\nof\nthe\nand\n")
    with pytest.raises(InputError, match="3 words, 4 needed"):
        synthetic_file(tmp_path, 4, 2, tmp_path / "names")
    path = synthetic_file(tmp_path, 2, 3, tmp_path / "names")
    with np.load(path) as held:
        assert held["words"].tolist() == ["the", "of"]
        assert held["vectors"].shape == (2, 3)
        assert random_points(held["vectors"], 5).shape == (5, 3)


def test_command(dpsan, tmp_path):
    done = dpsan(
        *("bench", "-m", "laplace", "-m", "knn-response", "-m", "gaussian-classical", "-p", "k=2"),
        *("--synthetic", "60,4", "--words", "300", "--runs", "1", "--json", "--scale", "0"),
        env={"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 2  # laplace has no k
    assert done.stderr.count(b"\n") == 1
    done = dpsan(
        *("bench", "-m", "laplace", "-m", "knn-response", "-m", "gaussian-classical"),
        *("--synthetic", "2000,4", "--words", "300", "--runs", "1", "--json", "--scale", "0"),
        env={"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["embeddings"] == {"n": 2000, "d": 4}
    assert {"processor", "threads", "faiss", "dpsan"} <= set(found["machine"])
    names = [each["mechanism"] for each in found["mechanisms"]]
    assert names == ["laplace", "knn-response", "gaussian-classical"]
    for each in found["mechanisms"]:
        assert each["words"] == 300
        assert each["words_per_second_audit"] > 0
        assert each["ratio"] == pytest.approx(
            each["words_per_second"] / each["faiss_words_per_second"]
        )
        assert 20 < each["peak_mb"] < 2000
        assert 0 < each["startup_seconds"] < 60
        assert 0 < each["first_line_seconds"] < 60
        assert 0 < each["bare_startup_seconds"] < 60
    assert found["mechanisms"][2]["epsilon"] <= 1  # where its theorem holds
    assert not os.listdir(tmp_path)  # the synthetic vectors and their cache are gone


def test_several_processes_beside_one(dpsan):
    arguments = ("-m", "krr", "--synthetic", "60,4", "--words", "300", "--runs", "1", "--scale=0")
    done = dpsan("bench", *arguments, "-j", "2", "--json")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    (found,) = run["mechanisms"]
    assert run["jobs"] == 2
    assert found["words_per_second_jobs"] != found["words_per_second"]
    assert found["ratio_jobs"] == pytest.approx(
        found["words_per_second_jobs"] / found["faiss_words_per_second"]
    )
    done = dpsan("bench", *arguments, "-j", "2")
    assert b"  -j 2  ratio  " in done.stdout.splitlines()[0]
    done = dpsan("bench", *arguments)
    assert b"-j" not in done.stdout  # the twin


PARENT = """
import subprocess, sys
import numpy as np
held = np.ones(75_000_000)
code = "from dpsan.analysis.bench.child import _peak; import resource; "
code += "print(_peak(), 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
subprocess.run([sys.executable, "-c", code], check=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux's ru_maxrss takes over")
def test_peak_memory_is_not_that_of_the_starting_process():
    done = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, check=True)
    own, inherited = map(int, done.stdout.split())
    assert own < 300e6
    assert inherited > 600e6  # the twin


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--synthetic", "20"), b"--synthetic must be N,D"),
        (("--synthetic", "1,3"), b"at least 2 words"),
        (("--synthetic", "9,3", "-E", "x.txt"), b"exclude each other"),
        (("--synthetic-words", "x"), b"needs --synthetic"),
        (("-m", "laplac"), b"did you mean 'laplace'?"),
        (("-E", "absent.txt"), b"absent.txt"),
    ],
)
def test_usage(dpsan, arguments, told):
    done = dpsan("bench", *arguments)
    assert done.returncode in (1, 2)
    assert told in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert done.stdout == b""
