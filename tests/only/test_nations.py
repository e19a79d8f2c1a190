"""Cities, countries and nations with ``--only``: which of them belong together."""

import re
from collections import Counter
from itertools import chain, product

from support import drawn_often as drawn

from dpsan.only.permutations import Permutation
from dpsan.sanitize.decided import Shared
from dpsan.sanitize.result import Texts
from dpsan.sanitize.sanitizer import Sanitizer


def test_a_nation_is_that_of_its_country_wherever_it_stands(outputs):
    text = "Kenyan papers say that Kenyans left Kenya; French ones, that Norway is far."
    pattern = r"(.*) papers say that (.*) left (.*); (.*) ones, that (.*) is far\."
    for out in drawn(text):
        nation, people, country, other, far = re.fullmatch(pattern, out).groups()
        at = outputs["country"].index(country)
        assert (outputs["nation"][at], outputs["nationpl"][at]) == (nation, people)
        assert other in outputs["natlang"]
        assert far in {*outputs["country"]} - {country}


def test_a_country_is_that_of_the_city_before_it(outputs):
    matched = 0
    for out in drawn("He went from Paris, France to Norway and Seoul, South Korea."):
        cities = re.fullmatch(r"He went from (.*), (.*) to (.*) and (.*), (.*)\.", out).groups()
        paris, france, norway, seoul, korea = cities
        assert len({france, norway, korea}) == 3
        homes = dict(zip(outputs["city"], outputs["homeland"], strict=True))
        for city, country in ((paris, france), (seoul, korea)):
            matched += homes[city] == country or homes[city] not in outputs["country"]
    assert matched > 1.8 * 40  # but for two cities of one country


def test_a_telephone_number_has_the_country_that_its_text_shows():
    signs = {"Rs 5": 91, "£5": 44, "R480": 27, "two naira": 234, "KSh500": 254, "₱500": 63}
    signs |= {"CHF 5": 41, "¥500": 81, "A$5": 61, "NZ$5": 64}
    for sign, code in signs.items():
        digits = "33" if code < 100 else "353"
        for out in drawn(f"It cost {sign}: +{digits} 612 345 678", 5):
            assert f": +{code} " in out


def test_a_town_has_one_replacement_in_a_unit_that_shows_its_country_late(outputs):
    replacing = Sanitizer(only="sensitive").replacing
    for seed in range(9):
        unit, key, lines = Shared(0), bytes([seed]) * 32, []
        for text in ("Krakow and Oslo are far.", "Rs 500 in Oslo, Krakow and Accra."):
            decided = replacing.decided_unit(Texts([text], key, [0]))
            lines += replacing.in_units(decided, key, [unit]).lines
        krakow, oslo = lines[0].removesuffix(" are far.").split(" and ")
        assert f" in {oslo}, {krakow} and " in lines[1]
        assert lines[1].removesuffix(".").split(" and ")[1] in outputs["city_in"]
    pools = [words for group, words in outputs.items() if group.startswith("city")]
    assert len({*chain(*pools)}) == sum(map(len, pools))


def test_a_town_of_a_keyed_run_is_one_in_texts_of_all_countries():
    sanitizer = Sanitizer(only="sensitive", consistent="run")
    for seed in range(9):
        lines = sanitizer.sanitize(["Rs 500: Oslo", "I like Oslo"], bytes([seed]) * 32).lines
        assert len({line.split()[-1] for line in lines}) == 1


def test_nothing_leads_where_each_mention_is_drawn_anew(outputs):
    texts = drawn("Kenyans left Kenya.", consistent="off")
    rows = {tuple(re.fullmatch("(.*) left (.*)\\.", text).groups()) for text in texts}
    led = {*zip(outputs["nationpl"], outputs["country"], strict=True)}
    assert len(rows - led) > 40 / 2


def test_lists_of_nations_are_as_long_as_that_of_countries(outputs):
    assert len(outputs["nation"]) == len(outputs["nationpl"]) == len(outputs["country"])
    assert len(outputs["homeland"]) == len(outputs["city"])


def test_a_wanted_number_is_taken_once_and_leaves_the_others_uniform():
    counts = Counter()
    for integers in product(range(4), range(3), range(2)):
        permutation = Permutation(4)
        assert [permutation.plan() for _ in range(4)] == [4, 3, 2, 1]
        first = permutation.take(integers[0])
        second = permutation.take(integers[1], 2)  # wanted, unless it is gone
        third, fourth = permutation.take(integers[2], first), permutation.take(0)
        assert sorted((first, second, third, fourth)) == [0, 1, 2, 3]
        assert first == 2 or second == 2
        counts[first] += 1
    assert set(counts.values()) == {6}


def test_nations_are_drawn_where_some_of_a_unit_have_their_country_and_equal_words_differ():
    """Numbers come from a permutation in the order in which their bounds were planned."""
    texts = ["Kenyan papers left Kenya."] * 12 + ["Kenyan papers left."] * 12
    sanitizer = Sanitizer(only="sensitive", consistent="off", seed="1")
    for seed in range(40):
        found = sanitizer.replacing.rewrite(Texts(texts, bytes([seed]) * 32, [0] * len(texts)))
        nations = [line.split(" papers left")[0] for line in found.lines]
        assert len({*nations}) == len(texts)
