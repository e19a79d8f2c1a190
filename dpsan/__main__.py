"""``python -m dpsan`` and the ``dpsan`` command."""

from dpsan.cli.guard import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
