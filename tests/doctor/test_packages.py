"""Versions against what is asked for, in a checkout and in an installed package."""

import shlex
import sys
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from translator.doctor import packages
from translator.doctor.finding import Finding
from translator.doctor.packages import examine_packages, extras, install_command, requirements

METADATA = [
    "torch<3,>=2.11",
    'tzdata>=2026; sys_platform == "none"',
    'ctranslate2<5,>=4.5; extra == "export"',
    'translator[export]; extra == "dev"',
]


def found(name: str) -> Finding:
    return next(finding for finding in examine_packages() if finding.name == name)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Outside of a checkout; the versions that are installed."""
    versions = {"torch": "2.13.0"}
    monkeypatch.setattr(packages, "_checkout", lambda: None)
    monkeypatch.setattr(packages, "_installed_requirements", lambda: METADATA)
    monkeypatch.setattr(packages, "version_of", versions.get)
    return versions


def test_a_checkout_asks_for_what_its_pyproject_says() -> None:
    asked = {one.name: str(one.specifier) for one in requirements()}
    assert asked["torch"] == "<3,>=2.11"
    assert "ctranslate2" not in asked
    assert {one.name for one in requirements("export")} == {"ctranslate2", "transformers"}
    assert "dev" in extras()
    assert all(one.name != "translator" for one in requirements("dev"))


def test_an_installed_package_asks_for_what_its_metadata_say(installed: dict[str, str]) -> None:
    assert [one.name for one in requirements()] == ["torch"]
    assert [one.name for one in requirements("export")] == ["ctranslate2"]
    assert requirements("dev") == []


def test_an_installed_package_names_no_extras_for_work_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "bench" in extras()
    told = Message()
    for name in ("export", "bench", "dev"):
        told["Provides-Extra"] = name
    monkeypatch.setattr(packages, "_checkout", lambda: None)
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: told)
    assert extras() == ["export"]


def test_all_is_well_here() -> None:
    assert [finding for finding in examine_packages() if finding.verdict == "wrong"] == []


@pytest.mark.parametrize(
    ("version", "advice"),
    [
        ("2.13.0", ""),
        ("2.13.0+cpu", ""),
        ("2.4.0", "wanted is <3,>=2.11; install that with: "),
        (None, "install it with: "),
    ],
)
def test_a_version_is_wrong_or_right(version: str | None, advice: str, installed: dict[str, str]) -> None:
    installed.clear()
    if version is not None:
        installed["torch"] = version
    finding = found("torch")
    assert finding.verdict == ("wrong" if advice else "ok")
    assert finding.advice == (advice + install_command([Requirement("torch<3,>=2.11")]) if advice else "")


def test_a_package_that_cannot_be_loaded_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zstandard.py").write_text("raise ImportError('libnone.so: cannot open')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "zstandard", raising=False)
    finding = found("zstandard")
    assert finding.verdict == "wrong"
    assert "it cannot be loaded (libnone.so: cannot open)" in finding.advice


def test_an_old_python_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.python_version", lambda: "3.10.13")
    assert found("Python").advice == "wanted is >=3.11; make a virtual environment of such a Python"


def test_the_command_can_be_typed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [Requirement("a>=1,<2"), Requirement("b")]
    pip = shlex.join([sys.executable, "-m", "pip", "install"])
    pins = shlex.join(["-c", str(Path(__file__).parents[2] / "constraints.txt")])
    assert install_command(asked) == f"{pip} {pins} 'a<2,>=1' b"
    monkeypatch.setattr(packages, "_checkout", lambda: None)
    assert install_command(asked) == f"{pip} 'a<2,>=1' b"
