"""All checks of any program, by their names."""

from collections.abc import Iterable

from checks.classes import classes
from checks.integers import integers
from checks.interference import interference
from checks.numbers import numbers_by_value
from checks.projection import projection
from checks.repeats import repeats
from checks.shapes import shapes
from checks.sharing import sharing
from checks.statement import statement
from checks.strings import strings
from checks.unchanged import unchanged
from dpsan.sanitize.sanitizer import Sanitizer

CHECKS = {
    "statement": statement,
    "numbers by value": numbers_by_value,
    "classes": classes,
    "integers": integers,
    "projection": projection,
    "non-interference": interference,
    "repeated outputs": repeats,
    "shape": shapes,
    "shared numbers": sharing,
    "strings": strings,
    "unchanged words": unchanged,
}


def faults(sanitizer: Sanitizer, names: Iterable[str] = CHECKS) -> dict[str, str]:
    """Return what is wrong, by the name of the check."""
    return {name: fault for name in names if (fault := CHECKS[name](sanitizer))}
