"""The mechanism of a run, as the header of its audit has it.

Only the first row of the audit is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.word_lists import BUNDLED, CLASSES, PublicWords, WordClass, word_classes
from dpsan.errors import InputError, UsageError, refuse
from dpsan.mechanisms.registry import OwnFile
from dpsan.run.audit import read_header
from dpsan.sanitize.guarantee_and_sampler import Built, build
from dpsan.sanitize.settings import Settings
from dpsan.space.metric_space import MetricSpace


class Setting:
    """Mechanism and options of the run that made the sanitized text.

    Args:
        row: the header of its audit.
    """

    def __init__(self, row: dict[str, Any]) -> None:
        self._row = row
        self.mechanism: str = row["mechanism"]
        self.epsilon: float = row["epsilon"]
        self.parameters = {k: v for k, v in row["parameters"].items() if v is not None}
        self.settings = Settings.of_header(row)
        """Values of the header that are read as they stand."""
        self.tokenizer = self.settings.tokenizer
        self.copies: int = row["copies"]
        self.public: dict[str, Any] | None = row["public"]
        """Public words of the run, as the header has them."""
        self.by_value = self.settings.has("numbers=value")
        """True if numbers were drawn by value."""
        self.fluent = row["fluent"] is not None
        """True if the drawn words were decoded: the audit has them too."""
        self.by_class = bool(row["classes"])
        """True if words have classes, whose groups are one input each."""

    def check_own(self, file: OwnFile | None) -> None:
        """Raise UsageError if a third party's mechanism is not that of the run."""
        own = self._row["own"]
        if own is not None and (file is None or file.sha256 != own["sha256"]):
            other = f"the audit was made with a mechanism of {own['file']}"
            raise UsageError(other, f"give -m {own['file']}:{own['class']}, the same file")

    def of_table(self) -> Settings:
        """Return the settings of a run whose words all follow the table of its mechanism.

        Raises:
            UsageError: they do not.
        """
        Settings.check_table(self._row)
        refuse(self._row["spans"], "cannot estimate: the text has words outside spans", "--spans")
        refuse(self.copies > 1, "cannot estimate: each text was written several times", "--copies")
        return replace(
            self.settings,
            mechanism=self.mechanism,
            epsilon=self.epsilon,
            parameters=self.parameters,
            allow_unproved=True,
        )

    def built(self, embeddings: Embeddings, space: MetricSpace, files: Sequence[str] = ()) -> Built:
        """Return mechanism and groups of a run with classes of words.

        Args:
            files: names of the files of classes of the user's own.

        Raises:
            UsageError: a class of the run is not among the files.
            InputError: a file cannot be read.
        """
        own = [each for name in files for each in word_classes(name) if not each.english]
        spec = Settings(self.epsilon, self.mechanism, self.parameters)
        spec = replace(spec, classes=_classes(self._row["classes"], own))
        return build(spec, lambda: (embeddings, space))

    @property
    def public_name(self) -> str | None:
        """Return the list of public words, if it is one that comes with dpsan."""
        name = None if self.public is None else str(self.public["list"])
        return name if name in BUNDLED else None

    def check_public(self, words: PublicWords | None) -> None:
        """Raise UsageError if these public words are not those of the run."""
        if (None if self.public is None else self.public["sha256"]) != (words and words.sha256):
            other = "the audit was made with other public words"
            raise UsageError(other, "give --public, as rewrite had it")

    def check(self, digest: str) -> None:
        """Raise UsageError if these embeddings are not those of the run."""
        embeddings = self._row["embeddings"]
        if digest != embeddings["digest"]:
            other = f"the audit was made with other embeddings ({embeddings['source']})"
            raise UsageError(other, "give the same --embeddings and --vocab-size")


def _classes(rows: Sequence[dict[str, Any]], own: Sequence[WordClass]) -> tuple[WordClass, ...]:
    """Return the classes of a header.

    Args:
        own: classes of the user's own.
    """
    known = [*map(WordClass, CLASSES)]
    found = []
    for row in rows:
        name = row["class"]
        same = [each for each in (*known, *own) if each.name == name]
        same = [each for each in same if row["sha256"] in (None, each.sha256)]
        if not same:
            other = f"the audit was made with another list of the class {name}"
            raise UsageError(other, f"give --class {name}, the file of the run")
        found.append(same[0])
    # As they are looked up: the user's own in their order, then those of dpsan.
    order = {name: at for at, name in enumerate(CLASSES, 1)}
    return tuple(sorted(found, key=lambda each: order.get(each.name, 0)))


def read_setting(path: Path) -> Setting:
    """Return the header of an audit.

    Raises:
        InputError: it cannot be read or is not an audit.
    """
    row = read_header(path)
    if row["only"] is not None:
        what = "an audit of --only: no mechanism drew its words"
        raise InputError(path, what, "dpsan report counts them by class")
    return Setting(row)
