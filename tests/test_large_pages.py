"""A command begins anew in large pages: once, with its own arguments, and never over the person's own setting."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from translator.large_pages import large_pages

PROGRAM = """
import json, os, sys
from translator.large_pages import begin_in_large_pages
with open(sys.argv[1], "a") as told:
    told.write(json.dumps([os.getpid(), sys.argv[2:], os.environ.get("GLIBC_TUNABLES", "")]) + "\\n")
begin_in_large_pages()
print("at work")
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the setting")


def run(tmp_path: Path, tunables: str | None) -> list[tuple[int, list[str], str]]:
    """Run the program and return what each beginning of it told: process, arguments, setting."""
    script, told = tmp_path / "a program.py", tmp_path / "told"
    script.write_text(PROGRAM, encoding="utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "GLIBC_TUNABLES"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    if tunables is not None:
        environment["GLIBC_TUNABLES"] = tunables
    command = [sys.executable, str(script), str(told), "--set", "a b=«c»"]
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    assert output == b"at work\n"
    return [tuple(json.loads(line)) for line in told.read_text(encoding="utf-8").splitlines()]


@linux
def test_a_command_begins_anew_once_in_the_same_process(tmp_path: Path) -> None:
    first, second = run(tmp_path, None)
    assert first[2] == "" and second[2] == "glibc.malloc.hugetlb=1"
    assert first[:2] == second[:2] and second[1] == ["--set", "a b=«c»"]


@linux
def test_other_settings_of_the_library_stay(tmp_path: Path) -> None:
    assert run(tmp_path, "glibc.malloc.check=0")[-1][2] == "glibc.malloc.check=0:glibc.malloc.hugetlb=1"


@pytest.mark.parametrize("value", (0, 1, 2))
def test_the_person_s_own_setting_stays(value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLIBC_TUNABLES", f"glibc.malloc.hugetlb={value}")
    assert large_pages() == {}
