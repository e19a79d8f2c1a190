"""``dpsan evaluate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from dpsan.cli import options
from dpsan.cli.cache import open_cache
from dpsan.cli.file_checks import check_files, read_embeddings
from dpsan.cli.options import choice, flag, option
from dpsan.cli.output import print_json, print_sections, say
from dpsan.errors import UsageError, check_name

_ATTACK, _UTILITY = "Attacks", "Utility"


def evaluate(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help="The texts.")],
    sanitized: Annotated[
        list[Path],
        typer.Argument(
            metavar="SANITIZED...",
            help="Their sanitized versions, in order; more files: of further runs on the texts.",
        ),
    ],
    epsilon: options.Epsilon = None,
    mechanism: options.Mechanism = options.DEFAULT_MECHANISM,
    param: options.Parameters = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    audit: Annotated[
        Path | None,
        option(
            "--audit FILE",
            "Instead of --mechanism, --epsilon, --param and --tokenizer: those of the run that "
            "wrote this audit.",
            options.PRIVACY,
        ),
    ] = None,
    public_list: Annotated[
        str | None,
        option(
            "--public-list FILE|function|common", "What --public of rewrite was.", options.PRIVACY
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        choice(
            "--tokenizer unicode|ptb|whitespace",
            "The one that was used for rewriting; default unicode.",
            options.INPUT,
            others=True,
        ),
    ] = None,
    format_: options.Format = "auto",
    field: options.Field = None,
    no_header: options.NoHeader = False,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = "utf-8",
    copies: Annotated[
        int,
        option(
            "--copies N", "What --copies of rewrite was; the audit knows it.", options.INPUT, min=1
        ),
    ] = 1,
    max_records: Annotated[
        int | None, option("--max-records N", "Only the first N records.", options.INPUT, min=1)
    ] = None,
    public: Annotated[
        list[Path] | None,
        option(
            "--public FILE",
            "Public text, one sentence or paragraph a line, repeatable: for readability "
            "(perplexity) and for the attack that reads context.",
            _ATTACK,
        ),
    ] = None,
    spans: Annotated[
        Path | None,
        option(
            "--spans FILE",
            "Spans of personal data, as in rewrite --spans: how much of each type is read back?",
            _ATTACK,
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        option(
            "--candidates FILE",
            "Texts of which a reader knows that one is the original, in the form of ORIGINAL: how "
            "often is the right one found?",
            _ATTACK,
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        option(
            "--words LIST",
            "With --candidates: also by the first N words of each text; numbers separated by "
            "commas, repeatable.",
            _ATTACK,
        ),
    ] = None,
    authors: Annotated[
        str | None,
        option(
            "--authors FIELD",
            "Column of ORIGINAL with authors: how often are they found, by their other texts?",
            _ATTACK,
        ),
    ] = None,
    seed: Annotated[
        str,
        option("--seed TEXT", "Key of draws made for attackers: another text, others.", _ATTACK),
    ] = "1",
    labels: Annotated[
        str | None,
        option(
            "--labels COLUMN",
            "Column of ORIGINAL with labels: train and test a classifier on both versions.",
            _UTILITY,
        ),
    ] = None,
    test_original: Annotated[
        Path | None,
        option("--test-original FILE", "Test records; default: every fifth of ORIGINAL.", _UTILITY),
    ] = None,
    test_sanitized: Annotated[
        Path | None, option("--test-sanitized FILE", "Their sanitized versions.", _UTILITY)
    ] = None,
    no_scores: Annotated[
        bool,
        flag("--no-scores", "Neither ROUGE-1 nor BLEU, which need the extra 'evaluate'.", _UTILITY),
    ] = False,
    as_json: options.Json = False,
    html: options.Html = None,
    force: options.Force = False,
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
    if authors is not None and epsilon is None and audit is None:
        raise UsageError("--authors needs --epsilon or --audit", "its reader sanitizes texts too")
    if words and candidates is None:
        raise UsageError("--words needs --candidates")
    if copies > 1 and audit is not None:
        raise UsageError("--audit and --copies exclude each other")
    first_words = options.whole_numbers("--words", words)
    cells = options.delimiter_character(delimiter)
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
            "--candidates": candidates,
            "--audit": audit,
            "--public": public,
            "--public-list": options.public_file(public_list),
            "--mechanism": options.own_files(mechanism),
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
    from dpsan.embeddings.public_words import public_words
    from dpsan.embeddings.word_lists import WordLists
    from dpsan.formats.base import ReadOptions
    from dpsan.formats.registry import format_class, formats_with
    from dpsan.mechanisms import check_public, mechanism_class, own_file
    from dpsan.space.cached_index import open_space
    from dpsan.text.tokens import TOKENIZERS

    if cells and not format_class(format_, str(original)).takes_delimiter:
        raise UsageError(f"--delimiter is for {formats_with('takes_delimiter')}")
    setting = None if audit is None else read_setting(audit)
    if setting is not None:
        mechanism_class(mechanism)  # which loads the file of the run's
        setting.check_own(own_file(setting.mechanism))
        mechanism, epsilon = setting.mechanism, setting.epsilon
        values = setting.parameters
        tokenizer, copies = tokenizer or setting.tokenizer, setting.copies
        public_list = public_list or setting.public_name
    free = None if public_list is None else public_words(public_list)
    if setting is not None:
        setting.check_public(free)
    tokenizer = tokenizer or "unicode"
    check_name("tokenizer", tokenizer, TOKENIZERS)
    kind = mechanism_class(mechanism)
    if free is not None:
        check_public(kind)
    built = None if epsilon is None else kind.build(epsilon, dict(values))
    fields = ReadOptions(
        encoding=encoding,
        fields=tuple(field or ()),
        header=not no_header,
        delimiter=cells,
        force_text=True,
    )
    question = Question(
        original=original,
        sanitized=sanitized[0],
        inputs=Inputs(format_, fields, max_records),
        tokenizer=tokenizer,
        public=tuple(public or ()),
        spans=spans,
        labels=labels,
        test=(test_original, test_sanitized) if test_original and test_sanitized else None,
        again=tuple(sanitized[1:]),
        copies=copies,
        candidates=candidates,
        first_words=first_words,
        authors=authors,
        seed=seed,
        by_value=setting is not None and setting.by_value,
    )
    check(question, scores=not no_scores)
    if html is not None:
        from dpsan.files.atomic_files import check_writable, write_whole

        check_writable(html, force=force)
    vocabulary, space = open_space(embeddings, vocab_size, open_cache(quiet))
    if setting is not None:
        setting.check(vocabulary.digest)
    if built is not None:
        rows = () if free is None else free.rows(vocabulary.key_to_index)
        built = built.with_vocabulary(WordLists(lambda: vocabulary.key_to_index)).with_public(rows)
        question = replace(question, mechanism=built.resolved(space))
    with share_progress("judging", quiet) as bar:
        progress = bar or (lambda _: None)
        found = judge(question, vocabulary, space, scores=not no_scores, progress=progress)
    from dpsan.analysis.evaluate.page import about, page, sections

    if html is not None:
        write_whole(html, page(found).encode(), force=force)
    if as_json:
        print_json(found.as_json())
    elif html is None:
        for note in found.notes if not quiet else ():
            say(note)
        typer.echo(about(found))
        print_sections(sections(found))
