"""What is published: extras and groups, links, the versions that CI runs, pinned actions."""

import json
import re
import tomllib

from support import ROOT

import dpsan

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
HOOK = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = set(re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["classifiers"]), re.M))


def test_groups_and_extras():
    """The extra of tests has what others need, but for Ray and the site with its own job."""
    extras = PROJECT["optional-dependencies"]
    for name in ("test", "lint"):
        assert PYPROJECT["dependency-groups"][name] == extras[name]
    for name in extras.keys() - {"test", "lint", "ray", "docs"}:
        assert set(extras[name]) <= set(extras["test"]), name


def published_readme():
    """As the package index gets it."""
    text = "".join((ROOT / each["path"]).read_text() for each in HOOK["fragments"])
    for each in HOOK["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    return text


def test_links_of_the_published_readme_are_absolute():
    """... and lead to files that exist: pictures as such, pages to be read."""
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", published_readme())
    assert sum(bool(picture) for picture, _ in links) == 2
    home = PROJECT["urls"]["Repository"]
    raw = home.replace("github.com", "raw.githubusercontent.com") + "/main/"
    for picture, link in links:
        start = raw if picture else f"{home}/blob/main/"
        assert link.startswith(start), link
        assert (ROOT / link.removeprefix(start)).is_file(), link
    for name, address in PROJECT["urls"].items():
        assert address.startswith(home), name


def test_pythons_of_the_classifiers_are_those_of_ci():
    """What CI only tries is not claimed."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    given = json.loads(re.search(r"python: (\[.*\])", text)[1])
    run = {".".join(each.split(".")[:2]) for each in given}
    tried = set(re.findall(r"continue-on-error: .* == '([\d.]+)'", text))
    assert run - tried == PYTHONS
    assert PROJECT["requires-python"] == f">={min(PYTHONS)}"


def test_actions_are_pinned():
    """By commit, with the version in a comment; the same one everywhere."""
    seen = dict[str, set[str]]()
    for path in WORKFLOWS:
        for line in re.findall(r"uses: .*", path.read_text()):
            found = re.fullmatch(r"uses: ([\w/-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)", line)
            assert found, f"{path.name}: {line}"
            seen.setdefault(found[1], set()).add(found[2])
    assert len(seen) > 5
    assert all(len(pins) == 1 for pins in seen.values()), seen


def test_what_ci_runs_is_there():
    """A path that has moved fails a job which this machine never runs."""
    texts = "\n".join(path.read_text() for path in (*(ROOT / ".ci").iterdir(), *WORKFLOWS))
    found = {*re.findall(r"\b(?:tests|docs|\.ci)/[\w./-]+", texts)}
    assert len(found) > 20
    assert not {name for name in found if not (ROOT / name).exists()}


def test_workflows_read_only_but_for_what_a_job_says():
    for path in WORKFLOWS:
        head = path.read_text().split("\njobs:\n")[0]
        assert re.search(r"^permissions:\n  contents: read$", head, re.M), path.name
        assert not re.search(r"contents: write|secrets\.|password:", path.read_text()), path.name


def test_a_job_that_can_get_a_token_installs_nothing_without_a_hash():
    """Its own steps, and the scripts of ours that they run: whoever is installed could publish."""
    tools = r"\b(?:pip3?|pipx|uv|conda|npm|apt|apt-get|cargo|gem)"
    installs = rf"{tools}['\"]? +(?:pip +)?(?:install|download|run)"
    trusted = 0
    for path in WORKFLOWS:
        jobs = re.split(r"^  (?=\w+:$)", path.read_text().split("\njobs:\n")[1], flags=re.M)
        for job in (each for each in jobs if "id-token: write" in each):
            trusted += 1
            scripts = {*re.findall(r"(?<![\w.])(?:tests|docs|\.ci)/[\w./-]+", job)}
            texts = [job, *[(ROOT / name).read_text() for name in scripts]]
            lines = [line for text in texts for line in re.findall(rf".*{installs}.*", text)]
            assert not [line for line in lines if "--require-hashes" not in line], path.name
            assert not re.search(r"\.ci/(?:run|lowest|pages)\b|\buvx\b|\bnpx\b", job), path.name
    assert trusted >= 4
    assert "--hash=sha256:" in (ROOT / ".ci" / "build.txt").read_text()


def test_version_is_one():
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)[1]
    assert {cited, PROJECT["version"]} == {dpsan.__version__}


def test_the_vocabulary_has_a_datasheet():
    """The headings of Gebru et al., Datasheets for Datasets, in their order."""
    page = (ROOT / "vocab" / "README.md").read_text()
    wanted = ["Motivation", "Composition", "Collection", "Preprocessing"]
    wanted += ["Uses", "Distribution", "Maintenance"]
    found = re.findall(rf"^## ({'|'.join(wanted)})\b", page, re.M)
    assert found == wanted


def test_the_container_file_names_what_there_is():
    """CI builds it where there is docker; here its words are compared with the project."""
    text = (ROOT / "Containerfile").read_text()
    (python,) = re.findall(r"^FROM python:([\d.]+)-slim$", text, re.MULTILINE)
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    (extras,) = re.findall(r"pip install --no-cache-dir '/src\[([a-z,]+)\]'", text)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
    (command,) = re.findall(r'^ENTRYPOINT \["([a-z]+)"\]$', text, re.MULTILINE)
    assert command in PROJECT["scripts"]
    assert text.index("\nRUN pip") < text.index("\nUSER ") < text.index("\nENTRYPOINT ")
