"""Values that the shell completes: mechanisms, cached embedding files, formats.

Knows names.  Must not know what they mean.  A completer gets what is typed so far and returns the
values that begin with it; an empty list leaves the word to the shell's own file completion.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path


def join_equals(environment: MutableMapping[str, str]) -> None:
    """Make ``--mechanism = lap``, as bash hands it over, ``--mechanism lap``, which is completed.

    bash takes ``=`` for a word of its own, and the parser that for the option's value.
    """
    words = environment.get("COMP_WORDS", "").split()
    place = environment.get("COMP_CWORD", "")
    if environment.get("_DPSAN_COMPLETE") != "complete_bash" or not place.isdecimal():
        return
    kept = [
        word
        for at, word in enumerate(words)
        if not (word == "=" and at < int(place) and words[at - 1].startswith("--"))
    ]
    if len(kept) < len(words):
        environment["COMP_WORDS"] = "\n".join(kept)
        environment["COMP_CWORD"] = str(int(place) - (len(words) - len(kept)))


def mechanism_names(incomplete: str) -> list[tuple[str, str]]:
    """Registry names with their summaries."""
    from dpsan.mechanisms import MECHANISMS

    return [
        (name, kind.summary) for name, kind in MECHANISMS.items() if name.startswith(incomplete)
    ]


def parameter_names(incomplete: str) -> list[str]:
    """Names of parameters of all mechanisms, each with its equals sign."""
    from dpsan.mechanisms import MECHANISMS

    names = {name for kind in MECHANISMS.values() for name in kind.parameters()}
    return [f"{name}=" for name in sorted(names) if f"{name}=".startswith(incomplete)]


def study_names(incomplete: str) -> list[tuple[str, str]]:
    """Studies with their summaries."""
    from dpsan.analysis.study import STUDIES

    return [(name, entry.summary) for name, entry in STUDIES.items() if name.startswith(incomplete)]


def embedding_files(incomplete: str) -> list[str]:
    """Files whose index is cached, in the directory that is typed."""
    from dpsan.embeddings.cache.store import Store

    folder, _, start = incomplete.rpartition("/")
    place = Path(f"{folder}/" if "/" in incomplete else ".")
    sources = {str(entry.meta.get("source")) for entry in Store().entries() if entry.ok}
    prefix = incomplete[: len(incomplete) - len(start)]
    return sorted(
        prefix + name
        for name in sources
        if name.startswith(start) and (place.expanduser() / name).is_file()
    )
