"""``dpsan explain``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final

from dpsan.cli.command import argument, flag, option
from dpsan.cli.options import Page, Privacy, Vocabulary, parameters
from dpsan.cli.output import PRIVACY, say
from dpsan.errors import refuse
from dpsan.sanitize.settings import Settings

_COLUMNS: Final = ("token", "label", "class", "group", "rule", "why")
_NO_DRAW: Final = "the rules show no output, and no mechanism draws"


@dataclass(frozen=True, kw_only=True)
class Explain(Page, Vocabulary, Privacy):
    """Show the output distribution of a word, or what the rules of --only do with a text.

    Examples:
        dpsan explain doctor -e 8
        dpsan explain doctor -m laplace -e 8
        dpsan explain --unknown -e 8 --html unknown.html
        dpsan explain --only sensitive "Mr. Case met Grace Young in Leeds."
    """

    words: list[str] | None = argument("[WORD]...", None)
    """Words; - reads more from stdin, one a line. With --only, texts."""
    only: str | None = option("--only CLASSES", panel=PRIVACY)
    """Show which rule of these classes draws each token of a text, and by which list the others
    pass."""
    unknown: bool = flag("--unknown")
    """Also explain ⊥, the input of every out-of-vocabulary word."""
    top: int = option("--top N", 10, min=0)
    """Number of outputs to list."""

    def run(self) -> int:
        """Explain each word by a mechanism, or each text by its rules."""
        words = self.words or []
        named = filter(os.path.isfile, (word for word in words if "." in word))
        path = next(named, "")
        hint = f"its text: dpsan explain --only sensitive - < {path}"
        refuse(path, f"{path}: a file, and words are explained", hint)
        if self.only is not None:
            return self._rules(self.only, words)
        nothing = not words and not self.unknown
        refuse(nothing, "give a WORD, - for words on stdin, or --unknown")
        self.required_epsilon()
        self.check_files(stdin="-" in words)

        from dpsan.analysis.explain import explain, read, shown
        from dpsan.sanitize.sanitizer import Sanitizer

        names = ("epsilon", "mechanism", "public", "embeddings", "vocab_size")
        given = {name: getattr(self, name) for name in names}
        # Whatever its status: it is looked at, not run on text.
        given |= {"parameters": parameters(self.param), "allow_unproved": True}
        spec = Settings.read(**given)
        spec.build()  # usage errors come before the slow part
        texts = list(_texts(words, self.quiet))
        if self.unknown:
            texts.append(("--unknown", "⊥"))
        self.check_page()
        sanitizer = Sanitizer.from_spec(spec, self.store())
        with self.progress.named() as report:
            report(f"explaining {self.mechanism}")
            explanations = explain(sanitizer, read(sanitizer, texts), top=self.top)
        self.show(explanations, [*map(shown, explanations)])
        return 0

    def _rules(self, only: str, texts: list[str]) -> int:
        """Explain what becomes of each token of the texts."""
        alone = {"words", "only", "quiet", *(field.name for field in fields(Page))}
        others = sorted(self.typed - alone)
        named = {field.name: str(field.metadata.get("name")) for field in fields(self)}
        refuse(others, f"--only excludes {' and '.join(named[name] for name in others)}", _NO_DRAW)
        hint = "--only takes CLASSES: --only sensitive TEXT" if " " in only.strip() else ""
        refuse(not texts, "give a TEXT, or - for a text on stdin", hint)
        from dpsan.embeddings.word_lists import only_classes
        from dpsan.sanitize.classes import explained
        from dpsan.sanitize.replacing import OnlyRewriter

        rewriter = OnlyRewriter(Settings(only=only_classes(only)))
        whole = (_stdin(self.quiet, "a text") if text == "-" else text for text in texts)
        explained_texts = [explained(rewriter, text) for text in whole]
        from dpsan.analysis.pages.sections import Section, Shown

        tables = [Section(_COLUMNS, [*map(_row, tokens)]) for tokens in explained_texts]
        self.show(explained_texts, [Shown("", [table]) for table in tables])
        return 0


def _row(token: dict[str, str | None]) -> list[str | None]:
    """Return the cells of a token: by which rule it is drawn, or by which list it passes."""
    passes = token["passes"]
    if passes is not None:
        rule = passes.removeprefix("rule ") if token["why"] else None
        token = {**token, "group": "passes", "rule": rule, "why": token["why"] or passes}
    return [token[name] for name in _COLUMNS]


def _stdin(quiet: bool, what: str) -> str:
    """Return standard input.  Raises UsageError: too long, or not UTF-8."""
    if sys.stdin.isatty() and not quiet:
        say(f"reading {what} from the terminal (Ctrl-D ends)")
    from dpsan.text.out_of_vocabulary import LONGEST

    data = sys.stdin.buffer.read(LONGEST + 1)
    refuse(len(data) > LONGEST, f"standard input: longer than {LONGEST} bytes")
    text = data.decode("utf-8-sig", "replace")
    for number, line in enumerate(text.split("\n"), start=1):
        refuse("\ufffd" in line, f"standard input:{number}: not UTF-8")
    return text


def _texts(words: list[str], quiet: bool) -> Iterator[tuple[str, str]]:
    """Yield the words with their positions; messages name the position and not the word."""
    for position, word in enumerate(words, start=1):
        if word != "-":
            yield f"word {position}", word
            continue
        lines = _stdin(quiet, "words, one a line,").split("\n")
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield f"standard input:{number}", line.strip()
