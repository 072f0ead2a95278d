"""Python, and the packages that the product needs: their versions, and whether they can be loaded."""

import importlib
import platform
import shlex
import sys
import tomllib
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from translator.doctor.finding import Finding

_PROJECT: Final = "translator"
_ROOT: Final = Path(__file__).parents[2]
"""The folder that the package is in: of a checkout, its top."""
_OF_A_CHECKOUT: Final = ("dev", "bench", "dist", "docs")
"""Extras for work on the product itself, which is done in a checkout."""
_COMPILED: Final = ("torch", "numpy", "sentencepiece", "safetensors", "pydantic", "zstandard")
"""Packages with compiled parts, which may be there and yet not load."""


def examine_packages() -> list[Finding]:
    """Return what is found of Python, of the product itself and of each package that it cannot do without."""
    return [_python(), _product(), *(_package(requirement) for requirement in requirements())]


def in_checkout() -> bool:
    """Return whether this code runs in a checkout, where one works on it, and not in an installed package."""
    return _checkout() is not None


def requirements(extra: str = "") -> list[Requirement]:
    """Return what the product asks for on this system, or what its optional `extra` asks for besides.

    A checkout is asked by its pyproject.toml, which may be newer than what was installed from it.
    """
    project = _checkout()
    if project is not None:
        listed = project["optional-dependencies"][extra] if extra else project["dependencies"]
        found = [Requirement(text) for text in listed]
    else:
        found = [one for one in map(Requirement, _installed_requirements()) if _belongs(one, extra)]
    return [one for one in found if one.name != _PROJECT]


def extras() -> list[str]:
    """Return the names of the optional parts, outside of a checkout without those for work on the product itself."""
    project = _checkout()
    if project is not None:
        return list(project["optional-dependencies"])
    try:
        names = metadata.metadata(_PROJECT).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return []
    return [name for name in names if name not in _OF_A_CHECKOUT]


def install_command(asked: Sequence[Requirement]) -> str:
    """Return the exact command that installs `asked` for the Python that is running; in a checkout, as it pins them."""
    pins = ["-c", str(_ROOT / "constraints.txt")] if in_checkout() else []
    wanted = (f"{one.name}{one.specifier}" for one in asked)
    return shlex.join([sys.executable or "python3", "-m", "pip", "install", *pins, *wanted])


def version_of(package: str) -> str | None:
    """Return the version of an installed package; None if it is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def loads(module: str) -> bool:
    """Return whether `module` can be imported."""
    return _trouble(module) is None


def _python() -> Finding:
    found = f"{platform.python_version()} ({sys.executable})"
    wanted = _wanted_python()
    if wanted.contains(platform.python_version(), prereleases=True):
        return Finding("Python", found)
    return Finding("Python", found, "wrong", f"wanted is {wanted}; make a virtual environment of such a Python")


def _wanted_python() -> SpecifierSet:
    project = _checkout()
    if project is not None:
        return SpecifierSet(project["requires-python"])
    try:
        return SpecifierSet(str(metadata.metadata(_PROJECT).json.get("requires_python", "")))
    except metadata.PackageNotFoundError:
        return SpecifierSet()


def _product() -> Finding:
    installed = version_of(_PROJECT)
    if installed is not None:
        return Finding(_PROJECT, f"{installed} ({_ROOT / _PROJECT})")
    advice = "it is not installed, only found beside you; install it with: make install"
    return Finding(_PROJECT, str(_ROOT / _PROJECT), "note", advice)


def _package(asked: Requirement) -> Finding:
    installed = version_of(asked.name)
    if installed is None:
        return Finding(asked.name, "not installed", "wrong", f"install it with: {install_command([asked])}")
    if not asked.specifier.contains(installed, prereleases=True):
        advice = f"wanted is {asked.specifier}; install that with: {install_command([asked])}"
        return Finding(asked.name, installed, "wrong", advice)
    trouble = _trouble(asked.name) if asked.name in _COMPILED else None
    if trouble is not None:
        advice = f"it cannot be loaded ({trouble}); remove it with pip uninstall, and then: {install_command([asked])}"
        return Finding(asked.name, installed, "wrong", advice)
    return Finding(asked.name, f"{installed} (wanted: {asked.specifier})")


def _trouble(module: str) -> str | None:
    """Return why `module` cannot be imported, in one line; None if it can."""
    try:
        importlib.import_module(module)
    except (ImportError, OSError, RuntimeError, ValueError, AttributeError) as error:  # built for another system, say
        lines = str(error).strip().splitlines()
        return lines[0] if lines else type(error).__name__
    return None


def _checkout() -> dict[str, Any] | None:
    """Return the table `project` of the checkout that this code runs in; None outside of one."""
    try:
        project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return None
    return project if isinstance(project, dict) and project.get("name") == _PROJECT else None


def _belongs(asked: Requirement, extra: str) -> bool:
    """Return whether an installed package asks for `asked` by its `extra` alone, or without any where that is empty."""
    if asked.marker is None:
        return not extra
    return asked.marker.evaluate({"extra": extra}) and not (extra and asked.marker.evaluate({"extra": ""}))


def _installed_requirements() -> list[str]:
    try:
        return metadata.requires(_PROJECT) or []
    except metadata.PackageNotFoundError:
        return []
