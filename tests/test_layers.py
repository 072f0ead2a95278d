"""The house's rule on imports: a room imports only from rooms below it, or from itself."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "translator"
_BELOW = "special_tokens errors config run corpus subword data masks model checkpoint search inference"
_ABOVE = "evaluation training export serve plots doctor cli"
LAYERS = f"{_BELOW} {_ABOVE}".split()
"""Rooms from the ground up."""
NO_TORCH = {*LAYERS[: LAYERS.index("data")]}  # rooms that work where torch is not installed, or quickly where it is
LAZY_TORCH = {"run"}  # those that ask torch about itself in a function, for programs that have it loaded anyway


def room(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(file: Path, *, inside_functions: bool = True) -> list[str]:
    """Return the dotted names of all that `file` imports: modules, and each name that it takes from one."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names: list[str] = []
    for node in ast.walk(tree) if inside_functions else tree.body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


MODULES = sorted(file for file in ROOT.rglob("*.py") if room(file) not in ("__init__", "__main__"))


def test_every_room_has_its_place() -> None:
    assert {room(file) for file in MODULES} == set(LAYERS)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_go_downwards(file: Path) -> None:
    own = LAYERS.index(room(file))
    for name in imports(file):
        if name.startswith("translator.") and name != "translator.__version__":
            assert LAYERS.index(name.split(".")[1]) <= own, f"{file.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_heavy_libraries_stay_in_their_rooms(file: Path) -> None:
    names = imports(file)
    relative = str(file.relative_to(ROOT))
    if room(file) in NO_TORCH:
        own = imports(file, inside_functions=room(file) not in LAZY_TORCH)
        assert not any(name.split(".")[0] == "torch" for name in own)
    if relative not in ("training/monitor.py", "plots/curves.py"):
        assert not any("tensorboard" in name.split(".") for name in names)
    assert not any(name.split(".")[0] in ("pickle", "dill", "marshal", "shelve") for name in names)


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_files_stay_small_enough_to_read(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= 450
    assert file.stem not in ("utils", "util", "helpers", "common", "misc")
