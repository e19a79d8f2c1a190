"""From inputs to outputs: one run of ``rewrite``."""
