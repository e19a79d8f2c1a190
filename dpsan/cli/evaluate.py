"""``dpsan evaluate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dpsan.cli import options
from dpsan.cli.completion import choices
from dpsan.cli.evaluate_table import print_table
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.output import print_json, say
from dpsan.errors import UsageError, unknown_name

__all__ = ["evaluate"]

_ATTACK, _UTILITY = "Attacks", "Utility"


def evaluate(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The texts.")],
    sanitized: Annotated[
        Path, typer.Argument(metavar="SANITIZED", help="Their sanitized versions, in order.")
    ],
    epsilon: options.Epsilon = None,
    mechanism: options.Mechanism = options.DEFAULT_MECHANISM,
    param: options.Parameters = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead of --mechanism, --epsilon, --param and --tokenizer: those of the run "
            "that wrote this audit.",
            rich_help_panel=options.PRIVACY,
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="unicode|ptb|whitespace",
            autocompletion=choices("unicode", "ptb", "whitespace"),
            help="The one that was used for rewriting; default unicode.",
            rich_help_panel=options.INPUT,
            show_default=False,
        ),
    ] = None,
    format_: options.Format = "auto",
    field: options.Field = None,
    no_header: options.NoHeader = False,
    encoding: options.Encoding = "utf-8",
    max_records: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Only the first N records.",
            rich_help_panel=options.INPUT,
            show_default=False,
        ),
    ] = None,
    public: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Public text, one sentence or paragraph a line, repeatable: for the attack that "
            "reads context.",
            rich_help_panel=_ATTACK,
            show_default=False,
        ),
    ] = None,
    spans: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Spans of personal data: a JSON list, or JSON lines, with one list of {start, "
            "end, type} (or {spans: [...]}) for each record.",
            rich_help_panel=_ATTACK,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of ORIGINAL with labels: train and test a classifier on both versions.",
            rich_help_panel=_UTILITY,
            show_default=False,
        ),
    ] = None,
    test_original: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Test records; default: every fifth of ORIGINAL.",
            rich_help_panel=_UTILITY,
            show_default=False,
        ),
    ] = None,
    test_sanitized: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Their sanitized versions.",
            rich_help_panel=_UTILITY,
            show_default=False,
        ),
    ] = None,
    no_scores: Annotated[
        bool,
        typer.Option(
            "--no-scores",
            help="Neither ROUGE-1 nor BLEU, which need the extra 'evaluate'.",
            rich_help_panel=_UTILITY,
        ),
    ] = False,
    as_json: options.Json = False,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one page with charts.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Judge a sanitized text: what it kept, and what attackers read.

    Only figures are written, no word of the texts; the attacks need --epsilon or --audit.

    dpsan evaluate -e 8 letter.txt safe.txt
    """
    if (test_original is None) != (test_sanitized is None):
        raise UsageError("--test-original and --test-sanitized need each other")
    if test_original is not None and labels is None:
        raise UsageError("--test-original needs --labels")
    values = options.parameters(param)
    if audit is not None:
        if epsilon is not None or values:
            raise UsageError("--audit and --epsilon or --param exclude each other")
    elif epsilon is not None:
        options.check_epsilon(epsilon)

    uses = check_files(
        reads={
            "ORIGINAL": original,
            "SANITIZED": sanitized,
            "--audit": audit,
            "--public": public,
            "--spans": spans,
            "--test-original": test_original,
            "--test-sanitized": test_sanitized,
        },
        writes={"--html": html},
    )
    read_embeddings(uses, embeddings)

    from dpsan.analysis.evaluate import Question, check
    from dpsan.analysis.evaluate import evaluate as judge
    from dpsan.analysis.evaluate.pairs import Inputs
    from dpsan.analysis.evaluate.setting import read_setting
    from dpsan.cli.progress import share_progress
    from dpsan.embeddings.cache.store import Store
    from dpsan.embeddings.word_lists import WordLists
    from dpsan.formats.base import ReadOptions
    from dpsan.mechanisms import MECHANISMS
    from dpsan.space.library import open_space
    from dpsan.text.tokens import TOKENIZERS

    setting = None if audit is None else read_setting(audit)
    if setting is not None:
        mechanism, epsilon = setting.mechanism, setting.epsilon
        values = setting.parameters
        tokenizer = tokenizer or setting.tokenizer
    tokenizer = tokenizer or "unicode"
    if tokenizer not in TOKENIZERS:
        raise unknown_name("tokenizer", tokenizer, TOKENIZERS)
    if mechanism not in MECHANISMS:
        raise unknown_name("mechanism", mechanism, MECHANISMS)
    built = None if epsilon is None else MECHANISMS[mechanism].build(epsilon, dict(values))
    fields = ReadOptions(
        encoding=encoding, fields=tuple(field or ()), header=not no_header, force_text=True
    )
    question = Question(
        original=original,
        sanitized=sanitized,
        inputs=Inputs(format_, fields, max_records),
        tokenizer=tokenizer,
        public=tuple(public or ()),
        spans=spans,
        labels=labels,
        test=(test_original, test_sanitized) if test_original and test_sanitized else None,
    )
    check(question, scores=not no_scores)
    if html is not None:
        from dpsan.formats.atomic_files import AtomicFile, write_whole

        # Created and thrown away: tells whether it can be written.
        AtomicFile(html, force=force).discard()
    words, space = open_space(embeddings, vocab_size, Store(note=None if quiet else say))
    if setting is not None:
        setting.check(words.digest)
    if built is not None:
        built = built.with_vocabulary(WordLists(lambda: words.key_to_index)).resolved(space)
        question = replace(question, mechanism=built)
    with share_progress("judging", quiet) as bar:
        progress = bar or (lambda _: None)
        found = judge(question, words, space, scores=not no_scores, progress=progress)
    if html is not None:
        from dpsan.analysis.evaluate.page import page

        write_whole(html, page(found).encode(), force=force)
    if as_json:
        print_json(found.as_json())
    elif html is None:
        print_table(found)
