"""The version of this release. A module of its own: reading it imports nothing else."""

__version__ = "0.1.0"
