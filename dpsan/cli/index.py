"""``dpsan index``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dpsan.cli.command import argument, flag, option
from dpsan.cli.options import Json, Vocabulary, positive
from dpsan.cli.output import print_json, results
from dpsan.errors import UsageError, check_name, printable, refuse
from dpsan.files.same_files import FileUses, Use

if TYPE_CHECKING:
    from dpsan.analysis.pages.sections import Shown
    from dpsan.embeddings.cache.store import Store


@dataclass(frozen=True, kw_only=True)
class Index(Json, Vocabulary):
    """Build, list, check or clear cached indexes of embeddings.

    Examples:
        dpsan index -e 8
        dpsan index -e 8 glove.txt
        dpsan index --list
    """

    files: list[Path] | None = argument("[EMBEDDINGS]...", None)
    """Default: the bundled vocabulary."""
    list_: bool = flag("--list")
    """List the cached indexes."""
    check: bool = flag("--check")
    """Verify every cached byte."""
    clear: bool = flag("--clear")
    """Remove all cached indexes."""
    word_class: str | None = option("--class NAME")
    """Print the listed words of a class, such as names. For 'none', print the ordinary words that
    have no class."""
    epsilon: float | None = option("-e, --epsilon X")
    """Also build the tables of the default mechanism for this epsilon."""
    unsafe_pickle: bool = flag("--unsafe-pickle")
    """Read a gensim .kv or .model file. It can run any code that it contains."""

    def run(self) -> int:
        """Build what was requested; 1 if a file failed, or the cache is damaged."""
        self._check()
        if self.word_class is not None:
            return _print_class(self.word_class, self.as_json)
        store = self.store()
        if self.list_ or self.check:
            return self._entries(store)
        if self.clear:
            entries, size = store.clear()
            self.show_values({"removed": entries, "bytes": size})
            return 0
        self.check_files()

        from functools import partial

        from dpsan.mechanisms.description import prepare_default
        from dpsan.space.cached_index import describe

        more: dict[str, Any] = {"unsafe_pickle": self.unsafe_pickle}
        if self.epsilon is not None:
            also = partial(prepare_default, epsilon=self.epsilon)
            more["also"] = lambda space: {"default": also(space)}
        more |= {"vocab_size": self.vocab_size, "store": store}
        reports, failed = results(self._paths, partial(describe, **more))
        self.show(reports, [_shown({**report}) for report in reports])
        return int(failed)

    def _entries(self, store: Store) -> int:
        """Show what is cached; 1 if a check found damage."""
        from dpsan.analysis.pages.sections import Section, Shown, named
        from dpsan.embeddings.cache.entry import KIND

        cached = store.check() if self.check else [(entry, None) for entry in store.entries()]
        rows = [
            {
                "kind": entry.kind,
                "source": entry.meta.get("source") or entry.meta.get("table", ""),
                "digest": entry.meta.get("digest", ""),
                "index": KIND if entry.kind == "index" and entry.ok else None,
                "words": entry.meta.get("words"),
                "dimensions": entry.meta.get("dimensions"),
                "bytes": entry.bytes,
                "created": entry.created,
                "ok": entry.ok if problem is None else False,
                "problem": problem,
            }
            for entry, problem in cached
        ]
        bad = sum(not row["ok"] for row in rows)
        order = sorted(rows, key=lambda row: (str(row["kind"]), str(row["source"])))
        lines = [named(row) for row in order]
        columns = [name for name, *_ in lines[0]] if lines else [""]
        cells = [[value for _, value, _ in line] for line in lines]
        note = f"{len(rows)} entries in {store.root}{f', {bad} damaged' * bool(bad)}"
        self.show(rows, [Shown("", [Section(columns, cells, [note], spare=(2, 7, 5, 4))])])
        return 1 if self.check and bad else 0

    def _check(self) -> None:
        """Refuse options that exclude or need each other.  Raises UsageError."""
        self.check_rules()
        alone = sum((self.list_, self.check, self.clear, self.word_class is not None))
        several = alone > 1 or (self.files and alone)
        refuse(several, "--list, --check, --clear and --class stand alone")
        other = "embeddings" in self.typed and (self.files or alone)
        refuse(other, "--embeddings excludes other files, --list, --check, --clear and --class")
        if self.epsilon is not None:
            refuse(alone, "--epsilon is for embeddings")
            positive("--epsilon", self.epsilon)
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


def _print_class(name: str, as_json: bool) -> int:
    """Print the words of a class."""
    from dpsan.embeddings.word_lists import CLASSES, NONE
    from dpsan.only.alone import alone

    check_name("class of words", name, (*CLASSES, NONE))
    words = alone().listed(name)
    if not words:
        raise UsageError(f"the class {name} has no words", "see docs/strings.md")
    if as_json:
        print_json(words)
    else:
        typer.echo("\n".join(words))
    return 0


def _shown(report: dict[str, Any]) -> Shown:
    """Return what is said of the index of a file."""
    from dpsan.analysis.pages.sections import Facts, Shown, cosine_and_bound, named

    if cosine := report.get("default", {}).get("mean_cosine"):
        report["default"] = {**report["default"], "mean_cosine": cosine_and_bound(**cosine)}
    return Shown("", [Facts("", named(report))], title=printable(report["source"]))
