"""A mechanism of your own: here from Python, elsewhere as ``-m docs/own_mechanism.py:Squares``."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from dpsan import Sanitizer, register
from dpsan.analysis.compare import Request, compare
from dpsan.analysis.evaluate import Question, evaluate
from dpsan.analysis.explain import explain, read
from dpsan.analysis.verify.verdict import verify
from dpsan.mechanisms.mechanism import Mechanism, parameter
from dpsan.mechanisms.tables.dense import DenseTable
from dpsan.outcomes.calibrate import Draft
from dpsan.privacy.guarantee import Claim, Status


@register
class Squares(Mechanism):
    """P(u|w) ~ exp(-epsilon·(d(w, u)/D)^power/2), D the diameter: utilities between -1 and 0."""

    name, family, epsilon_unit, status = "squares", "table", "nats", Status.CLAIMED
    summary, source = "squared distances over the squared diameter", "my paper, section 2"
    power: float = parameter(2.0, "of distances", above=0)

    def guarantee(self, space):
        return self.promise(self.epsilon, claimed=Claim(self.epsilon), why="utilities in [-1, 0]")

    def table(self, space):
        return DenseTable.of_scores(space, partial(self.scores, space))  # whole numbers, ⊥ uniform

    def scores(self, space, ids):
        return self.epsilon / 2 * (space.distances(ids) / space.diameter) ** self.power


def main():
    mine = Sanitizer("squares", epsilon=8, vocab_size=500, allow_unproved=True)
    texts = ["the president of the company said that it was a good year", "he lost the game"]
    safe = mine.rewrite(texts)
    found = verify(mine, words=20, draws=5000)
    print(f"rewrite: {safe[0]}\nverify: {found.verdict}, exact epsilon {found.certified:.3f}")
    word = explain(mine, read(mine, ["president"]), top=3)[0]
    print(f"explain: president stays with probability {word['unchanged']:.4f}")
    with TemporaryDirectory() as folder:
        for name, lines in (("original", texts), ("safe", safe)):
            Path(folder, name).write_text("\n".join(lines) + "\n")
        question = Question(
            Path(folder, "original"), Path(folder, "safe"), mechanism=mine.mechanism
        )
        judged = evaluate(question, mine.embeddings, mine.space)
    print(f"evaluate: mean cosine {judged.cosine['mean']:.3f}, {judged.best.attack} guesses best")
    (row,) = compare(Request([Draft(Squares)], [4.0]), mine.embeddings, mine.space).rows
    print(f"compare: at LDP epsilon 4 the mean cosine is {row['cosine']:.3f}")


if __name__ == "__main__":
    main()
