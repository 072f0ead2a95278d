"""The documentation: its pages, the examples in them, and the site that is built from them."""

import itertools
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Return the fenced blocks of `language` in a page, each with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    numbered_blocks = []
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        lines_before = text.count("\n", 0, match.start(1))
        numbered_blocks.append((lines_before + 1, match.group(1)))
    return numbered_blocks


def commands(text: str, program: str) -> list[list[str]]:
    """Return the words of each indented command line that starts with `program`, without its trailing remark."""
    text = re.sub(r"\\\n *", " ", text)
    lines = re.findall(rf"^ {{4,}}(?:\.venv/bin/)?({program} .*?)(?: {{8,}}.*)?$", text, flags=re.MULTILINE)
    shown_commands = []
    for line in lines:
        without_remark, _, _ = line.partition("  (")
        words = shlex.split(without_remark, comments=True)
        # A command ends at a pipe, a redirection or the like.
        command = itertools.takewhile(lambda word: word[0] not in "(|<>&;…", words)
        shown_commands.append(list(command))
    return shown_commands


def build_site(folder: Path) -> Path:
    """Build the site into `folder`, strictly, and return it; skips where what builds it is missing."""
    build = pytest.importorskip("mkdocs.commands.build", reason="needs the extra docs")
    from mkdocs.config import load_config

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        build.build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder
