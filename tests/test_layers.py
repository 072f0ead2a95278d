"""The import rule of this project: a room imports only from itself and from rooms in lower layers."""

import ast
import functools
import graphlib
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1] / "translator"
_BELOW = "core errors config run corpus subword recipes data speed checkpoint search inference plots"
_ABOVE = "evaluation training export serve doctor cli"
LAYERS = f"{_BELOW} {_ABOVE}".split()
"""Rooms (files or folders of `translator/`), from the lowest layer to the highest."""
NO_TORCH = set(LAYERS[1 : LAYERS.index("data")])  # rooms that do not import torch, which is slow to import
NO_TORCH_FILES = ("core/__init__.py", "core/hypothesis.py", "core/loop.py")  # which these rooms import
LAZY_TORCH = {"run"}  # may import torch inside functions, for programs that have already loaded it


def room(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


@functools.cache
def imports(file: Path, *, inside_functions: bool = True) -> list[str]:
    """Return the dotted names of the modules that `file` imports, and of each name imported from a module."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names: list[str] = []
    for node in ast.walk(tree) if inside_functions else tree.body:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def packages(names: list[str]) -> set[str]:
    """Return the first part of each dotted name."""
    return {name.partition(".")[0] for name in names}


MODULES = sorted(file for file in ROOT.rglob("*.py") if room(file) not in ("__init__", "__main__"))


def test_every_module_is_assigned_to_a_layer() -> None:
    assert {room(file) for file in MODULES} == set(LAYERS)


def test_modules_import_only_from_their_own_or_lower_layers() -> None:
    for file in MODULES:
        layer = LAYERS.index(room(file))
        for name in imports(file):
            if name.startswith("translator.") and name != "translator.__version__":
                assert LAYERS.index(name.split(".")[1]) <= layer, f"{file.relative_to(ROOT)} imports {name}"


def dotted_name(file: Path) -> str:
    """Return the name under which `file` is imported; `__init__.py` has that of its folder."""
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def test_the_core_imports_torch_numpy_the_standard_library_and_itself_only() -> None:
    for file in MODULES:
        if room(file) == "core":
            foreign = packages(imports(file)) - {"torch", "numpy", "translator"} - sys.stdlib_module_names
            assert not foreign, file


def test_no_module_imports_itself_in_a_circle_not_even_inside_functions() -> None:
    files = {dotted_name(file): file for file in MODULES}
    graph: dict[str, set[str]] = {}
    for module, file in files.items():
        graph[module] = set()
        for imported in imports(file):
            # `imported` is a module, or a name inside one.
            for candidate in (imported, imported.rpartition(".")[0]):
                if candidate in files:
                    graph[module].add(candidate)
                    break
    # A circle raises an error that names its modules.
    in_order = list(graphlib.TopologicalSorter(graph).static_order())
    assert sorted(in_order) == sorted(files)


def test_torch_tensorboard_and_pickle_are_imported_only_where_allowed() -> None:
    for file in MODULES:
        names = imports(file)
        relative = str(file.relative_to(ROOT))
        if relative in NO_TORCH_FILES:
            assert "torch" not in packages(imports(file, inside_functions=False)), relative
        if room(file) in NO_TORCH:
            names_at_start = imports(file, inside_functions=room(file) not in LAZY_TORCH)
            assert "torch" not in packages(names_at_start), relative
        if relative not in ("training/monitoring/event_file.py", "plots/curves.py"):
            for name in names:
                assert "tensorboard" not in name.split("."), relative
        assert packages(names).isdisjoint(["pickle", "dill", "marshal", "shelve"]), relative
