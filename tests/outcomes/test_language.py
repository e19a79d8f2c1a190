"""The language model and the lattice, against plain programs that enumerate."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recipe.kneser_ney import Counts, estimated, symbols_of_lines, to_bytes

from dpsan.outcomes import decoding
from dpsan.outcomes.decoding import Coherence, Tables, decode
from dpsan.outcomes.lattice import LONGEST, Candidates, best_path, parts, posteriors, unit_ends
from dpsan.outcomes.ngrams import KINDS, Gap, Ngrams, gap_kind, gap_kinds
from dpsan.text.lookup import Lookup
from dpsan.text.tokens import TOKENIZERS

N = 6
SIZE = N + KINDS
LINE, END, CLAUSE = N + Gap.LINE, N + Gap.END, N + Gap.CLAUSE


def made_text(words=600, seed=3):
    """Symbols with a grammar: the next word is often the last one plus one."""
    generator = np.random.default_rng(seed)
    out, word = [LINE], 0
    for _ in range(words):
        word = (word + 1) % N if generator.random() < 0.6 else int(generator.integers(N + 1)) % N
        out.append(word)
        if generator.random() < 0.2:
            out.append(int(generator.choice([LINE, END, CLAUSE])))
    return np.array([*out, LINE], dtype=np.int64)


TEXT = made_text()


def model_of(symbols, **most):
    counts = Counts(N)
    counts.add(symbols)
    return estimated(counts, **most)


MODEL = model_of(TEXT)
PRUNED = model_of(TEXT, bigrams=20, trigrams=15)


def probability(model, first, second, third):
    """The program's ln p(third|first, second) as a number."""
    one = np.array([third])
    below, _ = model.pairs(np.array([second]), one)
    if second in (LINE, END):
        return float(np.exp(below[0]))
    _, index = model.pairs(np.array([first]), np.array([second]))
    return float(np.exp(model.triples(index, one, below)[0]))


def plain_discounts(seen):
    """Chen and Goodman 1999, equation 26."""
    many = Counter(min(round(each), 5) for each in seen.values())
    share = many[1] / (many[1] + 2 * many[2])
    found = [k - (k + 1) * share * many[k + 1] / many[k] for k in (1, 2, 3)]
    assert all(0 < each < k for k, each in enumerate(found, start=1))
    by_times = [found[0], *found, found[2], found[2]]
    pairs = seen.items()
    return {key: min(by_times[min(round(n), 5)], 0.95 * max(n, 1e-3)) for key, n in pairs}


def plain_kneser_ney(symbols, first, second, third):
    """The same by dictionaries, without pruning."""
    forgets = {LINE, END}
    pairs = Counter(itertools.pairwise(symbols.tolist()))
    three = zip(*(symbols[at:].tolist() for at in range(3)), strict=False)
    triples = Counter(each for each in three if each[1] not in forgets)

    def left(counts):
        """What the n-grams leave to shorter ones."""
        taken, out = plain_discounts(counts), Counter()
        for key in counts:
            out[key[1:]] += counts[key] - taken[key]
        return taken, out

    def given(counts, taken, *key, below):
        own = {each: counts[each] for each in counts if each[:-1] == key[:-1]}
        total = sum(own.values())
        if not total:
            return below
        free = sum(taken[each] for each in own) / total
        return (own.get(key, 0) - taken.get(key, 0)) / total + free * below

    taken_three, gone = left(triples)
    rest = {key: max(count - gone[key], 1e-3) for key, count in pairs.items()}
    taken_two, gone = left(rest)
    words = Counter({word: 0.5 - gone[word,] for word in range(SIZE)})
    for key, count in rest.items():
        words[key[1]] += count
    one = words[third] / sum(words.values())
    two = given(rest, taken_two, second, third, below=one)
    if second in forgets:
        return two
    return given(triples, taken_three, first, second, third, below=two)


def test_the_model_is_kneser_ney():
    for first, second, third in itertools.product(range(SIZE), repeat=3):
        if second == N or second == N + Gap.OTHER:  # no pair of the text
            continue
        wanted = plain_kneser_ney(TEXT, first, second, third)
        assert probability(MODEL, first, second, third) == pytest.approx(wanted, rel=2e-3)


@pytest.mark.parametrize("model", [MODEL, PRUNED])
def test_probabilities_sum_to_one(model):
    for first, second in itertools.product(range(SIZE), repeat=2):
        total = sum(probability(model, first, second, third) for third in range(SIZE))
        assert total == pytest.approx(1, rel=5e-3)
    empty = model_of(np.array([LINE, LINE]))
    assert probability(empty, 0, 1, 2) == pytest.approx(probability(empty, 3, 4, 5))


def test_a_file_gives_the_model_back():
    data = to_bytes(MODEL, "abc")
    again = Ngrams.from_bytes(data)
    assert (again.bigrams == MODEL.bigrams).all()
    assert (again.trigrams == MODEL.trigrams).all()
    for first, second, third in itertools.product(range(SIZE), repeat=3):
        near = math.log(probability(MODEL, first, second, third))
        assert math.log(probability(again, first, second, third)) == pytest.approx(near, abs=0.13)
    assert to_bytes(again, "abc") == data


def test_texts_become_symbols():
    rows = {word: row for row, word in enumerate(["the", "cat", "sat", "on", "a", "mat"])}
    lookup = Lookup(TOKENIZERS["unicode"], rows, (), N)
    (found,) = symbols_of_lines(["The cat sat, on a mat.", "", "A dog"], lookup, N)
    assert found.tolist() == [LINE, 0, 1, 2, CLAUSE, 3, 4, 5, LINE, 4, N, LINE]
    batch = lookup.batch(["the cat. sat"])
    assert gap_kinds(batch).tolist() == [Gap.LINE, Gap.SPACE, Gap.END, Gap.LINE]
    for gaps, kind in (("-", Gap.OTHER), ("'s ", Gap.OTHER), ("", Gap.OTHER), ("'s, ", Gap.CLAUSE)):
        assert gap_kind(gaps) is kind


def enumerated(states, scores, kinds, model, tau, trigrams=True):
    """Posteriors of one unit by all its paths."""
    m, width = states.shape
    out = np.zeros((m, width))
    opened, closed = (N + k if k == Gap.END else LINE for k in (kinds[0], kinds[-1]))
    for path in itertools.product(range(width), repeat=m):
        words = [int(states[at, each]) for at, each in enumerate(path)]
        if min(words) < 0:
            continue
        line = [opened]
        for at, word in enumerate(words):
            if at and kinds[at]:
                line.append(N + int(kinds[at]))
            line.append(word)
        line.append(closed)
        logs = [math.log(probability(model, LINE, line[0], line[1]))]
        for first, second, third in zip(line, line[1:], line[2:], strict=False):
            if trigrams:
                logs.append(math.log(probability(model, first, second, third)))
            else:
                logs.append(model.pairs(np.array([second]), np.array([third]))[0][0])
        score = sum(float(scores[at, each]) for at, each in enumerate(path))
        weight = math.exp(tau * sum(logs) + score)
        for at, each in enumerate(path):
            out[at, each] += weight
    return out / out.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("tau", [1.0, 0.75])
@pytest.mark.parametrize("trigrams", [True, False])
def test_posteriors_are_those_of_all_paths(tau, trigrams):
    generator = np.random.default_rng(5)
    kinds = np.array([1, 0, 3, 0, 2, 0, 0, 1])  # two units
    states = np.stack([generator.permutation(N + 1)[:3] for _ in range(7)])
    states[2, 2] = states[4, 1:] = -1
    scores = generator.normal(size=states.shape).astype(np.float32)
    scores[states < 0] = -1e30
    second = states.shape[1] if trigrams else 0
    found = posteriors(Candidates(states, scores), kinds, PRUNED, (tau,), second)[0]
    for part in (slice(0, 4), slice(4, 7)):
        gaps = kinds[part.start : part.stop + 1]
        wanted = enumerated(states[part], scores[part], gaps, PRUNED, tau, trigrams)
        assert found[part] == pytest.approx(wanted, abs=2e-5)


def test_the_second_stage_leaves_the_others_their_share():
    generator = np.random.default_rng(6)
    states = np.stack([generator.permutation(N)[:5] for _ in range(8)])
    scores = generator.normal(size=states.shape).astype(np.float32)
    kinds = np.array([1, *[0] * 7, 1])
    first = posteriors(Candidates(states, scores), kinds, MODEL, (1.0,), 0)[0]
    second = posteriors(Candidates(states, scores), kinds, MODEL, (1.0,), 3)[0]
    assert second.sum(axis=1) == pytest.approx(1, abs=1e-5)
    least = np.argsort(first, axis=1)[:, :2]
    for row in range(8):
        assert second[row, least[row]] == pytest.approx(first[row, least[row]], abs=1e-6)


def worth(path, states, scores, kinds, weight, twice):
    """What a choice is worth: scores, bigrams, and words that follow themselves."""
    total, line = 0.0, [N + kinds[0]]
    for at, each in enumerate(path):
        total += scores[at, each]
        line += [states[at, each], *([N + kinds[at + 1]] if kinds[at + 1] else [])]
    for one, two in itertools.pairwise(line):
        total += weight * PRUNED.pairs(np.array([one]), np.array([two]))[0][0]
        total -= twice * (one == two)
    return total


@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0])
def test_the_best_path_is_that_of_all_paths(weight):
    generator = np.random.default_rng(7)
    kinds = np.array([1, 0, 3, 0, 2, 0, 0, 1])  # two units
    for _ in range(5):
        states = np.stack([generator.permutation(N + 1)[:3] for _ in range(7)])
        states[2, 2] = states[4, 1:] = -1
        scores = generator.normal(size=states.shape).astype(np.float32)
        scores[states < 0] = -1e30
        found = best_path(Candidates(states, scores), kinds, PRUNED, weight, 0.5)
        for part in (slice(0, 4), slice(4, 7)):
            given = states[part], scores[part], kinds[part.start : part.stop + 1], weight, 0.5
            paths = itertools.product(*(np.flatnonzero(row >= 0) for row in states[part]))
            best = max(worth(path, *given) for path in paths)
            assert worth(found[part], *given) == pytest.approx(best, abs=1e-5)
    nothing = Candidates(states[:0], scores[:0])
    assert len(best_path(nothing, kinds[:1], PRUNED, weight, 0.5)) == 0


def made_tables(generator):
    """Each output has three likely inputs and ⊥."""
    vectors = generator.normal(size=(N, 2)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    likeliest = np.full((N, 7), -1, dtype=np.int32)
    likeliest[:, :3] = np.stack([generator.permutation(N)[:3] for _ in range(N)])
    likeliest[:, -1] = N
    scores = generator.normal(size=likeliest.shape).astype(np.float32)
    scores[likeliest < 0] = -1e30
    number, none = np.arange(N, dtype=np.int32), np.zeros(N, dtype=np.bool_)
    costs = generator.choice([0.0, 0.3], N).astype(np.float32)
    coherence = Coherence.of(vectors, PRUNED, 2.0)
    return Tables(PRUNED, likeliest, scores, number, coherence, costs, none, 0.8, 0.02, 0.1)


def plain_values(word, q, weight, tables):
    """Each word that may be written for a drawn one, and what it is worth."""
    inputs = tables.likeliest[word]
    cosines = tables.coherence.vectors @ tables.coherence.vectors.T
    pairs = [(at, share) for at, share in zip(inputs, q, strict=True) if 0 <= at < N]
    return {
        each: sum(float(share * cosines[each, at]) for at, share in pairs)
        + weight * float(cosines[each, word])
        - (each != word) * float(tables.costs[each])
        for each in {int(word), *(int(at) for at in inputs if 0 <= at < N)}
    }


@pytest.mark.slow
def test_the_drawn_word_weighs_more_in_short_units(monkeypatch):
    """Decoding against all paths of two units."""
    generator = np.random.default_rng(9)
    kinds = np.array([1, 2, 0, 0, 0, 1])  # one word, and four
    differ = 0
    for _ in range(25):
        tables, rows = made_tables(generator), generator.integers(N, size=5)
        rows[1] = rows[0]
        found, posteriors, weights = decode(rows, kinds, tables), [], []
        for part in (slice(0, 1), slice(1, 5)):
            own, between = rows[part], kinds[part.start : part.stop + 1]
            states, coherence = tables.likeliest[own], tables.coherence
            near = coherence.logs(states, coherence.contexts(own, between))
            seen = states, tables.scores[own] + near, between
            posteriors += [*enumerated(*seen, PRUNED, tables.tau)]
            weights += len(own) * [tables.drawn * (1 + 15 / len(own))]
            places = range(part.start, part.stop)
            worths = [plain_values(rows[at], posteriors[at], weights[at], tables) for at in places]
            states = np.array([[*each, *[-1] * (4 - len(each))] for each in worths])
            scores = np.array([[*each.values(), *[-9] * (4 - len(each))] for each in worths])
            given = states, scores, between, tables.fit, 0.3
            paths = [*itertools.product(*(np.flatnonzero(row >= 0) for row in states))]
            best = max(paths, key=lambda path: worth(path, *given))
            assert found[part].tolist() == states[np.arange(len(own)), best].tolist()
        with monkeypatch.context() as patch:
            patch.setattr(decoding, "_SHORT", 0)
            differ += decode(rows, kinds, tables)[0] != found[0]
    assert differ


def test_words_go_with_what_their_unit_is_about():
    """Against the definition, word by word; words that say nothing and other units do not count."""
    generator = np.random.default_rng(10)
    vectors = generator.normal(size=(N, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = Coherence.of(vectors, PRUNED, 3.0)
    kinds = np.array([1, 0, 3, 0, 2, 0, 0, 1])  # units of four and three words
    shares = np.exp(PRUNED.unigrams[:N])
    centred = vectors - shares @ vectors / shares.sum()
    weights = 0.0015 / (0.0015 + shares)
    for _ in range(20):
        words = generator.integers(-1, N + 3, size=7)
        states = generator.integers(-1, N + 1, size=(7, 5))
        found = made.logs(states, made.contexts(words, kinds))
        for at, row in enumerate(states):
            unit = range(4) if at < 4 else range(4, 7)
            others = [w for i, w in enumerate(words) if i in unit and i != at and 0 <= w < N]
            about = sum((weights[w] * centred[w] for w in others), np.zeros(4))
            about /= max(np.linalg.norm(about), 1e-6)
            wanted = [3.0 * weights[w] * (about @ centred[w]) if 0 <= w < N else 0.0 for w in row]
            assert found[at] == pytest.approx(wanted, abs=1e-4)


def test_words_of_a_class_say_nothing_about_the_others():
    """What is written only where it was drawn; here n-grams say nothing, and coherence does."""
    generator = np.random.default_rng(11)
    kinds, changed = np.array([1, *[0] * 7, 1]), 0
    for _ in range(20):
        tables = replace(made_tables(generator), tau=0.0, fit=0.0)
        tables = replace(tables, coherence=replace(tables.coherence, weight=200.0))
        stays = np.arange(N) < 2
        rows = generator.integers(2, N, size=8)
        rows[3] = 0
        other = rows.copy()
        other[3] = 1
        apart = np.arange(8) != 3
        found = [decode(each, kinds, replace(tables, stays=stays)) for each in (rows, other)]
        assert (found[0] == found[1])[apart].all()
        found = [decode(each, kinds, tables) for each in (rows, other)]
        changed += not (found[0] == found[1])[apart].all()
    assert changed


def test_nothing_is_found_for_symbols_that_are_none():
    one, none = np.array([0]), np.array([-1])
    assert MODEL.pairs(one, np.array([1]))[1] >= 0
    assert MODEL.pairs(none, one)[1] == MODEL.pairs(one, none)[1] == -1


@given(st.lists(st.sampled_from([0, 0, 0, 0, 0, 1, 2, 3, 4]), min_size=1, max_size=900))
def test_units_cover_a_text(middle):
    kinds = np.array([1, *middle, 0])
    ends = unit_ends(kinds)
    sizes = np.diff(ends, prepend=0)
    assert ends[-1] == len(kinds) - 1
    assert sizes.min() > 0
    assert sizes.max() <= LONGEST
    found = list(parts(ends, 100))
    assert [part.start for part in found] == [0, *(part.stop for part in found[:-1])]
    assert found[-1].stop == len(kinds) - 1
