"""No name says nothing."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
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
