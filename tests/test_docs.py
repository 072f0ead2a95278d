"""The documentation agrees with the code: names, commands, messages, and the pages generated from it."""

import ast
import pkgutil
import re
from pathlib import Path

import pytest

from book.cli_reference import cli_page, verbs_of
from book.config_reference import config_page
from tests.support.doc_examples import PAGES, ROOT, blocks, commands
from translator.cli import parser
from translator.cli.arguments import repeat_set
from translator.config import parse_config
from translator.config.resuming import EFFECTS

GENERATED = {"config-reference.md", "cli-reference.md"}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
HISTORY = ("results.md", "decisions.md", "CHANGELOG.md")  # they may name what has been removed
PAPERS = [*PAGES, *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY"))]


def is_there(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("page", PAPERS, ids=[page.name for page in PAPERS])
def test_names_files_and_links_in_pages_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"`(translator(?:\.\w+)+)(?<!\.py)`", text)
    for name in names:
        assert is_there(name), name
    files = re.findall(r"`((?:translator|tests|bench|configs|scripts|docs|book)/[\w./-]+\.\w+)`", text)
    for name in files:
        assert (ROOT / name).exists(), name
    if page.name not in HISTORY:
        for name in re.findall(r"`([\w/-]+\.py)`", text):
            assert (ROOT / name).exists() or any(ROOT.glob(f"t*/**/{name}")), name
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    for link in links:
        assert link in GENERATED or (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAPERS, ids=[page.name for page in PAPERS])
def test_commands_in_pages_are_valid(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for words in commands(text, "translator"):
        arguments = [word for word in words[1:] if word != "..."]
        try:
            parser().parse_args(repeat_set(arguments))
        except SystemExit as end:  # `--help` exits with 0
            assert not end.code, " ".join(words)

    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))
    variables = set(re.findall(r"\$\((?:value )?([A-Z_]+)\)", MAKEFILE))
    assert page in PAGES or set(re.findall(r"`make ([a-z-]+)", text)) <= targets
    for words in commands(text, "make"):
        for word in words[1:]:
            name, equals_sign, _ = word.partition("=")
            assert name in (variables if equals_sign else targets), " ".join(words)


def test_recipes_in_pages_are_valid() -> None:
    recipes = [recipe for page in PAGES for _, recipe in blocks(page, "yaml")]
    assert recipes
    for recipe in recipes:
        folder = "" if recipe.startswith("run:") else "run: {directory: runs/x}\n"
        parse_config(folder + recipe, "recipe")


def test_every_config_key_is_on_the_reference_page() -> None:
    page = config_page()
    headings = set(re.findall(r"\{ #([\w.]+)", page))
    assert set(EFFECTS) <= headings
    assert len(re.findall(r"in a run that goes on: (?:always|never|taken only)", page)) == len(EFFECTS)


def test_every_command_and_option_is_on_the_cli_page() -> None:
    page = cli_page()
    for name, verb in verbs_of(parser()).items():
        inner = verbs_of(verb) or {"": verb}
        for below, last in inner.items():
            assert f"\n## translator {name} {below}".rstrip() in page
            for action in last._actions:
                if action.dest != "help":
                    for option in action.option_strings:
                        assert f"`{option}" in page


def texts() -> list[str]:
    """Return every message of the program, and the Makefile, with `…` in place of inserted values."""
    texts_of_program = [MAKEFILE]
    for file in (ROOT / "translator").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                texts_of_program.append(with_gaps(node))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts_of_program.append(re.sub(r"%[sd]", "…", node.value))
    return texts_of_program


def with_gaps(f_string: ast.JoinedStr) -> str:
    """Return the text of an f-string with `…` in place of its values."""
    text = ""
    for part in f_string.values:
        text += str(part.value) if isinstance(part, ast.Constant) else "…"
    return text


def test_messages_quoted_in_troubleshooting_exist_in_the_code() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\*\*`([^`]+)`\.\*\*", page, flags=re.MULTILINE)
    assert len(quoted) > 10
    texts_of_program = texts()
    for message in quoted:
        fragments = [fragment for fragment in message.split("…") if fragment.strip(" .;:")]
        pattern = re.compile(".*".join(map(re.escape, fragments)), flags=re.DOTALL)
        assert any(pattern.search(text) for text in texts_of_program), message


def test_every_page_is_in_the_navigation() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed_pages = re.findall(r"([\w-]+\.md)$", settings, flags=re.MULTILINE)
    written_pages = {page.name for page in PAGES if page.parent == ROOT / "docs"}
    assert set(listed_pages) == written_pages | GENERATED
