"""Counter-fitting, as the bundled vocabulary is made with it (vocab/recipe)."""

import numpy as np
import pytest
from recipe.counter_fitting import (
    Shaping,
    constraints_of,
    counter_fit,
    read_pairs,
    word_pairs,
)

from dpsan.embeddings.training.recipe import centred
from dpsan.errors import InputError


def test_pairs(tmp_path):
    words = ["gut", "schlecht", "fein", "haus", "heim"]
    (tmp_path / "s").write_text("de_Gut de_fein\nhaus heim\nhaus baum\n\nfein gut\n")
    (tmp_path / "a").write_text("schlecht gut\nheim haus\n")
    pairs = [word_pairs(read_pairs([tmp_path / name]), words) for name in ("s", "a")]
    assert pairs == [{(0, 2), (3, 4)}, {(0, 1), (3, 4)}]
    both = constraints_of(*pairs)
    assert both.synonyms.tolist() == [[0, 2]]  # a pair in both lists is one of antonyms
    assert both.antonyms.tolist() == [[0, 1], [3, 4]]
    for bad in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError):
            read_pairs([bad])
    for line in ("CANARY", "a CANARY b"):
        (tmp_path / "s").write_text(f"gut fein\n{line}\n")
        with pytest.raises(InputError, match=r"s:2: needs two words$"):
            read_pairs([tmp_path / "s"])


def test_synonyms_come_nearer_and_antonyms_go_away():
    plain = centred(np.random.default_rng(2).normal(size=(300, 20)).astype(np.float32))
    moved = counter_fit(plain, constraints_of({(0, 1)}, {(2, 3)}), Shaping())
    assert moved[0] @ moved[1] > plain[0] @ plain[1] + 0.3
    assert moved[2] @ moved[3] < max(plain[2] @ plain[3], 0.1)
