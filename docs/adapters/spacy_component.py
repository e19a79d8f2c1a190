"""spaCy finds, dpsan draws: a component for the end of a pipeline.

    nlp.add_pipe("dpsan", config={"only": "people"})  # or {"epsilon": 8.0}
    nlp(text)._.sanitized

With ``epsilon``, words that an entity (``doc.ents``) touches are drawn; all others pass as they
are.  With ``only``, entities are drawn from the group of their label, beside what dpsan finds.
Which entities there are is not protected.  The document itself stays what it was: publish
``sanitized`` alone.
"""

from spacy.language import Language
from spacy.tokens import Doc

from dpsan import Sanitizer


@Language.factory("dpsan", default_config={"epsilon": None, "only": None})
class Dpsan:
    """Writes ``doc._.sanitized``."""

    def __init__(self, nlp: Language, name: str, epsilon: float | None, only: str | None):
        self.typed, self.sanitizer = only is not None, Sanitizer(epsilon=epsilon, only=only)
        if not Doc.has_extension("sanitized"):
            Doc.set_extension("sanitized", default=None)

    def __call__(self, doc: Doc) -> Doc:
        found = [(each.start_char, each.end_char, each.label_) for each in doc.ents]
        spans = found if self.typed else [each[:2] for each in found]
        doc._.sanitized = self.sanitizer.rewrite(doc.text, spans)
        return doc
