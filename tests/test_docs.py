"""The documentation agrees with the code: names, commands, messages, and the pages generated from it."""

import ast
import pkgutil
import re
from pathlib import Path

import pytest
from doc_examples import PAGES, ROOT, blocks, commands

from book.cli_reference import cli_page, verbs_of
from book.config_reference import config_page
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
    assert [name for name in names if not is_there(name)] == []
    files = re.findall(r"`((?:translator|tests|bench|configs|scripts|docs|book)/[\w./-]+\.\w+)`", text)
    assert [name for name in files if not (ROOT / name).exists()] == []
    if page.name not in HISTORY:
        files = re.findall(r"`([\w/-]+\.py)`", text)
        assert [name for name in files if not (ROOT / name).exists() and not list(ROOT.glob(f"t*/**/{name}"))] == []
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert [link for link in links if link not in GENERATED and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAPERS, ids=[page.name for page in PAPERS])
def test_commands_in_pages_are_valid(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for words in commands(text, "translator"):
        try:
            parser().parse_args(repeat_set([word for word in words[1:] if word != "..."]))
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
            options = [option for action in last._actions for option in action.option_strings if action.dest != "help"]
            assert all(f"`{option}" in page for option in options)


def texts() -> list[str]:
    """Return every message of the program, and the Makefile, with `…` in place of inserted values."""
    said = [MAKEFILE]
    for file in (ROOT / "translator").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                said.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                said.append(re.sub(r"%[sd]", "…", node.value))
    return said


def test_messages_quoted_in_troubleshooting_exist_in_the_code() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^```message\n(.*?)\n```$", page, flags=re.MULTILINE | re.DOTALL)
    quoted += re.findall(r"^\*\*`([^`]+)`\.\*\*", page, flags=re.MULTILINE)
    assert len(quoted) > 25
    said = texts()
    for message in quoted:
        fragments = [re.escape(fragment) for fragment in message.split("…") if fragment.strip(" .;:")]
        pattern = re.compile(".*".join(fragments), flags=re.DOTALL)
        assert any(pattern.search(text) for text in said), message


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {page.name for page in PAGES if page.parent.name == "docs"} | GENERATED == set(listed)
