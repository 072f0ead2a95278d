"""The README keeps up with the code."""

import json
import re
from pathlib import Path

from translator.config import TrainingConfig

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_file_has_its_clause() -> None:
    files = [file for file in (ROOT / "translator").rglob("*.py") if not file.name.startswith("__")]
    missing = [file.name for file in files if "sample" not in file.parts and f"`{file.name}`" not in README]
    assert not missing


def test_every_file_named_is_there() -> None:
    named = set(re.findall(r"`([a-z_]+\.py)`", README))
    there = {file.name for file in (ROOT / "translator").rglob("*.py")}
    assert named <= there


def test_every_make_target_named_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert set(re.findall(r"(?:    |`)make ([a-z-]+)", README)) <= targets


def test_every_linked_file_is_there() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link
    for recipe in re.findall(r"`(configs/[^`]+\.yaml)`", README):
        assert (ROOT / recipe).is_file(), recipe


def test_every_key_of_training_is_explained_with_its_default() -> None:
    page = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_0-9]+)` \| ([^ |]+) \|", page, flags=re.MULTILINE))
    defaults = {key: field.default for key, field in TrainingConfig.model_fields.items()}
    assert rows == {key: value if isinstance(value, str) else json.dumps(value) for key, value in defaults.items()}
