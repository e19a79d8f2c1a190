"""Names, addresses and ids leave a run before LangSmith gets it.

    client = masked(api_key=...)

Inputs, outputs, metadata and the error of a run are masked, each of them a unit.  Names of runs and
tags are no part of them.
"""

from langsmith import Client

from dpsan import Sanitizer


def masked(**settings) -> Client:
    return Client(anonymizer=Sanitizer(only="people").rewrite_object, **settings)
