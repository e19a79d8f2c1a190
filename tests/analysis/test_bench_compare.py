"""``dpsan bench --compare``: ratios of a stored run beside those of this one."""

import copy
import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import dpsan.analysis.bench as bench
from dpsan.analysis.bench import Benchmark, Measured
from dpsan.analysis.bench.comparison import compared, read_stored
from dpsan.analysis.bench.scale import Scale, scale
from dpsan.cli.app import app
from dpsan.errors import DpsanError, InputError
from dpsan.sanitize.request import RunSpec

RUN = {
    "machine": {"dpsan": "0.1.0"},
    "embeddings": {"n": 60, "d": 4},
    "mechanisms": [
        {
            "mechanism": name,
            "words_per_second": 1000.0,
            "words_per_second_audit": 900.0,
            "ratio": 2.0,
            "ratio_audit": 1.8,
            "startup_seconds": 0.6,
            "first_line_seconds": 0.7,
            "bare_startup_seconds": 0.5,
        }
        for name in ("krr", "uniform")
    ],
    "scale": {
        "mechanism": "krr",
        "jobs_gain": 1.8,
        "seconds_per_file": 0.004,
        "bare_seconds_per_file": 0.002,
    },
}
STARTS = {"startup_seconds": 0.6, "first_line_seconds": 0.7, "bare_startup_seconds": 0.5}
MEASURED = Measured("krr", 8.0, 300, 1000.0, 900.0, 500.0, 2.0, 1.8, 90.0, **STARTS)


def stored(folder, run=RUN):
    path = folder / "run.json"
    path.write_text(json.dumps(run))
    return path


def test_verdicts_by_hand(tmp_path):
    run = copy.deepcopy(RUN)
    # Twice as slow a machine: no ratio knows of it.
    for name in ("words_per_second", "words_per_second_audit"):
        run["mechanisms"][0][name] /= 2
    assert {each.verdict for each in compared(run, read_stored(stored(tmp_path)), 0.01)} == {"same"}
    run["mechanisms"][0] |= {"ratio": 1.0, "startup_seconds": 0.3, "first_line_seconds": 0.8}
    run["mechanisms"][1]["words_per_second_audit"] = 1200.0
    run["scale"]["seconds_per_file"] = 0.008
    found = compared(run, read_stored(stored(tmp_path)), 0.2)
    other = {
        (each.mechanism, each.quantity): (each.verdict, round(each.percent))
        for each in found
        if each.verdict != "same"
    }
    assert len(found) == 12
    assert other == {
        ("krr", "speed / bare FAISS"): ("worse", -50),
        ("krr", "start / least start"): ("better", -50),
        ("uniform", "speed with audit / without"): ("better", 33),
        ("krr", "small file / bare write"): ("worse", 100),
    }
    assert ("krr", "first line / least start") not in other  # 14 % more: within the tolerance


def test_a_run_before_there_was_a_scale(tmp_path):
    old = {key: value for key, value in RUN.items() if key != "scale"}
    assert len(compared(RUN, read_stored(stored(tmp_path, old)), 0.2)) == 10
    assert len(compared(old, read_stored(stored(tmp_path)), 0.2)) == 10


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word1",
        "[]",
        "null",
        '{"mechanisms": 3}',
        json.dumps(RUN | {"embeddings": None}),
        json.dumps(RUN | {"mechanisms": [{"mechanism": "krr"}]}),
        json.dumps(RUN | {"mechanisms": [RUN["mechanisms"][0] | {"ratio": 0.0}]}),
        json.dumps(RUN | {"mechanisms": [RUN["mechanisms"][0] | {"bare_startup_seconds": 0}]}),
    ],
)
def test_what_is_no_run_is_one_line(tmp_path, text):
    path = tmp_path / "secret"
    path.write_text(text)
    with pytest.raises(InputError, match="not a run of dpsan bench, or of another version") as told:
        read_stored(path)
    assert "word1" not in str(told.value)
    with pytest.raises(InputError, match="no such file"):
        read_stored(tmp_path / "absent")


def run(monkeypatch, tmp_path, *arguments, n=60, ratio=2.0):
    """The command, its measuring replaced."""

    def measured(kinds, task, progress, *, size, like):
        assert [kind.name for kind in kinds] == ["krr", "uniform"]
        assert size == 3_000_000
        assert (like.n, like.d) == (60, 4)
        many = Scale("krr", 3.0, 1.9, 256, 0.003, 0.002)
        return Benchmark(n, 4, [bench.replace(MEASURED, ratio=ratio)], 500.0, many)

    monkeypatch.setattr(bench, "bench", measured)
    arguments = ["bench", "--compare", str(stored(tmp_path)), "--scale", "3", *arguments]
    return CliRunner().invoke(app, [*arguments, "--synthetic", "60,4"])


def test_command(monkeypatch, tmp_path):
    done = run(monkeypatch, tmp_path)
    assert done.exit_code == 0, done.output
    assert "0 worse by more than 25 %" in done.stdout
    assert "-j 2 is 1.90 times as fast as -j 1" in done.stdout
    done = run(monkeypatch, tmp_path, ratio=1.0)
    assert done.exit_code == 1
    assert "1 worse by more than 25 %" in done.stdout
    done = run(monkeypatch, tmp_path, "--tolerance", "110", ratio=1.0)
    assert done.exit_code == 0
    done = run(monkeypatch, tmp_path, "--json", ratio=1.0)
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert [each["verdict"] for each in found["comparison"]].count("worse") == 1
    assert found["scale"]["jobs_gain"] == 1.9


def test_refused_before_anything_is_measured(dpsan, tmp_path):
    path = str(stored(tmp_path))
    done = dpsan("bench", "--compare", path, "--synthetic", "50,4", "--words", "100")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"the stored run is of 60 words x 4, this one of 50 x 4" in done.stderr
    done = dpsan("bench", "--compare", path, "-m", "laplace")
    assert done.returncode == 2
    assert b"laplace is not in the stored run" in done.stderr


def test_scale_measures_whole_commands(monkeypatch, tmp_path):
    text = tmp_path / "text"
    text.write_text("the house of the river.\n" * 400)
    commands, status = [], 0

    def ran(command, **_):
        inputs = [Path(each) for each in command if Path(each).is_file()][1:]  # behind Python
        commands.append((command[command.index("--force") + 1 :], [each.stat() for each in inputs]))
        assert b"".join(each.read_bytes() for each in inputs).endswith(b"river.\n")
        return SimpleNamespace(returncode=status)

    monkeypatch.setattr(subprocess, "run", ran)
    spec = RunSpec(epsilon=8, mechanism="krr")
    found = scale(spec, tmp_path / "cache", text, 40_000, 1)
    assert (found.mechanism, found.files, found.megabytes) == ("krr", 256, 0.040008)
    assert [command[:2] for command, _ in commands[:4]] == [["-j", "1"]] * 2 + [["-j", "2"]] * 2
    sizes = [sum(each.st_size for each in read) for _, read in commands]
    assert sizes[:4] == [40_008, 5_016] * 2
    assert [len(read) for _, read in commands[4:]] == [1, 256]
    assert all(1024 <= each.st_size <= 1100 for each in commands[5][1])
    status = 1
    with pytest.raises(DpsanError, match="a run that was measured failed"):
        scale(spec, tmp_path / "cache", text, 40_000, 1)
