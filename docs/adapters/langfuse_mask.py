"""Names, addresses and ids leave a trace before Langfuse gets it.

    client = masked(public_key=..., secret_key=...)

A mask gets input, output and metadata of each observation, one after the other: each of them is a
unit.  Names of observations, users and sessions are no part of them.  What the mask refuses
(objects of unknown types) Langfuse masks as a whole.
"""

from langfuse import Langfuse

from dpsan import Sanitizer


def masked(**settings) -> Langfuse:
    return Langfuse(mask=Sanitizer(only="people").rewrite_object, **settings)
