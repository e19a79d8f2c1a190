"""Build the documentation site: ``python docs/site/build.py FOLDER`` (needs zensical).

The Markdown pages of this repository, a page for each mechanism, and a page of examples.  Links to
other files of the repository lead to its public copy; a link to nothing ends the build.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dpsan import Sanitizer
from dpsan.analysis.pages import document
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.registry import bibtex, parameter_rows, sections

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/dpsan/dpsan"
PAGES = {
    "Start": {"README.md": "index.md", "docs/walkthroughs.md": "", "docs/install.md": ""},
    "Use": {
        **dict.fromkeys(["docs/classes.md", "docs/readability.md", "docs/formats.md"], ""),
        **dict.fromkeys(["docs/back.md", "docs/strings.md", "docs/languages.md"], ""),
        **{
            "docs/cluster.md": "",
            "docs/python.md": "",
            "docs/jobs.md": "",
            "docs/adapters/README.md": "adapters.md",
        },
    },
    "Decide": {
        "SECURITY.md": "security.md",
        **dict.fromkeys(
            ["docs/for_whoever_signs.md", "docs/attacks.md", "docs/estimate.md", "docs/verify.md"],
            "",
        ),
        "docs/glossary.md": "",
    },
    "Research": {
        **dict.fromkeys(
            ["docs/mechanisms.md", "docs/proofs.md", "docs/papers.md", "docs/wrong_theorems.md"], ""
        ),
        **dict.fromkeys(["docs/field.md", "docs/own_mechanism.md", "docs/own_format.md"], ""),
        "docs/studies/README.md": "studies.md",
    },
    "Project": {
        **dict.fromkeys(["docs/architecture.md", "docs/speed.md", "docs/reliability.md"], ""),
        "CONTRIBUTING.md": "contributing.md",
        "CHANGELOG.md": "changelog.md",
        "vocab/README.md": "vocabulary.md",
    },
}
NEW = {old: new or Path(old).name for pages in PAGES.values() for old, new in pages.items()}
LEVELS: dict[str, dict[str, Any]] = {
    f"-e {epsilon}": {"epsilon": float(epsilon)} for epsilon in (4, 6, 7, 8, 9, 10, 11, 12)
}
LEVELS["-e 12 --class sensitive"] = {"epsilon": 12.0, "classes": "sensitive"}
LEVELS["--only sensitive"] = {"only": "sensitive"}
EXAMPLES = "[**See ten texts at ten levels**](example.html)"
_FLUENT = 7
"""Epsilon from which on --fluent is possible."""


def linked(text, old):
    """The text of a page with links that are right on the site.  Raises ValueError."""

    def target(match):
        name, _, part = match[1].partition("#")
        if not name or "://" in name or name.startswith("mailto:"):
            return match[0]
        path = os.path.normpath(Path(old).parent / name)
        where = f"#{part}" if part else ""
        if path in NEW or (ROOT / path).suffix == ".svg":
            return f"]({NEW.get(path, Path(path).name)}{where})"
        if not (ROOT / path).exists():
            raise ValueError(f"{old}: a link to {path}, which is not there")
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{path}{where})"

    return re.sub(r"\]\(([^)\s]+)\)", target, text)


def mechanism_page(name):
    """What ``dpsan mechanisms NAME`` prints, as Markdown."""
    kind, parts = MECHANISMS[name], sections(name)
    out = [f"# {name}", f"**{kind.status}**. {parts.pop('Summary')}", f"`-m {name} -e …`"]
    parts.pop("Parameters", None)
    for heading, body in parts.items():
        text = re.sub(r"``(.+?)``", r"<code>\1</code>", html.escape(body, quote=False))
        out += [f"## {heading}", f'<p style="white-space: pre-line">{text}</p>']
    rows = [
        f"| `{row['name']}` | {row['help']} | {row['domain']} | {row['value']} |".replace("\n", " ")
        for row in parameter_rows(name)
    ]
    out += ["## Parameters", f"epsilon: in {kind.epsilon_unit}, required."]
    if rows:
        out.append("\n".join(["| name | what | domain | default |", "|---|---|---|---|", *rows]))
    for entry in bibtex(f"{kind.source} {parts.get('Public words', '')}"):
        out.append(f"```bibtex\n{entry}\n```")
    return "\n\n".join(out) + "\n"


def example_page(texts):
    """Ten public texts at every level; which one is seen is chosen without a script."""
    choices, rules, blocks = [], [], []
    for at, (label, options) in enumerate(LEVELS.items()):
        checked = " checked" if label == "-e 8" else ""
        choices.append(
            f'<label><input type="radio" name="level" id="l{at}"{checked}> {html.escape(label)}'
            "</label>"
        )
        rules.append(f"body:has(#l{at}:checked) #t{at}{{display:block}}")
        # The level is the seed: the same draws with and without --fluent.  The texts are public.
        rows = [("drawn", Sanitizer(seed=label, **options).rewrite(texts))]
        if "only" not in options and options["epsilon"] >= _FLUENT:
            rows.append(("--fluent", Sanitizer(seed=label, fluent=True, **options).rewrite(texts)))
        body = "".join(
            f"<li><p>{html.escape(text)}</p>"
            + "".join(f"<p><b>{kind}</b> {html.escape(out[i])}</p>" for kind, out in rows)
            + "</li>"
            for i, text in enumerate(texts)
        )
        blocks.append(f'<ol class="level" id="t{at}">{body}</ol>')
    style = (
        "<style>.level{display:none}.levels{display:flex;flex-wrap:wrap;gap:.4rem 1rem;border:0;"
        "padding:.6rem 0}.level li{margin:1rem 0}.level p{margin:.1rem 0}.level p:first-child"
        "{color:var(--soft)}" + "".join(rules) + "</style>"
    )
    return document(
        "Ten texts at ten levels",
        "Each text is drawn once by dpsan when this page is built; it was not chosen. First the "
        "text, then what comes out, then the same decoded by a public language model (--fluent).",
        f'{style}<fieldset class="levels"><legend>Level</legend>{"".join(choices)}</fieldset>'
        + "".join(blocks),
    )


def main(folder):
    with tempfile.TemporaryDirectory() as work:
        docs = Path(work) / "docs"
        (docs / "mechanisms").mkdir(parents=True)
        for old, new in NEW.items():
            text = linked((ROOT / old).read_text(), old)
            if old == "README.md":
                text = text.replace("\n", f"\n\n{EXAMPLES}\n", 1)
            (docs / new).write_text(text)
        for picture in (ROOT / "docs").glob("*.svg"):
            (docs / picture.name).write_bytes(picture.read_bytes())
        for name in MECHANISMS:
            (docs / "mechanisms" / f"{name}.md").write_text(mechanism_page(name))
        texts = (Path(__file__).parent / "texts.txt").read_text().splitlines()
        (docs / "example.html").write_text(example_page(texts))
        (Path(work) / "mkdocs.yml").write_text(configuration())
        subprocess.run(["zensical", "build", "--strict"], cwd=work, check=True)
        shutil.copytree(Path(work) / "site", folder)


def configuration():
    """In the form of MkDocs, which zensical reads; JSON is YAML."""
    nav = [{title: [NEW[old] for old in pages]} for title, pages in PAGES.items()]
    one = [f"mechanisms/{name}.md" for name in MECHANISMS]
    nav.append({"Mechanisms": one})
    return json.dumps(
        {
            "site_name": "dpsan",
            "site_url": "https://dpsan.github.io/dpsan/",
            "repo_url": REPOSITORY,
            "nav": nav,
            "theme": {"name": "material", "features": ["navigation.tabs", "search.highlight"]},
            "plugins": ["search"],
            "markdown_extensions": ["tables", "pymdownx.superfences"],
        }
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
