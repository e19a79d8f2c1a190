"""verify --only: programs that were broken are found, and the program as it is is kept."""

from dataclasses import replace

import pytest
from checks import only
from checks.blindness import Blindness
from planted import Restarting

from dpsan.analysis.verify import program as replaced
from dpsan.cli.app import run
from dpsan.errors import UsageError
from dpsan.only import draws, permutations
from dpsan.only.lexicon import Lexicon
from dpsan.only.viewer import Viewer
from dpsan.run.workers import Inline
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.sanitizer import Sanitizer

KEY = b"k" * 32
TEXTS = [
    "A clerk met Grace Young on 3 May; an Omaha nurse and a Dutch girl saw Peterson.",
    "An Iranian, a Greek and an Ohio man: Maria, John, Anna, Ingrid, Boston, Oslo, Paris.",
] * 20


def names(sensitive):
    words = Blindness(sensitive, KEY, 2)
    return words.words_of("given_f", 60) + words.words_of("surname", 60)


CHECKS = {"injection": lambda sensitive: only.apart(sensitive, names(sensitive))}
CHECKS |= {"audit": lambda sensitive: only.audited(sensitive, TEXTS)}
CHECKS |= {"statement": lambda sensitive: only.printed(sensitive, TEXTS)}


def drawn_otherwise(change):
    """A program whose results of draws are changed."""
    true = OnlyRewriter.drawn
    return OnlyRewriter, "drawn", lambda *given, **more: change(true(*given, **more))


def with_audit(done):
    lines = [f"{line} " for line in done.lines]
    return done if done.records is None else replace(done, lines=lines)


def halved(done):
    return replace(done, forms=replace(done.forms, unchanged=done.forms.unchanged / 1000))


def doubled(done):
    return replace(done, forms=replace(done.forms, smallest=10 * done.forms.smallest))


def uncounted(done):
    return replace(done, by_kind=type(done.by_kind)({k: n - 1 for k, n in done.by_kind.items()}))


BROKEN = {
    "two names have one replacement": (
        "injection",
        (permutations.Permutation, "take", lambda self, value, wanted=-1: value % 7),
    ),
    "an audit changes what is written": ("audit", drawn_otherwise(with_audit)),
    "articles follow nothing": ("audit", (draws, "article_for", lambda word: "a")),
    "a thousandth of the unchanged words is expected": ("statement", drawn_otherwise(halved)),
    "the smallest group is printed larger": ("statement", drawn_otherwise(doubled)),
    "a word of each group is not counted": ("statement", drawn_otherwise(uncounted)),
}


@pytest.mark.parametrize("name", CHECKS)
def test_the_program_as_it_is_holds(sensitive, name):
    assert CHECKS[name](sensitive) == ""


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_program_is_found(sensitive, fault, monkeypatch):
    name, change = BROKEN[fault]
    monkeypatch.setattr(*change)
    assert CHECKS[name](Sanitizer(only="sensitive"))


@pytest.mark.parametrize("kind", [Restarting, Inline])
def test_workers_that_write_other_words_are_found(sensitive, kind):
    assert (only.same_everywhere(sensitive, TEXTS * 2, kind(sensitive)) == "") is (kind is Inline)


def test_lists_of_ones_own_are_looked_up(tmp_path, monkeypatch):
    (tmp_path / "projects.txt").write_text("bluebird\nfalcon\nheron\n")
    own = Sanitizer(only=f"{tmp_path / 'projects.txt'},names", keep=["Smith", "falcon"])
    assert replaced.lists(own).figures == {"own": 2, "kept": 2, "passed": 0, "replaced": 0}
    true = Viewer.words

    def forgets(self, *given):
        self.special = tuple(part[:0] for part in self.special)
        return true(self, *given)

    monkeypatch.setattr(Viewer, "words", forgets)
    assert replaced.lists(own).held is False


@pytest.fixture(autouse=True)
def few_places_and_words(monkeypatch):
    lines = Lexicon.lines
    monkeypatch.setattr(replaced, "PLACES", replaced.PLACES[:2])

    def some(self, name):
        return lines(self, name)[:: 8 if name == "words.txt" else 1]

    monkeypatch.setattr(Lexicon, "lines", some)


def exchanged(sanitizer):
    texts = replaced.exchanged_texts(sanitizer.by_text(), KEY)
    return replaced.exchanges(sanitizer.by_text(), *texts, KEY)


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("only", ["names", "own", "contacts"])
def test_an_output_that_depends_on_the_word_is_found(only, broken, tmp_path, monkeypatch):
    """A word of one's own list, of the public ones, or a string: a bit of it is written."""
    (tmp_path / "projects.txt").write_text("wombat\nmarmot\nheron\npangolin\naxolotl\nParis\n")
    listed = str(tmp_path / "projects.txt") if only == "own" else only
    sanitizer = Sanitizer(only=listed, keep=["heron"])
    if broken:
        true = Sanitizer.sanitize

        def sanitize(self, texts, key, **more):
            done = true(self, texts, key, **more)
            pairs = zip(done.lines, texts, strict=True)
            return replace(done, lines=[f"{line}{sum(map(ord, text)) % 2}" for line, text in pairs])

        monkeypatch.setattr(Sanitizer, "sanitize", sanitize)
    check = exchanged(sanitizer)
    assert check.held is not broken, check.sentence
    assert check.figures["exchanges"] >= 8


def test_nothing_to_exchange_is_no_verdict(tmp_path):
    (tmp_path / "projects.txt").write_text("bluebird\nheron\n")
    sanitizer = Sanitizer(only=str(tmp_path / "projects.txt"), keep=["heron"])
    assert exchanged(sanitizer).held is None


def test_the_verdict_is_that_of_all_tests(sensitive, monkeypatch):
    verdict, checks = replaced.verify_replaced(sensitive)
    assert (verdict, [check.name for check in checks]) == ("kept", ["blindness", "lists"])
    monkeypatch.setattr(replaced, "_own", lambda sanitizer: ["zqvx"])  # which passes
    assert replaced.verify_replaced(sensitive)[0] == "violated"


@pytest.mark.parametrize("by_value", [False, True])
def test_the_command_claims_nothing_for_numbers_by_value(by_value, monkeypatch, capsys):
    more = ["--numbers", "value", "-e", "2"] if by_value else []
    given = ["dpsan", "verify", "--only", "sensitive", "-q", *more]
    monkeypatch.setattr("sys.argv", given)
    assert run() == 0
    told = capsys.readouterr().out.splitlines()[0]
    assert told.endswith("KEPT for two words of one group, except of numbers by value") == by_value
    assert told.endswith("KEPT for two words of one group") == (not by_value)


def test_worker_processes_are_refused_where_there_are_none(monkeypatch):
    monkeypatch.setattr("sys.argv", ["dpsan", "verify", "--only", "names", "-j", "3"])
    with pytest.raises(UsageError, match="--only excludes --certificate and --jobs"):
        run()


def test_a_seed_is_refused():
    with pytest.raises(UsageError, match="NOT PRIVATE"):
        replaced.verify_replaced(Sanitizer(only="names", seed=1))
