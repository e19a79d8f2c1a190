"""dpsan: sanitize text with word-level differential privacy, and say what it protects.

The Python interface: :class:`Sanitizer`, :class:`Memo` for messages that are sent again,
``load_embeddings``, :func:`list_mechanisms`, and :func:`register` for mechanisms of others.
"""

__version__ = "0.1.0"

# No import here: while Python reads a file for it, Ctrl-C would show a traceback (see __main__).
TYPE_CHECKING = False  # type checkers know the name; typing takes longer than the rest of this

if TYPE_CHECKING:
    from typing import Any, Final

    from dpsan.analysis.estimate import Estimate
    from dpsan.embeddings import load as load_embeddings
    from dpsan.embeddings.words import Embeddings
    from dpsan.mechanisms.registry import list_mechanisms, register
    from dpsan.run.memo import Memo
    from dpsan.sanitize.sanitizer import Sanitizer

__all__ = [
    "Embeddings",
    "Estimate",
    "Memo",
    "Sanitizer",
    "__version__",
    "list_mechanisms",
    "load_embeddings",
    "register",
]

_HOMES: "Final" = {
    "Embeddings": ("dpsan.embeddings.words", "Embeddings"),
    "Estimate": ("dpsan.analysis.estimate", "Estimate"),
    "Memo": ("dpsan.run.memo", "Memo"),
    "Sanitizer": ("dpsan.sanitize.sanitizer", "Sanitizer"),
    "list_mechanisms": ("dpsan.mechanisms.registry", "list_mechanisms"),
    "load_embeddings": ("dpsan.embeddings", "load"),
    "register": ("dpsan.mechanisms.registry", "register"),
}


def __dir__() -> "list[str]":
    return __all__


def __getattr__(name: str) -> "Any":
    # Lazy: `dpsan --help` must not pay for numpy.
    if name not in _HOMES:
        hint = ' (dpsan.Sanitizer(only="people").rewrite(TEXT))' * (name[:1] != "_")
        raise AttributeError(f"module 'dpsan' has no attribute '{name}'{hint}")
    import importlib

    module, attribute = _HOMES[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value
