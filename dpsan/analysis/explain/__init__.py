"""Explain words: output distributions, nearest words, and the posterior of an attacker.

Only the public vocabulary is looked at, and draws use public keys: nothing here is private or
needs to be, and results are repeatable.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpsan.analysis.explain.result import Explanation, Output, Posterior
from dpsan.analysis.explain.words import UNKNOWN, Word
from dpsan.embeddings.class_lists import NAMES, SENSITIVE, class_rows, word_classes
from dpsan.embeddings.public_words import is_english
from dpsan.mechanisms.description import finite
from dpsan.mechanisms.optimal.optimum import Optimum
from dpsan.outcomes.distributions import Progress, distributions, draw_counts, has_distribution
from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.observer import MOST_CELLS, Observer, Posteriors, near_observer
from dpsan.outcomes.one_word import Figures, Row, from_draws, from_pmf
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer

DRAWS = 10_000
"""Draws for a word whose distribution is not known."""
_NEIGHBOURS = 10
_POINTED = 3
"""Outputs whose posterior is given."""


def explain(
    sanitizer: Sanitizer,
    words: Sequence[Word],
    *,
    top: int = 10,
    draws: int = DRAWS,
    seed: str = "",
    posterior: bool = True,
    progress: Progress | None = None,
) -> list[Explanation]:
    """Return the output distribution of each word under one mechanism.

    Args:
        words: from :func:`dpsan.analysis.explain.words.read`.
        top: outputs to list, most likely first.
        draws: for each word where the distribution is not known.
        seed: public; names the random numbers.
        posterior: also ask which inputs the most likely outputs point to.
        progress: called with the share of the work done since the last call.
    """
    report = progress or (lambda _: None)
    space, mechanism = sanitizer.space, sanitizer.mechanism
    sampler = mechanism.prepare(space)
    ids = list(dict.fromkeys(word.id for word in words))
    posterior = posterior and top > 0
    known = has_distribution(sampler)
    whole = known and posterior and float(space.n) * space.n <= MOST_CELLS
    # The pass over all inputs is nearly all of the work where it is made.
    share = (0.05 if whole else 0.4 if posterior else 1.0) / max(len(ids), 1)
    key = randomness.seeded_key(f"dpsan explain {seed}")
    figures: dict[int, Figures] = {}
    for each in ids:
        if known:
            distribution = distributions(sampler, np.array([each]))[0]
            figures[each] = from_pmf(space, each, distribution, top)
            report(share)
        else:
            own, show = randomness.derive_key(key, "word", each), _scaled(report, share)
            counts = draw_counts(sampler, space.n, each, draws, own, show)
            figures[each] = from_draws(space, each, counts, draws, top)
    observer: Observer | None = None
    if whole:
        observer = Observer.build(mechanism, sampler, space, _scaled(report, 0.95))
    pointed: dict[int, Posteriors] = {}
    for each in ids if posterior else ():
        outputs = [output.id for output in figures[each].outputs]
        if observer is not None:
            pointed[each] = observer.posteriors(outputs[:_POINTED])
        else:
            size, show = max(1, draws // 5), _scaled(report, 0.6 / len(ids))
            pointed[each] = near_observer(space, sampler, figures[each], size, key, known, show)
    optimum = mechanism.optimum(space, quick=True)
    nothing = Posteriors((), "")
    classes = _classes(sanitizer)
    return [
        _explanation(
            sanitizer,
            word,
            figures[word.id],
            pointed.get(word.id, nothing),
            observer,
            optimum,
            classes,
        )
        for word in words
    ]


def _classes(sanitizer: Sanitizer) -> dict[int, str]:
    """Return the class of each word that has one; nothing for a vocabulary that is not English."""
    if not is_english(sanitizer.embeddings.key_to_index):
        return {}
    rows = class_rows(word_classes(SENSITIVE), sanitizer.embeddings.key_to_index)
    return {row: each.name for each in rows for row in each.rows} | {sanitizer.space.n: NAMES}


def _scaled(progress: Progress, share: float) -> Progress:
    """Progress of a part of the work that is so large."""
    return lambda done: progress(share * done)


def _explanation(
    sanitizer: Sanitizer,
    word: Word,
    figures: Figures,
    posteriors: Posteriors,
    observer: Observer | None,
    optimum: Optimum | None,
    classes: dict[int, str],
) -> Explanation:
    keys, space = sanitizer.embeddings.index_to_key, sanitizer.space

    def name(row: int) -> str:
        return UNKNOWN if row == space.n else keys[row]

    def point(each: Row) -> tuple[str, bool, Estimate]:
        return name(each.id), each.id == space.n, each.probability

    neighbors: list[tuple[str, float]] = []
    if word.id < space.n:
        ids, distances = space.search(
            space.points(np.array([word.id])), min(_NEIGHBOURS + 1, space.n)
        )
        pairs = zip(ids[0].tolist(), distances[0].tolist(), strict=True)
        neighbors = [(keys[row], float(far)) for row, far in pairs if row != word.id]
    guarantee = sanitizer.guarantee
    return Explanation(
        word=word.text,
        input=None if word.id == space.n else keys[word.id],
        mechanism=sanitizer.mechanism,
        guarantee=guarantee,
        word_class=classes.get(word.id),
        public=word.id in sanitizer.public,
        epsilon_ldp=finite(guarantee.epsilon_ldp),
        optimum=optimum,
        exact=figures.exact,
        draws=figures.draws,
        unchanged=figures.unchanged,
        close=figures.close,
        distant=figures.distant,
        distinct=figures.distinct,
        distinct_draws=figures.distinct_draws,
        outputs=tuple(Output(keys[o.id], o.probability, o.distance) for o in figures.outputs),
        neighbors=tuple(neighbors[:_NEIGHBOURS]),
        posterior=tuple(
            Posterior(name(output), tuple(point(each) for each in points))
            for output, points in posteriors.rows
        ),
        posterior_note=posteriors.note,
        observer_success=None if observer is None else observer.success,
    )
