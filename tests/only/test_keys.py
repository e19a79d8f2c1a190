"""Which names of members hold the name or the address of a person."""

import pytest
from support import cases

from dpsan.only.keys import holds_person

SCHEMA = """
id type role content messages name first_name lastName user userId user_id username e-mail email
phone address city state country zip created_at updatedAt timestamp tool_calls function arguments
parameters model usage prompt_tokens finish_reason choices index logprobs metadata tags trace_id
span.id parentId session input output error status code message stack_trace level logger thread
host hostname ip port url path method headers body query request response duration_ms cost
currency total items quantity price sku order customer http.status_code gen_ai.request.model
langfuse.observation.input x-request-id Content-Type 200 en de_DE v2 a b x1 is_active hasMore
nextPageToken nickName NickName Nick_Name nick
"""


@pytest.mark.parametrize("key", SCHEMA.split())
def test_names_of_a_schema_hold_nobody(key):
    assert not holds_person(key)


@cases(
    "key",
    *("Maria", "maria", "MARIA", "mariaGonzalez", "maria_gonzalez", "notes for Gonzalez"),
    *("a.b@example.org", "@maria_g", "root@10.0.0.1", "+44 20 7946 0123", "user:anna"),
    *("Nick", "Nick Young", "Nickname of Grace"),
)
def test_names_and_addresses_are_found(key):
    assert holds_person(key)
