"""``dpsan explain``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dpsan.cli import options
from dpsan.cli.command import Typed, argument, flag, option, refuse
from dpsan.cli.options import DEFAULT_MECHANISM, Picture, Privacy, Vocabulary
from dpsan.cli.output import print_json, say
from dpsan.cli.tree import PRIVACY

if TYPE_CHECKING:
    from dpsan.analysis.explain.result import Explanation


@dataclass(frozen=True, kw_only=True)
class Explain(Picture, Vocabulary, Privacy, Typed):
    """Show the output distribution of a word and what an attacker learns from it.

    Examples:
        dpsan explain doctor -e 8
        dpsan explain doctor -m optimal-response -m laplace --at ldp=8
        dpsan explain --unknown -e 8 --plot unknown.svg
    """

    variables: ClassVar = "mechanism"

    words: list[str] | None = argument(
        "[WORD]...", "Words; - reads more from stdin, one a line.", None
    )
    mechanism: list[str] | None = option(  # type: ignore[assignment]
        "-m, --mechanism NAME",
        f"How words are drawn; repeatable, to stand side by side. Default: {DEFAULT_MECHANISM}.",
        panel=PRIVACY,
        autocompletion=options.mechanism_names,
    )
    at: str | None = option(
        "--at ldp=X|unchanged=X",
        "Find the epsilon of each mechanism with this certified LDP epsilon or share of "
        "unchanged words, instead of --epsilon.",
        panel="Comparison",
    )
    unknown: bool = flag("--unknown", "Also explain ⊥, the input of every out-of-vocabulary word.")
    top: int = option("--top N", "Number of outputs to list.", 10, min=0)
    draws: int = option(
        "--draws N", "Draws for each word if the distribution is not known.", 10_000, min=1
    )
    no_posterior: bool = flag(
        "--no-posterior", "Leave out the posterior of the attacker, which is the slow part."
    )
    seed: str = option("--seed TEXT", "Use other (public) random numbers.", "")

    def run(self) -> int:
        """Explain each word by each mechanism."""
        words = self.words or []
        nothing = not words and not self.unknown
        refuse(nothing, "give a WORD, - for words on stdin, or --unknown")
        both = self.at is not None and "epsilon" in self.typed
        refuse(both, "--epsilon and --at exclude each other")
        epsilon = self.required_epsilon() if self.at is None else None
        self.check_files(stdin="-" in words)

        from dpsan.analysis.explain import explain
        from dpsan.analysis.explain.match import candidates, parse_at, prepare
        from dpsan.analysis.explain.words import read
        from dpsan.cli.progress import count_progress, search_progress
        from dpsan.sanitize.request import RunSpec

        free = self.public_words()
        at = None if self.at is None else parse_at(self.at)
        names = self.mechanism or [DEFAULT_MECHANISM]
        chosen = candidates(names, options.parameters(self.param), public=free is not None)
        if epsilon is not None:
            for each in chosen:  # usage errors come before the slow part
                each.kind.build(epsilon, dict(each.values))
        texts = list(_texts(words, self.quiet))
        if self.unknown:
            texts.append(("--unknown", "⊥"))
        if self.plot is not None:
            from dpsan.analysis.figures.words import check

            check(self.plot, len(texts), force=self.force)
        store = self.store()
        opened = self.open_space(store)
        spec = RunSpec(
            epsilon=epsilon, embeddings=self.embeddings, vocab_size=self.vocab_size, public=free
        )
        explained = partial(explain, top=self.top, draws=self.draws, seed=self.seed)
        found: list[list[Explanation]] = []
        for each in chosen if texts else ():
            if at is not None and not self.quiet:
                say(f"finding the epsilon of {each.kind.name} at {at.target} {at.value:g}")
            with search_progress(each.kind.name, self.quiet or at is None) as tried:
                sanitizer = prepare(each, spec, at, store, opened, tried)
            with count_progress(f"explaining {each.kind.name}", 1.0, self.quiet) as progress:
                inputs, posterior = read(sanitizer, texts), not self.no_posterior
                found.append(explained(sanitizer, inputs, posterior=posterior, progress=progress))
        if self.plot is not None and texts:
            from dpsan.analysis.figures.words import plot

            plot(found, self.plot, force=self.force)
        if self.as_json:
            from dpsan.analysis.explain.rows import rows

            print_json(rows(found, opened[0], self.seed))
        else:
            from dpsan.cli.explain_text import show

            show(found)
        return 0


def _texts(words: list[str], quiet: bool) -> Iterator[tuple[str, str]]:
    """Yield the words with their positions; messages name the position and not the word."""
    for position, word in enumerate(words, start=1):
        if word != "-":
            yield f"word {position}", word
            continue
        if sys.stdin.isatty() and not quiet:
            say("reading words from the terminal, one a line (Ctrl-D ends)")
        from dpsan.text.out_of_vocabulary import LONGEST

        data = sys.stdin.buffer.read(LONGEST + 1)
        refuse(len(data) > LONGEST, f"standard input: longer than {LONGEST} bytes")
        for number, line in enumerate(data.decode("utf-8-sig", "replace").split("\n"), start=1):
            refuse("\ufffd" in line, f"standard input:{number}: not UTF-8")
            if line.strip():
                yield f"standard input:{number}", line.strip()
