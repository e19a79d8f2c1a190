"""The public lists of --only: made by one recipe from the sources in vocab/only."""

import json
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from support import ROOT, tables

from dpsan.only.lexicon import ORDINARY, STREETS

SOURCES = ROOT / "vocab" / "only"
FEW = {*tables("only/cases")["few"][0].split()}
POOLS = ("given_f", "given_m", "surname")


def sections(name):
    """Heads and words of a source."""
    blocks = (SOURCES / name).read_text(encoding="utf8").split("\n[")[1:]
    return [(block.split("]")[0], block.split("\n", 1)[1].split()) for block in blocks]


@pytest.mark.slow
def test_the_shipped_lists_are_what_the_recipe_makes_of_the_stored_sources(lexicon, tmp_path):
    recipe = [sys.executable, ROOT / "vocab" / "lists.py", "--out", tmp_path]
    subprocess.run(recipe, check=True, stdout=subprocess.DEVNULL)
    shipped = {file.name: file.read_bytes() for file in lexicon.folder.iterdir()}
    made = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    again = "run python vocab/lists.py and commit what it writes"
    assert sorted(made) == sorted(shipped), again
    assert [name for name in made if made[name] != shipped[name]] == [], again


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.t[xs][tv]")), ids=lambda path: path.name)
def test_each_source_names_its_licence(path):
    lines = path.read_text(encoding="utf8").split("\n")
    head = " ".join(line for line in lines[:5] if line.startswith("#"))
    licences = r"Apache-2\.0|public domain|MIT|BSD-3-Clause|CC BY 4\.0|Unicode licence"
    assert re.search(licences, head)
    assert f"`{path.name}`" in (ROOT / "vocab" / "README.md").read_text(encoding="utf8")


def test_each_label_has_at_least_twenty_words(lexicon):
    sizes = Counter()
    for column in lexicon.codes.T:
        for code, count in zip(*np.unique(column, return_counts=True), strict=True):
            sizes[lexicon.labels[code]] = max(sizes[lexicon.labels[code]], int(count))
    sizes.update(lexicon.labels[code] for code in lexicon.phrase_codes.tolist())
    small = {label for label in lexicon.labels if sizes[label] < 20}
    assert small - FEW <= {
        "acr2",
        "camel",
        "cons",
        "derived",
        "surnamepl",
        "ill",
        "medicine",
        *STREETS,
    }  # no list has a word of these


def test_a_phrase_has_at_most_four_words(lexicon):
    """Longer ones are never joined, and a word that is exchanged for one would be five words."""
    assert [line for line in lexicon.lines("phrases.txt") if line.count(" ") > 3] == []


def test_no_word_is_both_one_name_and_another(lexicon):
    """The pools of names share no word, so two people of a record never get one name."""
    pools = ("given_f", "given_m", "given_u", "given_x", "surname")
    names = Counter(word.lower() for pool in pools for word in lexicon.outputs[pool])
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("pool", POOLS)
def test_a_missed_name_that_is_a_word_hides_among_the_outputs(lexicon, pool):
    """Four to seven per cent of a pool are ordinary words in small letters."""
    labels = [lexicon.label(word.lower(), 0) for word in lexicon.outputs[pool]]
    words = [label.endswith("?") or label in ("plain", "func", "rank") for label in labels]
    assert 0.04 <= sum(words) / len(words) <= 0.07


@pytest.mark.parametrize("pool", POOLS)
def test_a_name_that_is_drawn_is_a_name_of_its_sort_or_a_word(lexicon, pool):
    """No man's name among the women's, no city or nationality among the surnames."""
    for word in lexicon.outputs[pool]:
        label = lexicon.label(word.lower(), 1)
        assert label == pool or label.endswith("?") or label in ("plain", "func", "rank"), (
            word,
            label,
        )


def test_months_of_other_languages_stay_in_their_language(lexicon):
    for word, label in (("märz", "month_de"), ("août", "month_fr"), ("febrero", "month_es")):
        assert lexicon.label(word, 0) == lexicon.label(word, 1) == label
        assert word in [output.lower() for output in lexicon.outputs[label]]


def test_ordinary_words_are_those_of_the_vocabulary_and_its_lists(lexicon):
    for word in ("cupboard", "definitely", "aardvark"):
        assert lexicon.flags[lexicon.table.row(word)] & ORDINARY
    assert not lexicon.flags[lexicon.table.row("aaberg")] & ORDINARY


def test_each_word_names_the_list_that_decided(lexicon):
    def source(word):
        return lexicon.sources[lexicon.source[lexicon.table.row(word)]]

    assert source("ibuprofen") == "health"
    assert source("aaberg") == "census"
    assert source("aachal") == "faker"
    assert source("aabenraa") == "geonames"
    assert source("cupboard") == "vocabulary"
    assert source("kubectl") == "programs"


def test_no_medicine_comes_from_a_list_of_mixed_sources():
    """The health words are written for this project; a list without a licence is none."""
    medicines = [words for head, words in sections("health.txt") if head.startswith("medicine_")]
    assert 500 < sum(map(len, medicines)) < 2000


def test_the_rules_know_every_label(lexicon):
    """A label that no rule names would pass."""
    rules = (ROOT / "dpsan" / "only" / "rules.tsv").read_text(encoding="utf8").splitlines()
    rows = [line.split("\t") for line in rules if not line.startswith("#")]
    named = {
        name
        for row in rows
        if row[0] in ("labels", "rule")
        for name in re.findall(r"[\w?]+", row[2])
    }
    passing = {"plain", "func", "title", "rank", "letter", "name?", "foreignw"}
    assert set(lexicon.labels) - named - passing == set()


def test_the_wheel_has_the_lists():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf8")
    assert '"vocab/only/lists" = "dpsan/_vocab/only/lists"' in text


def test_the_manifest_names_the_last_year(lexicon):
    manifest = json.loads((lexicon.folder / "manifest.json").read_bytes())
    assert lexicon.year == manifest["year"] == 2026


def test_each_list_of_outputs_is_drawn_by_a_rule():
    rules = {*re.findall(r"\w+", (ROOT / "dpsan" / "only" / "rules.tsv").read_text("utf8"))}
    coined = {"coined"}  # stands for others with --map
    assert {head for head, _ in sections("outputs.txt")} - rules == coined
