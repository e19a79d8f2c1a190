"""Which names of members hold the name or the address of a person."""

from support import cases, tables

from dpsan.only.keys import holds_person

CASES = tables("only/cases")


@cases("key", *" ".join(CASES["members"]).split())
def test_names_of_a_schema_hold_nobody(key):
    assert not holds_person(key)


@cases("key", *CASES["persons"])
def test_names_and_addresses_are_found(key):
    assert holds_person(key)
