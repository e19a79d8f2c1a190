"""What tests of ``evaluate`` share: small vocabularies, pairs of words, models, pages."""

import re
from html.parser import HTMLParser

import numpy as np
from recipe.kneser_ney import Counts, estimated, symbols_of_lines

from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.embeddings.words import Embeddings
from dpsan.outcomes.ngrams import Gap


def learn(lines, vocabulary, **kept):
    """The model of a public text, of so many n-grams."""
    counts = Counts(vocabulary.n)
    for symbols in symbols_of_lines(lines, vocabulary.lookup, vocabulary.n):
        counts.add(symbols)
    return estimated(counts, **kept)


def small(counts, vectors=None):
    n = len(counts)
    vectors = np.eye(n, dtype=np.float32) if vectors is None else vectors
    words = [f"w{row}" for row in range(n)]
    return Embeddings(words, vectors, "small", f"small-{n}-{counts}", np.array(counts))


def pairs_of(inputs, outputs, lines=None):
    inputs, outputs = np.array(inputs), np.array(outputs)
    m = len(inputs)
    lines = np.zeros(m, dtype=np.int64) if lines is None else np.array(lines)
    texts = [""] * (int(lines.max(initial=0)) + 1)
    kinds = np.where(np.diff(lines, prepend=-1) != 0, Gap.LINE, Gap.SPACE)
    return Pairs(
        texts, texts, [1] * len(texts), len(texts), 0, lines, np.zeros((m, 2), np.int64),
        inputs, outputs, inputs == outputs, kinds, np.ones(m, dtype=np.int64),
    )  # fmt: skip


class Page(HTMLParser):
    """A page that is whole and loads nothing, and its tags."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(page)
        assert not self.open
        assert not re.search(r"https?://|url\(|@import|<script|\s(src|href|onload|onclick)=", page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        if tag in ("meta", "br"):
            self.open.pop()

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
