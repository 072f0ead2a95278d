"""The documentation, built as a site."""

from pathlib import Path

import pytest
from doc_examples import ROOT


def build_site(folder: Path) -> Path:
    """Build the site into `folder`, strictly, and return it; skips where what builds it is missing."""
    build = pytest.importorskip("mkdocs.commands.build", reason="needs the extra docs")
    from mkdocs.config import load_config

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        build.build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder
