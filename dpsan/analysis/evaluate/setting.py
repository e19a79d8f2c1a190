"""The settings of a run, as the header of its audit has them.

Only the first row of the audit is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from dpsan.embeddings.word_lists import (
    BUNDLED,
    CLASSES,
    PublicWords,
    WordClass,
    public_words,
    word_classes,
)
from dpsan.errors import InputError, refuse
from dpsan.mechanisms.registry import own_file
from dpsan.run.audit import read_header
from dpsan.sanitize.settings import Settings


@dataclass(frozen=True)
class Run:
    """The run that made a sanitized text."""

    header: dict[str, Any]
    """Header of its audit."""

    def settings(self, public: Path | None = None, files: Sequence[str] = ()) -> Settings:
        """Return the settings; the mechanism of the user's own, if it had one, is loaded already.

        Args:
            public: file of public words, where they are no list of dpsan.
            files: names of the files of classes of the user's own.

        Raises:
            UsageError: mechanism, public words or classes are not those of the run.
            InputError: a file cannot be read.
        """
        row = self.header
        if (user_file := row["own"]) is not None:
            file = own_file(row["mechanism"])
            other = f"the audit was made with a mechanism of {user_file['file']}"
            hint = f"give -m {user_file['file']}:{user_file['class']}, the same file"
            refuse(file is None or file.sha256 != user_file["sha256"], other, hint)
        return replace(
            Settings.of_header(row),
            mechanism=row["mechanism"],
            epsilon=row["epsilon"],
            parameters={name: x for name, x in row["parameters"].items() if x is not None},
            public=self._public(public),
            classes=self._classes(files),
            allow_unproved=True,
        )

    def of_table(self) -> Settings:
        """Return the same of a run whose words all follow the table of its mechanism.

        Raises:
            UsageError: they do not.
        """
        row = self.header
        Settings.check_table(row)
        refuse(row["spans"], "cannot estimate: the text has words outside spans", "--spans")
        several = "cannot estimate: each text was written several times"
        refuse(row["copies"] > 1, several, "--copies")
        return self.settings()

    def check(self, digest: str) -> None:
        """Raise UsageError if these embeddings are not those of the run."""
        embeddings = self.header["embeddings"]
        other = f"the audit was made with other embeddings ({embeddings['source']})"
        hint = "give the same --embeddings and --vocab-size"
        refuse(digest != embeddings["digest"], other, hint)

    def _public(self, path: Path | None) -> PublicWords | None:
        listed = self.header["public"] or {}
        bundled = [name for name in BUNDLED if name == listed.get("list")]
        name = path or next(iter(bundled), None)
        words = None if name is None else public_words(str(name))
        other = "the audit was made with other public words"
        wrong = listed.get("sha256") != (words and words.sha256)
        refuse(wrong, other, "give --public, as rewrite had it")
        return words

    def _classes(self, files: Sequence[str]) -> tuple[WordClass, ...]:
        every = [*map(WordClass, CLASSES), *chain.from_iterable(map(word_classes, files))]
        chosen: list[WordClass] = []
        for row in self.header["classes"] or ():
            name, digest = row["class"], row["sha256"]
            same = [kind for kind in every if kind.name == name and kind.sha256 == digest]
            other = f"the audit was made with another list of the class {name}"
            refuse(not same, other, f"give --class {name}, the file of the run")
            chosen += same
        return tuple(chosen)


def read_run(path: Path) -> Run:
    """Return the run of an audit.

    Raises:
        InputError: it cannot be read or is not an audit.
    """
    row = read_header(path)
    if row["only"] is not None:
        what = "an audit of --only: no mechanism drew its words"
        raise InputError(path, what, "dpsan report counts them by class")
    return Run(row)
