"""``--only``: words of public groups are replaced by random words of the same group.

Text -> view (arrays) -> rules (rows of rules.tsv) -> decision -> draws -> text.  The law of the
output is a function of the decision alone: :mod:`~dpsan.only.engine`, :mod:`~dpsan.only.relations`,
:mod:`~dpsan.only.decision` and :mod:`~dpsan.only.draws` cannot reach a text.
"""
