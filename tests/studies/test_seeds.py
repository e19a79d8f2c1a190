"""Studies with several seeds: means, Student's intervals, LaTeX, PDF."""

import json

import numpy as np
import pytest
import tgumbel
from common.command import run
from common.panels import Panel, Series
from common.seeds import with_seeds
from common.study import Result
from curse import STUDIES
from scipy import stats
from support import need_extra

from dpsan.embeddings.words import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.space.metric_space import MetricSpace

SMALL = ["figure-4", "--d", "4", "--draws", "50"]


def made(**values):
    """A study whose figure is the seed's last digit."""

    def make(seed, progress):
        number = float(seed[-1])
        row = {"name": "a", "share": number, "share_low": 0.0, "share_high": number + 1, "n": 7}
        row |= {name: found(number) for name, found in values.items()}
        line = Series("a", (1.0, 2.0), (number, 5.0))
        return Result([row], {}, panels=[Panel("t", "x", "y", (line,))], caption="A figure.")

    return make


def test_means_and_students_interval():
    found = with_seeds(made(), "k", 5, lambda _: None)
    (row,), (line,) = found.rows, found.panels[0].series
    low, high = stats.t.interval(0.95, 4, loc=3.0, scale=stats.sem([1, 2, 3, 4, 5]))
    assert (row["name"], row["share"], row["n"]) == ("a", 3.0, 7)
    assert (row["share_low"], row["share_high"]) == pytest.approx((low, high))
    assert found.columns == ("name", "share", "share_low", "share_high", "n")
    assert (line.y, line.low) == ((3.0, 5.0), pytest.approx((low, 5.0)))
    assert "Means over 5 seeds" in found.caption


def test_what_has_no_mean():
    (row,) = with_seeds(made(other=lambda n: None if n == 2 else n), "k", 3, lambda _: None).rows
    assert row["other"] is row["other_low"] is None
    with pytest.raises(UsageError, match="other things with another seed"):
        with_seeds(made(name=str), "k", 2, lambda _: None)


def test_seeds_are_different_draws_and_repeat(capsys):
    rows = []
    for words in (["--seeds", "3"], ["--seeds", "3"], ["--seed", "1-1"], ["--seed", "1-2"]):
        run(STUDIES, [*SMALL, *words, "--json"], "curse.py")
        rows.append(json.loads(capsys.readouterr().out)["rows"][0])
    assert rows[0] == rows[1]
    assert rows[2]["monte_carlo"] != rows[3]["monte_carlo"]
    assert rows[0]["monte_carlo_low"] < rows[0]["monte_carlo"] < rows[0]["monte_carlo_high"]
    with pytest.raises(UsageError, match="--seeds must be >= 1"):
        run(STUDIES, [*SMALL, "--seeds", "0"], "curse.py")
    run(STUDIES, ["table-2", "--vocab-size", "200", "--words", "0", "--seeds", "2"], "curse.py")
    assert "nothing here depends on the seed" in capsys.readouterr().err


def test_a_pdf(tmp_path, monkeypatch):
    need_extra("plot")
    monkeypatch.chdir(tmp_path)
    for name in ("one.pdf", "two.pdf"):
        run(STUDIES, [*SMALL, "--plot", name, "-q"], "curse.py")
    one, two = (path.read_bytes() for path in tmp_path.iterdir())
    assert one == two
    assert one.startswith(b"%PDF")


def test_members_are_found_unless_the_words_are_redrawn(tmp_path):
    """Texts of words of their own: learnt as they are all are found, redrawn at 1e-6 none."""
    need_extra("evaluate")
    words = [f"w{at}" for at in range(600)]
    vectors = np.random.default_rng(1).normal(size=(600, 4)).astype(np.float32)
    embeddings = Embeddings(words, vectors, "made-up", "own words")
    lines = [f"{' '.join(words[6 * at : 6 * at + 6])}\t{'ud'[at // 2 % 2]}" for at in range(100)]
    (tmp_path / "t.tsv").write_text("text\tlabel\n" + "\n".join(lines) + "\n")
    given = {"mechanisms": [Draft(MECHANISMS["krr"])], "epsilons": (1e-6, 30.0)}
    given["parameters"] = {"train": str(tmp_path / "t.tsv"), "text": "text", "label": "label"}
    study = tgumbel.STUDIES["membership"]
    found = study.make(MetricSpace(embeddings), embeddings=embeddings, **given)
    alone, hidden, shown = (row["auc"] for row in found.rows)
    assert alone == shown > 0.95
    assert 0.3 < hidden < 0.7
