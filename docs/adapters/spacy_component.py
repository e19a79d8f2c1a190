"""spaCy finds, dpsan draws: a component for the end of a pipeline.

    nlp.add_pipe("dpsan", config={"epsilon": 8.0})
    nlp(text)._.sanitized

Words that an entity (``doc.ents``) touches are drawn.  All others pass as they are, and which
entities there are is not protected.  The document itself stays what it was: publish
``sanitized`` alone.
"""

from spacy.language import Language
from spacy.tokens import Doc

from dpsan import Sanitizer


@Language.factory("dpsan")
class Dpsan:
    """Writes ``doc._.sanitized``."""

    def __init__(self, nlp: Language, name: str, epsilon: float):  # epsilon has no default
        self.sanitizer = Sanitizer(epsilon=epsilon)
        if not Doc.has_extension("sanitized"):
            Doc.set_extension("sanitized", default=None)

    def __call__(self, doc: Doc) -> Doc:
        spans = [(each.start_char, each.end_char) for each in doc.ents]
        doc._.sanitized = self.sanitizer.rewrite(doc.text, spans)
        return doc
