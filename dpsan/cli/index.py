"""``dpsan index``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dpsan.cli.command import argument, flag
from dpsan.cli.options import Json, Vocabulary
from dpsan.cli.output import results
from dpsan.errors import printable, refuse
from dpsan.files.same_files import FileUses, Use


@dataclass(frozen=True, kw_only=True)
class Index(Json, Vocabulary):
    """Build the index of embeddings ahead of the first run, and measure them.

    Examples:
        dpsan index glove.txt
        dpsan index --vocab-size 50000 glove.txt
        dpsan index --json glove.txt
    """

    files: list[Path] | None = argument("[EMBEDDINGS]...", None)
    """Default: the bundled vocabulary."""
    unsafe_pickle: bool = flag("--unsafe-pickle")
    """Read a gensim .kv or .model file. It can run any code that it contains."""

    def run(self) -> int:
        """Build what was requested; 1 if a file failed."""
        refuse("embeddings" in self.typed and self.files, "--embeddings excludes other files")
        bundled = self._paths == [None]
        refuse(self.unsafe_pickle and bundled, "--unsafe-pickle needs a file")
        self.check_files()

        from functools import partial

        from dpsan.space.cached_index import describe

        given = partial(describe, vocab_size=self.vocab_size, store=self.store())
        reports, failed = results(self._paths, partial(given, unsafe_pickle=self.unsafe_pickle))
        from dpsan.analysis.pages.sections import Facts, Shown, named

        shown = [
            Shown("", [Facts("", named(report))], title=printable(report["source"]))
            for report in reports
        ]
        self.show(reports, shown)
        return int(failed)

    @property
    def _paths(self) -> list[Path | None]:
        """Return the embeddings; None stands for those that come with dpsan."""
        return [*self.files] if self.files else [self.embeddings]

    def add_files(self, uses: FileUses) -> None:
        """Take in all files of the embeddings."""
        from dpsan.embeddings.loading import files_of  # heavy import

        for path in self._paths:
            uses.add(Use.READ, "--embeddings", *files_of(path))
