"""The file of ``rewrite --review``: what passed and what was drawn, for a reviewer.

Lines of JSON, UTF-8, as sensitive as the input: a header, then each different word with its
count, those that pass before those that are drawn, the most frequent ones first::

    {"type": "review", "schema": 1, "dpsan": VERSION, "complete": true}
    {"word": ..., "count": N, "class": ..., "group": ..., "rule": ..., "passes": null}
    {"word": ..., "count": N, "class": null, "group": null, "rule": null, "passes": BY}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import orjson

from dpsan.files.atomic_files import AtomicFile
from dpsan.run.audit.rows import encodable
from dpsan.sanitize.result import AuditTable
from dpsan.version import __version__

SCHEMA: Final = 1


class Review:
    """Counts words, and writes them when the run ends; a context manager.

    In memory a different word takes about 200 bytes.

    Args:
        path: created with mode 0600 under every umask.
        classes: class of each group.
        force: replace an existing file.

    Raises:
        OutputError: the file exists or cannot be created.
    """

    def __init__(self, path: Path, classes: Mapping[str, str | None], *, force: bool) -> None:
        self._sink = AtomicFile(path, force=force, private=True)
        self._classes = classes
        self._counts = Counter[tuple[str, tuple[str, str] | None, str | None]]()

    def add(self, table: AuditTable) -> None:
        """Count the words of a batch, in one of its copies."""
        assert table.reasons is not None and table.passes is not None  # noqa: S101, PT018
        self._counts.update(zip(table.originals, table.reasons, table.passes, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write it, also for a run that failed.  Raises OutputError."""
        try:
            head = {"type": "review", "schema": SCHEMA, "dpsan": __version__}
            self._sink.write(orjson.dumps(head | {"complete": kind is None}) + b"\n")
            pairs = sorted(self._counts.items(), key=lambda pair: (not pair[0][2], -pair[1]))
            for (word, reason, passes), count in pairs:
                group, rule = reason or (None, None)
                row = {"word": encodable(word), "count": count}
                row |= {"class": self._classes.get(group or ""), "group": group, "rule": rule}
                self._sink.write(orjson.dumps(row | {"passes": passes}) + b"\n")
            self._sink.commit()
        finally:
            self._sink.discard()
