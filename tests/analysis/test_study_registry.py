"""The list of studies, what each takes, and what is asked of them."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from support import make_embeddings

from dpsan.analysis.study import STUDIES, study
from dpsan.analysis.study.base import Result
from dpsan.analysis.study.record import as_csv, as_dict
from dpsan.analysis.study.request import dimensions, drafts, numbers
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.space.metric_space import MetricSpace

NAMES = (
    *("neighbours", "proportions", "dot-product", "deniability"),
    *("theorems", "variance", "utility", "robustness", "frontier", "equal", "linkage"),
)
FOLDER = Path(importlib.import_module("dpsan.analysis.study").__file__).parent


def module(name):
    return name.replace("-", "_")


def present(name):
    return (FOLDER / f"{module(name)}.py").is_file()


def test_every_study_is_listed():
    assert tuple(STUDIES) == NAMES


def test_every_study_exists():
    missing = [name for name in STUDIES if not present(name)]
    assert not missing


@pytest.mark.parametrize("name", [name for name in NAMES if present(name)])
def test_modules_run_as_listed(name):
    import inspect

    run = importlib.import_module(f"dpsan.analysis.study.{module(name)}").run
    assert list(inspect.signature(run).parameters) == ["space", "asked"]


def test_the_list_is_light():
    code = "import sys, dpsan.analysis.study\nsys.exit(bool({'numpy', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_what_a_study_has_no_use_for(space):
    with pytest.raises(UsageError, match="did you mean 'neighbours'"):
        study("neighbors", space)
    with pytest.raises(UsageError, match="takes no mechanisms"):
        study("neighbours", space, mechanisms=drafts(["krr"], {}, [], {})[0])
    with pytest.raises(UsageError, match="takes no draws"):
        study("variance", draws=5)
    with pytest.raises(UsageError, match="parameter of study variance"):
        study("variance", parameters={"detla": "1"})


@pytest.mark.parametrize("name", [name for name in NAMES if STUDIES[name].least_words])
def test_vocabularies_that_are_too_small(name):
    with pytest.raises(UsageError, match=f"study {name} needs a vocabulary$"):
        study(name)
    least = STUDIES[name].least_words
    if least > 2:
        with pytest.raises(UsageError, match=f"needs a vocabulary of at least {least} words"):
            study(name, MetricSpace(make_embeddings(n=least - 1)))


def test_numbers():
    assert numbers(["1,2.5", "0.5", "1"], "x") == (0.5, 1.0, 2.5)
    for wrong in ("0", "-1", "a", "1,,2", "inf", "nan"):
        with pytest.raises(UsageError, match="x must be > 0"):
            numbers([wrong], "x")
    assert dimensions(None, (3,)) == (3,)
    assert dimensions("50,7", ()) == (7, 50)
    for wrong in ("1", "a", "2.5", ""):
        with pytest.raises(UsageError, match="whole numbers"):
            dimensions(wrong, ())


def test_parameters_go_where_they_belong():
    names = ["knn-response", "gaussian"]
    found, own = drafts(names, {"k": "5", "delta": "1e-3", "d": "4"}, ["d"], {})
    assert [draft.kind for draft in found] == [MECHANISMS[name] for name in names]
    assert [dict(draft.values) for draft in found] == [{"k": "5"}, {"delta": "1e-3"}]
    assert own == {"d": "4"}
    with pytest.raises(UsageError, match="did you mean 'delta'"):
        drafts(names, {"dleta": "1"}, [], {})
    with pytest.raises(UsageError, match="k must be"):
        drafts(names, {"k": "five"}, [], {})
    with pytest.raises(UsageError, match="unknown mechanism"):
        drafts(["laplce"], {}, [], {})
    with pytest.raises(UsageError, match="needs a --mechanism"):
        drafts([], {"k": "5"}, [], {})


def test_record(embeddings, space):
    result = study("neighbours", space, words=0)
    record = as_dict(result, embeddings, "1", "dpsan study neighbours")
    assert record["name"] == "neighbours"
    assert record["words"] == space.n
    assert record["embeddings"] == {
        "source": "made-up",
        "digest": embeddings.digest,
        "n": space.n,
        "d": space.d,
    }
    assert set(record["versions"]) == {"dpsan", "numpy", "faiss"}
    assert as_csv(result).splitlines()[0] == ",".join(result.columns)
    assert as_csv(result).splitlines()[3] == "gap_1_101,0,,,,,"
    twice = Result((), {}, {"seed": 1})
    with pytest.raises(ValueError, match="seed"):
        as_dict(twice, None, "", "")
