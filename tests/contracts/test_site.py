"""The documentation builds as a site: links lead somewhere, nothing is loaded from elsewhere."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: What a browser fetches by itself; a link that a reader follows is none of it.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(\w+:)?//|<link\b[^>]*\bhref=\"(\w+:)?//"
)
COMMAND = re.compile(r"`adjudge ([^`]+)`")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; --strict makes a link that leads nowhere an error."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "zensical.toml", folder)
    shutil.copytree(DOCS, folder / "docs")
    (folder / "src").symlink_to(ROOT / "src")
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


def test_every_page_of_docs_is_on_the_site(site: Path) -> None:
    assert {page.stem for page in DOCS.glob("*.md")} == {
        page.stem for page in site.glob("*.html")
    } - {"404"}


def test_what_makes_the_pages_is_not_published(site: Path) -> None:
    assert list(DOCS.glob("*.py"))
    assert list(site.rglob("*.py")) == []


def test_every_page_is_in_the_menu() -> None:
    menu = str(
        tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    )
    assert [
        page.name
        for page in DOCS.rglob("*.md")
        if f"'{page.relative_to(DOCS).as_posix()}'" not in menu
    ] == []


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = {page.name: page.read_text(encoding="utf-8") for page in site.glob("*.html")}
    assert [name for name, text in pages.items() if FETCHED.search(text)] == []
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert styles
    assert not [text for text in styles if re.search(r"(?:@import|url\()\s*[\"']?https?:", text)]


def load_maker(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    return maker


def test_the_notebook_shows_what_its_cells_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the drawings, which change with matplotlib: tests/shown looks at what they draw."""
    maker = load_maker("make_notebook")
    monkeypatch.setattr("adjudge.present.render.html.inline_svg", lambda *_, **__: "<svg></svg>")
    for name, content in maker.render().items():
        kept = (DOCS / name).read_text(encoding="utf-8")
        assert len(kept) < 300_000
        assert maker.DRAWING.sub("", kept) == maker.DRAWING.sub("", content), "run: make docs"


def test_the_python_pages_are_up_to_date_and_show_examples(site: Path) -> None:
    pages = load_maker("make_api").render()
    made = {path.relative_to(DOCS).as_posix() for path in (DOCS / "api").iterdir()}
    assert made | {"api.md"} == set(pages)
    for name, content in pages.items():
        assert (DOCS / name).read_text(encoding="utf-8") == content, "run: make docs"
    page = (site / "api" / "estimation.html").read_text(encoding="utf-8")
    assert "language-pycon" in page
    assert "&gt;&gt;&gt; " not in re.sub(r"<pre.*?</pre>", "", page, flags=re.DOTALL)


def test_commands_named_in_a_sentence_exist() -> None:
    """Blocks of commands are run by test_docs_run; these are the ones in tables and sentences."""
    _, *sections = re.split(
        r"^##+ adjudge (.*)$", (DOCS / "cli.md").read_text(encoding="utf-8"), flags=re.M
    )
    helps = dict(zip(sections[::2], sections[1::2], strict=True))
    wrong = []
    for page in [ROOT / "README.md", *DOCS.glob("*.md")]:
        for command in COMMAND.findall(page.read_text(encoding="utf-8")):
            words = command.split()
            verb = next((name for name in (" ".join(words[:2]), words[0]) if name in helps), None)
            text = helps[verb] if verb else "--version --help"
            options = {word.split("=")[0] for word in words if word.startswith("-")}
            options.discard("--help")  # every command has it
            if (verb is None and not words[0].startswith("-")) or not options <= set(
                re.findall(r"-[\w-]+", text)
            ):
                wrong.append(f"{page.name}: {command}")
    assert wrong == []
