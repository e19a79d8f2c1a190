"""Tests of the program, which certificates take to be correct."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, compress, product
from operator import ne
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.analysis.verify.checks import Check, in_random_order
from dpsan.analysis.verify.goodness_of_fit import goodness_of_fit, noise_fit
from dpsan.analysis.verify.independence import independence
from dpsan.embeddings.word_lists import NUMBERS
from dpsan.errors import refuse
from dpsan.mechanisms.tables import PointSampler
from dpsan.only.decision import decide
from dpsan.only.hashes import Hashes
from dpsan.privacy import randomness
from dpsan.run.workers import Workers
from dpsan.sanitize.result import Texts
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids
from dpsan.text.tokens import folded, lookup_keys


def check_program(
    sanitizer: Sanitizer,
    inputs: Sequence[str],
    rows: Ids,
    *,
    draws: int,
    workers: Workers | None = None,
) -> tuple[Check, ...]:
    """Run every test that applies.

    Args:
        sanitizer: the program under test.
        inputs: strings that may be drawn.
        rows: row number of each input.
        draws: approximate budget.
        workers: processes that are tested too.
    """
    key = randomness.new_key()
    single = sanitizer.by_text()
    drawn = [(single.input_of(text) or 0) >= 0 for text in inputs]
    texts, ids = [*compress(inputs, drawn)], rows[drawn]
    part = partial(randomness.derive_key, key)
    stated = sanitizer.mechanism.prepare(sanitizer.space)
    distribution = sanitizer.mechanism.noise_distribution(sanitizer.space)
    out = []
    if distribution is not None and isinstance(stated, PointSampler):
        out.append(noise_fit(single, stated, distribution, draws=draws, key=part("noise")))
    else:
        out.append(goodness_of_fit(single, stated, texts, ids, draws=draws, key=part("fit")))
    if sanitizer.grouping.classed:
        out.append(classes(single, key=part("classes")))
    subkey, noise = part("independence"), distribution is not None
    result = independence(sanitizer, stated, key=subkey, workers=workers, noise_tested=noise)
    return *out, result


def listed_words(sanitizer: Sanitizer) -> frozenset[str]:
    """Return the words of all classes, folded."""
    listed = (words for word_class in sanitizer.spec.classes for words in word_class.groups)
    keys, groups = sanitizer.embeddings.index_to_key, sanitizer.grouping.rows
    rows = (keys[row] for group in groups for row in group.rows)
    return frozenset(map(folded, chain(chain.from_iterable(listed), rows)))


def passing(sanitizer: Sanitizer) -> Callable[[str], bool]:
    """Return whether the options and the lists let a word be written unchanged or masked."""
    kept = {key for word in sanitizer.spec.keep for key in lookup_keys(word)}
    sampled = sanitizer.spec.unknown == "sample"
    return lambda word: not sampled or not kept.isdisjoint(lookup_keys(word))


def classes(sanitizer: Sanitizer, *, key: bytes) -> Check:
    """Look for listed words that are not drawn in their class, in small letters or capitals.

    Args:
        sanitizer: with classes of words; each text is a unit of its own.
        key: fresh.
    """
    grouping = sanitizer.grouping
    listed = listed_words(sanitizer)
    texts = [spelt(word) for word in listed for spelt in (str, str.capitalize, str.upper)]
    records = sanitizer.sanitize(texts, key, audit=True).records
    assert records is not None  # noqa: S101 - requested
    passes, kinds = passing(sanitizer), grouping.kinds
    tokens = {*zip(records.originals, records.input_ids.tolist(), strict=True)}
    passed = sum(
        not passes(word) if code < 0 else bool(kinds[code] == grouping.other)
        for word, code in tokens
        if folded(word) in listed
    )
    figures: dict[str, float] = {"words": len(listed), "passed": passed}
    sentence = f"all {len(listed):,} words of the lists are drawn in every letter case"
    if passed:
        sentence = f"{passed:,} words that the lists hold are not drawn in their class"
    return Check("classes", not passed, sentence, figures)


_LISTED: Final = 12
"""Words of public lists with the same labels, at most."""
_SPELT: Final[dict[str, Callable[[str], str]]] = {"l": str, "T": str.capitalize, "U": str.upper}
_LINES: Final = (Path(__file__).parent / "texts.tsv").read_text("utf-8").splitlines()[1:]
_TEXTS: Final = [line.replace("\\n", "\n").split("\t") for line in _LINES]
PLACES: Final = [text for kind, text, *_ in _TEXTS if kind == "word"]
"""Texts for a word in small letters, with a capital and in capitals."""


def verify_replaced(sanitizer: Sanitizer) -> tuple[str, list[Check]]:
    """Test a program that replaces words of some classes.

    Args:
        sanitizer: as in the planned run.

    Returns:
        kept, violated or inconclusive, and the tests.

    Raises:
        UsageError: the sanitizer has a seed, so its draws are public.
    """
    refuse(sanitizer.seeded, "NOT PRIVATE: a seed makes the random numbers public", "leave it out")
    key, single = randomness.new_key(), sanitizer.by_text()
    texts = exchanged_texts(single, randomness.derive_key(key, "words"))
    checks = [exchanges(single, *texts, randomness.derive_key(key, "outputs")), lists(sanitizer)]
    outcomes = [check.held for check in checks]
    return "violated" if False in outcomes else "kept" if all(outcomes) else "inconclusive", checks


def _words(sanitizer: Sanitizer, key: bytes) -> Iterator[tuple[str, str]]:
    """Yield words of one's own lists and of each label, each with another of the same label.

    Their labels are equal in small letters, with a capital and in capitals.
    """
    rewriter = sanitizer.replacing
    assert rewriter is not None  # noqa: S101 - the caller knows the request
    viewer, lexicon = rewriter.viewer, rewriter.lexicon
    listed = [word for word in _own(sanitizer) if _usual(word)]
    labels = defaultdict[tuple[int, ...], list[str]](list)
    if listed:
        views = (viewer.view([*map(spelt, listed)])[0] for spelt in _SPELT.values())
        columns = (view.label[~view.edge].tolist() for view in views)
        for word, *codes in zip(listed, *columns, strict=True):
            labels[tuple(codes)].append(word)
    most = {codes: len(members) + _LISTED for codes, members in labels.items()}
    words = np.array([word for word in lexicon.lines("words.txt") if _usual(word)])
    hashes = Hashes.of_words(words.tolist())
    rows = lexicon.table.rows(hashes)
    drawn = ~np.isin(hashes, viewer.special[0]) & (viewer.trigger[rows] == 0)
    order = in_random_order(len(words), key)
    order = order[drawn[order]]
    for word, codes in zip(words[order].tolist(), lexicon.codes[rows[order]].tolist(), strict=True):
        if len(labels[tuple(codes)]) < most.get(tuple(codes), _LISTED):
            labels[tuple(codes)].append(word)
    for members in labels.values():
        if len(members) > 1:
            yield from zip(members, [*members[1:], members[0]], strict=True)


def exchanged_texts(sanitizer: Sanitizer, key: bytes) -> tuple[list[str], list[str]]:
    """Return texts in which a word or string is drawn at all places, and with another instead.

    Args:
        sanitizer: each text is a unit of its own.
        key: of the choice of words.
    """
    rewriter = sanitizer.replacing
    assert rewriter is not None  # noqa: S101 - the caller knows the request
    around = [text for kind, text, *_ in _TEXTS if kind == "string"]
    strings = [(first, other) for kind, first, *rest in _TEXTS if kind == "pair" for other in rest]
    pairs = [(text, *pair) for text, pair in product(around, strings)]
    beside_in_phrases = defaultdict[str, set[str]](set)
    for phrase in rewriter.lexicon.lines("phrases.txt"):
        words = re.findall(r"[^\s-]+", phrase)
        for word in words:
            beside_in_phrases[word].update(words)
    for pair in _words(sanitizer, key):
        for place in PLACES:
            joined = {*pair}.union(*map(beside_in_phrases.__getitem__, pair))
            if joined.isdisjoint(re.findall(r"\w+", place.lower())):
                pairs.append((place, *pair))
    texts = [_filled(place, word) for place, word, _ in pairs]
    others = [_filled(place, other) for place, _, other in pairs]
    view, places = rewriter.viewer.view(texts)
    decision = decide(view, rewriter.rules)
    shown = NUMBERS if sanitizer.spec.epsilon is not None else ""  # by value
    classes = np.array(rewriter.classes, dtype=object)[decision.group]
    rows = zip(decision.text.tolist(), places.words(decision.at), classes, strict=True)
    drawn = Counter((text, folded(word)) for text, word, name in rows if name != shown)
    chosen = [
        drawn[at, folded(word)] == place.count("{") for at, (place, word, _) in enumerate(pairs)
    ]
    return [*compress(texts, chosen)], [*compress(others, chosen)]


def _filled(place: str, word: str) -> str:
    """Return a text with a word in its places."""
    return place.format(**{slot: spelt(word) for slot, spelt in _SPELT.items()})


def exchanges(sanitizer: Sanitizer, texts: list[str], others: list[str], key: bytes) -> Check:
    """Compare the outputs of texts with those of the same texts with other words."""
    figures = {"exchanges": len(texts)}
    before, after = (sanitizer.sanitize(units, key).lines for units in (texts, others))
    changed = sum(map(ne, before, after))
    figures["outputs changed"] = changed
    if changed:
        sentence = f"of {len(texts):,} exchanges {changed:,} change an output: it depends on"
        sentence += " which word of its group was replaced"
        return Check("blindness", False, sentence, figures)
    if not texts:
        return Check("blindness", None, "no word of the public texts is replaced", figures)
    sentence = f"{len(texts):,} times another word of its label, or string of its form, stood "
    return Check("blindness", True, f"{sentence}there: outputs stay", figures)


def _own(sanitizer: Sanitizer) -> list[str]:
    """Return the words of one's own lists that are not kept, folded."""
    kept = {*map(folded, sanitizer.spec.keep)}
    groups = (word_class.groups[0] for word_class in sanitizer.spec.only if not word_class.english)
    return [*({*map(folded, chain.from_iterable(groups))} - kept)]


def _usual(word: str) -> bool:
    """Return whether a word has letters alone, which are as many in capitals."""
    return len(word) > 2 and word.isalpha() and word.upper().lower() == word


def lists(sanitizer: Sanitizer) -> Check:
    """Look for kept words that are replaced, and for words of one's own lists that pass."""
    spec, rewriter = sanitizer.spec, sanitizer.replacing
    assert rewriter is not None  # noqa: S101 - the caller knows the request
    kept = {folded(word) for word in spec.keep}
    listed = _own(sanitizer)
    words = [spelt(word) for word in (*listed, *kept) for spelt in (str, str.capitalize, str.upper)]
    drawn = np.zeros((len(listed) + len(kept), 3), np.int64)
    if words:
        texts = [f"They saw {word} there." for word in words]
        decided = rewriter.decided(Texts(texts, b"", range(len(texts))))
        drawn = np.bincount(decided.decision.text, minlength=len(words)).reshape(-1, 3)
    passed = int((drawn[: len(listed)] == 0).any(axis=1).sum())
    replaced = int(drawn[len(listed) :].any(axis=1).sum())
    figures = {"own": len(listed), "kept": len(kept), "passed": passed, "replaced": replaced}
    sentence = f"all {len(listed):,} words of own lists are replaced, and all {len(kept):,} kept "
    sentence += "words pass, in every letter case"
    if passed or replaced:
        sentence = f"{passed:,} words of own lists pass, and {replaced:,} kept words are replaced"
    return Check("lists", not (passed or replaced), sentence, figures)
