"""dpsan among the anonymizers that tau-eval compares.

    Experiment(models=[Dpsan(Sanitizer(epsilon=8))], metrics=[...], tasks=[...])

With ``find``, a function from a text to pairs of start and end, only the words that these touch are
drawn; all others pass as they are, and the choice is not protected.
"""

from tau_eval.models import Anonymizer


class Dpsan(Anonymizer):
    """A sanitizer under the names that tau-eval calls."""

    def __init__(self, sanitizer, find=None):
        self.sanitizer, self.find = sanitizer, find
        self.name = f"dpsan {sanitizer.mechanism.name} epsilon {sanitizer.mechanism.epsilon:g}"

    def anonymize(self, text):
        return self.anonymize_batch([text])[0]

    def anonymize_batch(self, texts):
        spans = None if self.find is None else list(map(self.find, texts))
        return self.sanitizer.rewrite(texts, spans)
