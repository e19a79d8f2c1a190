"""Public texts with listed words in many kinds of places, for tests of ``--only``."""

import re
from collections.abc import Callable, Iterator

PLACES = (
    "{T} called.",
    "We met {T} at noon, and {T} left.",
    "The {l} was late, they said.",
    "NOBODY SAW {U} OR {U'surname} THAT DAY",
    "He said: {T} knows. \u201c{T} left,\u201d she said.",
    "It was {T}'s plan, {T'surname}'s money and {T}' idea.",
    "An {T} came; a {T} and an {l} left.",
    "A {T}. An {U}. He is (an {T}) or \u201ca {T'given_m}\u201d, or a <b>{T}</b>.",
    "Mr. {T} and Mrs {T} {T'surname}",
    "Dr. {T'given_m} {T} wrote.",
    "mr. {l} saw ms {l'surname}",
    "Dear {T},\nthanks. Regards, {T'given_f}",
    "Hi {T'given_f} {T},",
    "Patient: {T}\nProvider: {T'surname}, MD",
    "Name: {T'given_f} {T}\nCity: {T'city}",
    "Owner: {T} Industries",
    "my name is {l} and her name's {l'given_f}",
    "12 {T} Street, {T'city}, IL 62704",
    "42 North {T} Ave. or 7 {l} road",
    "Flight from {T} to {T'city}.",
    "{T}, {T'city} and {T'surname}: three of them.",
    "- {T}\n- {T'surname}\n- {T'city}\n",
    "1. {T}\n2. {l}",
    "{T} Inc. bought the {T'surname} {T} Group.",
    "The University of {T} beat {T} College.",
    "{T'given_m} {T} met {T} {T'surname}.",
    "{T'given_f} {T} {T'surname} is here",
    "{T}\n{T'given_m} {T'surname}\n",
    "{T} 12, 2019",
    "On 3 {T} 2021 at 10:45, and in {T} or on {T} 5th.",
    "on {T}. By {T}, they said: {T}!",
    "took 5 mg {l} daily, and 250mg {l'medicine} at 8 am",
    "Write to {l}.{l'surname}@mail.com ({T} {T'surname}) or {l}@example.org.",
    "g{l}@mail.com is {T}'s, x_{l}99@mail.org is not",
    "the{l}fan@mail.com and {l}@@mail, {T}! www.{l}.org",
    "@{l} asked {T}, and {T} answered.",
    "The {T}s: {T} and {T'given_f}",
    "Judge {T} of {T} Court; Senator {T'given_m} {T}",
    "{T} (born 1985, aged 36) earned $1,250.50, 12 % more.",
    "{T}-{T'surname} and {T'surname}/{T}",
    "J. {T}, {T} J. and {T'given_m} Q. {T} left.",
    '{"name": "{T}", "city": "{T\'city}"}\\n&amp; {T}',
    "{T}: hello {l}\n{T'given_f}: hi",
    "the {l} in {T} is {T} of the {T'city} {T}",
    "{U} {U'surname} OF {U'city} WON",
    "lol {l}, {l'given_m}? ok {m}!",
    "Great {T} Sale: {T} and {T'city} {T}",
)
"""T, l, U, m: the word with a capital, in small letters, in capitals, with a capital inside; behind
an apostrophe the label of another word."""
STRINGS = (
    *("grace@mail.com", "a.b.zelda9@uni.ac.uk", "root@10.20.30.40", "@zelda_w", "555-0199"),
    *("(212) 555-0134", "+44 20 7946 0123", "020 7946 0958", "1-800-FLOWERS", "10.1.2.33"),
    *("https://zelda.net/a?b=1", "www.zelda.de", "4111 1111 1111 1111", "4111111111111111"),
    *("123-45-6789", "GB29 NWBK 6016 1331 9268 19", "00:1b:44:11:3a:b7", "2001:db8:0:1::17"),
    *("6fa459ea-ee8a-3ca4-894e-db77e160355e", "2021-05-03", "2021-05-03T10:45:00Z"),
    *("2019/5/13", "13.05.1985", "5/13/85", "10:45", "5 pm", "10:45 p.m.", "14h30", "48.85837"),
    *("120/80", "1990s", "'80s", "22nd", "1234th", "$1,250.50", "80 \u20ac", "$5 million", "11 %"),
    *("250mg", "98.6 \u00b0F", "3km", "J.R.", "Q7-4432X", "ABC123", "5d41402abc4b2a76b971", "1985"),
    *("2044", "1799", "7", "18", "80", "118", "1,118", "11,000", "8", "12345", "62704"),
    *("8005550199", "3.14", "12-14", "0042", "xK9#mP2!qq"),
)
"""One string of each kind, and numbers of several sizes."""
AROUND = (
    "Ref {S}, then nothing.",
    "She wrote {S} ({S'}) twice: {S}.",
    "An {S} or a {S'} it is.",
    "On {S} at {S'} Zelda Moss called.",
    "Order {S}\nDate: {S'}\n",
    "{S} times; take {S'} daily",
)
"""Texts for two strings."""
_SLOT = re.compile(r"\{([TlUm])(?:'(\w+))?\}")


def texts(word: str, other: Callable[[str], str]) -> Iterator[str]:
    """Yield a word in all places.

    Args:
        word: folded.
        other: returns some word of a label.
    """
    spelt: dict[str, Callable[[str], str]]
    spelt = {"l": str, "U": str.upper, "T": with_capital, "m": capital_inside}

    def filled(slot: re.Match[str]) -> str:
        return spelt[slot[1]](word if slot[2] is None else other(slot[2]))

    for place in PLACES:
        yield _SLOT.sub(filled, place)


def string_texts() -> Iterator[str]:
    """Yield the strings, each in all texts for strings."""
    for at, string in enumerate(STRINGS):
        for step, around in enumerate(AROUND, 1):
            second = STRINGS[(at + 7 * step) % len(STRINGS)]
            yield around.replace("{S}", string).replace("{S'}", second)


def with_capital(word: str) -> str:
    """Return a word, or the words of a phrase, with a capital."""
    return " ".join(part[:1].upper() + part[1:] for part in word.split(" "))


def capital_inside(word: str) -> str:
    """Return a word with its second letter as its only capital."""
    return word[:1] + word[1:].capitalize()
