"""Verbs that are killed, alone and two at a time, leave each file of the user's as it is, and their work can be done.

`make bench PART=verbs` kills all verbs many times; here, those that take less than a second are killed once.
"""

import subprocess
import sys

import pytest

from bench.processes import ROOT, environment

if sys.platform != "linux":
    pytest.skip("the forks need Linux", allow_module_level=True)


def test_a_killed_verb_touches_nothing_foreign_and_ends_as_an_undisturbed_one() -> None:
    verbs = ("export", "evaluate")
    command = [sys.executable, "-m", "bench", "verbs", "--kills", "1"]
    for verb in verbs:
        command += ["--only", verb]
    ended = subprocess.run(command, cwd=ROOT, env=environment(1), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for verb in (*verbs, "verbs"):
        assert f"{verb}" in ended.stdout
    assert ended.stdout.count("PASSED") == len(verbs) + 1
