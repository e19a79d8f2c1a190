"""The bundled vocabulary, its lists and rules, read once in a process: what a fork server needs.

It imports neither pytest nor SciPy: a fork copies the pages of all that is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from functools import cache
from typing import Any

from dpsan.embeddings import loading
from dpsan.only.rules import Rules
from dpsan.sanitize import replacing, rewriting
from dpsan.space import metric_space


def share_vocabulary() -> None:
    """Let this process read the bundled vocabulary and lists, and compile the rules, once.

    Their readers have tests of their own.
    """
    read = (loading, "load_bundled"), (rewriting, "bundled_capitals"), (replacing, "Lexicon")
    for home, name in read:
        setattr(home, name, cache(getattr(home, name)))
    for home, name in (rewriting, "NaturalCase"), (metric_space, "FlatIndex"):
        setattr(home, name, _once_for_bundled(getattr(home, name)))  # neither changes
    compiled = cache(lambda text, labels, lists: Rules(text, labels, dict(lists)))
    draw = Rules.draw_classes
    drawn: dict[Any, dict[str, Any]] = {}

    def rules(text: str, labels: Sequence[str], lists: Mapping[str, str]) -> Rules:
        """Return compiled rules, with groups of their own."""
        asked = text, tuple(labels), tuple(lists.items())
        own = copy(compiled(*asked))
        own.groups, own._codes = [*own.groups], {**own._codes}
        vars(own)["asked"] = asked
        return own

    def draw_classes(self: Rules, names: Iterable[str]) -> None:
        """Choose classes once for rules and names; terms that it changes are copies."""
        names = tuple(names)
        key = vars(self).pop("asked"), names
        if key not in drawn:
            read_drawn = [name for name, term in self.terms.items() if "group" in term.tables]
            self.terms = self.terms | {name: deepcopy(self.terms[name]) for name in read_drawn}
            draw(self, names)
            changed = "terms", "kept", "patterns", "pattern_tests"
            drawn[key] = {name: getattr(self, name) for name in changed}
        vars(self).update(drawn[key])

    setattr(replacing, "Rules", rules)  # noqa: B010
    setattr(Rules, "draw_classes", draw_classes)  # noqa: B010


def _once_for_bundled(make: Callable[..., Any]) -> Callable[..., Any]:
    """Make it once for the rows or vectors of the bundled vocabulary, which are never others."""
    made: dict[int, tuple[Any, Any]] = {}

    def call(first: Any, *more: Any, **options: Any) -> Any:
        if len(first) < 30_000:
            return make(first, *more, **options)
        if id(first) not in made:
            made[id(first)] = first, make(first, *more, **options)
        return made[id(first)][1]

    return call
