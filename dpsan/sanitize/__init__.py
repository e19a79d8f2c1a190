"""Sanitize texts: from a request to a sanitizer, from texts to texts, counts and a statement.

Open ``sanitizer`` first.  ``rewriting`` computes the guarantee of a request, and draws;
``replacing`` is ``--only``; ``statement`` says what a run cost.  This package must not know files,
streams or command lines.
"""
