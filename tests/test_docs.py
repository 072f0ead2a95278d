"""The documentation keeps up with the code: names, commands, messages, and the pages that are made from it."""

import ast
import itertools
import pkgutil
import re
import shlex
from pathlib import Path

import pytest
from doc_examples import PAGES, ROOT

from book.cli_reference import cli_page, verbs_of
from book.config_reference import config_page
from translator.changes import EFFECTS
from translator.cli import parser

DOCS = [page for page in PAGES if page.parent.name == "docs"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PAGE_IDS = [page.name for page in PAGES]


def commands(page: Path, program: str) -> list[list[str]]:
    """Return the words of each command of `program` that stands indented on a line of its own, without its remark."""
    text = re.sub(r"\\\n *", " ", page.read_text(encoding="utf-8"))
    lines = re.findall(rf"^ {{4,}}(?:\.venv/bin/)?({program} .*?)(?: {{8,}}.*)?$", text, flags=re.MULTILINE)
    found = [shlex.split(line.split("  (")[0], comments=True) for line in lines]
    return [list(itertools.takewhile(lambda word: word[0] not in "(|<>&;…", words)) for words in found]


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_names_of_the_code_are_there(page: Path) -> None:
    named = re.findall(r"`(translator(?:\.\w+)+)(?<!\.py)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if not _is_there(name)] == []


def _is_there(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_names_that_are_not_there_are_noticed() -> None:
    assert _is_there("translator.masks.MaskGenerator")
    assert not _is_there("translator.masks.MaskMaker") and not _is_there("translator.mask")


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_files_named_in_full_are_there(page: Path) -> None:
    named = re.findall(
        r"`((?:translator|tests|bench|configs|scripts|docs|book)/[\w./-]+\.\w+)`", page.read_text("utf-8")
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_verbs_are_understood(page: Path) -> None:
    shown = commands(page, "translator")
    assert [words for words in shown if not _is_understood([word for word in words[1:] if word != "..."])] == []


def _is_understood(arguments: list[str]) -> bool:
    try:
        parser().parse_args(arguments)
    except SystemExit as end:  # of `--help`, with 0
        return not end.code
    return True


def test_verbs_that_are_not_there_are_noticed() -> None:
    assert _is_understood(["train", "--config", "sample"]) and _is_understood(["--version"])
    assert not _is_understood(["train", "--konfig", "sample"]) and not _is_understood(["sing"])


@pytest.mark.parametrize("page", PAGES, ids=PAGE_IDS)
def test_make_targets_and_their_variables_are_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, flags=re.MULTILINE))
    variables = set(re.findall(r"^([A-Z_]+) *\?=", MAKEFILE, flags=re.MULTILINE))
    for words in commands(page, "make"):
        for word in words[1:]:
            name, given, _ = word.partition("=")
            assert name in (variables if given else targets), " ".join(words)


def test_every_key_is_on_its_page() -> None:
    page = config_page()
    headings = set(re.findall(r"\{ #([\w.]+)", page))
    assert set(EFFECTS) <= headings
    assert len(re.findall(r"in a run that goes on: (?:always|never|taken only)", page)) == len(EFFECTS)


def test_every_verb_is_on_its_page() -> None:
    page = cli_page()
    for name, verb in verbs_of(parser()).items():
        inner = verbs_of(verb) or {"": verb}
        for below, last in inner.items():
            assert f"\n## translator {name} {below}".rstrip() in page
            options = [option for action in last._actions for option in action.option_strings if action.dest != "help"]
            assert all(f"`{option}" in page for option in options)


def _texts() -> list[str]:
    """Return all that the program and the Makefile can say, with `…` for what is put in."""
    said = [MAKEFILE]
    for file in (ROOT / "translator").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                said.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                said.append(re.sub(r"%[sd]", "…", node.value))
    return said


def test_messages_of_the_troubleshooting_are_said() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^```message\n(.*?)\n```$", page, flags=re.MULTILINE | re.DOTALL)
    quoted += re.findall(r"^\*\*`([^`]+)`\.\*\*", page, flags=re.MULTILINE)
    assert len(quoted) > 25
    texts = _texts()
    for message in quoted:
        fragments = [re.escape(fragment) for fragment in message.split("…") if fragment.strip(" .;:")]
        pattern = re.compile(".*".join(fragments), flags=re.DOTALL)
        assert any(pattern.search(text) for text in texts), message


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r"([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert {page.name for page in DOCS} | {"config-reference.md", "cli-reference.md"} == set(listed)


def test_every_picture_is_shown() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "mkdocs.yml"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    pictures = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / "pictures").rglob("*.*")}
    assert len(pictures) > 10
    assert {picture for picture in pictures if picture not in text} == set()


@pytest.mark.parametrize("page", DOCS, ids=[page.name for page in DOCS])
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    made = {"config-reference.md", "cli-reference.md"}
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert link in made or (page.parent / link).exists(), link
