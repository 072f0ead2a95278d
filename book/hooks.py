"""What MkDocs calls while it builds the site (see `hooks` in mkdocs.yml)."""

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from book import cli_reference, config_reference

PAGES = {config_reference.PAGE: config_reference.config_page, cli_reference.PAGE: cli_reference.cli_page}
"""Name of each page, and what writes it."""


def on_page_markdown(markdown: str, **_: object) -> str:
    """Say in the words of this Markdown what others understand as it stands.

    What belongs to a list is indented by four columns, where two or three do elsewhere; a block of the kind `message`
    becomes text of that class.
    """
    markdown = re.sub(r"^ {2,3}(?=\S)", "    ", markdown, flags=re.MULTILINE)
    return re.sub(r"^```message$", "``` { .text .message }", markdown, flags=re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the code to those that stand in docs/."""
    for name, written in PAGES.items():
        files.append(File.generated(config, name, content=written()))
    return files
