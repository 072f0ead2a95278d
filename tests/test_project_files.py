"""Facts that several project files state agree."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from translator import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_version_is_the_same_in_all_project_files() -> None:
    assert PROJECT["version"] == __version__
    assert CITATION["version"] == __version__


def test_a_version_has_a_date_once_it_is_released() -> None:
    released = ".dev" not in __version__
    assert ("date-released" in CITATION) == released
    heading = f"## [{__version__}] - " if released else "## [Unreleased]"
    assert f"\n{heading}" in text_of("CHANGELOG.md")


def test_github_workflow_runs_ci_on_every_supported_python() -> None:
    jobs = WORKFLOW["jobs"]
    assert {"run": "bash .ci/run"} in jobs["check"]["steps"]
    assert {"run": "make dist"} in jobs["distributions"]["steps"]

    promised_versions = []
    for classifier in PROJECT["classifiers"]:
        if re.search(r":: 3\.\d+$", classifier):
            promised_versions.append(classifier.rpartition(" ")[2])
    assert PROJECT["requires-python"] == f">={promised_versions[0]}"
    assert jobs.keys() == {"quick", "check", "distributions"}
    for name in ("check", "distributions"):
        assert jobs[name]["strategy"]["matrix"]["python"] == promised_versions


def test_actions_are_pinned_by_commit() -> None:
    for job in WORKFLOW["jobs"].values():
        for step in job["steps"]:
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step.get("uses", f"run@{'0' * 40}")), step


def test_every_requirement_has_its_pin() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    pinned = {plain(line.partition("==")[0]) for line in lines}
    requirements = list(PROJECT["dependencies"])
    for extra, entries in PROJECT["optional-dependencies"].items():
        if extra != "docs":
            requirements += entries
    names = {plain(re.split(r"[<>=\[;]", requirement)[0]) for requirement in requirements}
    assert names - pinned == {"translator-en-fa"}


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def test_install_hints_match_the_declared_requirements() -> None:
    serve = ", ".join(f'"{requirement}"' for requirement in PROJECT["optional-dependencies"]["serve"])
    assert f"install_command({serve})" in text_of("translator/serve/__init__.py")

    (parquet,) = PROJECT["optional-dependencies"]["data"]
    assert f"install_command('{parquet}')" in text_of("translator/corpus/reading/parquet.py")
    assert f'-m pip install "{parquet}"`' in text_of("docs/corpora.md")

    (engine,) = [requirement for requirement in PROJECT["dependencies"] if requirement.startswith("ctranslate2")]
    assert f'install_command("{engine}")' in text_of("translator/inference/engines/ctranslate2_library.py")


def test_make_passes_apostrophes_on_and_names_an_export_after_its_run() -> None:
    command = ["make", "-n", "-o", "install", "export", "translate", "RUN=it's/run/", "SET=run.device='cpu'"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    export, translate = (shlex.split(line) for line in shown.splitlines() if "translator'" in line)
    assert export[1:] == ["export", "--run", "it's/run/", "--to", "ctranslate2", "exports/run-ctranslate2"]
    assert translate[1:] == ["translate", "--run", "it's/run/", "--set", "run.device='cpu'"]


@pytest.mark.parametrize("setting", ["training.learning_rate=0.001", "CONFG=configs/mizan.yaml"])
def test_make_refuses_a_setting_that_no_target_has(setting: str) -> None:
    done = subprocess.run(["make", "-n", "train", setting], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{setting.partition('=')[0]} is no setting of make" in done.stderr
