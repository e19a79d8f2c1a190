"""A step of a scikit-learn pipeline: texts in, sanitized texts out.

    make_pipeline(Sanitized(only="people"), TfidfVectorizer(), LogisticRegression())

Every call of ``transform`` draws anew: a grid search with k folds draws each text k times, so
sanitize the texts before it, once.
"""

from sklearn.base import BaseEstimator, TransformerMixin

from dpsan import Sanitizer


class Sanitized(TransformerMixin, BaseEstimator):
    def __init__(self, only: str | None = None, epsilon: float | None = None) -> None:
        self.only, self.epsilon = only, epsilon

    def fit(self, texts, y=None):
        self.sanitizer_ = Sanitizer(only=self.only, epsilon=self.epsilon)
        return self

    def transform(self, texts) -> list[str]:
        return self.sanitizer_.rewrite(texts)
