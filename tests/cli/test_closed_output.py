"""Standard output that is closed: the work is done, and the exit code tells that its words are lost."""

import shlex
import subprocess
import sys

import pytest


@pytest.mark.parametrize("verb", ["--version", "recipe sample"])
def test_what_is_lost_is_not_called_done(verb: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m translator {verb} >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "translator: standard output is closed, and what was printed is lost; all else is done\n"


def test_who_says_nothing_loses_nothing() -> None:
    begin = "import os, sys; from translator.cli import _check_output, _Closed"
    for words, expected in (("pass", 0), ("print()", 0), ("print('a')", 1)):
        program = f"{begin}; sys.stdout = _Closed(open(os.devnull, 'wb')); {words}; _check_output()"
        assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == expected
