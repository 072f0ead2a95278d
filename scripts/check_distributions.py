"""Check the files of the wheel and source distribution in a folder: `python scripts/check_distributions.py dist`."""

import sys
import tarfile
import zipfile
from collections.abc import Mapping
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


def files_in(places: Mapping[str, str]) -> set[str]:
    """Return all files of some folders of the checkout, as paths in a package with these places of the folders."""
    names = set()
    for folder, place in places.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and not {"__pycache__", "results"} & set(path.parts):
                names.add(f"{place}/{path.relative_to(ROOT / folder).as_posix()}")
    return names


def main(folder: Path) -> int:
    """Check the only wheel and the only source distribution in `folder`; return 1 if a check fails."""
    (wheel,) = folder.glob("*.whl")
    (source,) = folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as tar:
        in_wheel = {name for name in archive.namelist() if not name.endswith("/") and ".dist-info/" not in name}
        # The paths in a source distribution begin with a folder that has its version.
        in_source = {member.name.partition("/")[2] for member in tar.getmembers() if member.isfile()}
    for_wheel = files_in(IN_THE_WHEEL)
    for_source = files_in({name: name for name in IN_THE_SOURCE}) | AT_THE_TOP
    problems = [f"{wheel.name}: missing: {name}" for name in sorted(for_wheel - in_wheel)]
    problems += [f"{wheel.name}: extra: {name}" for name in sorted(in_wheel - for_wheel)]
    problems += [f"{source.name}: missing: {name}" for name in sorted(for_source - in_source)]
    if problems:
        print("\n".join(problems))
        return 1
    print(f"{wheel.name} and {source.name} hold what they should: {len(in_wheel)}, {len(in_source)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
