"""What messages tell people to install is what pyproject.toml asks for."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("extra", "file"), [("export", "translator/export/libraries.py"), ("serve", "translator/serve/installed.py")]
)
def test_messages_name_the_packages_of_an_extra(extra: str, file: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = " ".join(f'"{asked}"' for asked in project["optional-dependencies"][extra])
    assert f"pip install {wanted}" in (ROOT / file).read_text(encoding="utf-8")
