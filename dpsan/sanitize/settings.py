"""The settings of a run: each is declared once, and every reader reads this list.

A field of :class:`Settings` is a setting, and the text below it is the help of its option.  Its
:class:`Setting` says how it is typed, what messages call it, and how the memo, ``--resume`` and the
audit store it.  The rows of ``settings.tsv`` say what excludes or needs what, what is not protected
because of a setting, what an attacker sees, and what no table of a mechanism describes.  This file
imports nothing heavy: the help of commands reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dpsan.errors import Hint, UsageError, check_name, refuse
from dpsan.text.tokens import SEVERAL, SEVERAL_HINT, is_token, read_word_list

if TYPE_CHECKING:
    from dpsan.embeddings.word_lists import PublicWords, WordClass
    from dpsan.mechanisms.mechanism import Mechanism
    from dpsan.sanitize.consistent import Unit

# The registry and the lists would load numpy; a test compares.
DEFAULT_MECHANISM: Final = "optimal-response"


@dataclass(frozen=True)
class Setting:
    """How one setting is typed, refused and stored: a row of ``settings.tsv``."""

    default: Any
    flags: str
    """``-e, --epsilon X``; values of the form ``a|b|c`` are all that there are."""
    noun: str = ""
    """What messages call its values; empty: any value may be typed."""
    row: str = ""
    """Name and kind of its row in the header of an audit, such as ``tokenizer:str``."""
    marks: str = ""
    """``rare`` if the help shows it below all others, ``unkeyed`` if the key of a memo has
    something else that stands for it."""

    @property
    def values(self) -> list[str]:
        """Return all values that may be typed; empty: any."""
        last = self.flags.rpartition(" ")[2]
        return last.split("|") if "|" in last and last.islower() else []


def _digests(classes: Iterable[WordClass]) -> list[tuple[str, str]]:
    return [(word_class.name, word_class.sha256) for word_class in classes]


_CONTENTS: Final[dict[str, Callable[[Any], Any]]] = {
    "public": lambda words: words and (words.name, words.sha256),
    "keep": sorted,
    **dict.fromkeys(("only", "classes"), _digests),
}
"""What ``--resume`` and the key of a memo compare in place of what was typed."""
_TYPES: Final = {
    **dict.fromkeys(("mechanism", "only", "classes", "roles", "numbers", "case", "tokenizer"), str),
    **{"vocab_size": int, "parameters": dict},
}
"""Types of arguments that would end in an error of their own."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a run does to text; picklable, without secrets."""

    epsilon: float | None = None
    """Privacy parameter: smaller is more private. The unit is nats for optimal-response (try 8),
    and 1/distance for laplace and exponential."""
    mechanism: str = DEFAULT_MECHANISM
    """Draw words by this mechanism. 'dpsan mechanisms' lists all; FILE.py:CLASS is one of your
    own."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Set a parameter of the mechanism, such as k=20. Repeatable."""
    public: PublicWords | None = None
    """Give no protection to these words: a FILE, or a list of dpsan. They mostly stay, and the
    guarantee holds for all other words."""
    embeddings: Path | None = None
    """Use these word vectors: word2vec, GloVe, fastText .vec, .npz, or .gz of them. Default: the
    bundled English vocabulary."""
    vocab_size: int | None = None
    """Use only the first N words of the vocabulary."""
    tokenizer: str = "unicode"
    """How lines are cut into words. `ptb` splits contractions, as GloVe was trained."""
    unknown: str = "sample"
    """Out-of-vocabulary words: `sample` a random word (covered by the guarantee), or `mask` as
    <unk>."""
    case: str = "natural"
    """Letter case of outputs: `natural` spelling, or as the `vocabulary` has it."""
    keep: frozenset[str] = field(default=frozenset(), repr=False)
    """Keep these words unchanged, one a line. NOT PRIVATE: any other output shows that the word
    was none of them."""
    consistent: Unit | None = None
    """Draw each distinct word once for each record, file or run. Which words are equal is not
    protected. Default: off; with --only, record, and in texts and documents the file."""
    numbers: str = "word"
    """Draw a word for a number, or a number of the same form. With `value`, which words are
    numbers is not protected."""
    only: tuple[WordClass, ...] = ()
    """Replace words of these classes by random words of their groups: sensitive, people,
    identifiers, names,places, a FILE of words, FILE:names, or spans for --spans alone. Takes no
    epsilon: which word of its group stood there is hidden completely. All other words pass
    unchanged: NOT PROTECTED."""
    classes: tuple[WordClass, ...] = ()
    """Read each group of these classes as one input, such as sensitive: which word of the group
    stood there is hidden completely. --epsilon bounds any two words. Repeatable."""
    roles: str = "on"
    """With --only: `off` draws all names from one group, all places from another, and words of
    health whatever part of the body they are about. Less is public; the text reads worse."""
    fluent: bool = False
    """Make the drawn words read, with a public language model. The guarantee stays; many words are
    guesses. Needs an epsilon of 7 or more."""
    allow_unproved: bool = False
    """Run a mechanism whose guarantee is not PROVED."""
    mapped: bool = False
    """True if a map tells for each replacement what it stands for (``only``)."""
    own_sha256: str | None = None
    """Digest of the mechanism's file, once it was read: workers refuse another one."""

    @classmethod
    def read(cls, **given: Any) -> Settings:
        """Return settings as users write them: names of lists, files, words in place of objects.

        Raises:
            UsageError: a value outside its domain.
            InputError: a list that cannot be read.
        """
        from dpsan.embeddings import word_lists
        from dpsan.sanitize.consistent import unit_of

        for name in ("only", "classes"):
            if isinstance(given.get(name), (list, tuple)):
                given[name] = ",".join(map(str, given[name])) or None
        for name, kind in _TYPES.items():
            value = given.get(name)
            what = f"{name} must be a {kind.__name__} (got {type(value).__name__})"
            hint = "name it: epsilon=8" if name == "mechanism" else ""
            refuse(value is not None and not isinstance(value, kind), what, hint)
        for name in ("keep", "public"):
            words = given.get(name)
            if not isinstance(words, str | Path | None):
                given[name] = [*words] if isinstance(words, Iterable) else [words]
                wrong = [type(word).__name__ for word in given[name] if not isinstance(word, str)]
                what = f"{name} must be a list of words (got {(wrong or [''])[0]})"
                refuse(wrong, what, f"such as {name}=['IBM']")
        made, keep, public = cls(**given), given.get("keep"), given.get("public")
        only, classes = given.get("only"), given.get("classes")
        if public is not None:  # a file of the command line may have the name of a list
            read, name = word_lists.public_words, str(public)
            public = read(name) if isinstance(public, Path) else word_lists.chosen_words(public)
        hint = "such as keep=['IBM']"  # its letters would be kept
        refuse(isinstance(keep, str), "keep must be a list of words (got a string)", hint)
        if isinstance(keep, Path):
            keep = read_word_list(keep, made.tokenizer)
        made.check_values()
        return replace(
            made,
            parameters=dict(made.parameters or {}),
            keep=frozenset(() if keep is None else keep),
            public=public,
            consistent=unit_of(given.get("consistent"), only=only is not None),
            classes=() if classes is None else word_lists.word_classes(classes, made.tokenizer),
            only=() if only is None else word_lists.only_classes(only, made.tokenizer),
        )

    def of_units(self) -> Settings:
        """Return the same for messages of units, whose answers can be restored."""
        from dpsan.sanitize.consistent import Unit

        return replace(self, consistent=Unit.UNIT, mapped=bool(self.only))

    def check_values(self) -> None:
        """Raise UsageError for a value that has another name than those of its setting."""
        for name, setting in SETTINGS.items():
            if setting.noun:
                check_name(setting.noun, getattr(self, name), setting.values)

    def kind(self) -> type[Mechanism]:
        """Return the kind of mechanism.  Raises UsageError for values outside their domains, and
        for settings that exclude or need each other.
        """
        from dpsan.embeddings.word_lists import FIELD_CLASSES, PRESETS
        from dpsan.mechanisms.registry import check_base, mechanism_class

        name = self.mechanism
        epsilon = name.replace(".", "", 1).isdecimal()
        refuse(epsilon, f"unknown mechanism '{name}'", f"name it: epsilon={name}")
        hint = Hint(f"only={name!r}", f"--only {name}")
        refuse(name in FIELD_CLASSES or name in PRESETS, f"{name!r} names classes of words", hint)
        kind = mechanism_class(name, self.own_sha256)
        self.check_values()
        several = not all(is_token(word, self.tokenizer) for word in self.keep)
        refuse(several, f"a word of the keep list is {SEVERAL}", SEVERAL_HINT)
        for condition, what, *hints in CONFLICTS:
            advice = Hint(hints[0], hints[-1]) if hints else "leave one of them out"
            refuse(self.holds(condition), what, advice)
        if self.public is not None:
            check_base(kind, "public words")
        if self.classes:
            check_base(kind, "classes of words")
        return kind

    def build(self) -> Mechanism:
        """Return the mechanism.

        Raises:
            UsageError: unknown name, parameter outside its domain, no epsilon.
        """
        kind = self.kind()
        if self.epsilon is None:
            what = "epsilon is required: it is your decision"
            raise UsageError(what, "without it: only='sensitive'")
        return kind.build(self.epsilon, self.parameters)

    def has(self, what: str) -> bool:
        """Return whether ``name`` has another value than its default; ``name=a|b``: one of these,
        or a class of such a name.  ``!`` before it: whether it has not.
        """
        name, _, values = what.removeprefix("!").partition("=")
        value = getattr(self, name)
        named = [item.name for item in value] if isinstance(value, tuple) else [str(value)]
        listed = not set(values.split("|")).isdisjoint(named)
        holds = listed if values else value != SETTINGS[name].default
        return bool(holds) != what.startswith("!")

    def holds(self, condition: str) -> bool:
        """Return whether the settings have all of a condition, see :meth:`has`."""
        return all(map(self.has, condition.split()))

    def key(self) -> list[object]:
        """Return what the key of a memo has of settings with other values than their defaults."""
        out: list[object] = []
        for name, setting in SETTINGS.items():
            if "unkeyed" not in setting.marks and self.has(name):
                value = getattr(self, name)
                out += _CONTENTS[name](value) if name in _CONTENTS else [(name, str(value))]
        return out

    def contents(self) -> dict[str, object]:
        """Return by name what ``--resume`` compares in place of the names of files and lists."""
        return {name: content(getattr(self, name)) for name, content in _CONTENTS.items()}

    def rows(self) -> dict[str, object]:
        """Return the rows that the header of an audit has of these settings."""
        return {
            about.row.partition(":")[0]: len(self.keep) if name == "keep" else getattr(self, name)
            for name, about in SETTINGS.items()
            if about.row
        }

    @classmethod
    def of_header(cls, rows: Mapping[str, Any]) -> Settings:
        """Return the settings that the header of an audit has as they are; others by default."""
        listed = {name: about.row.partition(":")[0] for name, about in SETTINGS.items()}
        return cls(**{name: rows[name] for name, row in listed.items() if name == row})

    @staticmethod
    def check_table(rows: Mapping[str, Any]) -> None:
        """Raise UsageError if words of a run do not follow the table of its mechanism alone.

        Args:
            rows: settings by name, or the header of an audit.
        """
        for name, what in BEYOND.items():
            about = SETTINGS[name]
            value = rows.get(about.row.partition(":")[0], rows.get(name))
            flag = about.flags.rpartition("--")[2].split()[0]
            wrong = value not in (None, 0, about.default)
            refuse(wrong, f"cannot estimate: the text has {what}", f"--{flag}")

    def of_table(self) -> Settings:
        """Return the same, see :meth:`check_table`."""
        self.check_table(vars(self))
        return self

    def facts(self) -> list[str]:
        """Return the facts that these settings leave unprotected, in words."""
        return [fact for condition, fact in EXPOSED if self.holds(condition)]


_TABLE: Final = (Path(__file__).parent / "settings.tsv").read_text("utf-8").splitlines()[1:]


def rows_of(kind: str) -> list[list[str]]:
    """Return the rows of a kind in ``settings.tsv``: their other cells."""
    return [cells for name, *cells in (row.split("\t") for row in _TABLE) if name == kind]


_DEFAULTS: Final = vars(Settings())
SETTINGS: Final[Mapping[str, Setting]] = {
    name: Setting(_DEFAULTS[name], *cells) for name, *cells in rows_of("setting")
}
"""All settings by name."""
CONFLICTS: Final = rows_of("conflict")
"""Conditions that no run may have, see :meth:`Settings.has`: the message, and hints."""
EXPOSED: Final = rows_of("exposed")
"""Conditions under which a fact is not protected, and the fact, in the order of statements."""
ELSEWHERE: Final = {name: hint for names, hint in rows_of("elsewhere") for name in names.split("|")}
"""What does for callers of Python what an option does that is no setting."""
BEYOND: Final = dict(rows_of("beyond"))
"""What a text has because of a setting that the output distribution of a word does not tell."""
