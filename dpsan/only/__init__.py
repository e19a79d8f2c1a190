"""``--only``: words of public groups are replaced by random words of the same group.

Open ``rules.tsv`` first, then ``engine``.  Text -> view (arrays) -> rules -> decision -> draws ->
text.  The law of the output is a function of the decision alone: :mod:`~dpsan.only.engine`,
:mod:`~dpsan.only.relations`, :mod:`~dpsan.only.decision` and :mod:`~dpsan.only.draws` cannot reach
a text.
"""
