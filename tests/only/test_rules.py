"""Rules of ``--only``, a case each: what they replace, and what beside it passes."""

import re
from collections import Counter
from functools import cache

import pytest
from support import ROOT, cases, drawn_often, tables, unmarked

from dpsan.embeddings.word_lists import only_classes
from dpsan.only.forms import table_text
from dpsan.only.relations import ELSEWHERE
from dpsan.only.rules import Rules
from dpsan.only.strings import near_form
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.result import Texts
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings

KEY = b"k" * 32
CASES = tables("only/cases")
CASES |= tables("only/leaks")


def words(text):
    return re.findall(r"[^\W_]+", text)


def drawn(text, times=12):
    return drawn_often(text, times)


@cache
def outputs_of(table, times):
    """Outputs of each text of a table; all are drawn at once, which is faster than one by one."""
    texts = [unmarked(row if isinstance(row, str) else row[0])[0] for row in CASES[table]]
    sanitizer = Sanitizer(only="sensitive")
    lines = [sanitizer.sanitize(texts, bytes([at]) * 32).lines for at in range(times)]
    return dict(zip(texts, zip(*lines, strict=True), strict=True))


@cases("marked", *CASES["replaced"])
def test_a_rule_replaces_its_words_and_no_others(outputs, marked):
    text, marks = unmarked(marked)
    pattern = "(.+)".join(re.escape(part) for part in re.split("«.*?»", marked))
    written = [re.fullmatch(pattern, output) for output in outputs_of("replaced", 12)[text]]
    assert all(written), outputs_of("replaced", 12)[text]
    for at, (old, group) in enumerate(marks, 1):
        drawn = [match[at] for match in written]
        assert not group or {*drawn} <= {*outputs[group]}
        for word in words(old.removesuffix("'s")):  # one draw may give the original
            assert group or not all(word in words(new) for new in drawn), word


def test_what_once_stayed_is_replaced():
    for marked in CASES["leaks"]:
        text, marks = unmarked(marked)
        for word in words(" ".join(word for word, _ in marks)):
            outputs = outputs_of("leaks", 4)[text]
            assert not all(word in words(output) for output in outputs), (word, text)


def test_an_illness_becomes_one_of_its_area_unless_roles_are_off(outputs, lexicon):
    chest = {word.lower() for word in lexicon.scenarios["chest", "ill"]}
    assert {text.lower() for text in drawn("asthma")} <= chest
    found = {*drawn_often("asthma", 12, roles="off")}
    assert found <= {*outputs["ill"]}
    assert not found <= {*lexicon.scenarios["chest", "ill"]}


NOTE = (
    "She has asthma, COPD and wheezing, and takes theophylline 200 mg, montelukast 10 mg. "
    "No cough or breathlessness. Asthma is better on theophylline."
)


def test_the_health_words_of_a_text_are_about_one_area(lexicon):
    """An illness, its medicine and its symptoms fit each other; two words never become one."""
    pattern = (
        r"She has (.*), (.*) and (.*), and takes (.*) [\d.]+ mg, (.*) [\d.]+ mg\. "
        r"No (.*) or (.*)\. (.*) is better on (.*)\."
    )
    rows = lexicon.scenarios.items()
    chest = {word.lower() for (area, _), listed in rows for word in listed if area == "chest"}
    for text in drawn(NOTE):
        ill, other, symptom, drug, second, *symptoms, again, same = (
            word.lower() for word in re.fullmatch(pattern, text).groups()
        )
        assert (again, same) == (ill, drug)
        written = [ill, other, symptom, drug, second, *symptoms]
        assert len({*written}) == len(written)
        assert {*written} <= chest, text


def test_what_an_area_has_no_words_for_comes_from_the_general_list(lexicon):
    many = (
        "asthma, emphysema, COPD, bronchiectasis, silicosis, asbestosis, sarcoidosis, "
        "pulmonary fibrosis and pneumoconiosis"
    )
    chest = {word.lower() for word in lexicon.scenarios["chest", "ill"]}
    for text in drawn(f"He has {many}."):
        found = re.split(", | and ", text.removeprefix("He has ").removesuffix(".").lower())
        assert chest < {*found} <= chest | {word.lower() for word in lexicon.outputs["ill"]}
        assert len({*found}) == 9


def rules_of(pattern):
    """The rules of the program, and one more."""
    labels = Sanitizer(only="sensitive").by_text().replacing.viewer.labels
    return Rules(f"{table_text('rules.tsv')}\nrule\tmore\t{pattern}\twhy", labels, {})


@pytest.mark.parametrize("relation", ELSEWHERE)
def test_a_rule_asks_only_of_drawn_words_whether_they_equal_one(relation):
    for drawn_word in (f"cap&{relation}=surname mister", f"drawn/name&{relation} mister=pass"):
        assert rules_of(drawn_word).rules[-1].name == "more"
    for passing in (
        f"cap=surname {relation}",
        f"cap=surname !{relation}",
        f"drawn|{relation}=pass",
    ):
        with pytest.raises(ValueError, match="a word that passes equals a drawn one"):
            rules_of(passing)


def test_each_area_that_rules_tell_has_a_scenario(lexicon, sensitive):
    areas = {row.split()[0] for row in sensitive.replacing.rules.areas}
    assert {area for area, _ in lexicon.scenarios} == areas
    assert {group for _, group in lexicon.scenarios} <= {
        *sensitive.replacing.rules.classes["health"]
    }


def test_a_medicine_has_a_dose_that_it_has(lexicon):
    pattern = r"He takes (.*) (.*) mg daily, (.*) (.*)mg, (.*) (.*) mcg\."
    for text in drawn("He takes lisinopril 20 mg daily, sertraline 150mg, levothyroxine 75 mcg."):
        cells = re.fullmatch(pattern, text).groups()
        for at, unit in enumerate(("mg", "mg", "mcg")):
            assert cells[2 * at + 1] in lexicon.doses[cells[2 * at].lower(), unit], text


def test_two_doses_of_a_medicine_stay_two_in_their_order():
    for text in drawn("Sertraline went from 50 mg to 100 mg, then to 1000 mg and 2.5 mg."):
        first, second, third, _ = map(float, re.findall(r"([\d.]+) mg", text))
        assert first < second < third


def test_an_age_fits_a_birth_on_the_day_of_the_other_date():
    for text in drawn("Seen 12/03/2025: a 58-year-old man (DOB 14/03/1966)."):
        days, age = re.findall(r"(\d\d?)/(\d\d?)/(\d{4})", text), int(re.search(r"(\d+)-", text)[1])
        (day, month, year), (born_day, born_month, born) = (map(int, each) for each in days)
        assert age == year - born - ((month, day) < (born_month, born_day))


def test_a_measured_value_hides_among_four_at_least():
    values = [*map(str, range(2, 1000)), *(f"{tenths / 10:.1f}" for tenths in range(20, 1000))]
    assert min(Counter(map(near_form, values)).values()) >= 4


def test_each_medicine_that_is_drawn_for_a_unit_has_doses_in_it(lexicon):
    for group, words in lexicon.outputs.items():
        unit = re.fullmatch(r"medicine_(?!germg)[a-z]+?(mg|mcg)", group)
        assert not unit or all((word.lower(), unit[1]) in lexicon.doses for word in words), group


@cases("text pattern", *CASES["values"])
def test_a_value_stays_in_the_range_of_what_stands_beside_it(text, pattern):
    for output in outputs_of("values", 12)[text]:
        assert re.fullmatch(pattern, output), output


def test_a_weekend_has_its_days():
    days = {text.split()[-1] for text in drawn("The brunch at the clinic is on Sunday", 40)}
    assert days & {"Saturday", "Sunday"}


def test_dates_of_a_month_are_not_each_the_day_behind_the_last():
    steps = set()
    for text in drawn("from 2 to 18 August"):
        first, last = map(int, re.findall(r"\d+", text))
        steps.add(last - first)
    assert steps == {1, 2, 3}


def test_an_abbreviation_of_an_illness_needs_no_capitals():
    """In a line of capitals it does."""
    assert any(text.islower() for text in drawn("his COPD")), drawn("his COPD")
    assert all(text.isupper() for text in drawn("HIS COPD IS OLD"))


def test_clocks_are_of_the_day_and_keep_their_order():
    for text in drawn("[22:41] one [03:10] two [02:15] three"):
        clocks = re.findall(r"\d\d:\d\d", text)
        assert clocks[::-1] == sorted(clocks)
        assert all((clock[:2] < "06") == (at > 0) for at, clock in enumerate(clocks))


def test_days_of_one_month_stay_in_order():
    for text in drawn("from 2 to 18 August, 3-9 July, March 4-6"):
        pairs = re.findall(r"(\d+)(?: to |-)(\d+)", text)
        assert len(pairs) == 3
        assert all(int(first) < int(last) for first, last in pairs)


def test_the_user_of_a_session_has_a_name(outputs):
    names = {name.lower() for name in outputs["given_x"]}
    assert {text.split()[1] for text in drawn("for qbersong from 10.0.4.17")} <= names


def test_a_user_name_is_drawn_alike_whatever_passing_word_it_has(sensitive):
    texts = [f"The house is old, said @{name} here." for name in ("house", "pqrst")]
    assert len({sensitive.sanitize([text], KEY).lines[0] for text in texts}) == 1


def test_a_month_and_its_short_name_are_one():
    for text in drawn("The demo is on 10 October, the note of 2 Oct."):
        month, short = re.fullmatch(
            r"The demo is on \d+ (\w+), the note of \d+ (\w+)\.", text
        ).groups()
        assert month[:3] == short or month == "May"


def test_steps_of_times_keep_the_order_of_all():
    text = "10:02 a, 10:04 b, 10:05 c, 10:06 d, 10:09 e, 10:10 f, 10:12 g"
    for output in drawn(text, 20):
        clocks = re.findall(r"\d\d:\d\d", output)
        assert clocks == sorted(clocks), output


def test_a_city_in_the_line_before_a_country_is_one_of_it(outputs):
    homeland = dict(zip(outputs["city"], outputs["homeland"], strict=True))
    for text in drawn("50129 Qvenhaven\nItaly"):
        city, country = re.fullmatch(r"\d+ (.*)\n(.*)", text).groups()
        assert country == homeland[city] or homeland[city] not in outputs["country"]


def test_kin_of_one_sex_have_names_of_it(outputs):
    for text in drawn("His sister Knowles and his brother Faith, with my uncle, Blessing Young."):
        sister, brother, uncle = re.findall(r"(?:sister|brother|uncle),? (\w+)", text)
        assert sister in outputs["given_f"]
        assert {brother, uncle} <= {*outputs["given_m"]}


def test_a_city_before_a_country_is_one_of_the_world(outputs):
    for text in drawn("born in Boston, Kenya, near Boston"):
        first, second = re.fullmatch(r"born in (.*), [^,]*, near (.*)", text).groups()
        assert first == second in outputs["city"]


def test_a_name_that_is_also_a_word_of_a_class_that_passes_is_replaced():
    text = "April Johnson met Maria Campbell in London. In April Johnson left."
    for output in Sanitizer(only="names").rewrite([text] * 5):
        pattern = (
            r"(?!April)\w+ [\w'-]+ met [\w'-]+ (?!Campbell)[\w'-]+ in London\. "
            r"In April [\w'-]+ left\."
        )
        assert re.fullmatch(pattern, output), output


def test_a_rule_that_contributing_shows_can_be_added():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf8")
    row = re.search(r"^rule\t.*\n", page, re.M)[0]
    text, ((gone, _),) = unmarked(re.search("^.*«.*$", page, re.M)[0])
    made = OnlyRewriter(Settings(only=only_classes("names")), rules=table_text("rules.tsv") + row)
    assert gone not in made.rewrite(Texts([text], KEY, [0])).lines[0]
