"""Classes of words: what is drawn, what passes, the exact loss, and mutants that verify catches."""

import itertools
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from analysis.test_certificate_file import lines_of, sealed, written
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, cases, fits, largest_ratio, make_embeddings, marked, tables

from dpsan.analysis.verify import program
from dpsan.analysis.verify import verdict as verifying
from dpsan.embeddings.word_lists import word_classes
from dpsan.errors import InputError, UsageError
from dpsan.mechanisms.tables import sparse as response
from dpsan.only.alone import alone
from dpsan.privacy.certificate import matrix_certificate
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize import classes
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement

KEY = b"k" * 32
WORDS = [f"w{chr(97 + at // 26)}{chr(97 + at % 26)}x" for at in range(120)]
EMBEDDINGS = replace(make_embeddings(n=120, d=4), index_to_key=WORDS)
KEPT, VIOLATED = verifying.Verdict.KEPT, verifying.Verdict.VIOLATED


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Two classes of a small vocabulary without meaning: the first 90 words, and ten others."""
    folder = tmp_path_factory.mktemp("classes")
    large, small = folder / "large.txt", folder / "small.txt"
    large.write_text("\n".join(WORDS[:90]))
    small.write_text("\n".join(WORDS[90:100]))
    return f"{large},{small}"


def made(mechanism="optimal-response", epsilon=None, **classes):
    return Sanitizer(mechanism, epsilon=epsilon, embeddings=EMBEDDINGS, **classes)


PIECES = ["the", "xqzv", "so", "xqzv", "A,", "of", "a", "Boston,", "an", "US", "so", "Maria", "met"]
PIECES += ["Dr.", "well-known", "it's", "(and)", '"so"', "don\u2019t", "caf\xe9", "e.g."]
PIECES += ["na\xefve\u200bte", "ko-\u00ad", "12", "$5.", "", "\n"]
PASSING = [{"unknown": "mask", "keep": ["so"], "case": "vocabulary"}, {"keep": ["us", "so"]}]
bundled = cache(lambda at: Sanitizer(epsilon=4.0, **PASSING[at]))


@given(pieces=st.lists(st.sampled_from(PIECES)), seed=st.binary(), at=st.sampled_from([0, 1]))
def test_words_that_pass_in_a_row_are_copied_at_once(pieces, seed, at):
    """With an audit each word is written by itself: the lines are the same."""
    key = derive_key(bytes(32), seed.hex())
    texts = ["", *" ".join(pieces).split("\n"), " ".join(PIECES) * 20, " ".join([*pieces, "one"])]
    alone = bundled(at).sanitize(texts, key, audit=True).lines
    assert bundled(at).sanitize(texts, key).lines == alone


OPTIMAL = [("optimal-response", epsilon) for epsilon in (4.0, 12.0)]


@cases("mechanism epsilon", *OPTIMAL, ("knn-response", 8.0))
def test_classes_beside_other_words_cost_no_more_than_epsilon(own, epsilon, mechanism):
    """A group is one more input: its words have one row, and no ratio is above e^epsilon."""
    one = made(mechanism, epsilon, classes=own)
    n, sampler = one.space.n, one.sampler
    pmf = sampler.probabilities(np.arange(n + 1))
    assert pmf.sum(axis=1) == pytest.approx(1)
    loss = math.log(largest_ratio(sampler.weights(np.arange(n + 1)), range(n + 1)))
    # The base is raised for classes, here for most outputs: so the loss stays below epsilon.
    assert epsilon - 0.5 < loss <= one.guarantee.epsilon_ldp + 1e-12
    assert one.guarantee.epsilon_ldp == pytest.approx(epsilon, abs=1e-9)
    assert sampler.certificate().epsilon_ldp == pytest.approx(loss, abs=1e-9)
    assert matrix_certificate(pmf).epsilon_ldp == pytest.approx(loss, abs=1e-9)
    for group in one.mechanism.groups:
        of_group = pmf[list(group.rows)]
        assert np.ptp(of_group, axis=0).max() == 0
        assert of_group[0, list(group.related)].sum() > 0.5
    first, second = sampler.certificate().pair  # its worst pair has that loss
    outputs = pmf[second] > 0
    worst = float(np.log(pmf[first, outputs] / pmf[second, outputs]).max())
    assert worst == pytest.approx(loss, abs=1e-6)
    assert not np.array_equal(pmf[0], pmf[n])  # ⊥ is another input


def drawn(one, row, sizes):
    streams = streams_for(derive_key(KEY, row), range(sizes), [1] * sizes)
    return np.bincount(one.sampler.sample(np.full(sizes, row), streams), minlength=one.space.n)


def test_draws_have_the_distribution(own):
    two = made(epsilon=6.0, classes=own)
    for row, other in ((3, 95), (95, 3), (110, 3), (two.space.n, 3)):
        counts = drawn(two, row, 20_000)
        right, wrong = two.sampler.probabilities(np.array([row, other]))
        assert fits(counts, right)
        assert not fits(counts, wrong)  # the twin


def test_lists_of_words_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a=3").write_text("# projects\nMaria\nAtlas\n")
    assert [word_class.name for word_class in word_classes("names, a=3")] == ["a=3", "names"]
    one = Sanitizer(epsilon=12.0, classes="names,a=3")
    assert one.grouping.rows[0].name == "a=3"  # and maria is in it
    assert one.embeddings.key_to_index["maria"] in one.grouping.rows[0].rows
    Path("codes.txt").write_text("# projects\nMP3\n4471\nMary\nJohn\n")
    one = Sanitizer(epsilon=12.0, classes="codes.txt")  # what is listed, whatever its kind
    codes = [one.input_of(word) for word in ("mp3", "4471", "mary", "4472")]
    assert codes[1] == one.space.n + 6
    assert len({int(one.grouping.kinds[code]) for code in codes[:3]}) == 1
    assert codes[3] == one.space.n
    Path("several.txt").write_text("# streets\nMary\nOld Mill\n")
    with pytest.raises(InputError, match=r"several\.txt:3: not one token"):
        Sanitizer(epsilon=12.0, classes="several.txt")
    Path("few.txt").write_text("Mary\nqzxjk\n")
    with pytest.raises(UsageError, match=r"only one word of the class few\.txt"):
        Sanitizer(epsilon=12.0, classes="few.txt")
    Path("empty.txt").write_text("# none\n")
    with pytest.raises(InputError, match="lists no word"):
        word_classes("empty.txt")
    Path("strange.txt").write_text("qzxjk\n")
    with pytest.raises(UsageError, match=r"no word of the class strange\.txt"):
        Sanitizer(epsilon=12.0, classes="strange.txt")


NEEDS_NONE = "needs no epsilon: which word of its group stood there is hidden"
GIVEN = {"namse": "no class and no file 'namse'", "names=2": f"the class names {NEEDS_NONE}"}
GIVEN |= {"names=0": NEEDS_NONE, "names=nan": NEEDS_NONE, "": "no class of words is named"}
GIVEN |= {"names,names": "the class names is named twice", "names=two": "no class and no file"}
GIVEN |= {"sensitive,places": "the class places is named twice"}
EXCLUDED = [
    *(({"classes": given_, "epsilon": 12.0}, message) for given_, message in GIVEN.items()),
    ({"classes": "names", "public": "function", "epsilon": 12.0}, "exclude public words"),
    ({"classes": "names"}, "epsilon is required"),
    ({"classes": "names", "only": "places"}, "only and class exclude"),
    (
        {"classes": "names", "mechanism": "laplace", "epsilon": 12.0},
        "'laplace' has no classes of words",
    ),
]


@pytest.mark.parametrize(("given_", "message"), EXCLUDED)
def test_what_classes_exclude(given_, message):
    with pytest.raises(UsageError, match=message):
        Sanitizer(**given_)


KINDS = {kind: tokens.split(" | ") for kind, tokens in tables("sanitize/cases")["kinds"]}


@pytest.mark.parametrize(("kind", "tokens"), KINDS.items())
def test_kinds_of_strings(kind, tokens):
    """A made-up string is one token of the same kind, at both ends of its range."""
    split = Sanitizer(epsilon=8.0, classes="contacts,ids", numbers="value").inputs_of
    for found in map(alone().kind, tokens):
        assert (found and f"{found.word_class} {found.group}") == (None if kind == "-" else kind)
        ends = [[0] * len(found.sizes), [size - 1 for size in found.sizes]] if found else []
        for numbers in ends:
            written = found.write(numbers)
            assert len(split(written)) == 1
            assert alone().kind(written)[:2] == found[:2]


def test_ordinals_and_decades():
    """What most numbers with letters after them are is written as English has it."""
    written = {token: every(token) for token in ("4th", "22nd", "101st", "1990s", "70s")}
    assert written["4th"] == {"2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th"}
    assert written["22nd"] >= {"11th", "12th", "13th", "21st"}
    assert {"111th", "122nd", "201st"} <= written["101st"]
    assert {"1850s", "2020s"} <= written["1990s"]
    assert written["70s"] == {f"{tens}0s" for tens in range(2, 10)}


def every(token):
    """All strings of a small kind."""
    kind = alone().kind(token)
    (size,) = kind.sizes
    return {kind.write([number]) for number in range(size)}


@given(share=st.floats(0, 1, exclude_max=True))
def test_no_card_number_and_no_iban_is_valid(share):
    """No issuer has numbers that begin with 0, and no valid IBAN has the digits 00 or 01."""

    def written(token):
        kind = alone().kind(token)
        return kind.write([int(share * size) for size in kind.sizes]).replace(" ", "")

    card = written("4511 8170 8658 0174")
    assert (len(card), card[0]) == (16, "0")
    assert written("GB29NWBK60161331926819")[2:4] in ("00", "01")


@given(text=st.text(min_size=1, max_size=30))
def test_the_kind_depends_on_the_shape_alone(text):
    swapped = text.translate({ord("7"): "3", ord("q"): "k", ord("Q"): "K"})
    assert alone().kind(text) == alone().kind(swapped)


TOKENS = [token for kind, tokens in KINDS.items() if kind != "-" for token in tokens]


@given(token=st.sampled_from(TOKENS), chosen=st.lists(st.integers(0, 9), min_size=40, max_size=40))
def test_no_letter_and_no_digit_of_a_string_shows_in_its_kind(token, chosen):
    rest = iter(chosen)
    changed = re.sub("[0-9]", lambda _: str(next(rest)), token)
    changed = re.sub("(?<!w)[a-vxyz](?![a-z]*\\.)", lambda _: "qjzxkvbgfd"[next(rest)], changed)
    assert alone().kind(changed) == alone().kind(token)


def test_words_have_the_group_of_their_list():
    """In every letter case; words that are mostly other words have none."""
    words = "maria smith paris london monday ibuprofen american microsoft b qzxvk the new young"
    found = ["given_f", "surname", "city", "citygb", "day", "medicine", "nat", "orgco", "initial"]
    assert alone().groups(words.split()) == [*found, *[None] * 4]
    one = Sanitizer(epsilon=12.0, classes="sensitive")
    first = [code for _, code in one.inputs_of("Qendrim QENDRIM qendrim Maria MARIA")]
    assert (len({*first[:3]}), len({*first[3:]})) == (1, 1)
    assert one.space.n + 6 <= one.input_of("kowalczyk") < one.space.n + 6 + len(one.grouping.rows)


FORGED = {
    "the loss is more": lambda claim, rows: rows[3].__setitem__(1, rows[3][1] * 40),
    "names an output twice": lambda claim, rows: rows[95].extend(rows[95][:2]),
    "not a row for every word": lambda claim, rows: rows.pop(),
}


@pytest.fixture
def checked(monkeypatch, tmp_path, capsys):
    """What docs/check_certificate.py says of lines that are sealed with the digest they have."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    check = import_module("check_certificate").check

    def checked(lines):
        path = tmp_path / "sealed.json"
        path.write_bytes(sealed(lines))
        check(path)
        return capsys.readouterr().out

    return checked


@pytest.mark.parametrize("epsilon", [4.0, 12.0])
def test_the_certificate_with_classes(own, epsilon, tmp_path, checked):
    """Checked without dpsan; what is forged is rejected for the reason that it has."""
    one, path = made(epsilon=epsilon, classes=own), tmp_path / "c.json"
    lines = lines_of(written(path, one))
    told = checked(lines)
    printed = float(told.split("PROVED: epsilon ")[1].split(",")[0])
    certified = one.sampler.certificate().epsilon_ldp
    assert certified <= printed <= certified + 2e-9
    assert ", delta 0, for 120 words and any other string\n" in told
    if epsilon == 12:
        command = [sys.executable, ROOT / "docs" / "check_certificate.py", path]
        assert subprocess.check_output(command, text=True) == told
        for reason, change in FORGED.items():
            claim, *rows = json.loads(json.dumps(lines))
            change(claim, rows)
            with pytest.raises(ValueError, match=reason):
                checked([claim, *rows])


def test_classes_of_the_bundled_lists_beside_other_words():
    """Names become names and strings of a kind such strings; every draw costs epsilon."""
    one = Sanitizer(epsilon=12.0, classes="sensitive")
    assert one.guarantee.epsilon_ldp == pytest.approx(12, abs=1e-9)
    pairs = zip(one.mechanism.groups, one.grouping.rows, strict=True)
    names = next(group.related for group, listed in pairs if listed.name == "names")
    lines = one.sanitize(["maria"] * 400, KEY).lines
    rows = [one.embeddings.key_to_index[line.lower()] for line in lines]
    assert np.isin(rows, names).sum() > 350
    assert sum(line == "Maria" for line in lines) < 20
    assert re.fullmatch(r"[a-z]+[0-9]{2}@example\.net", one.rewrite("bob@mail.com"))
    totals, whole = one.accountant(), one.accountant()
    totals.add([one.sanitize(["maria met bob@example.net"], KEY)])
    assert totals.composed(totals.largest_record).epsilon == pytest.approx(36, abs=1e-8)
    whole.merge(totals)
    line = Statement(whole, one.mechanism.name, 0.5).lines()[0]
    assert "LDP epsilon 12 per word, 36" in line


def test_a_neighbour_decides_nothing_with_an_epsilon():
    """The group of a word is a function of the word alone: else its neighbour would lose more."""
    one = Sanitizer(epsilon=12.0, classes="sensitive")
    words = "maria young street king new york in may 4 the mr. kg"
    for first, second in itertools.product(words.split(), repeat=2):
        codes = [code for _, code in one.inputs_of(f"{first} {second}")]
        alone = [code for word in (first, second) for _, code in one.inputs_of(word)]
        assert codes == alone


@pytest.mark.parametrize("broken", marked("slow", [False, True], False))
def test_verify_of_classes_beside_other_words(broken, monkeypatch):
    if broken:  # the row of a group has weights of more than e^epsilon
        true = response.near_set

        def larger(group, base, n):
            row = true(group, base, n)
            return {**row, "ends": 3 * row["ends"]}

        monkeypatch.setattr(response, "near_set", larger)
    one = Sanitizer(epsilon=12.0, classes="names,contacts", vocab_size=3000)
    found = verifying.verify(one, draws=5_000 if broken else 20_000)
    assert found.verdict == (VIOLATED if broken else KEPT)


@pytest.mark.parametrize("broken", [False, True])
def test_verify_looks_up_the_words_of_a_list_of_ones_own(broken, tmp_path, monkeypatch):
    (tmp_path / "codes.txt").write_text("Mary\nJohn\nqzxjkv\n")
    if broken:  # listed words that the vocabulary lacks are drawn like others
        made_rules = classes.ClassRules
        monkeypatch.setattr(classes, "ClassRules", lambda *given: made_rules(given[0], {}.get))
    one = Sanitizer(epsilon=12.0, classes=str(tmp_path / "codes.txt"), keep=["john"])
    check = program.classes(one.by_text(), key=KEY)
    assert check.figures == {"words": 3, "passed": 3 * broken}
    assert check.held is not broken


@pytest.mark.slow
def test_strings_of_a_kind_without_words_of_a_class():
    """Contacts become made-up strings; numbers and other words are drawn as ever."""
    one = Sanitizer(epsilon=8.0, classes="contacts,ids", vocab_size=3000)
    n, text = one.space.n, "call 555-0199 or 42 or bob@example.net, MP3"
    codes = [code for _, code in one.inputs_of(text)]
    assert [code > n for code in codes] == [False, True, False, False, False, True, True]
    output = one.rewrite(text)
    assert " 555-01" in output
    assert "@example.net" in output
    found = verifying.verify(one, draws=10_000)
    assert found.verdict is KEPT
    assert [each.option for each in found.configuration] == ["class"]
    both = Sanitizer(epsilon=8.0, classes="contacts,ids", numbers="value", vocab_size=3000)
    drawn_apart = [code > n for _, code in both.inputs_of(text)]
    assert drawn_apart == [False, True, False, True, False, True, True]
