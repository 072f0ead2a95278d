"""Verbs that are killed, alone and two at a time, leave each file of the user's as it is, and their work can be done.

`make bench PART=verbs` kills all verbs many times; here, the fastest is killed once.
"""

import subprocess
import sys

import pytest

from bench.processes import ROOT, environment

if sys.platform != "linux":
    pytest.skip("the forks need Linux", allow_module_level=True)


def test_a_killed_verb_touches_nothing_foreign_and_ends_as_an_undisturbed_one() -> None:
    command = [sys.executable, "-m", "bench", "verbs", "--kills", "1", "--only", "export"]
    ended = subprocess.run(command, cwd=ROOT, env=environment(1), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    killed, total, *_ = ended.stdout.splitlines()
    assert killed.startswith("export: ")
    assert "SIGKILL" in killed
    assert killed.endswith("PASSED")
    assert total.startswith("verbs PASSED")
