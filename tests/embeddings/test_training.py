"""Public text made into a vocabulary: read, counted, chosen, trained, shaped."""

import gzip
import random
import tracemalloc
from collections import Counter
from contextlib import nullcontext

import numpy as np
import pytest
from recipe.counter_fitting import Shaping, constraints_of, counter_fit, read_pairs, word_pairs
from support import cases, needs_gensim

from dpsan.embeddings import training
from dpsan.embeddings.training import packed
from dpsan.errors import InputError
from dpsan.files.compression import blocks_of


def blocks(path):
    return list(blocks_of(path, lambda _: None))


def test_blocks_end_at_empty_lines_and_after_fifty(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"\xef\xbb\xbfeins zwei\r\ndrei\n\n\n  \nvier\n" + b"x\n" * 120)
    lengths = [len(block) for block in blocks(path)]
    assert blocks(path)[0] == ["eins zwei", "drei"]
    assert lengths == [2, 50, 50, 21]
    packed = tmp_path / "t.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert blocks(packed) == blocks(path)
    path.write_bytes(b"some words\n" * 30_000)
    told = []
    assert sum(map(len, blocks_of(path, told.append))) == 30_000
    assert sum(told) == path.stat().st_size


def test_long_lines_are_read_in_pieces_without_loss(tmp_path):
    generator = random.Random(1)
    words = ["".join(generator.choices("aäß名𝔘", k=generator.randint(1, 9))) for _ in range(900)]
    path = tmp_path / "t.txt"
    path.write_text(" ".join(words * 700), encoding="utf-8")
    read = [line for block in blocks(path) for line in block]
    assert max(map(len, read)) < 1.5 * (1 << 20) < sum(map(len, read)) / 2
    assert " ".join(read).split() == words * 700


PACKED = gzip.compress(b"word " * 9999)


@cases(
    "name data why",
    ("late.txt", b"gut\n" * 200_000 + b"sch\xf6n\n", r"late\.txt:200001: not UTF-8 \(iconv"),
    ("cut.gz", PACKED[:-20], "gzip data ends too early"),
    ("bad.gz", PACKED[:20] + b"\xff" * 40, "damaged gzip data"),
    (".", None, "is a directory"),
    ("none.txt", None, "no such file"),
)
def test_texts_that_cannot_be_read(tmp_path, name, data, why):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=why) as caught:
        blocks(tmp_path / name)
    assert "sch" not in str(caught.value)


def test_memory_does_not_grow_with_the_text(tmp_path, monkeypatch):
    """Nor with the number of different words: the rarest are forgotten."""
    monkeypatch.setattr(training, "_MOST", 500)
    monkeypatch.setattr(training, "_CACHED", 500)
    text = training.TokenText(tmp_path / "tokens")
    tracemalloc.start()
    peaks = []
    for number in range(200):
        text.add([f"the cat saw x{number}a{at}" for at in range(20)])
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    text.finish()
    assert peaks[199] < 1.3 * peaks[60]
    assert (text.running, text.tokens["the"], text.blocks["cat"]) == (16_000, 4000, 200)
    assert len(text.tokens) <= 500


def test_the_training_text_has_every_block_once(tmp_path):
    text = training.TokenText(tmp_path / "tokens")
    for number in range(40):
        text.add([f"Block{number} self-made rare", "the end"])
    text.finish()
    text.write_training_text(tmp_path / "text", "rare".__ne__, np.random.default_rng(1))
    lines = (tmp_path / "text").read_text().splitlines()
    firsts = [line for line in lines if line != "the end"]
    expected = [f"block{number} self made" for number in range(40)]
    assert sorted(firsts) == sorted(expected)
    assert firsts != expected
    assert lines.count("the end") == 40


def test_admissible():
    good = "haus straße l'homme don't naïve 7 1999 3,5 дом 名前 aujourd'hui"
    bad = "a@b.de http://x.org 12345678 maria's self-made ''' - _x 3.14159 x9y"
    assert [word for word in good.split() if not training.admissible(word)] == []
    assert [word for word in bad.split() if training.admissible(word)] == []


def test_the_words_of_widest_use_are_chosen():
    width = {"the": 90.0, "made": 20.0, "self-made": 95.0, "self": 1.0, "rare": 50.0, "317": 30.0}
    total = Counter({"the": 900, "made": 200, "self-made": 99, "self": 9, "rare": 3, "317": 40})
    assert training.most_used(width, total, 3, 5) == {"the", "made", "317"}
    assert training.most_used(width, total, 2, 5) == {"the", "made"}  # 317 needs twice the use
    assert training.most_used({}, Counter(), 9, 5) == frozenset()


DIGITS = str.maketrans("0123456789", "abcdefghij")
GROUPS = ("Berlin Hamburg Dresden Leipzig", "rot blau grün gelb", "eins zwei drei vier")


def sentences(count, seed=3):
    """Sentences of 120 words in four kinds; the words of a kind can stand for each other."""
    generator = random.Random(seed)
    fillers = [[f"{kind}{at:02d}".translate(DIGITS) for at in range(36)] for kind in "xyz"]
    kinds = [group.split() + more for group, more in zip(GROUPS, fillers, strict=True)]
    for _ in range(count):
        at = generator.randrange(3)
        a, b, c, d = (generator.choice(kinds[at]) for _ in range(4))
        frame = ("fahren", "malen", "zählen")[at]
        yield f"Wir {frame} heute von {a} nach {b} oder {c} und {frame} dann {d} wieder."


def small(path):
    return training.Recipe([path], least=5, dimensions=16, epochs=4, sample=1e-2)


@needs_gensim
def test_a_small_vocabulary(tmp_path):
    text = tmp_path / "t.txt"
    text.write_text("\n".join(sentences(1500)), encoding="utf-8")
    steps = []

    def watch(what):
        return nullcontext(lambda share: steps.append((what, share)))

    made = training.train(small(text), tmp_path, watch)
    assert 125 <= len(made.words) <= 140
    assert made.vectors.shape == (len(made.words), 16)
    assert (np.diff(made.counts) <= 0).all()
    running = Counter(text.read_text().replace(".", "").lower().split())
    assert dict(zip(made.words, made.counts.tolist(), strict=True)) == running
    assert made.running == running.total()
    assert made.known == 1.0
    usual = dict(zip(made.words, made.spellings, strict=True))
    spelled = ["Berlin", "Hamburg", "rot", "wir"]
    assert [usual[w.lower()] for w in spelled] == spelled
    vectors = made.vectors.astype(np.float32)
    assert abs(vectors.mean(axis=0)).max() < 0.05
    ids = {word: row for row, word in enumerate(made.words)}
    near = np.argsort(-(vectors @ vectors[ids["blau"]]))[1:11].tolist()
    kind = {ids[w] for w in made.words if w[0] == "y" or w in ["rot", "blau", "grün", "gelb"]}
    assert len(kind.intersection(near)) >= 8
    assert [share for what, share in steps if what == "training vectors"] == [0.25, 0.5, 0.75, 1]
    again = training.train(small(text), tmp_path)
    assert again.words == made.words
    assert packed(again) == packed(made)


@needs_gensim
def test_too_little_text(tmp_path):
    text = tmp_path / "t.txt"
    few = "2 words occur 5 times or more, and 100"
    for content, why in (("", "0 words"), (" ... \n\n", "0 words"), ("the cat\n" * 50, few)):
        text.write_text(content)
        with pytest.raises(InputError, match=why):
            training.train(small(text), tmp_path)


# Counter-fitting, as the bundled vocabulary is made with it (vocab/recipe).


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
    plain = training.centred(np.random.default_rng(2).normal(size=(300, 20)).astype(np.float32))
    moved = counter_fit(plain, constraints_of({(0, 1)}, {(2, 3)}), Shaping())
    assert moved[0] @ moved[1] > plain[0] @ plain[1] + 0.3
    assert moved[2] @ moved[3] < max(plain[2] @ plain[3], 0.1)
