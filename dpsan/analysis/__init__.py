"""Commands that read and never rewrite: verify, explain, evaluate, compare, report."""
