"""``dpsan smooth``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dpsan.cli.command import argument, choice, flag, option
from dpsan.cli.options import Privacy, Vocabulary
from dpsan.cli.output import say
from dpsan.cli.tree import OUTPUT, PRIVACY, RARE
from dpsan.errors import printable
from dpsan.text.numerals import percent

if TYPE_CHECKING:
    from dpsan.files.source import Source

_STDIN: Final = Path("-")
_CHARACTERS: Final = 1 << 18
"""Characters of lines that are decoded at once."""
_LONGEST: Final = 16 << 20
"""Bytes of the longest line."""
_FOREIGN: Final = 0.1
"""Share of words that are no outputs above which the text was sanitized in another way."""


@dataclass(frozen=True, kw_only=True)
class Smooth(Vocabulary, Privacy):
    """Make sanitized text fluent with a public language model, at no privacy cost.

    Reads the output of `dpsan rewrite` and nothing else. Give the options that it had.

    Examples:
        dpsan rewrite -e 8 letter.txt | dpsan smooth -e 8
        dpsan smooth -e 8 safe.txt -o fluent.txt
        dpsan smooth -e 12 --class sensitive=2 safe.txt
    """

    files: list[Path] | None = argument("[FILE]...", "Default or -: stdin.", None)
    classes: list[str] | None = option(
        "--class CLASS=X", "The classes of words that the text was sanitized with.", panel=PRIVACY
    )
    case: str = choice(
        "--case natural|vocabulary", "Letter case of the text.", "natural", panel=RARE
    )
    tokenizer: str = option(
        "--tokenizer unicode|ptb|whitespace", "How lines are cut.", "unicode", panel=RARE
    )
    language_model: Path | None = option(
        "--language-model FILE", "The model of your own vocabulary, from `dpsan train`.", panel=RARE
    )
    output: Path | None = option("-o, --output FILE", "Write to FILE.", panel=OUTPUT, writes=True)
    force: bool = flag("--force", "Replace an existing FILE.", panel=OUTPUT)

    def run(self) -> int:
        """Decode every line."""
        self.required_epsilon()
        inputs = self.files or [_STDIN]
        self.check_files(stdin=_STDIN in inputs)

        from dpsan.files.atomic_files import AtomicFile, Sink
        from dpsan.files.compression import open_decompressed
        from dpsan.files.source import FileSource
        from dpsan.sanitize.sanitizer import Sanitizer

        # Nothing is drawn: no guarantee is given here.
        spec = self.run_spec(fluent=True, allow_unproved=True)
        sanitizer = Sanitizer.from_spec(spec, self.store())
        with ExitStack() as stack:
            out = Sink("standard output", sys.stdout.fileno())
            if self.output is not None:
                out = AtomicFile(self.output, force=self.force)
                stack.callback(out.discard)
            for path in inputs:
                if path == _STDIN:
                    source: Source = FileSource("stdin", 0)
                else:
                    source = stack.enter_context(open_decompressed(path))
                words = foreign = 0
                for lines, endings in _batches(source):
                    texts, count, outside = sanitizer.smooth(lines)
                    words, foreign = words + count, foreign + outside
                    pairs = zip(texts, endings, strict=True)
                    out.write(b"".join(_bytes(text) + ending for text, ending in pairs))
                if foreign > _FOREIGN * words:
                    share = f"{percent(foreign / words)} of the words"
                    what = f"{printable(source.name)}: {share} are no outputs of this mechanism"
                    say(f"{what} (was the text sanitized, with these options?)")
            if isinstance(out, AtomicFile):
                out.commit()
        return 0


def _batches(source: Source) -> Iterator[tuple[list[str], list[bytes]]]:
    """Yield lines and their endings: those that are there when the source has no more yet."""
    from dpsan.formats.base import ReadOptions
    from dpsan.formats.lines import decode, text_records

    options = ReadOptions(max_record=_LONGEST)
    lines: list[str] = []
    endings: list[bytes] = []
    size = 0
    for item in text_records(source, b"\n", options):
        if item is not None:
            line, raw, ending = item
            lines.append(decode(source, line, raw, options)[0])
            endings.append(ending)
            size += len(raw)
        if lines and (item is None or size > _CHARACTERS):
            yield lines, endings
            lines, endings, size = [], [], 0
    if lines:
        yield lines, endings


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
