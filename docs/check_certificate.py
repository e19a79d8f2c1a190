"""Check a certificate of dpsan without dpsan: python check_certificate.py FILE

`dpsan verify --certificate FILE` writes the claim in the first line, the integer weights of every
word in the lines that follow, and a digest in the last one. P(output | word) is the weight of the
output over the sum of the weights of the word. Any string that is no word is one more input. This
program proves with integers and fractions that no output is more than e^epsilon times as likely
under a protected input as under any other. Else it says what is wrong: exit status 1.
"""

import hashlib
import json
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import accumulate


def require(holds, otherwise):
    if not holds:
        raise ValueError(otherwise)


def integers(values, low, below=1 << 80):
    require(all(type(x) is int and low <= x < below for x in values), "an integer out of range")
    return values


def lines(file):
    """The JSON value of every line but the last, which must be the digest of the others."""
    digest = hashlib.sha256()
    for line in file:
        if line.startswith(b'{"sha256"'):
            own = b'{"sha256":"%s"}\n' % digest.hexdigest().encode()
            return require(line == own and not file.read(), "the file was changed")
        digest.update(line)
        value = json.loads(line)
        again = json.dumps(value, separators=(",", ":")).encode()
        require(line == again + b"\n", "a key stands there twice, or a line is written otherwise")
        yield value
    raise ValueError("the file ends before its digest")


def exp_from_below(x, one=1 << 400):
    """A fraction below e^x, and nearly equal: a sum of x^k/k!, every term rounded down."""
    terms = accumulate(range(1, 400 + 4 * int(x)), lambda t, k: t * x // k, initial=one)
    return Fraction(sum(terms), one)


def sparse_weights(claim, n, rows, public, unknown=1):
    """A common weight for each output, and more for few inputs: its extreme probabilities."""
    common, step = integers(claim["common"], 0), *integers([claim["increment"]], 0)
    inputs = Counter({(sum(common), False): unknown})  # (sum, public?) of a string that is no word
    held, entries = defaultdict(Counter), defaultdict(list)
    for word, row in enumerate(rows):
        outputs, masses = integers(row[::2], 0, n), integers(row[1::2], 1)
        require(len(set(outputs)) == len(outputs) == len(masses), "a row names an output twice")
        kind = sum(common) + step * sum(masses), word in public
        inputs[kind] += 1
        for output, mass in zip(outputs, masses):
            held[output][kind] += 1
            entries[output].append((Fraction(common[output] + step * mass, kind[0]), kind[1]))
    for u, weight in enumerate(common):
        found = entries[u] + [(Fraction(weight, total), free) for total, free in inputs - held[u]]
        yield max(p for p, free in found if not free), min(p for p, _ in found)


def dense_weights(claim, n, rows, public):
    """A row of weights for every word, and one for any other string."""
    require(all(len(integers(row, 1)) == n for row in rows), "a row does not have all outputs")
    totals = [*map(sum, rows)]
    for column in zip(*rows):
        shares = [Fraction(w, total) for w, total in zip(column, totals)]
        yield max(shares), min(shares)


def check(path):
    with open(path, "rb") as file:
        claim, *rows = lines(file)
    form = {"sparse": sparse_weights, "dense": dense_weights}
    n, public, epsilon = claim["words"], set(claim["public"]), Fraction(claim["epsilon"])
    require(claim["dpsan_certificate"] == 2 and claim["delta"] == "0", "no claim known here")
    lines_wanted = n + (claim["weights"] == "dense")  # the last one is of any other string
    require(len(rows) == lines_wanted > 0, "not a row for every word")
    require(0 <= epsilon <= 1000, "no epsilon")
    k, limit = len(integers(claim["public"], 0, n)), exp_from_below(epsilon)
    require(len(public) == k < n, "a public word stands there twice, or all words are public")
    for name in (claim["mechanism"], claim["vocabulary"]):  # they are printed
        require(name.isascii() and name.replace("-", "").isalnum(), "a name has odd characters")
    for high, low in form[claim["weights"]](claim, n, rows, public):
        require(high <= low * limit, f"the loss is more than {float(epsilon)}")
    above = -(-epsilon * 10**9 // 1) / 10**9
    free = f"; not protected: {k} public words" if public else ""
    print(f"PROVED: epsilon {float(above)}, delta 0, for {n - k} words and any other string{free}")
    print(f"{claim['mechanism']}, vocabulary {claim['vocabulary']}")


if __name__ == "__main__":
    try:
        check(sys.argv[1] if sys.argv[1:] else sys.exit("which FILE?"))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError) as error:
        sys.exit(f"REJECTED: {error}")
