"""[TrLap] Private language models via the truncated Laplacian mechanism: theorems and tables.

python docs/studies/trlaplace.py theorem-3 -e 1
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Final

import numpy as np
from common import claims
from common.command import main
from common.noise import PARAMETERS as NOISE
from common.noise import noise
from common.noisy_vectors import (
    LinearDecoder,
    bleu,
    boxed,
    log_prior,
    means,
    random_vectors,
    released,
    truncation,
    windows,
)
from common.panels import Panel, Series
from common.steps import in_steps
from common.study import Asked, Result, Studies
from common.sweeps import about, label, repeated
from common.texts import PARAMETERS as TEXTS
from common.texts import labelled, sizes
from common.values import at_least, dimensions, positive, whole
from common.words import line, lines, share_of_draws, spread

from dpsan.analysis.compare.measure import Corpus
from dpsan.analysis.evaluate.accuracy import Labelled, classifier, judge
from dpsan.cli.options import Vocabulary
from dpsan.errors import UsageError
from dpsan.mechanisms.clipped_noise import ClippedLaplacePaper, GaussianPaper, TrLaplacePaper
from dpsan.mechanisms.laplace import Laplace, Mahalanobis, ProjectedLaplace
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.text_likelihood import sanitized
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Guarantee, Loss
from dpsan.privacy.noise_formulas import published_truncation
from dpsan.space.arrays import Ids
from dpsan.space.diameters import clipped
from dpsan.space.metric_space import MetricSpace

STUDIES: Final = Studies()
_METHODS: Final = (
    TrLaplacePaper,
    GaussianPaper,
    ClippedLaplacePaper,
    Laplace,
    Mahalanobis,
    ProjectedLaplace,
)
"""Those that the paper compares, as published."""
_ACCURACY: Final = ("mechanism", "epsilon", "epsilon_unit", "accuracy", "clean_to_sanitized")
_EPSILONS: Final = (0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0)


def rouge(original: Sequence[str], sanitized: Sequence[str]) -> dict[str, float]:
    """ROUGE-1 of the sanitized texts against their originals, means over texts.

    By the library rouge-score: lower case, no stemming; only letters a-z and digits count.
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1"])
    sums = np.zeros(3)
    for text, other in zip(original, sanitized, strict=True):
        sums += scorer.score(text, other)["rouge1"]
    means = sums / max(len(original), 1)
    return dict(zip(("precision", "recall", "f1"), means.tolist(), strict=True))


@STUDIES.add("[TrLap] Theorem 2", uses=frozenset({"epsilons"}))
def theorem_2(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed delta 4^-d of the Gaussian baseline against the true delta of its noise.

    The theorem is for epsilon <= 1, where its formula is right.  The experiments use the formula
    up to epsilon 20.
    """
    space = space or claims.corners(300, 1.0)
    rows = []
    for epsilon in asked.epsilons or (0.05, 1.0, 5.0, 10.0, 16.8, 17.0, 20.0):
        mechanism = GaussianPaper(epsilon)
        claimed = mechanism.wanted_delta(space.d)
        true = mechanism.guarantee(space).delta
        rows.append({"d": space.d, "epsilon": epsilon, "claimed": claimed, "true": true})
        rows[-1]["ratio"] = true / claimed
    truth = line("true", rows, "epsilon", "ratio")
    both = (truth, claims.claim_line(truth.x, 1.0, "claimed: at most 1"))
    axes = ("epsilon (nats)", "true delta over claimed delta")
    return Result(
        rows=rows,
        parameters={"d": space.d, "epsilons": list(truth.x)},
        panels=(Panel("gaussian-paper", *axes, both, log_x=True, log_y=True),),
        caption=f"Delta of the textbook formula for Gaussian noise, {space.d} dimensions.",
        notes=("the theorem is for epsilon <= 1; the experiments use its formula up to 20",),
    )


@STUDIES.add("[TrLap] Theorem 3", uses=frozenset({"epsilons"}), parameters=claims.PARAMETERS)
def theorem_3(space: MetricSpace | None, asked: Asked) -> Result:
    """Claimed delta 4^-d against the true delta of the mechanism.

    The true delta is the largest mass of a box of noise outside the shifted box.
    """
    return claims.deltas(space, asked, [TrLaplacePaper])


@STUDIES.add("[TrLap] Theorem 4", uses=frozenset({"mechanisms", "epsilons"}), parameters=NOISE)
def theorem_4(space: MetricSpace | None, asked: Asked) -> Result:
    """Noise of the three mechanisms as published, at the same epsilon.

    The theorem orders them in the same number of dimensions.  The paper's tables compare a
    mechanism that is padded to 1700 dimensions at epsilon 20 with baselines in 300: ``--d
    300,1700`` shows both.
    """
    kinds = (TrLaplacePaper, ClippedLaplacePaper, GaussianPaper)
    return noise(space, asked, [Draft(kind) for kind in kinds])


@STUDIES.add(
    "[TrLap] Tables 1, 2, 3 and Figures 2, 3, 5",
    least_words=2,
    uses=frozenset({"mechanisms", "epsilons"}),
    parameters=TEXTS,
    libraries=("sklearn", "rouge_score"),
)
def tables_1_3(space: MetricSpace, asked: Asked) -> Result:
    """Words kept, ROUGE and accuracy on labelled texts, by method (needs dpsan[evaluate]).

    Beside the share of words that stay stands what no mechanism with that guarantee can pass whose
    output i reads word i alone: with p the share of the most frequent word, e^epsilon·p + delta.
    (P(w|w) <= e^epsilon·P(w|v) + delta for one fixed v; the mean over the words of a text of the
    first part is at most e^epsilon·p, as the P(w|v) sum to 1.)
    """
    train, test = labelled(asked)
    chosen = list(asked.mechanisms) or [Draft(kind) for kind in _METHODS]
    grid = tuple(asked.epsilons) or _EPSILONS
    key = randomness.seeded_key(f"dpsan study utility {asked.seed}")
    ids = test.words.ids
    most = float(np.unique(ids[ids < space.n], return_counts=True)[1].max(initial=0)) / len(ids)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    for (draft, epsilon), progress in in_steps(asked.progress, list(product(chosen, grid))):
        try:
            mechanism = draft.at(epsilon)
            guarantee = mechanism.guarantee(space)
        except UsageError as error:
            notes.append(f"{label(draft)} at epsilon {epsilon:g}: {error.message}")
            continue
        rows.append(
            {
                **about(draft, mechanism, space),
                **_guarantee(mechanism, guarantee, most),
                **_figures(mechanism, space, asked, (train, test), key, progress),
            }
        )
    if not rows:
        raise UsageError("no mechanism is defined at any of these epsilons", next(iter(notes), ""))
    first, original_f1 = judge(_same(train), _same(test)), weighted_f1(_same(train), _same(test))
    share = first.pairs["clean", "clean"].value or 0.0
    common = first.majority.value or 0.0
    summary = {
        "original_accuracy": share,
        "original_weighted_f1": original_f1,
        "majority": common,
        "most_frequent_word": most,
    }
    notes.append(
        f"texts as they are: accuracy {share:.3f}, weighted F1 {original_f1:.3f}; "
        f"always the most frequent label: {common:.3f}"
    )
    notes.append(
        "bound: e^epsilon·p + delta of the true guarantee, which the share kept cannot pass where "
        "output i reads word i alone; bound_of_claim: of the published one; "
        f"p = {most:.3f}, the most frequent word"
    )
    return Result(
        rows=rows,
        summary=summary,
        parameters=repeated(
            asked,
            chosen,
            epsilons=list(grid),
            training_texts=len(train.words),
            test_texts=len(test.words),
            test_words=len(ids),
        ),
        panels=_panels(rows, common),
        caption=f"Words that stay and ROUGE-1 of {len(test.words):,} test texts "
        f"({len(ids):,} words); accuracy of TF-IDF and logistic regression trained on "
        f"{len(train.words):,} texts. Epsilon in each mechanism's own unit; {space.n:,} words in "
        f"{space.d} dimensions.",
        notes=notes,
    )


@STUDIES.add(
    "[TrLap] Figure 4",
    least_words=2,
    uses=frozenset({"mechanisms", "epsilons"}),
    parameters={
        **TEXTS,
        "others": "files of other embeddings, separated by commas; random: random vectors",
        "reads": "words, or vectors: the mean of a text's noisy vectors, or box: the words that "
        "the box attack names; default words",
        "clip": "radius of vectors and box; default 1",
    },
    libraries=("sklearn", "rouge_score"),
)
def figure_4(space: MetricSpace, asked: Asked) -> Result:
    """Accuracy on labelled texts with several embeddings (needs dpsan[evaluate])."""
    others = filter(None, str(asked.parameters.get("others", "")).split(","))
    reads = str(asked.parameters.get("reads", "words"))
    if reads not in ("words", "vectors", "box"):
        raise UsageError(f"--reads must be words, vectors or box (got {reads})")
    study = tables_1_3 if reads == "words" else partial(_vectors, reads == "box")
    rows: list[Mapping[str, Any]] = []
    panels: list[Panel] = []
    for path, progress in in_steps(asked.progress, [None, *others]):
        words, own = asked.embeddings, space
        if path == "random":
            words, own = random_vectors(asked)
        elif path is not None:
            words, own = Vocabulary(embeddings=Path(path), quiet=True).open_space()
        found = study(own, replace(asked, embeddings=words, progress=progress))
        name = Path(words.source).name if words else ""
        rows += [
            {"embeddings": name, **{each: row[each] for each in _ACCURACY}} for row in found.rows
        ]
        panels.append(replace(found.panels[-1], title=name))
    parameters = {**found.parameters, "embeddings": [panel.title for panel in panels]}
    return replace(found, rows=rows, panels=panels, parameters=parameters, summary={})


_PUBLISHED: Final = (TrLaplacePaper, GaussianPaper, ClippedLaplacePaper)


def _clipped_drafts(asked: Asked) -> tuple[list[Draft], float]:
    """The mechanisms asked for, or the three published ones, at one clipping radius."""
    clip = positive(asked.parameters.get("clip", 1.0), "--clip")
    drafts = list(asked.mechanisms) or [Draft(kind) for kind in _PUBLISHED]
    for draft in drafts:
        if "clip" not in draft.kind.parameters():
            raise UsageError(f"{draft.kind.name} does not clip vectors")
    return [replace(each, values={"clip": f"{clip}", **each.values}) for each in drafts], clip


def _known(texts: Corpus, n: int, most: int | None = None) -> Ids:
    """Places of the words of texts that have a vector, the first ones."""
    return np.flatnonzero(texts.words.ids < n)[:most]


def _vectors(box: bool, space: MetricSpace, asked: Asked) -> Result:
    """Accuracy of logistic regression on what is read of noisy vectors, by mechanism."""
    from sklearn.linear_model import LogisticRegression

    train, test = labelled(asked)
    drafts, clip = _clipped_drafts(asked)
    grid = tuple(asked.epsilons) or _EPSILONS
    key = randomness.seeded_key(f"dpsan study noisy vectors {asked.seed}")
    prior = log_prior(train, space.n)
    assert asked.embeddings is not None  # noqa: S101 - the texts were split by it
    words = asked.embeddings.index_to_key
    moved = clipped(space, clip)[0]
    rows: list[dict[str, Any]] = []
    pairs = [(None, 0.0), *product(drafts[: 1 if box else None], grid)]
    for (draft, epsilon), step in in_steps(asked.progress, pairs):
        features: list[Any] = []
        for name, texts in (("train", train), ("test", test)):
            known = _known(texts, space.n)
            ids = texts.words.ids[known]
            if draft is None:
                points, named = moved.points(ids), ids
            else:
                own = randomness.derive_key(key, name, draft.kind.name, f"{epsilon:g}")
                mechanism = draft.at(epsilon)
                found = released(mechanism, space, ids, own)
                points = found.noisy
                if box:
                    named = boxed(found, *truncation(mechanism, space, clip), prior)[0]
            if box:
                every = texts.words.ids.copy()
                every[known] = named
                features.append(texts.strings([words[row % space.n] for row in every.tolist()]))
            else:
                features.append(means(texts, known, points))
            step(0.5)
        truth = np.array(test.labels, dtype=object)
        if box:
            guesses = classifier(features[0], train.labels).predict(features[1])
        else:  # in units of what they vary by
            middle, scale = features[0].mean(axis=0), features[0].std() or 1.0
            scaled = [(each - middle) / scale for each in features]
            model = LogisticRegression(max_iter=2000, random_state=0).fit(scaled[0], train.labels)
            guesses = model.predict(scaled[1])
        rows.append(
            {
                "mechanism": "none" if draft is None else label(draft),
                "epsilon": epsilon,
                "epsilon_unit": "nats",
                "accuracy": float((guesses == truth).mean()),
                "clean_to_sanitized": None,
            }
        )
    shown = lines(rows, "epsilon", "accuracy")
    return Result(
        rows=rows,
        parameters=repeated(asked, drafts, epsilons=list(grid), clip=clip),
        panels=(Panel("Noisy vectors", "epsilon (nats, as published)", "accuracy", shown),),
        caption=f"Accuracy on {len(test.labels):,} texts of logistic regression that reads "
        + ("the words that the box attack names" if box else "the mean of noisy vectors")
        + f" of {len(train.labels):,}; clipped at {clip:g}; epsilon 0: without noise.",
    )


@STUDIES.add(
    "[TrLap] Theorem 3: what the noise's box gives away",
    least_words=2,
    uses=frozenset({"epsilons", "words"}),
    parameters={**TEXTS, "clip": "clipping radius C; default 1"},
)
def box_attack(space: MetricSpace, asked: Asked) -> Result:
    """Words named by the box in which the published noise lies, against what the claim allows.

    The attacker reads the noisy vector of one word and knows the words' shares in the training
    texts.  The claim allows e^epsilon·p + delta, p the share of the most frequent word.
    """
    train, test = labelled(asked)
    (draft,), clip = _clipped_drafts(replace(asked, mechanisms=[Draft(TrLaplacePaper)]))
    known = _known(test, space.n, at_least(asked.words, 1, 1000, "--words"))
    ids = test.words.ids[known]
    most = float(np.unique(ids, return_counts=True)[1].max()) / len(ids)
    prior, key = log_prior(train, space.n), randomness.seeded_key(f"dpsan study box {asked.seed}")
    rows: list[dict[str, Any]] = []
    for epsilon, step in in_steps(asked.progress, asked.epsilons or (0.05, 1.0, 5.0, 8.0)):
        mechanism = draft.at(epsilon)
        assert isinstance(mechanism, TrLaplacePaper)  # noqa: S101 - for the type checker
        alpha, reach = truncation(mechanism, space, clip)
        found = released(mechanism, space, ids, randomness.derive_key(key, f"{epsilon:g}"))
        names, counts = boxed(found, alpha, reach, prior)
        near = space.search(found.noisy, 1)[0][:, 0]
        claim = mechanism.guarantee(space).claimed
        hits = int((names == ids).sum())
        rows.append(
            {
                "epsilon": epsilon,
                "reach": reach / clip,
                "candidates": float(np.median(counts)),
                "nearest": float((near == ids).mean()),
                **spread(named=share_of_draws(hits, len(ids))),
                "claim_allows": _bound(epsilon, claim.delta if claim else 0.0, most),
                "true_delta": mechanism.true_delta(space.d),
            }
        )
        step(1.0)
    series = (
        line("named by the box", rows, "epsilon", "named"),
        line("the claim allows", rows, "epsilon", "claim_allows", "dashed"),
    )
    axes = ("claimed epsilon (nats)", "share of words")
    return Result(
        rows=rows,
        summary={"most_frequent_word": most},
        parameters={"words": len(ids), "clip": clip, "seed": asked.seed},
        panels=(Panel("Words named", *axes, series, log_x=True),),
        caption=f"Share of {len(ids):,} words named from their noisy vectors, {space.n:,} words in "
        f"{space.d} dimensions, clipped at {clip:g}.",
        notes=(f"the most frequent word is {most:.3f} of them",),
    )


@STUDIES.add(
    "[TrLap] Tables 1, 2, 3: a decoder of noisy vectors",
    least_words=2,
    uses=frozenset({"mechanisms", "epsilons", "words"}),
    parameters={
        **TEXTS,
        "clip": "clipping radius C; default 1",
        "side": "words before and after that the decoder reads as well; default 1",
    },
    libraries=("rouge_score",),
)
def autoencoder(space: MetricSpace, asked: Asked) -> Result:
    """Words kept behind a linear decoder of noisy vectors (needs dpsan[evaluate]).

    In place of the paper's network: ridge regression from the noisy vectors of a window to the
    word's own vector, learnt from training texts with the same noise, then the likeliest word.
    """
    train, test = labelled(asked)
    drafts, clip = _clipped_drafts(asked)
    side = whole(asked.parameters, "side", 1, 0)
    grid = tuple(asked.epsilons) or _EPSILONS
    key = randomness.seeded_key(f"dpsan study decoder {asked.seed}")
    prior, moved = log_prior(train, space.n), clipped(space, clip)[0]
    everything = space.points(np.arange(space.n))
    assert asked.embeddings is not None  # noqa: S101 - the texts were split by it
    words = asked.embeddings.index_to_key
    places = [_known(each, space.n) for each in (train, test)]
    truth = [each.words.ids[known] for each, known in zip((train, test), places, strict=True)]
    most = float(np.unique(truth[1], return_counts=True)[1].max()) / len(truth[1])
    rows: list[dict[str, Any]] = []
    pairs: list[tuple[Draft | None, float]] = [(None, 0.0), *product(drafts, grid)]
    for (draft, epsilon), step in in_steps(asked.progress, pairs):
        read = []
        for part, (texts, known) in enumerate(zip((train, test), places, strict=True)):
            points = moved.points(truth[part])
            if draft is not None:
                own = randomness.derive_key(key, part, draft.kind.name, f"{epsilon:g}")
                points = released(draft.at(epsilon), space, truth[part], own).noisy
            read.append(windows(texts, known, points, side))
        decoder = LinearDecoder(read[0], truth[0], everything, prior)
        names, loss = decoder.read(read[1], truth[1])
        found = test.words.ids.copy()
        found[places[1]] = names
        version = [words[row] if row < space.n else "<unk>" for row in found.tolist()]
        starts = test.words.starts.tolist()
        own_words = [piece[1::2] for piece in test.pieces]
        others = [version[a:b] for a, b in pairwise(starts)]
        rows.append(
            {
                "mechanism": "none" if draft is None else label(draft),
                "epsilon": epsilon,
                "kept": float((names == truth[1]).mean()),
                "loss": loss,
                "rouge_recall": rouge(test.originals, test.strings(version))["recall"],
                "bleu": bleu(own_words, others),
            }
        )
        step(1.0)
    axes = "epsilon (nats, as published)", "share of words"
    return Result(
        rows=rows,
        summary={"most_frequent_word": most},
        parameters=repeated(asked, drafts, epsilons=list(grid), clip=clip, side=side),
        panels=(
            Panel("Words kept behind a linear decoder", *axes, lines(rows, "epsilon", "kept")),
        ),
        caption=f"A linear decoder learnt from {len(truth[0]):,} noisy words; {len(truth[1]):,} "
        f"words of {len(test.words):,} test texts, clipped at {clip:g}; epsilon 0: without noise.",
        notes=(f"the most frequent word is {most:.3f} of the test words",),
    )


@STUDIES.add("[TrLap] Table 4", least_words=2, parameters=TEXTS)
def table_4(space: MetricSpace, asked: Asked) -> Result:
    """How many texts and words the data have that stand for those of the paper."""
    return sizes(space, asked)


@STUDIES.add(
    "[TrLap] Table 5",
    uses=frozenset({"epsilons"}),
    parameters={"d": "dimensions, separated by commas; default 300"},
)
def table_5(space: MetricSpace | None, asked: Asked) -> Result:
    """Numbers that rejection sampling draws for one of the truncated noise.

    The paper draws Laplace numbers until one lies within A: 1/(1 - e^(-alpha·A)) of them on
    average, which is 2·sqrt(d)·delta^(1/d)/epsilon.  Here the distribution function is inverted:
    one number at every epsilon.
    """
    rows = []
    for d, epsilon in product(
        dimensions(asked.parameters.get("d"), (300,)), asked.epsilons or (0.05, 0.5, 1.0, 5.0, 8.0)
    ):
        alpha, reach = published_truncation(epsilon, "auto", d, 1.0)
        rejected = 1 / -math.expm1(-alpha * reach)
        rows.append({"d": d, "epsilon": epsilon, "rejection": rejected, "inverse": 1.0})
    both = (
        line("rejection", rows, "epsilon", "rejection", "points"),
        line("inverse distribution function", rows, "epsilon", "inverse", "dashed"),
    )
    axes = ("epsilon (nats)", "numbers drawn for one")
    return Result(
        rows=rows,
        parameters={"epsilons": list(asked.epsilons)},
        panels=(Panel("Truncated Laplace noise", *axes, both, log_x=True, log_y=True),),
        caption="Random numbers drawn for one coordinate of the published noise, on average.",
    )


def weighted_f1(train: Labelled, test: Labelled) -> float:
    """F1 of each class of sanitized texts, its mean weighted by how many test texts it has."""
    from sklearn.metrics import f1_score

    found = classifier(train.sanitized, train.labels).predict(test.sanitized)
    return float(f1_score(test.labels, found.tolist(), average="weighted", zero_division=0))


def _same(texts: Corpus) -> Labelled:
    return Labelled(texts.originals, texts.originals, texts.labels)


def _guarantee(mechanism: Mechanism, guarantee: Guarantee, most: float) -> dict[str, Any]:
    """The true LDP guarantee and both bounds on the share of words that stay."""
    loss = Loss(guarantee.epsilon_ldp, guarantee.delta)
    if mechanism.is_ldp():  # as published: its epsilon with the delta that is true there
        loss = guarantee.at(mechanism.epsilon)
    claim = guarantee.claimed
    claimed = None
    if claim is not None and claim.metric is None:
        claimed = _bound(claim.epsilon, claim.delta, most)
    return {
        "status": str(guarantee.status),
        "epsilon_ldp": loss.epsilon,
        "delta": loss.delta,
        "bound": _bound(loss.epsilon, loss.delta, most),
        "bound_of_claim": claimed,
    }


def _bound(epsilon: float, delta: float, most: float) -> float:
    return min(1.0, math.exp(min(epsilon, 700.0)) * most + delta)


def _figures(
    mechanism: Mechanism,
    space: MetricSpace,
    asked: Asked,
    texts: tuple[Corpus, Corpus],
    key: bytes,
    progress: Any,
) -> dict[str, float | None]:
    sampler = mechanism.prepare(space)
    assert asked.embeddings is not None  # noqa: S101 - the texts were split by it
    words = asked.embeddings.index_to_key
    versions, kept, copied = [], 0.0, 0.0
    for at, (name, each) in enumerate(zip(("train", "test"), texts, strict=True)):
        own = randomness.derive_key(key, name)
        drawn = sanitized(sampler, each.words, own)
        progress(0.4 * (at + 1))
        versions.append(each.strings([words[row] for row in drawn.tolist()]))
        kept = float((drawn == each.words.ids).mean()) if len(drawn) else 0.0
        starts = each.words.starts.tolist()
        others = [[words[row] for row in drawn[a:b].tolist()] for a, b in pairwise(starts)]
        copied = bleu([piece[1::2] for piece in each.pieces], others)
    train, test = (
        Labelled(each.originals, version, each.labels)
        for each, version in zip(texts, versions, strict=True)
    )
    scores, found = rouge(test.clean, test.sanitized), judge(train, test)
    progress(1.0)
    return {
        "kept": kept,
        "rouge_f1": scores["f1"],
        "rouge_recall": scores["recall"],
        "bleu": copied,
        "accuracy": found.pairs["sanitized", "sanitized"].value,
        "weighted_f1": weighted_f1(train, test),
        "clean_to_sanitized": found.pairs["clean", "sanitized"].value,
        "sanitized_to_clean": found.pairs["sanitized", "clean"].value,
    }


def _panels(rows: Sequence[Mapping[str, Any]], majority: float) -> tuple[Panel, ...]:
    x = [row["epsilon"] for row in rows]
    kept, recall, accuracy = (
        lines(rows, "epsilon", each) for each in ("kept", "rouge_recall", "accuracy")
    )
    floor = Series("most frequent label", (min(x), max(x)), (majority, majority), style="dashed")
    accuracy += (floor,)
    epsilon = "epsilon (unit of each mechanism)"
    return (
        Panel("Words kept", epsilon, "share of words", kept, log_x=True),
        Panel("ROUGE-1 recall", epsilon, "recall", recall, log_x=True),
        Panel("Trained and tested on rewritten texts", epsilon, "accuracy", accuracy, log_x=True),
    )


if __name__ == "__main__":
    main(STUDIES, __doc__)
