"""Classes of words: what is drawn, what passes, the exact loss, and mutants that verify catches."""

import hashlib
import json
import math
import pickle
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import make_embeddings

from dpsan.analysis.verify import certificate_file
from dpsan.analysis.verify import verdict as verifying
from dpsan.embeddings import class_lists
from dpsan.embeddings.class_lists import CLASSES, bundled_class, word_classes
from dpsan.errors import InputError, UsageError
from dpsan.mechanisms.optimal.class_response import ClassResponse, near_outputs, part
from dpsan.mechanisms.optimal.two_level_response import TwoLevelResponse, TwoLevelSampler
from dpsan.privacy.certificate import matrix_certificate
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.statement import Statement
from dpsan.space.metric_space import MetricSpace
from dpsan.text.letter_case import article_for
from dpsan.text.lookup import PLAIN
from dpsan.text.made_up import made_up

KEY = b"k" * 32
WORDS = [f"w{chr(97 + at // 26)}{chr(97 + at % 26)}x" for at in range(120)]
CHECKER = Path(__file__).parents[2] / "docs" / "check_classes.py"
TEXT = (
    "Maria Gonzalez met Dr. Chen at Riverside Clinic in Boston on Monday; call 555-0199 or write "
    "to maria.g@example.com."
)


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


def made(own, mechanism="optimal-response"):
    loaded = replace(make_embeddings(n=120, d=4), index_to_key=WORDS)
    return Sanitizer(mechanism, epsilon=2.0, only=own, embeddings=loaded)


def test_the_example_of_the_readme(sensitive):
    """Names become names, a day a day, and strings strings of their kind; the rest stays."""
    output = sensitive.rewrite(TEXT)
    for kept in (" met Dr. ", " at ", " on ", "; call ", " or write to "):
        assert kept in output
    codes = sensitive.class_codes

    def class_of(word):
        found = sensitive.input_of(word)
        return None if found is None or found < 0 else codes.kinds[codes.kind[found]][0]

    words = [word for word, _ in sensitive.inputs_of(output)]
    classes = [class_of(word) for word in words]
    assert [c for c in classes if c] == [
        *("names", "names", "names", "places", "health", "places", "numbers"),
        *("contacts", "contacts"),
    ]
    assert "555-01" in output
    assert output.endswith("@example.org.")


def test_words_of_no_class_pass_in_their_own_letters(sensitive):
    text = "The QUICK grey cat didn't jump over 'the' lazy dog\u2019s back."
    assert sensitive.rewrite(text) == text
    counts = sensitive.survey(text).counts
    assert counts[Action.PLAIN] == 11
    assert not sum(sensitive.sanitize([text], KEY).drawn)


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


NEXT = [("80-year-old", "man"), ("11", "percent"), ("Oslo", "train"), ("Boston", "bus")]


@pytest.mark.parametrize("given", [{"keep": ["An"]}, {"case": "vocabulary"}, {"case": "input"}])
def test_an_article_is_not_touched_where_words_are_kept_as_they_are(given):
    one = Sanitizer(epsilon=2.0, only="places", **given)
    done = one.rewrite(["a Oslo train"] * 40)
    assert {line.split(" ")[0] for line in done} == {"a"}


@pytest.mark.parametrize("word", ["maria", "Maria", "MARIA", "mArIa"])
def test_letter_case_decides_nothing(sensitive, word):
    assert sensitive.input_of(word) == sensitive.embeddings.key_to_index["maria"]


def test_classes_that_are_not_chosen_pass_but_contacts_never():
    names = Sanitizer(epsilon=2.0, only="names")
    text = "42 days in Boston on Monday, MP3 and 5km; mail bob@example.net or 555-0199"
    output = names.rewrite(text)
    assert output.startswith("42 days in Boston on Monday, MP3 and 5km; mail ")
    assert "bob@" not in output
    assert {names.rewrite(text)[-8:] for _ in range(5)} != {"555-0199"}  # one of 100 numbers


@pytest.mark.parametrize(
    "string", ["maria85", "\u280d\u2801", "th\u200be", "co\u00adop", "x7maria"]
)
def test_nothing_that_may_write_a_name_passes(string):
    """Codes of letters and digits, Braille, and words with invisible characters in them."""
    one = Sanitizer(epsilon=2.0, only="places")
    assert one.input_of(string) >= one.space.n
    assert string not in one.rewrite(f"so {string} is")


def test_a_string_without_a_class_of_its_own_belongs_to_names(sensitive, own):
    """Of a vocabulary without names ⊥ belongs to the first class."""
    rows = np.full(50, sensitive.space.n)
    pmf = sensitive.sampler.probabilities(rows[:1])[0]
    names = next(each for each in sensitive.mechanism.parts if each.name == "names")
    assert set(np.flatnonzero(pmf)) == set(names.outputs)
    assert np.ptp(pmf[pmf > 0]) == 0
    one = made(own)
    pmf = one.sampler.probabilities(np.array([one.space.n]))[0]
    assert set(np.flatnonzero(pmf)) == set(one.mechanism.parts[0].outputs)


@pytest.mark.parametrize("mechanism", ["optimal-response", "knn-response"])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
def test_the_exact_loss_within_each_class(own, epsilon, mechanism):
    """All pairs of each class, ⊥ included: from the distribution, and from the integers."""
    spec = own.replace("=1.5", f"={epsilon}")
    one = made(spec, mechanism)
    sampler, n = one.sampler, one.space.n
    large, small = one.mechanism.parts
    pmf = sampler.probabilities(np.array([*large.rows, n]))[:, list(large.outputs)]
    found = matrix_certificate(pmf)
    assert epsilon - 1e-6 < found.epsilon_ldp <= epsilon + 1e-9
    assert found.epsilon_ldp == pytest.approx(sampler.certificate().epsilon_ldp, abs=1e-8)
    uniform = sampler.probabilities(np.array(small.rows))[:, list(small.outputs)]
    assert np.ptp(uniform) == 0
    assert uniform.shape == (10, 10)
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


def test_draws_have_the_distribution(own):
    one = made(own)
    sizes, rows = 30_000, [0, 95, one.space.n]
    for row in rows:
        text = one.embeddings.index_to_key[row] if row < one.space.n else "qzxjk"
        lines = one.sanitize([text] * sizes, derive_key(KEY, row)).lines
        drawn = np.array([one.row_of(line) for line in lines])
        pmf = one.sampler.probabilities(np.array([row]))[0]
        counts = np.bincount(drawn, minlength=one.space.n)
        assert not counts[pmf == 0].any()
        own_cells = pmf > 0
        expected = sizes * pmf[own_cells]
        statistic = ((counts[own_cells] - expected) ** 2 / expected).sum()
        assert statistic < own_cells.sum() + 6 * math.sqrt(2 * own_cells.sum())
        # The twin: half the near mass would be seen.
        other = 0.5 * pmf + 0.5 * own_cells / own_cells.sum()
        expected = sizes * other[own_cells]
        if np.ptp(pmf[own_cells]) > 0:
            statistic = ((counts[own_cells] - expected) ** 2 / expected).sum()
            assert statistic > own_cells.sum() + 6 * math.sqrt(2 * own_cells.sum())


@given(outputs=st.integers(1, 5000), epsilon=st.floats(0, 80))
def test_near_outputs_are_some_of_the_outputs(outputs, epsilon):
    assert 1 <= near_outputs(outputs, epsilon) <= outputs


def test_unchanged_words_are_few(sensitive):
    """Names at most 2 %, places 7 %, small classes 1/size."""
    frequencies, limits = sensitive.space.frequencies, {"names": 0.02, "places": 0.07}
    for each in sensitive.mechanism.parts:
        rows = np.array(each.rows)
        known = sensitive.sampler.unchanged(rows)
        share = float(np.average(known, weights=frequencies[rows]))
        if not each.epsilon:
            assert share == pytest.approx(1 / len(rows))
        assert share <= limits.get(each.name, 1.0)
        some = rows[:: max(1, len(rows) // 5)]
        pmf = sensitive.sampler.probabilities(some)
        assert pmf[np.arange(len(some)), some] == pytest.approx(sensitive.sampler.unchanged(some))


def test_the_lists_of_dpsan(sensitive):
    """No word is in two groups, outputs are words of the class, and large classes have 300."""
    rows = [row for each in sensitive.mechanism.parts for row in each.rows]
    assert len(rows) == len(set(rows))
    for each in sensitive.mechanism.parts:
        assert set(each.outputs) <= set(each.rows)
        assert (len(each.rows) < 60) == (each.epsilon == 0)
        if each.name in ("names", "places"):
            assert len(each.outputs) >= 300
    for word in ("mr", "dr", "st", "tv", "dna", "internet", "the", "may", "i'm", "i've"):
        assert sensitive.input_of(word) == PLAIN
    for name in CLASSES[1:]:
        assert bundled_class(name).groups


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ("namse", "no class and no file 'namse'"),
        ("names=0", "must be > 0"),
        ("names=-1", "must be > 0"),
        ("names=nan", "must be > 0"),
        ("names=two", "must be a number"),
        ("names,names=2", "the class names is named twice"),
        ("sensitive,places", "the class places is named twice"),
        ("", "no class of words is named"),
    ],
)
def test_wrong_classes(given_, message):
    with pytest.raises(UsageError, match=message):
        word_classes(given_)


def test_a_file_is_split_off_at_the_last_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a=b.txt").write_text("# projects\nMaria\nAtlas\n")
    found = word_classes("names,a=b.txt=3")
    assert [(each.name, each.epsilon) for each in found] == [("a=b.txt", 3.0), ("names", None)]
    one = Sanitizer(epsilon=2.0, only="names,a=b.txt=3")
    assert one.mechanism.parts[0].name == "a=b.txt"  # and maria is in it
    assert one.embeddings.key_to_index["maria"] in one.mechanism.parts[0].rows
    Path("empty.txt").write_text("# none\n")
    with pytest.raises(InputError, match="lists no word"):
        word_classes("empty.txt")
    Path("strange.txt").write_text("qzxjk\n")
    with pytest.raises(UsageError, match=r"no word of the class strange\.txt"):
        Sanitizer(epsilon=2.0, only="strange.txt")


@pytest.mark.parametrize(
    "more",
    [
        {"mechanism": "laplace"},
        {"public": "function"},
        {"parameters": {"mass": "0.1"}},
        {"numbers": "value"},
    ],
)
def test_what_classes_exclude(more):
    with pytest.raises(UsageError):
        Sanitizer(epsilon=2.0, only="names", **more)
    with pytest.raises(UsageError):
        Sanitizer(epsilon_ldp=2.0, only="names")
    with pytest.raises(UsageError, match="out-of-vocabulary words need a class"):
        Sanitizer(epsilon=2.0, only="contacts")


def test_english_lists_need_an_english_vocabulary():
    with pytest.raises(UsageError, match="lacks most English function words"):
        Sanitizer(epsilon=2.0, only="names", embeddings=make_embeddings(n=120, d=4))


def test_a_copy_in_another_process_draws_alike(sensitive):
    copy = pickle.loads(pickle.dumps(sensitive))
    assert copy.sanitize([TEXT], KEY).lines == sensitive.sanitize([TEXT], KEY).lines


def test_equal_strings_share_a_draw_with_consistent():
    one = Sanitizer(epsilon=2.0, only="sensitive", consistent="record")
    words = one.rewrite("Bob, Bob and bob@x.org, bob@x.org at 7 or 7").replace(",", "").split()
    assert words[0] == words[1]
    assert words[3] == words[4]
    assert words[6] == words[8]


KINDS = {
    "maria.g@example.com": "e-mail address",
    "@maria_g": "handle",
    "https://example.com/a?b=1": "URL",
    "www.example.com": "URL",
    "example.com/a": "URL",
    "192.168.1.1": "IP address",
    "555-0199": "telephone number",
    "(408) 555-0123": "telephone number",
    "408.555.0123": "telephone number",
    "+44 20 7946 0123": "telephone number",
    "4511 8170 8658 0174": "card number",
    "4511817086580174": "card number",
    "123-45-6789": "social security number",
    "GB29NWBK60161331926819": "IBAN",
    "12345678": "account",
    "👍🏽👍🏽": "picture",
    "5km": "number with a unit",
    "21st": "number with a unit",
    "MP3": "code",
    "hello": None,
    "don't": None,
    "2023-03-05": None,
    "42": None,
    "3.14": None,
}


@pytest.mark.parametrize(("token", "kind"), KINDS.items())
def test_kinds_of_strings(token, kind):
    """A made-up string is one token of the same kind, at both ends of its range."""
    found = made_up(token)
    assert (found and found.kind) == kind
    if found is not None:
        split = Sanitizer(epsilon=2.0, only="names").inputs_of
        for number in (0, found.size // 2, found.size - 1):
            written = found.write(number)
            assert len(split(written)) == 1
            assert made_up(written).kind == kind


def luhn(digits):
    total = 0
    for at, each in enumerate(reversed(digits)):
        total += sum(divmod(int(each) * (1 + at % 2), 10))
    return total % 10 == 0


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
    """Other letters and digits of the same classes: the same kind."""
    swapped = text.translate({ord("7"): "3", ord("q"): "k", ord("Q"): "K"})
    first, second = made_up(text), made_up(swapped)
    assert (first and first[:3]) == (second and second[:3])


def two_levels(own, epsilon=12.0, mechanism="optimal-response"):
    loaded = replace(make_embeddings(n=120, d=4), index_to_key=WORDS)
    return Sanitizer(mechanism, epsilon=epsilon, classes=own, embeddings=loaded)


@pytest.mark.parametrize("mechanism", ["optimal-response", "knn-response"])
@pytest.mark.parametrize("epsilon", [4.0, 8.0, 12.0])
def test_two_levels_have_both_losses(own, epsilon, mechanism):
    """All pairs: the class's epsilon within it, the printed one between any two inputs."""
    one = two_levels(own, epsilon, mechanism)
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


def sealed(path, lines):
    """Write the lines of a certificate with the digest that belongs to them."""
    body = b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in lines)
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(body + b'{"sha256":"%s"}\n' % digest.encode())
    return subprocess.run(
        [sys.executable, CHECKER, path], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("epsilon", [4.0, 8.0, 12.0])
def test_the_certificate_of_two_levels(own, epsilon, tmp_path):
    """Checked without dpsan; what is forged is rejected for the reason that it has."""
    one, path = two_levels(own, epsilon), tmp_path / "c.json"
    certified = one.sampler.certificate().epsilon_ldp
    found = SimpleNamespace(verdict=verifying.Verdict.KEPT, certified=certified)
    certificate_file.write_certificate(path, one, found)
    lines = [json.loads(each) for each in path.read_bytes().splitlines()[:-1]]
    told = sealed(path, lines)
    assert told.stdout.startswith("PROVED: epsilon 1.5, delta 0, for two words of one of\n2 cl")
    printed = float(told.stdout.split("100 words; epsilon ")[1].split()[0])
    assert printed == pytest.approx(certified, abs=2e-9)
    assert printed >= certified
    for reason, change in FORGED.items() if epsilon == 12 else ():
        claim, *rows = json.loads(json.dumps(lines))
        change(claim, rows)
        told = sealed(path, [claim, *rows])
        assert (told.returncode, told.stdout) == (1, ""), reason
        assert reason in told.stderr


def test_draws_of_two_levels_have_the_distribution(own):
    """A word of each class, a word of none, and ⊥."""
    one, sizes = two_levels(own, 6.0), 40_000
    for row in (3, 95, 110, one.space.n):
        ids, key = np.full(sizes, row), derive_key(KEY, "two", row)
        drawn = one.sampler.sample(ids, streams_for(key, range(sizes), [1] * sizes))
        pmf = one.sampler.probabilities(np.array([row]))[0]
        counts = np.bincount(drawn, minlength=one.space.n)
        assert not counts[pmf == 0].any()
        cells = pmf * sizes >= 5
        statistic = ((counts - sizes * pmf)[cells] ** 2 / (sizes * pmf)[cells]).sum()
        assert statistic < cells.sum() + 6 * math.sqrt(2 * cells.sum())
        other = one.sampler.probabilities(np.array([50 if row != 50 else 51]))[0]  # the twin
        statistic = ((counts - sizes * other)[cells] ** 2 / (sizes * other)[cells]).sum()
        assert statistic > cells.sum() + 6 * math.sqrt(2 * cells.sum())


def test_two_levels_of_the_bundled_lists():
    """Names become names and strings of a kind such strings; every draw is charged at the base."""
    one = Sanitizer(epsilon=12.0, classes="sensitive=2")
    assert one.guarantee.epsilon_ldp == pytest.approx(12, abs=1e-6)
    outputs = {
        one.embeddings.index_to_key[row]
        for each in one.mechanism.parts
        for row in each.outputs
        if each.name == "names"
    }
    lines = one.sanitize(["maria"] * 400, KEY).lines
    assert sum(line.lower() in outputs for line in lines) > 350
    assert sum(line == "Maria" for line in lines) < 20
    assert one.rewrite("bob@example.net").endswith("@example.org")
    totals = one.accountant()
    totals.add([one.sanitize(["maria met bob@example.net"], KEY)])
    assert totals.composed(totals.largest_record).epsilon == pytest.approx(36, abs=1e-5)
    whole = one.accountant()
    whole.merge(totals)
    line = Statement(whole, one.mechanism.name, 0.5).lines()[0]
    assert "LDP epsilon 12 per word (2 between two words of one class), 36" in line


def test_classes_beside_other_words_need_an_epsilon():
    with pytest.raises(UsageError, match="the class names needs an epsilon"):
        Sanitizer(epsilon=12.0, classes="names")
    with pytest.raises(UsageError, match="drawn alone exclude"):
        Sanitizer(epsilon=12.0, classes="names=2", only="places")
    with pytest.raises(UsageError, match="not for mechanism 'laplace'"):
        Sanitizer("laplace", epsilon=12.0, classes="names=2")


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

    def cheaper(self, space):
        return replace(true(self, space), epsilon_ldp=2.0)

    monkeypatch.setattr(TwoLevelResponse, "guarantee", cheaper)


@pytest.mark.parametrize("broken", [None, broken_stays, broken_charge])
def test_verify_of_two_levels(broken, monkeypatch):
    if broken is not None:
        broken(monkeypatch)
    one = Sanitizer(epsilon=12.0, classes="names=2,contacts=1", vocab_size=6000)
    found = verifying.verify(one, draws=100_000 if broken is broken_stays else 40_000)
    assert found.verdict == (verifying.Verdict.VIOLATED if broken else verifying.Verdict.KEPT)


def broken_case(monkeypatch):
    """The class is looked up before letter case is folded."""
    from dpsan.text import lookup

    true = lookup._Codes._in_class

    def by_spelling(self, token, row, classes):
        return PLAIN if token.isupper() and len(token) > 3 else true(self, token, row, classes)

    monkeypatch.setattr(lookup._Codes, "_in_class", by_spelling)


def broken_made_up(monkeypatch):
    """A made-up string keeps something of the string."""
    from dpsan.sanitize import numbers_by_value

    true = numbers_by_value.Numbers.drawn

    def leaking(self, words, indices, streams):
        written = true(self, words, indices, streams)
        return [f"{word[0]}{out}" for word, out in zip(words, written, strict=True)]

    monkeypatch.setattr(numbers_by_value.Numbers, "drawn", leaking)


def broken_unknown(monkeypatch):
    """⊥ is drawn in another class than the stated one."""
    from dpsan.mechanisms.optimal.class_response import ClassSampler

    true = ClassSampler.__init__

    def moved(self, space, parts, unknown, **more):
        true(self, space, parts, (unknown + 1) % len(parts), **more)

    monkeypatch.setattr(ClassSampler, "__init__", moved)


def broken_mass(monkeypatch):
    """The near sets of one class have more than the stated mass."""
    from dpsan.mechanisms.optimal import class_response

    true = class_response.BaseResponseSampler

    def larger(space, base, epsilon, **more):
        return true(space, base, epsilon + 1 if space.n > 200 else epsilon, **more)

    monkeypatch.setattr(class_response, "BaseResponseSampler", larger)


def broken_passing(monkeypatch):
    """A word of a class is written unchanged."""
    from dpsan.sanitize import classes

    true = classes.class_rules

    def fewer(mechanism, n):
        rules = true(mechanism, n)
        return rules._replace(words=frozenset(list(rules.words)[50:]))

    monkeypatch.setattr("dpsan.sanitize.rewriting.class_rules", fewer)


def broken_small(monkeypatch):
    """A class of few words is not drawn uniformly, but within the largest epsilon of the run."""
    from dpsan.mechanisms.optimal import class_response

    true = class_response.BaseResponseSampler

    def nearer(space, base, epsilon, **more):
        base = base if epsilon else base._replace(mass=1)
        return true(space, base, epsilon or 2.0, **more)

    monkeypatch.setattr(class_response, "BaseResponseSampler", nearer)


def broken_part(monkeypatch):
    """The class with the smaller epsilon has one between its own and the largest of the run."""
    from dpsan.mechanisms.optimal import class_response

    true = class_response.BaseResponseSampler

    def larger(space, base, epsilon, **more):
        return true(space, base, epsilon + 0.01 if epsilon == 2 else epsilon, **more)

    monkeypatch.setattr(class_response, "BaseResponseSampler", larger)


BROKEN = [
    broken_part,
    broken_small,
    broken_case,
    broken_made_up,
    broken_unknown,
    broken_mass,
    broken_passing,
]


@pytest.mark.parametrize("broken", [None, *BROKEN], ids=lambda b: b.__name__ if b else "sound")
def test_verify_keeps_the_program_and_catches_broken_ones(broken, monkeypatch, tmp_path):
    if broken is not None:
        broken(monkeypatch)
    with_numbers = ",numbers" if broken in (None, broken_small) else ""
    one = Sanitizer(epsilon=2.0, only=f"names,places=3{with_numbers}", vocab_size=6000)
    found = verifying.verify(one, draws=20_000)
    assert found.verdict == (verifying.Verdict.VIOLATED if broken else verifying.Verdict.KEPT)
    if broken is None:
        assert found.certified == pytest.approx(3, abs=1e-6)
        check_certificates(one, found, tmp_path)


def check_certificates(one, found, folder):
    """The checker proves the file, and rejects a row of the wrong class and a larger mass."""
    path = folder / "certificate.json"
    certificate_file.write_certificate(path, one, found)
    lines = path.read_bytes().splitlines(keepends=True)[:-1]
    claim = json.loads(lines[0])

    def run(rows):
        own = folder / "changed.json"
        digest = hashlib.sha256(b"".join(rows)).hexdigest()
        own.write_bytes(b"".join(rows) + b'{"sha256":"%s"}\n' % digest.encode())
        checked = [sys.executable, str(CHECKER), str(own)]
        return subprocess.run(checked, capture_output=True, text=True, check=False)

    assert run(lines).stdout.startswith("PROVED: epsilon 3")
    first, second = (each["words"][3] for each in claim["classes"][-2:])
    swapped = [*lines]
    swapped[1 + first], swapped[1 + second] = lines[1 + second], lines[1 + first]
    assert "wrong class" in run(swapped).stderr
    row = json.loads(lines[1 + first])
    row[2] *= 3
    larger = [*lines]
    larger[1 + first] = json.dumps(row, separators=(",", ":")).encode() + b"\n"
    assert "the loss is more" in run(larger).stderr


def test_a_mechanism_without_words_of_a_small_class_is_uniform():
    assert part("x", 2.0, tuple(range(59)), (1, 2)).epsilon == 0
    assert part("x", 2.0, tuple(range(60)), (1, 2)).epsilon == 2
    with pytest.raises(UsageError):
        ClassResponse(0.0)


def test_classes_keep_their_order(monkeypatch):
    """A word of two lists belongs to the first class."""
    one = make_embeddings(n=5, d=2)
    lists = tuple(
        class_lists.WordClass(name, 2.0, (words,), english=False)
        for name, words in (("a", ("word1", "word2")), ("b", ("WORD2", "word3")))
    )
    found = class_lists.class_rows(lists, one.key_to_index)
    assert [(each.name, each.rows) for each in found] == [("a", (1, 2)), ("b", (3,))]
    assert MetricSpace(one).n == 5


def test_strings_of_a_kind_without_classes(tmp_path):
    """Contacts become made-up strings; numbers and other words are drawn as ever."""
    one = Sanitizer(epsilon=8.0, strings="kind", vocab_size=6000)
    n, text = one.space.n, "call 555-0199 or 42 or bob@example.net, MP3"
    codes = [code for _, code in one.inputs_of(text)]
    assert [code > n for code in codes] == [False, True, False, False, False, True, False]
    output = one.rewrite(text)
    assert " 555-01" in output
    assert "@example.org" in output
    found = verifying.verify(one, draws=20_000)
    assert found.verdict is verifying.Verdict.KEPT
    assert [each.option for each in found.exposures] == ["strings"]
    both = Sanitizer(epsilon=8.0, strings="kind", numbers="value", vocab_size=6000)
    assert [code > n for _, code in both.inputs_of(text)] == [
        *(False, True, False, True, False, True, True)
    ]
    with pytest.raises(UsageError, match="policy for strings"):
        Sanitizer(epsilon=8.0, strings="kinds")
