"""Prose: spelling, and phrases of the first version that made people read a sentence twice."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

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
PHRASES = {
    r"hangs? on (it|the|what|how)\b": "depends on",
    r"learn(s|t|ed)? by heart": "overfits",
    r"the last word": "takes precedence",
    r"goes before all": "takes precedence",
    r"nobody waits": "does not wait",
    r"\bkeepers?\b": "checkpoint manager",
    r"rehears": "warm-up pass",
    r"share of the matrix rate": "model FLOPs utilisation (MFU)",
    r"layer steps?\b": "incremental decoding step",
    r"\bfewest likeliest\b": "the smallest set of most likely tokens",
    r"tells? of the run": "rank 0",
    r"speaks? for all": "name what it represents",
    r"does not care": "is independent of",
    r"\bunless told\b": "by default",
    r"if they are over first": "name the limit that is reached first",
    r"\b(positions|pieces|sentences?|tokens?|files?|one|\d+) a (side|row|step)\b": "per side, per row, per step",
    r"\bbehind\b": "after",
    r"\bfurther\b": "extra, other or more",
    r"^\s+\w+: of (the|a|an|all|each|one|both|source|its)\b": "say what the name does not, or leave the line out",
}


def prose_files() -> list[Path]:
    paths = []
    for name in PROSE:
        if (ROOT / name).is_file():
            paths.append(ROOT / name)
        else:
            paths += (ROOT / name).rglob("*")
    return [path for path in paths if path.suffix in ENDINGS and path.is_file()]


@pytest.mark.parametrize(("phrase", "better"), PHRASES.items())
def test_prose_contains_no_banned_phrases(phrase: str, better: str) -> None:
    pattern = re.compile(phrase, re.IGNORECASE)
    complaints = []
    for path in prose_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if pattern.search(line):
                complaints.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()} (better: {better})")
    assert not complaints, "\n".join(complaints)


def test_prose_has_no_spelling_mistakes() -> None:
    files = [str(path.relative_to(ROOT)) for path in prose_files()]
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *files], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


VAGUE_NAMES = frozenset(
    [
        "one",
        "two",
        "some",
        "these",
        "those",
        "both",
        "own",
        "found",
        "known",
        "kept",
        "asked",
        "given",
        "wanted",
        "touched",
        "taken",
        "made",
        "thing",
        "things",
        "its",
        "it",
        "them",
        "many",
        "rest",
        "others",
        "every",
        "all_of",
        "several",
        "something",
        "such",
        "each",
    ]
)
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
        assert sorted(VAGUE_NAMES.intersection(names)) == [], path
