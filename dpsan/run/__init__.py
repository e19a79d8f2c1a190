"""From inputs to outputs: one run of ``rewrite``, with its workers, audit, memo and ledger.

Open ``run`` first, then ``stream``.  Outputs are placed whole or not at all.  This package must not
know how words are drawn, or command lines.
"""
