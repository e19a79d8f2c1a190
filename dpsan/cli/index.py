"""``dpsan index``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpsan.cli import options
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.output import aligned, print_fields, print_json, say
from dpsan.errors import UsageError, failure, printable
from dpsan.text.numerals import number

if TYPE_CHECKING:
    from dpsan.embeddings.cache.store import Store

__all__ = ["index"]


def index(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[EMBEDDINGS]...", help="Default: the bundled vocabulary."),
    ] = None,
    vocab_size: options.VocabSize = None,
    list_: Annotated[bool, typer.Option("--list", help="List what is cached.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Verify every cached byte.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove everything cached.")] = False,
    unsafe_pickle: Annotated[
        bool,
        typer.Option(
            "--unsafe-pickle",
            help="Read a gensim .kv or .model file, which can run any code it contains, and "
            "store the vectors in the safe cache for later runs.",
        ),
    ] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> int:
    """Build, list, check or clear cached indexes of embeddings.

    dpsan index glove.txt
    """
    if sum((list_, check, clear)) > 1 or (files and (list_ or check or clear)):
        raise UsageError("--list, --check and --clear stand alone")
    from dpsan.embeddings.cache.store import Store

    store = Store(note=None if quiet else say)
    if list_ or check:
        return _entries(store, check, as_json)
    if clear:
        entries, size = store.clear()
        if as_json:
            print_json({"removed": entries, "bytes": size})
        else:
            typer.echo(f"removed {entries} entries, {size} bytes")
        return 0
    return _build(store, files, vocab_size, unsafe_pickle, as_json)


def _build(
    store: Store, files: list[Path] | None, vocab_size: int | None, unsafe: bool, as_json: bool
) -> int:
    if unsafe and not files:
        raise UsageError("--unsafe-pickle needs a file")
    uses = check_files(reads={})
    paths: list[Path | None] = [*files] if files else [None]
    for path in paths:
        read_embeddings(uses, path)

    from dpsan.space.library import describe

    reports: list[dict[str, Any]] = []
    failed = 0
    for path in paths:
        try:
            report = describe(path, vocab_size, store, unsafe_pickle=unsafe)
        except Exception as error:  # noqa: BLE001 - one file's: the others go on
            failed += 1
            say(failure(path or "bundled vocabulary", error))
            continue
        reports.append(report)
        if not as_json:
            _print_report(report)
    if as_json:
        print_json(reports)
    if failed and files and len(files) > 1:
        say(f"{failed} of {len(files)} files failed")
    return 1 if failed else 0


def _print_report(report: dict[str, Any]) -> None:
    dropped = ", ".join(f"{number(count)} {reason}" for reason, count in report["dropped"].items())
    near = report["nearest"]
    rows = [
        ("words", f"{number(report['words'])} of {number(report['dimensions'])} dimensions"),
        ("dropped rows", dropped or "none"),
        (
            f"nearest word, 5/50/95 % of {number(near['words'])}",
            " / ".join(number(near[place]) for place in ("p5", "p50", "p95")),
        ),
        (
            "diameter",
            number(report["diameter"]) + ("" if report["diameter_exact"] else " (upper bound)"),
        ),
        ("size", f"{number(report['bytes'])} bytes"),
        ("seconds", f"{report['seconds']:.2f}"),
        ("digest", report["digest"]),
    ]
    typer.echo(printable(report["source"]))
    print_fields(rows)


def _entries(store: Store, check: bool, as_json: bool) -> int:
    found = store.check() if check else [(entry, None) for entry in store.entries()]
    rows = [
        {
            "kind": entry.kind,
            "source": entry.meta.get("source") or entry.meta.get("table", ""),
            "digest": entry.meta.get("digest", ""),
            "words": entry.meta.get("words"),
            "bytes": entry.bytes,
            "created": entry.created,
            "ok": entry.ok if problem is None else False,
            "problem": problem,
        }
        for entry, problem in found
    ]
    bad = sum(not row["ok"] for row in rows)
    if as_json:
        print_json(rows)
        return 1 if check and bad else 0
    shown = []
    for row in rows:
        state = "ok" if row["ok"] else f"damaged: {row['problem'] or 'manifest'}"
        shown.append(
            (
                str(row["kind"]),
                str(row["digest"])[:12],
                str(row["bytes"]),
                str(row["created"]),
                printable(str(row["source"])),
                state if check or not row["ok"] else "",
            )
        )
    for line in aligned(shown, right={2}):
        typer.echo(line)
    damaged = f", {bad} damaged" if bad else ""
    typer.echo(f"{len(rows)} entries in {printable(str(store.root))}{damaged}")
    return 1 if check and bad else 0
