"""Check a certificate of classes of words without dpsan: python check_classes.py FILE

`dpsan verify --certificate FILE` writes it with --only or --class. The first line names the words
of each class, its outputs and its epsilon. A line for each word holds the index of its class and
its own weights. This program proves for each class what
check_certificate.py, which must stand beside it, proves for all words. With two levels it proves
the larger epsilon between any two inputs too. Any other string is an input of the class "unknown",
except for listed words, which are read as a word of their group, and for ordinary words, which pass
with --only: the first line has their number and digest.
"""

import sys
from fractions import Fraction

from check_certificate import common_weights, exp_from_below, integers, lines, require


def check_class(each, rows, unknown):
    """No loss in a class is above its epsilon: the extreme probabilities of each output there."""
    common = dict(map(tuple, each["common"]))
    words = [rows[word][1:] for word in each["words"]]
    require(common.keys() >= {u for row in words for u in row[::2]}, "an output of no class")
    require(common.keys() <= set(each["words"]), "an output of another class")
    at = {u: index for index, u in enumerate(common)}
    own = [[at[x] if i % 2 == 0 else x for i, x in enumerate(row)] for row in words]
    part = {"common": [*common.values()], "increment": each["increment"]}
    limit = exp_from_below(Fraction(each["epsilon"]))
    found = dict(zip(at, common_weights(part, len(at), own, set(), unknown)))
    for high, low in found.values():
        require(high <= low * limit, f"the loss is more than {each['epsilon']} in a class")
    return found


def check_between(claim, rows, parts):
    """No loss between any two inputs is above the epsilon of the claim: docs/proofs.md 4.8."""
    common, total = integers(claim["common"], 0), claim["total"]
    require(len(common) == len(rows), "not a weight for every word")
    plain = [row[1:] for row in rows if row[0] < 0]
    sums = {sum(common) + claim["increment"] * sum(row[1::2]) for row in plain}
    require(sums <= {total} and sum(common) <= total, "another sum than the stated one")
    found = [[(Fraction(x, total),) * 2] for x in common]  # of a word whose class lacks the output
    if plain:
        for u, pair in enumerate(common_weights(claim, len(rows), plain, set(), 0)):
            found[u].append(pair)
    for part in parts:
        stays = 1 - Fraction(sum(common) - sum(common[u] for u in part), total)
        for u, (high, low) in part.items():
            found[u].append((stays * high, stays * low))
    limit = exp_from_below(Fraction(claim["epsilon"]))
    for pairs in found:
        high, low = max(high for high, _ in pairs), min(low for _, low in pairs)
        require(high <= low * limit, f"the loss is more than {claim['epsilon']} between two inputs")


def above(epsilon):
    """The epsilon as it is printed: rounded up."""
    return float(-(-epsilon * 10**9 // 1) / 10**9)


def check(path):
    with open(path, "rb") as file:
        claim, *rows = lines(file)
    require("classes" in claim, "a certificate without classes: check_certificate.py reads it")
    n, classes = claim["words"], claim["classes"]
    of: dict[int, int] = {}
    two = claim["weights"] == "two-levels"
    require(claim["dpsan_certificate"] == 1 and claim["delta"] == "0", "no claim known here")
    require(two or claim["weights"] == "classes", "no certificate of classes")
    require(not claim["public"], "public words have no class")
    require(len(rows) == n > 0 and claim["unknown"] in range(len(classes)), "a row is missing")
    epsilons = [Fraction(each["epsilon"]) for each in classes]
    require(0 <= min(epsilons) <= max(epsilons) <= 1000, "an epsilon out of range")
    for k, each in enumerate(classes):
        for word in integers(each["words"], 0, n):
            require(of.setdefault(word, k) == k, "a word is in two classes")
    for word, row in enumerate(rows):
        none = row[:1] == [-1] if two else not row
        require(row[:1] == [of[word]] if word in of else none, "a row of the wrong class")
    parts = [check_class(each, rows, int(k == claim["unknown"])) for k, each in enumerate(classes)]
    if two:
        require(0 <= Fraction(claim["epsilon"]) <= 1000, "an epsilon out of range")
        check_between(claim, rows, parts)
    print(f"PROVED: epsilon {above(max(epsilons))}, delta 0, for two words of one of")
    other = f"epsilon {above(Fraction(claim['epsilon']))} for any other two inputs"
    if not two:
        (others,) = integers([claim["ordinary"]["words"]], 0)
        other = f"not protected: the class, {n - len(of)} rows and {others} other words"
    print(f"{len(classes)} classes of {len(of)} words; {other}")


if __name__ == "__main__":
    try:
        check(sys.argv[1] if sys.argv[1:] else sys.exit("which FILE?"))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError) as error:
        sys.exit(f"REJECTED: {error}")
