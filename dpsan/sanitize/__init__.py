"""Sanitize texts: from a request to a sanitizer, from texts to texts, counts and a statement.

Open ``sanitizer`` first.  ``guarantee_and_sampler`` computes the guarantee of a request,
``rewriting`` draws, ``statement`` says what a run cost.  This package must not know files, streams
or command lines.
"""
