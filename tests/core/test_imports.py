"""The core stands alone: its files import torch, numpy, the standard library and each other."""

import ast
import sys
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "translator" / "core"
FILES = sorted(CORE.glob("*.py"))


def imported_modules(file: Path) -> list[str]:
    """The dotted names of the modules that a file imports, anywhere in it."""
    modules = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module is not None, f"{file.name} has a relative import"
            modules.append(node.module)
    return modules


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_imports_torch_numpy_the_standard_library_and_the_core_only(file: Path) -> None:
    for module in imported_modules(file):
        package = module.partition(".")[0]
        in_core = f"{module}.".startswith("translator.core.")
        assert in_core or package in ("torch", "numpy") or package in sys.stdlib_module_names, module


def test_the_core_has_at_most_fifteen_files_in_one_folder() -> None:
    assert len(list(CORE.rglob("*.py"))) == len(FILES) <= 15
