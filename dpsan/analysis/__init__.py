"""Commands that read and never rewrite: verify, explain, evaluate, compare, report.

Each is a package; open its ``__init__`` first.  Results hold figures and words of the public
vocabulary, never a private text.  This package must not know command lines.
"""
