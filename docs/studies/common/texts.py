"""Labelled public texts of the studies; no result and no message holds any of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from common.panels import Panel
from common.study import Asked, Result
from common.values import whole
from common.words import below
from dpsan.analysis.compare.measure import Corpus, read_corpus
from dpsan.analysis.evaluate.accuracy import Labelled, split
from dpsan.analysis.evaluate.pairs import Inputs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.errors import InputError, UsageError
from dpsan.formats.base import ReadOptions
from dpsan.formats.csv import one_delimiter
from dpsan.space.metric_space import MetricSpace

PARAMETERS: Final = {
    "train": "file of training texts with labels: CSV, TSV or JSON lines",
    "test": "file of test texts, of the same form; default: every fifth of train",
    "text": "column or key of the text",
    "label": "column or key of the label",
    "header": "yes, or no: columns have numbers, the first is 1",
    "delimiter": "character between the cells of CSV, such as ;",
    "records": "number of records of each file, the first ones; default 1000",
}
_HINT: Final = "--text COLUMN, --header no, --delimiter ';' say how it is read"


def labelled(asked: Asked) -> tuple[Corpus, Corpus]:
    """Return the training and test texts that the parameters name.

    Without a test file every fifth record is a test record.

    Raises:
        UsageError: a parameter is missing or wrong.
        InputError: a file cannot be read.
    """
    values = asked.parameters
    for name in ("train", "text", "label"):
        if name not in values:
            raise UsageError(f"--{name} is missing", "--train FILE --text COLUMN --label COLUMN")
    header = str(values.get("header", "yes"))
    if header not in ("yes", "no"):
        raise UsageError(f"--header must be yes or no (got {header})")
    if asked.embeddings is None:
        raise UsageError("it needs a vocabulary with its words")
    vocabulary = Vocabulary(asked.embeddings, "unicode")
    limit = whole(values, "records", 1000)
    options = ReadOptions(
        fields=(str(values["text"]),),
        header=header == "yes",
        delimiter=one_delimiter(str(values["delimiter"]), "--delimiter")
        if "delimiter" in values
        else "",
        force_text=True,
    )

    def read(name: str) -> Corpus:
        path, inputs = Path(str(values[name])), Inputs("auto", options)
        try:
            return read_corpus(path, inputs, str(values["label"]), vocabulary, limit)
        except InputError as error:
            # Hints are for rewrite, whose options a study lacks.
            hint = str(error.hint)
            raise InputError(
                path, error.what, _HINT if " -" in f" {hint}" else hint, line=error.line
            ) from None

    train = read("train")
    if "test" in values:
        return train, read("test")
    rows = [str(row) for row in range(len(train.words))]
    first, second = split(Labelled(rows, rows, train.labels))
    return _part(train, first.clean), _part(train, second.clean)


def sizes(space: MetricSpace, asked: Asked) -> Result:
    """Return the sizes of training and test texts: a table of the papers about other data."""
    rows, lengths = [], []
    for name, texts in zip(("training", "test"), labelled(asked), strict=True):
        each = texts.words.sizes
        known = texts.words.ids[texts.words.ids < space.n]
        rows.append(
            {
                "part": name,
                "texts": len(each),
                "words": int(each.sum()),
                "distinct": len(np.unique(known)),
                "mean_length": float(each.mean()),
                "sd_length": float(each.std()),
                "labels": len(set(texts.labels)),
            }
        )
        lengths.append(below(name, each))
    return Result(
        rows=rows,
        parameters={"records": asked.parameters.get("records", 1000)},
        panels=(Panel("Lengths of texts", "words", "share of texts below", tuple(lengths)),),
        caption="Labelled texts; distinct words are those of the vocabulary.",
    )


def _part(texts: Corpus, rows: Sequence[str]) -> Corpus:
    """The texts of some records."""
    some = [int(row) for row in rows]
    pieces = [texts.pieces[row] for row in some]
    labels = [texts.labels[row] for row in some]
    words = texts.words.of(np.array(some, dtype=np.int64))
    return Corpus(words, texts.fold, texts.about, len(some), pieces, labels)
