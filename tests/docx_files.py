"""Documents of a word processor, put together by hand."""

from __future__ import annotations

import io
import zipfile

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\r\n<w:{{}} xmlns:w="{W}" xmlns:r="{R}">'


def part(root, inner=""):
    return f"{HEAD.format(root)}{inner}</w:{root}>"


def links(*rows):
    out = ""
    for number, (kind, target, more) in enumerate(rows, start=1):
        out += f'<Relationship Id="rId{number}" Type="{R}/{kind}" Target="{target}"{more}/>'
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    return f'<Relationships xmlns="{space}">{out}</Relationships>'


OUTSIDE = ' TargetMode="External"'


def document(body="", extra=(), rows=(), **more):
    """A document of a text and more parts."""
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": links(("officeDocument", "word/document.xml", "")),
        "word/document.xml": part("document", f"<w:body>{body}</w:body>"),
        "word/styles.xml": part("styles", '<w:style w:val="x"/>'),
        "word/_rels/document.xml.rels": links(("styles", "styles.xml", ""), *rows),
        **dict(extra),
        **more,
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def paragraph(*runs):
    return "<w:p>" + "".join(f"<w:r><w:t>{run}</w:t></w:r>" for run in runs) + "</w:p>"


def parts_of(data):
    """The parts of a document, by their names."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}
