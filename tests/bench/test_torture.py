"""Verbs that are killed, alone and two at a time, end as undisturbed ones.

`make bench PART=torture` kills all of them many times; here, those that take less than a second are killed twice.
"""

import sys

import pytest

from bench.options import Options
from bench.torture import bench

if sys.platform != "linux":
    pytest.skip("the forks need Linux", allow_module_level=True)


def test_a_killed_verb_ends_as_an_undisturbed_one() -> None:
    for line in bench(Options(only=("export", "evaluate"), kills=2)):
        assert line.endswith("PASSED"), line
