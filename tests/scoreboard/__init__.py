"""The rows of ``tests/reliability.py``, by subject."""
