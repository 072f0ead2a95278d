"""Spelling, and names that say nothing."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROSE = (
    "translator",
    "configs",
    "docs",
    "bench",
    "scripts",
    "notebooks",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)
ENDINGS = (".py", ".md", ".yaml", ".html", ".ipynb", ".css", ".js")


def prose_files() -> list[Path]:
    paths = []
    for name in PROSE:
        if (ROOT / name).is_file():
            paths.append(ROOT / name)
        else:
            paths += (ROOT / name).rglob("*")
    return [path for path in paths if path.suffix in ENDINGS and path.is_file()]


def test_prose_has_no_spelling_mistakes() -> None:
    files = [str(path.relative_to(ROOT)) for path in prose_files()]
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


VAGUE_NAMES = """
one two some these those both own found known kept asked given wanted touched taken made thing things its it them many
rest others every all_of several something such each
"""
"""Names that say nothing of what they hold, and may not come back as variables or arguments."""
PROGRAMS = sorted(path for room in ("translator", "bench", "scripts") for path in (ROOT / room).rglob("*.py"))


def test_variables_and_arguments_have_names_of_the_domain() -> None:
    for path in PROGRAMS:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # The fields of a record keep the names that its file has.
        fields = {node.target for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)}
        names = []
        for node in ast.walk(tree):
            if isinstance(node, ast.arg):
                names.append(node.arg)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
                names.append(node.id)
        assert set(VAGUE_NAMES.split()).isdisjoint(names), path
