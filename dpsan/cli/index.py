"""``dpsan index``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dpsan.cli.command import argument, flag
from dpsan.cli.options import Json, Vocabulary
from dpsan.cli.output import results
from dpsan.errors import printable, refuse
from dpsan.files.same_files import FileUses, Use

if TYPE_CHECKING:
    from dpsan.embeddings.cache.store import Store

_COLUMNS: Final = ("kind", "source", "words", "dimensions", "bytes", "problem")
"""Values of an entry that a terminal shows."""


@dataclass(frozen=True, kw_only=True)
class Index(Json, Vocabulary):
    """Build, list, check or clear cached indexes of embeddings.

    Examples:
        dpsan index glove.txt
        dpsan index --vocab-size 50000 glove.txt
        dpsan index --check
    """

    files: list[Path] | None = argument("[EMBEDDINGS]...", None)
    """Default: the bundled vocabulary."""
    check: bool = flag("--check")
    """List the cached indexes, and verify every byte."""
    clear: bool = flag("--clear")
    """Remove all cached indexes."""
    unsafe_pickle: bool = flag("--unsafe-pickle")
    """Read a gensim .kv or .model file. It can run any code that it contains."""

    def run(self) -> int:
        """Build what was requested; 1 if a file failed, or the cache is damaged."""
        self._check()
        store = self.store()
        if self.check:
            return self._entries(store)
        if self.clear:
            entries, size = store.clear()
            self.show_values({"removed": entries, "bytes": size})
            return 0
        self.check_files()

        from functools import partial

        from dpsan.space.cached_index import describe

        given = partial(describe, vocab_size=self.vocab_size, store=store)
        reports, failed = results(self._paths, partial(given, unsafe_pickle=self.unsafe_pickle))
        from dpsan.analysis.pages.sections import Facts, Shown, named

        shown = [
            Shown("", [Facts("", named(report))], title=printable(report["source"]))
            for report in reports
        ]
        self.show(reports, shown)
        return int(failed)

    def _entries(self, store: Store) -> int:
        """Show what is cached; 1 if some of it is damaged."""
        from dpsan.analysis.pages.sections import Section, Shown

        rows = [
            {
                "kind": entry.kind,
                "source": entry.meta.get("source") or entry.meta.get("table", ""),
                "digest": entry.meta.get("digest", ""),
                "words": entry.meta.get("words"),
                "dimensions": entry.meta.get("dimensions"),
                "bytes": entry.bytes,
                "created": entry.created,
                "ok": problem is None,
                "problem": problem,
            }
            for entry, problem in store.check()
        ]
        bad = sum(not row["ok"] for row in rows)
        order = sorted(rows, key=lambda row: (str(row["kind"]), str(row["source"])))
        cells = [[row[name] for name in _COLUMNS] for row in order]
        note = f"{len(rows)} entries in {store.root}{f', {bad} damaged' * bool(bad)}"
        self.show(rows, [Shown("", [Section(_COLUMNS, cells, [note])])])
        return 1 if bad else 0

    def _check(self) -> None:
        """Refuse options that exclude or need each other.  Raises UsageError."""
        self.check_rules()
        alone = self.check or self.clear
        several = (self.check and self.clear) or (self.files and alone)
        refuse(several, "--check and --clear stand alone")
        other = "embeddings" in self.typed and (self.files or alone)
        refuse(other, "--embeddings excludes other files, --check and --clear")
        bundled = self._paths == [None]
        refuse(self.unsafe_pickle and bundled, "--unsafe-pickle needs a file")

    @property
    def _paths(self) -> list[Path | None]:
        """Return the embeddings; None stands for those that come with dpsan."""
        return [*self.files] if self.files else [self.embeddings]

    def add_files(self, uses: FileUses) -> None:
        """Take in all files of the embeddings."""
        from dpsan.embeddings.loading import files_of  # heavy import

        for path in self._paths:
            uses.add(Use.READ, "--embeddings", *files_of(path))
