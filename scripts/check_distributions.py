"""Check the files of the wheel and source distribution in a folder: `python scripts/check_distributions.py dist`."""

import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
IN_THE_WHEEL = {
    "translator": "translator",
    "configs": "translator/shipped/configs",
    "data/sample": "translator/shipped/data/sample",
}
"""Folders of the checkout, and their places in a wheel."""
IN_THE_SOURCE = ("translator", "configs", "data/sample", "tests", "bench", "scripts", "docs", "book", ".ci", ".github")
AT_THE_TOP = {
    *("Makefile", "mkdocs.yml", "constraints.txt", "pyproject.toml", "LICENSE", "CITATION.cff", ".gitignore"),
    *(".pre-commit-config.yaml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
}


def files_of(folder: str) -> set[str]:
    """Return the files of a folder of the checkout, as paths inside it."""
    place = ROOT / folder
    paths = (path for path in place.rglob("*") if path.is_file())
    return {path.relative_to(place).as_posix() for path in paths if not {"__pycache__", "results"} & set(path.parts)}


def check_wheel(names: set[str]) -> list[str]:
    """Return the missing and the extra paths among `names`, the paths in a wheel."""
    expected_names: set[str] = set()
    for folder, place in IN_THE_WHEEL.items():
        expected_names.update(f"{place}/{file}" for file in files_of(folder))
    packed_names = {name for name in names if ".dist-info/" not in name}
    missing = [f"missing: {name}" for name in sorted(expected_names - packed_names)]
    extra = [f"extra: {name}" for name in sorted(packed_names - expected_names)]
    return missing + extra


def check_source(names: set[str]) -> list[str]:
    """Return the missing paths among `names`, the paths in a source distribution without the first folder."""
    expected_names = set(AT_THE_TOP)
    for folder in IN_THE_SOURCE:
        expected_names.update(f"{folder}/{file}" for file in files_of(folder))
    return [f"missing: {name}" for name in sorted(expected_names - names)]


def main(folder: Path) -> int:
    """Check the only wheel and the only source distribution in `folder`; return 1 if a check fails."""
    (wheel,) = folder.glob("*.whl")
    (source,) = folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as tar:
        in_wheel = {name for name in archive.namelist() if not name.endswith("/")}
        in_source = {member.name.partition("/")[2] for member in tar.getmembers() if member.isfile()}
    problems = [f"{wheel.name}: {line}" for line in check_wheel(in_wheel)]
    problems += [f"{source.name}: {line}" for line in check_source(in_source)]
    if problems:
        print("\n".join(problems))
        return 1
    print(f"{wheel.name} and {source.name} hold what they should: {len(in_wheel)}, {len(in_source)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
