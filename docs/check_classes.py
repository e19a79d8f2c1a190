"""Check a certificate of classes of words without dpsan: python check_classes.py FILE

`dpsan verify --only CLASSES --certificate FILE` writes it. The first line names the words of each
class, its outputs and its epsilon. A line for each word holds the index of its class and its own
weights. This program proves for each class what check_certificate.py, which must stand beside it,
proves for all words. Any string that is no word counts in every class: it belongs to one of them.
"""

import sys
from fractions import Fraction

from check_certificate import common_weights, exp_from_below, integers, lines, require


def check_class(each, rows):
    """The words of one class: outputs are words of the class, and no loss is above its epsilon."""
    common = dict(map(tuple, each["common"]))
    words = [rows[word][1:] for word in each["words"]]
    require(common.keys() >= {u for row in words for u in row[::2]}, "an output of no class")
    require(common.keys() <= set(each["words"]), "an output of another class")
    at = {u: index for index, u in enumerate(common)}
    own = [[at[x] if i % 2 == 0 else x for i, x in enumerate(row)] for row in words]
    part = {"common": [*common.values()], "increment": each["increment"]}
    limit = exp_from_below(Fraction(each["epsilon"]))
    for high, low in common_weights(part, len(at), own, set()):
        require(high <= low * limit, f"the loss is more than {each['epsilon']} in a class")


def check(path):
    with open(path, "rb") as file:
        claim, *rows = lines(file)
    n, classes, of = claim["words"], claim["classes"], {}
    require(claim["dpsan_certificate"] == 1 and claim["delta"] == "0", "no claim known here")
    require(claim["weights"] == "classes" and not claim["public"], "no certificate of classes")
    require(len(rows) == n > 0 and claim["unknown"] in range(len(classes)), "a row is missing")
    epsilons = [Fraction(each["epsilon"]) for each in classes]
    require(0 <= min(epsilons) <= max(epsilons) <= 1000, "an epsilon out of range")
    for k, each in enumerate(classes):
        for word in integers(each["words"], 0, n):
            require(of.setdefault(word, k) == k, "a word is in two classes")
    for word, row in enumerate(rows):
        require(row[:1] == [of[word]] if word in of else not row, "a row of the wrong class")
    for each in classes:
        check_class(each, rows)
    print(f"PROVED: epsilon {float(max(epsilons))}, delta 0, for two words of one of")
    print(
        f"{len(classes)} classes of {len(of)} words; not protected: the class, {n - len(of)} words"
    )


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError) as error:
        sys.exit(f"REJECTED: {error}")
