"""Classes of words: what is drawn, what passes, the exact loss, and mutants that verify catches."""

import json
import math
import pickle
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from analysis.test_certificate_file import lines_of, sealed, written
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, fits, make_embeddings, some_mutants

from dpsan.analysis.verify import certificate_file
from dpsan.analysis.verify import verdict as verifying
from dpsan.analysis.verify.certificate_file import compare_certificate
from dpsan.embeddings.class_lists import CLASSES, bundled_class, ordinary_words, word_classes
from dpsan.errors import InputError, UsageError
from dpsan.mechanisms.optimal import class_response
from dpsan.mechanisms.optimal.class_response import ClassSampler
from dpsan.mechanisms.optimal.two_level_response import TwoLevelResponse, TwoLevelSampler
from dpsan.privacy.certificate import matrix_certificate
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize import numbers_by_value, rewriting
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement
from dpsan.sanitize.warnings import weakness
from dpsan.text import lookup
from dpsan.text.letter_case import article_for
from dpsan.text.lookup import PLAIN
from dpsan.text.made_up import made_up

KEY = b"k" * 32
WORDS = [f"w{chr(97 + at // 26)}{chr(97 + at % 26)}x" for at in range(120)]
TEXT = (
    "Maria Gonzalez met Dr. Chen at Riverside Clinic in Boston on Monday; call 555-0199 or write "
    "to maria.g@example.com."
)
EMBEDDINGS = replace(make_embeddings(n=120, d=4), index_to_key=WORDS)
KEPT, VIOLATED = verifying.Verdict.KEPT, verifying.Verdict.VIOLATED


@pytest.fixture(scope="module")
def sensitive():
    return Sanitizer(epsilon=2.0, only="sensitive")


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Two classes of a small vocabulary without meaning: the first 90 words, and ten others."""
    folder = tmp_path_factory.mktemp("classes")
    large, small = folder / "large.txt", folder / "small.txt"
    large.write_text("\n".join(WORDS[:90]))
    small.write_text("\n".join(WORDS[90:100]))
    return f"{large}=1.5,{small}=2"


def made(mechanism="optimal-response", epsilon=2.0, **classes):
    return Sanitizer(mechanism, epsilon=epsilon, embeddings=EMBEDDINGS, **classes)


def test_the_example_of_the_readme(sensitive):
    """Names become names, a day a day, and strings strings of their kind; the rest stays."""
    output = sensitive.rewrite(TEXT)
    for kept in (" met Dr. ", " at ", " on ", "; call ", " or write to "):
        assert kept in output
    codes = sensitive.class_codes
    found = [sensitive.input_of(word) for word, _ in sensitive.inputs_of(output)]
    classes = [codes.kinds[codes.kind[each]][0] for each in found if each is not None and each >= 0]
    kinds = "names names names places health places numbers contacts contacts"
    assert [each for each in classes if each] == kinds.split()
    assert "555-01" in output
    assert output.endswith("@example.org.")
    copy = pickle.loads(pickle.dumps(sensitive))
    assert copy.sanitize([TEXT], KEY).lines == sensitive.sanitize([TEXT], KEY).lines


def test_words_of_no_class_pass_in_their_own_letters(sensitive):
    text = "The QUICK grey cat didn't jump over 'the' lazy dog\u2019s back."
    assert sensitive.rewrite(text) == text
    assert sensitive.survey(text).counts[Action.PLAIN] == 11
    assert not sum(sensitive.sanitize([text], KEY).drawn)
    for word in ("maria", "Maria", "MARIA", "mArIa"):  # letter case decides nothing
        assert sensitive.input_of(word) == sensitive.embeddings.key_to_index["maria"]


def test_ordinary_words_pass_though_the_vocabulary_lacks_them(sensitive, tmp_path):
    """Only where unknown words are names; a list of the user comes first."""
    rows, unknown = sensitive.embeddings.key_to_index, sensitive.space.n
    ordinary = sorted(ordinary_words(word_classes("sensitive")))
    assert (rows.keys() | listed()).isdisjoint(ordinary)
    for word in ordinary[:: len(ordinary) // 60]:
        assert word == word.lower()
        assert {sensitive.input_of(each) for each in (word, word.title(), word.upper())} == {PLAIN}
    text = "It UNVEILS gadgets: unveils-gadgets didn't."
    assert sensitive.rewrite(text) == text
    for word in ("qzunveils", "unveils\u200bx", "unve\u200bils", "gadgetz", "antidepressants"):
        assert sensitive.input_of(word) == unknown
    assert Sanitizer(epsilon=2.0, only="places").input_of("unveils") == unknown
    assert Sanitizer(epsilon=12.0, classes="sensitive=2").input_of("unveils") == unknown
    (tmp_path / "own.txt").write_text("maria\nUnveils\njohn\n")
    one = Sanitizer(epsilon=2.0, only=f"{tmp_path / 'own.txt'},sensitive")
    assert [one.input_of(word) for word in ("unveils", "gadgets")] == [rows["john"], PLAIN]
    for one in (sensitive, Sanitizer(epsilon=12.0, classes="sensitive=2")):  # a word of its group
        assert [*map(one.input_of, ("TUES", "thurs"))] == [rows["mon"]] * 2
    assert ordinary_words(word_classes(f"{tmp_path / 'own.txt'}")) == frozenset()


NEXT = [("80-year-old", "man"), ("11", "percent"), ("Oslo", "train"), ("Boston", "bus")]


def test_an_article_before_a_drawn_word_is_that_of_the_output(sensitive):
    """That of the input would tell how the word there began."""
    texts = [f"{one} {word} {next_}" for one in ("A", "an") for word, next_ in NEXT] * 40
    done = [line.split(" ") for line in sensitive.rewrite(texts)]
    assert {article for article, *_ in done} == {"A", "An", "a", "an"}
    for article, word, _ in done:
        assert article.lower() == (article_for(word) or article.lower())
    assert all(line.startswith("Type A ") for line in sensitive.rewrite(["Type A 80"] * 200))
    text = "An old a, an\u2014Oslo"  # no drawn word follows, or not after white space
    assert sensitive.rewrite(text).startswith("An old a, an\u2014")
    for options in ({"keep": ["An"]}, {"case": "vocabulary"}, {"case": "input"}):
        kept = Sanitizer(epsilon=2.0, only="places", **options).rewrite(["a Oslo train"] * 40)
        assert {line.split(" ")[0] for line in kept} == {"a"}


PIECES = ["the", "xqzv", "so", "xqzv", "A,", "of", "a", "Boston,", "an", "US", "so", "Maria", "met"]
PIECES += [
    "Dr.",
    "well-known",
    "it's",
    "(and)",
    '"so"',
    "don\u2019t",
    "caf\xe9",
    "na\xefve\u200bte",
    "ko-\u00ad",
    "12",
    "$5.",
    "",
    "\n",
    "e.g.",
]
PASSING = [
    {"only": "places"},
    {"unknown": "mask", "keep": ["so"], "case": "vocabulary"},
    {"keep": ["us", "so"]},
]
bundled = cache(lambda at: Sanitizer(epsilon=4.0, **PASSING[at]))


@given(pieces=st.lists(st.sampled_from(PIECES)), seed=st.binary(), at=st.sampled_from([0, 1, 2]))
def test_words_that_pass_in_a_row_are_copied_at_once(pieces, seed, at):
    """With an audit each word is written by itself: the lines are the same."""
    key = derive_key(bytes(32), seed.hex())
    texts = ["", *" ".join(pieces).split("\n"), " ".join(PIECES) * 20, " ".join([*pieces, "one"])]
    alone = bundled(at).sanitize(texts, key, audit=True).lines
    assert bundled(at).sanitize(texts, key).lines == alone


def test_classes_that_are_not_chosen_pass_but_contacts_never():
    names = Sanitizer(epsilon=2.0, only="names")
    text = "42 days in Boston on Monday, MP3 and 5km; mail bob@example.net or 555-0199"
    output = names.rewrite(text)
    assert output.startswith("42 days in Boston on Monday, MP3 and 5km; mail ")
    assert "bob@" not in output
    assert {names.rewrite(text)[-8:] for _ in range(5)} != {"555-0199"}  # one of 100 numbers


def test_nothing_that_may_write_a_name_passes():
    """Codes of letters and digits, Braille, and words with invisible characters in them."""
    one = Sanitizer(epsilon=2.0, only="places")
    for string in ("maria85", "\u280d\u2801", "th\u200be", "co\u00adop", "x7maria"):
        assert one.input_of(string) >= one.space.n
        assert string not in one.rewrite(f"so {string} is")


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [("optimal-response", 0.3), ("knn-response", 2.0), ("optimal-response", 6.0)],
)
def test_the_exact_loss_within_each_class(own, epsilon, mechanism):
    """All pairs of each class, ⊥ included: from the distribution, and from the integers."""
    one = made(mechanism, only=own.replace("=1.5", f"={epsilon}"))
    sampler, n = one.sampler, one.space.n
    large, small = one.mechanism.parts
    pmf = sampler.probabilities(np.array([*large.rows, n]))[:, list(large.outputs)]
    found = matrix_certificate(pmf)
    assert epsilon - 1e-6 < found.epsilon_ldp <= epsilon + 1e-9
    assert found.epsilon_ldp == pytest.approx(sampler.certificate().epsilon_ldp, abs=1e-8)
    uniform = sampler.probabilities(np.array(small.rows))[:, list(small.outputs)]
    assert (np.ptp(uniform), uniform.shape) == (0, (10, 10))
    weights = sampler.integer_weights()
    for stated, common in zip(weights.epsilons, weights.parts, strict=True):
        worst = []
        for outputs, masses in common.rows():
            row = common.common.astype(object)
            row[outputs] += common.increment * masses.astype(object)
            worst.append([Fraction(int(each), int(row.sum())) for each in row])
        for column in zip(*worst, strict=True):
            high, low = max(column), min(column)
            assert high == low == 0 or math.log(high / low) <= stated


def drawn(one, row, sizes):
    streams = streams_for(derive_key(KEY, row), range(sizes), [1] * sizes)
    return np.bincount(one.sampler.sample(np.full(sizes, row), streams), minlength=one.space.n)


def test_draws_have_the_distribution(own):
    one, two = made(only=own), made(epsilon=6.0, classes=own)
    for row in (0, 95, one.space.n):
        counts, pmf = drawn(one, row, 20_000), one.sampler.probabilities(np.array([row]))[0]
        assert fits(counts, pmf)
        # The twin: half the near mass would be seen.
        other = 0.5 * pmf + 0.5 * (pmf > 0) / (pmf > 0).sum()
        assert np.ptp(pmf[pmf > 0]) == 0 or not fits(counts, other)
    for row in (3, 95, 110, one.space.n):
        counts = drawn(two, row, 20_000)
        right, wrong = two.sampler.probabilities(np.array([row, 50]))
        assert fits(counts, right)
        assert not fits(counts, wrong)  # the twin


def test_the_lists_of_dpsan(sensitive):
    """No word is in two groups, large classes have 300 outputs; names stay at most at 2 %."""
    rows = [row for each in sensitive.mechanism.parts for row in each.rows]
    assert len(rows) == len(set(rows))
    for each in sensitive.mechanism.parts:
        own = np.array(each.rows)
        assert set(each.outputs) <= set(each.rows)
        assert (len(own) < 60) == (each.epsilon == 0)
        assert each.name not in ("names", "places") or len(each.outputs) >= 300
        known = sensitive.sampler.unchanged(own)
        share = float(np.average(known, weights=sensitive.space.frequencies[own]))
        assert share <= {"names": 0.02, "places": 0.07}.get(each.name, 1.0)
        assert each.epsilon or share == pytest.approx(1 / len(own))
        some = np.arange(0, len(own), max(1, len(own) // 5))
        pmf = sensitive.sampler.probabilities(own[some])
        assert pmf[np.arange(len(some)), own[some]] == pytest.approx(known[some])
    plain = "mr dr sgt st tv dna ssn url xvi internet lol btw hii the may i'm i've"
    assert {sensitive.input_of(word) for word in plain.split()} == {PLAIN}
    few = Sanitizer(epsilon=2.0, only="sensitive", vocab_size=3000)  # no word alone
    assert min(len(each.outputs) for each in few.mechanism.parts) > 1
    for name in CLASSES[1:]:
        assert bundled_class(name).groups


def test_a_file_is_split_off_at_the_last_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a=b.txt").write_text("# projects\nMaria\nAtlas\n")
    found = word_classes("names,a=b.txt=3")
    assert [(each.name, each.epsilon) for each in found] == [("a=b.txt", 3.0), ("names", None)]
    one = Sanitizer(epsilon=2.0, only="names,a=b.txt=3")
    assert one.mechanism.parts[0].name == "a=b.txt"  # and maria is in it
    assert one.embeddings.key_to_index["maria"] in one.mechanism.parts[0].rows
    Path("codes.txt").write_text("# projects\nMP3\n4471\nMary\nJohn\n")
    one = Sanitizer(epsilon=2.0, only="codes.txt")  # what is listed is drawn, whatever its kind
    codes = [one.input_of(word) for word in ("mp3", "4471", "mary", "MP4", "4472")]
    assert codes == [*map(one.embeddings.key_to_index.get, ("mp3", "john", "mary")), PLAIN, PLAIN]
    assert "a word of codes.txt stays in one of 3 draws" in weakness(one.guarantee, 1, 0.0)
    Path("several.txt").write_text("# streets\nMary\nOld Mill\n")
    with pytest.raises(InputError, match=r"several\.txt:3: not one token"):
        Sanitizer(epsilon=2.0, only="several.txt")
    Path("few.txt").write_text("Mary\nqzxjk\n")
    with pytest.raises(UsageError, match=r"only one word of the class few\.txt"):
        Sanitizer(epsilon=12.0, classes="few.txt=2")
    Path("empty.txt").write_text("# none\n")
    with pytest.raises(InputError, match="lists no word"):
        word_classes("empty.txt")
    Path("strange.txt").write_text("qzxjk\n")
    with pytest.raises(UsageError, match=r"no word of the class strange\.txt"):
        Sanitizer(epsilon=2.0, only="strange.txt")


ONLY = {"namse": "no class and no file 'namse'", "names=two": "must be a number"}
ONLY |= {"names=0": "must be > 0", "names=nan": "must be > 0", "": "no class of words is named"}
ONLY |= {"names,names=2": "the class names is named twice"}
ONLY |= {"sensitive,places": "the class places is named twice"}
ONLY |= {"contacts": "out-of-vocabulary words need a class"}
EXCLUDED = [
    *(({"only": given_}, message) for given_, message in ONLY.items()),
    ({"only": "names", "mechanism": "laplace"}, "not for mechanism"),
    ({"only": "names", "public": "function"}, None),
    ({"only": "names", "parameters": {"mass": "0.1"}}, None),
    ({"only": "names", "numbers": "value"}, None),
    ({"only": "names", "epsilon": None, "epsilon_ldp": 2.0}, None),
    ({"only": "names", "embeddings": make_embeddings()}, "lacks most English function words"),
    ({"classes": "names"}, "the class names needs an epsilon"),
    ({"classes": "names=2", "only": "places"}, "drawn alone exclude"),
    ({"classes": "names=2", "mechanism": "laplace"}, "not for mechanism 'laplace'"),
    ({"strings": "kinds"}, "policy for strings"),
]


@pytest.mark.parametrize(("given_", "message"), EXCLUDED)
def test_what_classes_exclude(given_, message):
    with pytest.raises(UsageError, match=message):
        Sanitizer(**{"epsilon": 12.0, **given_})


KINDS = {
    "e-mail address": ["maria.g@example.com"],
    "handle": ["@maria_g"],
    "URL": ["https://example.com/a?b=1", "www.example.com", "example.com/a"],
    "IP address": ["192.168.1.1"],
    "telephone number": ["555-0199", "408.555.0123", "+44 20 7946 0123", "089 12345678"],
    "card number": ["4511 8170 8658 0174", "4511817086580174"],
    "social security number": ["123-45-6789"],
    "IBAN": ["GB29NWBK60161331926819", "GB29 NWBK 6016 1331 9268 19", "NO93 8601 1117 947"],
    "account": ["12345678"],
    "picture": ["👍🏽👍🏽"],
    "number with a unit": ["5km", "21st", "111th", "1990s", "70s", "8x", "5000mm"],
    "code": ["MP3"],
    None: ["hello", "don't", "2023-03-05", "42", "3.14"],
}


@pytest.mark.parametrize(("kind", "tokens"), KINDS.items())
def test_kinds_of_strings(kind, tokens):
    """A made-up string is one token of the same kind, at both ends of its range."""
    split = Sanitizer(epsilon=2.0, only="names").inputs_of
    for found in map(made_up, tokens):
        assert (found and found.kind) == kind
        for number in (0, found.size // 2, found.size - 1) if found else ():
            written = found.write(number)
            assert (len(split(written)), made_up(written).kind) == (1, kind)


def test_ordinals_and_decades():
    """What most numbers with letters after them are is written as English has it."""
    for token, few in ("22nd", "10th 11th 12th 13th 21st 22nd 23rd 24th"), ("101st", "111th 122nd"):
        found = made_up(token)
        every = [*map(found.write, range(found.size))]
        assert {*few.split()} <= {*every}
        assert len({*every}) == found.size == 9 * 10 ** (len(token) - 3)
    assert [*map(made_up("1990s").write, (0, 22))] == ["1800s", "2020s"]
    assert [*map(made_up("70s").write, range(8))] == [f"{tens}0s" for tens in range(2, 10)]


def luhn(digits):
    twice = [int(each) * (1 + at % 2) for at, each in enumerate(reversed(digits))]
    return sum(sum(divmod(each, 10)) for each in twice) % 10 == 0


@given(number=st.integers(0, 10**9 - 1))
def test_no_card_number_and_no_iban_is_valid(number):
    card = made_up("4511 8170 8658 0174").write(number).replace(" ", "")
    assert len(card) == 16
    assert not luhn(card)
    assert luhn("4111111111111111")
    iban = made_up("GB29NWBK60161331926819").write(number)
    turned = "".join(str(int(each, 36)) for each in iban[4:] + iban[:4])
    assert int(turned) % 97 != 1


@given(text=st.text(min_size=1, max_size=30))
def test_the_kind_depends_on_the_shape_alone(text):
    swapped = text.translate({ord("7"): "3", ord("q"): "k", ord("Q"): "K"})
    first, second = made_up(text), made_up(swapped)
    assert (first and first[:3]) == (second and second[:3])


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [("optimal-response", 4.0), ("knn-response", 8.0), ("optimal-response", 12.0)],
)
def test_two_levels_have_both_losses(own, epsilon, mechanism):
    """All pairs: the class's epsilon within it, the printed one between any two inputs."""
    one = made(mechanism, epsilon, classes=own)
    n, sampler = one.space.n, one.sampler
    pmf = sampler.probabilities(np.arange(n + 1))
    assert pmf.sum(axis=1) == pytest.approx(1)
    between = matrix_certificate(pmf).epsilon_ldp
    assert between <= one.guarantee.epsilon_ldp + 1e-9
    assert between == pytest.approx(one.guarantee.epsilon_ldp, abs=0.5)
    assert one.guarantee.epsilon_ldp >= epsilon - 1e-9
    for each, more in zip(one.mechanism.parts, ([n], []), strict=True):
        within = matrix_certificate(pmf[[*each.rows, *more]]).epsilon_ldp
        assert within <= each.epsilon + 1e-9
    names = {each.name: each.epsilon for each in one.guarantee.within}
    assert names == {"large.txt": 1.5, "small.txt": 0.0}
    first, second = sampler.certificate().pair  # its worst pair has that loss
    own = float(np.log(pmf[first] / pmf[second]).max())
    assert own == pytest.approx(between, abs=1e-6)


FORGED = {
    "between two inputs": lambda claim, rows: claim.update(epsilon="9"),
    "another sum": lambda claim, rows: claim.update(total=claim["total"] + 1),
    "than the stated one": lambda claim, rows: rows[110].__setitem__(2, rows[110][2] + 1),
    "more than 1.5 in a class": lambda claim, rows: rows[3].__setitem__(2, rows[3][2] * 3),
    "wrong class": lambda claim, rows: rows[95].__setitem__(0, 0),
    "a row of": lambda claim, rows: rows[110].__setitem__(0, 0),
    "output of another class": lambda claim, rows: claim["classes"][0]["common"].append([110, 1]),
    "in two classes": lambda claim, rows: claim["classes"][1]["words"].append(3),
    "not a weight": lambda claim, rows: claim["common"].pop(),
}


@pytest.fixture
def checked(monkeypatch, tmp_path, capsys):
    """What docs/check_classes.py says of lines that are sealed with the digest that they have."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    check = import_module("check_classes").check

    def checked(lines):
        path = tmp_path / "sealed.json"
        path.write_bytes(sealed(lines))
        check(path)
        return capsys.readouterr().out

    return checked


@pytest.mark.parametrize("epsilon", [4.0, 12.0])
def test_the_certificate_of_two_levels(own, epsilon, tmp_path, checked):
    """Checked without dpsan; what is forged is rejected for the reason that it has."""
    one, path = made(epsilon=epsilon, classes=own), tmp_path / "c.json"
    certified = one.sampler.certificate().epsilon_ldp
    lines = lines_of(written(path, one))
    told = checked(lines)
    assert told.startswith("PROVED: epsilon 1.5, delta 0, for two words of one of\n2 cl")
    printed = float(told.split("100 words; epsilon ")[1].split()[0])
    assert printed == pytest.approx(certified, abs=2e-9)
    assert printed >= certified
    if epsilon == 12:
        command = [sys.executable, ROOT / "docs" / "check_classes.py", path]
        assert subprocess.check_output(command, text=True) == told
        other = [sys.executable, ROOT / "docs" / "check_certificate.py", path]
        refused = subprocess.run(other, capture_output=True, text=True)
        assert refused.returncode == 1
        assert "check_classes.py reads it" in refused.stderr
        for reason, change in FORGED.items():
            claim, *rows = json.loads(json.dumps(lines))
            change(claim, rows)
            with pytest.raises(ValueError, match=reason):
                checked([claim, *rows])


def test_two_levels_of_the_bundled_lists():
    """Names become names and strings of a kind such strings; every draw is charged at the base."""
    one = Sanitizer(epsilon=12.0, classes="sensitive=2")
    assert one.guarantee.epsilon_ldp == pytest.approx(12, abs=1e-6)
    (names,) = (each for each in one.mechanism.parts if each.name == "names")
    lines = one.sanitize(["maria"] * 400, KEY).lines
    rows = [one.embeddings.key_to_index[line.lower()] for line in lines]
    assert np.isin(rows, names.outputs).sum() > 350
    assert sum(line == "Maria" for line in lines) < 20
    assert one.rewrite("bob@example.net").endswith("@example.org")
    totals, whole = one.accountant(), one.accountant()
    totals.add([one.sanitize(["maria met bob@example.net"], KEY)])
    assert totals.composed(totals.largest_record).epsilon == pytest.approx(36, abs=1e-5)
    whole.merge(totals)
    line = Statement(whole, one.mechanism.name, 0.5).lines()[0]
    assert "LDP epsilon 12 per word (2 between two words of one class), 36" in line


def broken_stays(monkeypatch):
    """f_k is wrong: a word of a class never leaves it."""
    true = TwoLevelSampler.__init__

    def fewer(self, *arguments):
        true(self, *arguments)
        self._outside = [np.zeros_like(each) for each in self._outside]

    monkeypatch.setattr(TwoLevelSampler, "__init__", fewer)


def broken_charge(monkeypatch):
    """The guarantee of the run is that of the class."""
    monkeypatch.setattr(TwoLevelSampler, "between", lambda self: 2.0)
    true = TwoLevelResponse.guarantee
    monkeypatch.setattr(
        TwoLevelResponse, "guarantee", lambda *given: replace(true(*given), epsilon_ldp=2.0)
    )


@pytest.mark.parametrize("broken", [None, broken_stays, broken_charge])
def test_verify_of_two_levels(broken, monkeypatch):
    if broken is not None:
        broken(monkeypatch)
    one = Sanitizer(epsilon=12.0, classes="names=2,contacts=1", vocab_size=3000)
    found = verifying.verify(one, draws=100_000 if broken is broken_stays else 20_000)
    assert found.verdict == (VIOLATED if broken else KEPT)


def other(change):
    """A class that is drawn from another base, or at another epsilon."""
    return (
        *(class_response, "BaseResponseSampler"),
        lambda true, space, *given, **more: true(space, *change(space.n, *given), **more),
    )


@cache
def listed():
    groups = (group for name in CLASSES for group in bundled_class(name).groups)
    return {word for group in groups for word in group}


BROKEN = {
    "a class is looked up before letter case is folded": (
        *(lookup._Codes, "_in_class"),
        lambda true, self, token, *more: (
            PLAIN if token.isupper() and len(token) > 3 else true(self, token, *more)
        ),
    ),
    "a made-up string keeps something of the string": (
        *(numbers_by_value.Numbers, "drawn"),
        lambda true, self, words, *more: [
            f"{word[0]}{out}" for word, out in zip(words, true(self, words, *more), strict=True)
        ],
    ),
    "words that no list holds are written unchanged": (
        *(lookup._Codes, "_in_class"),
        lambda true, self, token, row, *more: (
            PLAIN
            if row is None and token.lower() not in listed()
            else true(self, token, row, *more)
        ),
    ),
    "unknown words are drawn in another class than the stated one": (
        *(ClassSampler, "__init__"),
        lambda true, self, space, parts, unknown, **more: true(
            self, space, parts, (unknown + 1) % len(parts), **more
        ),
    ),
    "the near sets of one class have more than the stated mass": other(
        lambda n, base, epsilon: (base, epsilon + 1 if n > 95 else epsilon)
    ),
    "a word of a class is written unchanged": (
        *(rewriting, "class_rules"),
        lambda true, *given: true(*given)._replace(words=frozenset([*true(*given).words][50:])),
    ),
    "a class of few words is drawn within the largest epsilon of the run": other(
        lambda n, base, epsilon: (base if epsilon else base._replace(mass=1), epsilon or 2.0)
    ),
    "the class with the smaller epsilon has one between its own and the largest of the run": other(
        lambda n, base, epsilon: (base, epsilon + 0.01 if epsilon == 2 else epsilon)
    ),
    "words of a class are copied where words that pass are": (
        *(rewriting, "in_runs"),
        lambda true, words, codes, drawn: (
            [
                word if code >= 0 else out
                for word, code, out in zip(words, codes, true(words, codes, drawn)[0], strict=True)
            ],
            true(words, codes, drawn)[1],
        ),
    ),
}
_STRING, _LISTED, _UNKNOWN, _, _WORD, _FEW, _, _COPIED = [*BROKEN][1:]


@pytest.mark.parametrize(
    "broken", [None, *some_mutants(BROKEN, _STRING, _LISTED, _UNKNOWN, _WORD, _FEW, _COPIED)]
)
def test_verify_keeps_the_program_and_catches_broken_ones(broken, monkeypatch, tmp_path, checked):
    if broken is not None:
        place, name, change = BROKEN[broken]
        true = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *given, **more: change(true, *given, **more))
    with_numbers = ",numbers" if broken in (None, _FEW) else ""
    one = Sanitizer(epsilon=2.0, only=f"names,places=3{with_numbers}", vocab_size=3000)
    found = verifying.verify(one, draws=10_000)
    assert found.verdict == (VIOLATED if broken else KEPT)
    if broken is None:
        assert found.certified == pytest.approx(3, abs=1e-6)
        claim, *rows = lines_of(written(tmp_path / "c.json", one))
        assert checked([claim, *rows]).startswith("PROVED: epsilon 3")
        assert compare_certificate(tmp_path / "c.json", one, found.certified).held
        monkeypatch.setattr(certificate_file, "ordinary_words", lambda _: frozenset({"maria"}))
        assert not compare_certificate(tmp_path / "c.json", one, found.certified).held
        first, second = (each["words"][3] for each in claim["classes"][-2:])
        swapped = [*rows]
        swapped[first], swapped[second] = rows[second], rows[first]
        with pytest.raises(ValueError, match="wrong class"):
            checked([claim, *swapped])
        rows[first][2] *= 3
        with pytest.raises(ValueError, match="the loss is more"):
            checked([claim, *rows])


def test_strings_of_a_kind_without_classes():
    """Contacts become made-up strings; numbers and other words are drawn as ever."""
    one = Sanitizer(epsilon=8.0, strings="kind", vocab_size=3000)
    n, text = one.space.n, "call 555-0199 or 42 or bob@example.net, MP3"
    codes = [code for _, code in one.inputs_of(text)]
    assert [code > n for code in codes] == [False, True, False, False, False, True, False]
    output = one.rewrite(text)
    assert " 555-01" in output
    assert "@example.org" in output
    found = verifying.verify(one, draws=10_000)
    assert found.verdict is KEPT
    assert [each.option for each in found.exposures] == ["strings"]
    both = Sanitizer(epsilon=8.0, strings="kind", numbers="value", vocab_size=3000)
    drawn_apart = [code > n for _, code in both.inputs_of(text)]
    assert drawn_apart == [False, True, False, True, False, True, True]


def test_equal_strings_share_a_draw_with_consistent():
    one = Sanitizer(epsilon=2.0, only="sensitive", consistent="record")
    words = one.rewrite("Bob, Bob and bob@x.org, bob@x.org at 7 or 7").replace(",", "").split()
    assert (words[0], words[3], words[6]) == (words[1], words[4], words[8])
