"""Text of a page: decode its bytes, and encode other words instead of it.

What is written is a function of the new text and of what passes in any case, the characters between
words.  These keep their entities (``&nbsp;``); a word has none, however it was written: the bytes
of a word that was drawn as itself would tell so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from dpsan.formats.documents.html_scan import Kind
from dpsan.text.shape import INVISIBLE
from dpsan.text.tokens import TOKENIZERS, wordless

_ENTITY: Final = re.compile(r"(&(?:#[0-9]{1,9}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{0,40});?)")
_ENDS: Final = {
    Kind.COMMENT: re.compile(r"-(?=-!?>)|\A-?(?=>)"),
    Kind.SECTION: re.compile(r"\](?=\]>)"),
    Kind.RAW: re.compile(r"<(?=/)"),
}
"""Strings that would end a text without entities, without their first character."""
_PLAIN: Final = {"&": "&amp;", "<": "&lt;"}
_QUOTED: Final = {**_PLAIN, '"': "&quot;"}
_ESCAPES: Final = {
    Kind.TEXT: _PLAIN,
    Kind.QUOTED: _QUOTED,
    Kind.BARE: _QUOTED,
    Kind.APOSTROPHES: {**_PLAIN, "'": "&#39;"},
}


class HtmlText:
    """A text of a page.

    Args:
        kind: how it stands there.
        raw: its characters there.
    """

    __slots__ = ("_gaps", "_kind", "text")

    def __init__(self, kind: Kind, raw: str) -> None:
        self._kind = kind
        self._gaps: list[tuple[str, str]] = []
        """Each character between words, and how it is written."""
        if kind not in _ESCAPES or "&" not in raw:
            self.text = raw
            """Text with its entities replaced."""
            return
        out: list[str] = []
        entities: dict[int, str] = {}
        length = 0
        for number, piece in enumerate(_ENTITY.split(raw)):  # every other one is an entity
            plain = unescape(piece) if number % 2 else piece
            if plain in ("", "\ufffd"):  # no character: its number may be somebody's
                plain = piece
            if number % 2 and len(plain) == 1 and piece.endswith(";"):
                entities[length] = piece
            out.append(plain)
            length += len(plain)
        self.text = "".join(out)
        if entities:
            self._gaps = [
                (self.text[index], entities.get(index) or self._escaped(self.text[index]))
                for index in _between_words(self.text)
            ]

    @property
    def blank(self) -> bool:
        """Return True if nothing in it is drawn or dropped."""
        return self.text.isspace() or wordless(self.text)

    def write(self, text: str) -> str:
        """Encode another text instead of it."""
        if self._kind not in _ESCAPES:
            # With a space where it would end too early.
            return _ENDS[self._kind].sub(lambda match: match[0] + " ", text)
        written = [self._escaped(each) for each in text]
        if self._gaps:
            indices = list(_between_words(text))
            gaps = self._gaps
            if [text[index] for index in indices] != [each for each, _ in gaps]:
                # An output with marks of its own, such as <unk>: what was always written so, is.
                forms = {each: {form for one, form in gaps if one == each} for each, _ in gaps}
                indices = [index for index in indices if len(forms.get(text[index], ())) == 1]
                gaps = [(text[index], min(forms[text[index]])) for index in indices]
            for index, (_, form) in zip(indices, gaps, strict=True):
                written[index] = form
        out = "".join(written)
        return f'"{out}"' if self._kind is Kind.BARE else out

    def _escaped(self, character: str) -> str:
        return _ESCAPES[self._kind].get(character, character)


def _between_words(text: str) -> Iterator[int]:
    """Yield positions of the characters that stand between words and are written."""
    at = 0
    for number, piece in enumerate(TOKENIZERS["unicode"].split(text)):
        if number % 2 == 0:
            for index in range(at, at + len(piece)):
                if not INVISIBLE.match(text, index):
                    yield index
        at += len(piece)
