"""Presidio finds, dpsan draws: an operator for presidio-anonymizer.

    engine = AnonymizerEngine()
    engine.add_anonymizer(Dpsan)
    how = {"DEFAULT": OperatorConfig("dpsan", {"sanitizer": Sanitizer(epsilon=8)})}
    engine.anonymize(text, analyzer_results, how).text

Presidio hands over what a result covers and no more: of a word that is covered in part, the rest
passes.  ``rewrite_results`` draws such a word whole, as ``dpsan rewrite --spans`` does.  What no
result covers passes as it is, and which results there are is not protected.
"""

from presidio_anonymizer.operators import Operator, OperatorType


class Dpsan(Operator):
    """Draws the words of an entity; its parameter ``sanitizer`` says how."""

    def operate(self, text, params=None):
        return params["sanitizer"].rewrite(text)

    def validate(self, params=None):
        if not hasattr((params or {}).get("sanitizer"), "rewrite"):
            raise ValueError("the operator dpsan needs a parameter sanitizer: a dpsan.Sanitizer")

    def operator_name(self):
        return "dpsan"

    def operator_type(self):
        return OperatorType.Anonymize


def rewrite_results(sanitizer, text, results):
    """The text with all words drawn that the analyzer's results touch."""
    return sanitizer.rewrite(text, [(each.start, each.end) for each in results])
