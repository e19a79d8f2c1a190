"""A container that only tests know: OpenDocument text, as far as a test needs it."""

import io
import re
import zipfile
from functools import partial

from dpsan.errors import InputError
from dpsan.formats.base import Record
from dpsan.formats.documents.document import Document
from dpsan.formats.passing import LEFT_OUT

PARAGRAPH = re.compile(r"(?<=<text:p>)[^<]*")


class OdtFormat(Document):
    name = "odt"
    kind = "document"
    own_encoding = "odt says its encoding itself"
    leaves_out = True

    def records(self, source, data, options):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names, content = archive.namelist(), archive.read("content.xml").decode()
        pictures = len(names) - 1
        if pictures and options.strict:
            raise InputError(
                source.name, "holds pictures", "without --strict or -i they are left out"
            )
        written = []
        for number, match in enumerate(PARAGRAPH.finditer(content), start=1):
            yield Record(number, [match[0]], partial(take, written))
        noted = {f"{LEFT_OUT}:picture": pictures} if pictures else {}
        yield Record(1, [], lambda _: packed(content, written), part="frame", noted=noted)


def take(written, texts):
    written.append(str(texts[0]))
    return b""


def packed(content, written):
    texts = iter(written)
    return archive_of({"content.xml": PARAGRAPH.sub(lambda _: next(texts), content)})


def archive_of(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return out.getvalue()
